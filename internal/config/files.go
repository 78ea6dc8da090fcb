package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"oneloop"
	"oneloop/model/catalog"
	"oneloop/policy"
)

// file is one settings.json: the keys it sets, flattened, as text.
type file struct {
	path      string
	values    map[string]string
	rules     map[string][]string // by tier: "deny", "ask", "allow"
	dirs      []string            // folders it adds to the workspace
	other     []string            // keys that mean nothing here
	hooks     json.RawMessage
	providers map[string]ownProvider
	network   network
	limits    Limits
	// approved says that the user said yes to the file as it is.
	approved bool
}

func newFile(path string) *file {
	return &file{path: path, values: map[string]string{}, rules: map[string][]string{}}
}

// text is a value of f, empty when f does not exist or does not set it.
func (f *file) text(key string) string {
	if f == nil {
		return ""
	}
	return f.values[key]
}

// value is the same with where it is from.
func (f *file) value(key string) value {
	if f == nil {
		return value{}
	}
	return value{f.values[key], f.path}
}

// keys are the settings a file may hold; those marked are the user's alone.
var keys = map[string]struct{ userOnly bool }{
	"model":                   {},
	"effort":                  {},
	"language":                {},
	"baseURL":                 {true},
	"auth":                    {true},
	"apiVersion":              {true},
	"permissions.defaultMode": {true},
	"sandbox":                 {true},
	searchKey:                 {true},
	bellKey:                   {true},
	memoryKey:                 {true},
	fallbackKey:               {true},
}

// readOwn reads the user's settings.
func (l *loader) readOwn() error {
	var err error
	if l.out.ConfigDir != "" {
		if l.own, err = l.readFile(filepath.Join(l.out.ConfigDir, "settings.json")); err != nil {
			return err
		}
	}
	if a := l.own.text("auth"); a != "" && a != "key" && a != "token" {
		return misconfigured(nil, "%s: auth is %q; it is key (sent as x-api-key) or token (sent as authorization).", l.own.path, a)
	}
	return nil
}

// readProject reads the folder's settings as they were trusted.
func (l *loader) readProject() error {
	for _, name := range []string{".oneloop/settings.local.json", ".oneloop/settings.json"} {
		data, err := l.out.Trusted.Read(name)
		path := filepath.Join(l.Dir, filepath.FromSlash(name))
		if errors.Is(err, policy.ErrUntrusted) || l.own != nil && path == l.own.path {
			continue
		}
		f, err := l.parseFile(path, data, err)
		if err != nil {
			return err
		}
		if f == nil {
			continue
		}
		f.approved = l.out.Trusted.Approved(name)
		l.keepOut(f)
		l.project = append(l.project, f)
	}
	return nil
}

// keepOut drops what a project may not decide.
func (l *loader) keepOut(f *file) {
	var dropped []string
	for key := range f.values {
		if keys[key].userOnly {
			dropped = append(dropped, key)
			delete(f.values, key)
		}
	}
	if p, _, ok := strings.Cut(f.values["model"], "/"); ok {
		dropped = append(dropped, "model (its provider "+p+")")
		delete(f.values, "model")
	}
	if of := catalog.Providing(f.values["model"]); len(of) > 0 && !slices.Contains(of, "anthropic") {
		dropped = append(dropped, "model (its provider "+of[0]+")")
		delete(f.values, "model")
	}
	if f.providers != nil {
		dropped = append(dropped, providersKey)
		f.providers = nil
	}
	if len(f.network.allowed) > 0 {
		dropped = append(dropped, "sandbox.network.allowedDomains")
	}
	if len(dropped) > 0 {
		sort.Strings(dropped)
		l.ignored(f, strings.Join(dropped, ", "))
	}
}

// ignored tells of what a project may not decide.
func (l *loader) ignored(f *file, what string) {
	l.notice("%s sets %s, which only the user's own settings may; it is ignored.", f.path, what)
}

// readFile reads one file; nil means that there is none.
func (l *loader) readFile(path string) (*file, error) {
	data, _, err := readRegular(path)
	return l.parseFile(path, data, err)
}

// parseFile makes a file of what reading it gave.
func (l *loader) parseFile(path string, data []byte, err error) (*file, error) {
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, misconfigured(err, "%s cannot be read: %s; make it readable or move it away.", path, cause(err))
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	f := newFile(path)
	if len(bytes.TrimSpace(data)) == 0 {
		return f, nil
	}
	if err := f.parse(data); err != nil {
		return nil, misconfigured(err, "%v", err)
	}
	if len(f.other) > 0 {
		l.notice("%s sets %s, which this version does not know; it is ignored.", path, strings.Join(f.other, ", "))
	}
	return f, nil
}

func (f *file) parse(data []byte) error {
	if err := oneloop.CheckObject(data); err != nil {
		var syntax *json.SyntaxError
		if errors.As(json.Unmarshal(data, new(any)), &syntax) {
			return fmt.Errorf("%s:%d: %v; correct the JSON or move the file away", f.path, line(data, syntax.Offset), syntax)
		}
		return fmt.Errorf("%s: %v; it must hold one JSON object", f.path, err)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(data, &top); err != nil {
		return fmt.Errorf("%s: %v", f.path, err)
	}
	return f.take(data, "", top)
}

// take reads the keys of one object.
func (f *file) take(data []byte, prefix string, object map[string]json.RawMessage) error {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		key, raw := prefix+name, object[name]
		if string(raw) == "null" || key == "$schema" {
			continue
		}
		if key == "hooks" {
			f.hooks = raw
			continue
		}
		if key == providersKey {
			if err := f.takeProviders(data, raw); err != nil {
				return err
			}
			continue
		}
		if key == "sandbox.network" {
			if err := f.takeNetwork(data, raw); err != nil {
				return err
			}
			continue
		}
		if key == "sandbox.limits" {
			if err := f.takeLimits(data, raw); err != nil {
				return err
			}
			continue
		}
		if inner, ok := members(key, raw); ok {
			if err := f.take(data, key+".", inner); err != nil {
				return err
			}
			continue
		}
		if tier, is := strings.CutPrefix(key, "permissions."); is && isTier(tier) {
			var list []string
			if err := json.Unmarshal(raw, &list); err != nil {
				return fmt.Errorf("%s:%d: %s must be a list of rules in quotes, as in [\"Bash(go test:*)\"]", f.path, lineOf(data, name), key)
			}
			f.rules[tier] = list
			continue
		}
		if key == dirsKey {
			if err := f.readDirs(data, name, raw); err != nil {
				return err
			}
			continue
		}
		key = strings.TrimSuffix(key, ".mode") // sandbox.mode
		if _, known := keys[key]; !known {
			f.other = append(f.other, key)
			continue
		}
		if key == searchKey || key == memoryKey {
			if text := string(raw); text != "true" && text != "false" {
				return fmt.Errorf("%s:%d: %s must be true or false", f.path, lineOf(data, name), key)
			}
			f.values[key] = string(raw)
			continue
		}
		if key == bellKey {
			if _, ok := ParseBell(string(raw)); !ok {
				return fmt.Errorf("%s:%d: %s must be true, false or a number of seconds", f.path, lineOf(data, name), key)
			}
			f.values[key] = string(raw)
			continue
		}
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return fmt.Errorf("%s:%d: %s must be text in quotes", f.path, lineOf(data, name), key)
		}
		f.values[key] = strings.TrimSpace(text)
	}
	return nil
}

// members opens an object that holds settings: permissions, and sandbox in
// its long form.
func members(key string, raw json.RawMessage) (map[string]json.RawMessage, bool) {
	if key != "permissions" && key != "sandbox" {
		return nil, false
	}
	var inner map[string]json.RawMessage
	err := json.Unmarshal(raw, &inner)
	return inner, err == nil
}

// lineOf is the number of the first line that has a key of this name.
func lineOf(data []byte, name string) int {
	return line(data, int64(bytes.Index(data, []byte(`"`+name+`"`))))
}

// line is the number of the line that holds the byte at offset.
func line(data []byte, offset int64) int {
	offset = max(0, min(offset, int64(len(data))))
	return 1 + bytes.Count(data[:offset], []byte("\n"))
}
