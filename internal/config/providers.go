package config

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// providersKey is the setting with the user's own providers.
const providersKey = "providers"

// Access is how a provider is reached.
type Access struct {
	catalog.Provider // its BaseURL and API are those that hold here

	Key    Secret
	Token  Secret // Anthropic's other form of a credential
	From   string // where the credential came from
	Header http.Header
	Models []string // that the user's settings name
	Custom bool     // the user's settings made it

	free    bool     // it wants no credential
	passed  string   // a variable of the folder with an address that does not count
	command []string // prints the key
	run     func(context.Context) (Secret, error)
	wrong   error // why it cannot be used
}

// Configured reports whether there is all that is needed to ask a. A server on
// this machine needs nothing, and may not be there.
func (a Access) Configured() bool {
	return a.Key.Set() || a.Token.Set() || a.Local || a.Through != "" || a.free || len(a.command) > 0
}

// Commanded reports whether a command prints a's key.
func (a Access) Commanded() bool { return len(a.command) > 0 }

// Credential is a's key. A command that prints it is run once, and for at most
// 20 seconds.
func (a Access) Credential(ctx context.Context) (Secret, error) {
	switch {
	case a.wrong != nil:
		return Secret{}, a.wrong
	case a.Key.Set() || a.run == nil:
		return a.Key, nil
	}
	return a.run(ctx)
}

// ownProvider is one of the user's settings.
type ownProvider struct {
	BaseURL     string            `json:"baseURL"`
	API         string            `json:"api"`
	Dialect     string            `json:"dialect"`
	KeyVariable string            `json:"keyVariable"`
	KeyCommand  []string          `json:"keyCommand"`
	Headers     map[string]string `json:"headers"`
	Models      []string          `json:"models"`
}

// takeProviders reads the providers of a file.
func (f *file) takeProviders(data []byte, raw json.RawMessage) error {
	bad := func(name string, format string, args ...any) error {
		return fmt.Errorf("%s:%d: %s: %s", f.path, lineOf(data, name), providersKey, fmt.Sprintf(format, args...))
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return bad(providersKey, `it must be an object, as in {"here": {"baseURL": "http://127.0.0.1:9000/v1"}}`)
	}
	f.providers = map[string]ownProvider{}
	for name, one := range all {
		var o ownProvider
		d := json.NewDecoder(bytes.NewReader(one))
		d.DisallowUnknownFields()
		if err := d.Decode(&o); err != nil {
			return bad(name, "%s: %s; it has baseURL, api, dialect, keyVariable, keyCommand (a list), headers and models (a list)", name, strings.TrimPrefix(err.Error(), "json: "))
		}
		known, is := catalog.FindProvider(name)
		switch {
		case name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '/' || r >= 0x7f }):
			return bad(name, "%q is no name of a provider: letters, digits and dashes", name)
		case o.API != "" && !slices.Contains(catalog.APIs(), o.API):
			return bad(name, "%s: there is no api %q; the names are %s", name, o.API, strings.Join(catalog.APIs(), ", "))
		case o.BaseURL == "" && !is:
			return bad(name, "%s needs a baseURL", name)
		case o.BaseURL != "" && !address(o.BaseURL):
			return bad(name, "%s: its baseURL is no http or https address with a host", name)
		case o.KeyVariable != "" && len(o.KeyCommand) > 0:
			return bad(name, "%s has a keyVariable and a keyCommand; one of them is enough", name)
		case len(o.KeyCommand) > 0 && o.KeyCommand[0] == "":
			return bad(name, "%s: its keyCommand names no program", name)
		case is && name == "anthropic":
			return bad(name, "anthropic has settings of its own: baseURL, auth and apiVersion; give yours another name")
		}
		if o.API == "" && is {
			o.API, o.Dialect = known.API, cmp.Or(o.Dialect, known.Dialect)
		}
		f.providers[name] = o
	}
	return nil
}

// providers finds how each is reached.
func (l *loader) providers() error {
	if err := l.readBook(); err != nil {
		return err
	}
	s := l.out
	for _, p := range catalog.Providers() {
		s.access = append(s.access, l.access(p))
	}
	if l.own == nil {
		return nil
	}
	names := make([]string, 0, len(l.own.providers))
	for name := range l.own.providers {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		a := l.custom(name, l.own.providers[name])
		i := slices.IndexFunc(s.access, func(b Access) bool { return b.Name == name })
		if i < 0 {
			s.access = append(s.access, a)
		} else {
			s.access[i] = a
		}
	}
	return nil
}

// access is how a provider that everybody knows is reached.
func (l *loader) access(p catalog.Provider) Access {
	a := Access{Provider: p}
	if p.Name == "anthropic" {
		a.BaseURL, a.Key, a.Token = l.out.BaseURL, l.out.Key, l.out.Token
		a.From = l.out.From["key"] + l.out.From["token"]
		return a
	}
	outside := false
	for _, k := range p.Keys {
		if v, ok := l.variable(k.Variable); ok && !outside {
			a.Key, a.From, outside = Secret{v.text}, v.from, true
			a.BaseURL = cmp.Or(k.BaseURL, a.BaseURL)
		}
	}
	for _, k := range p.Keys {
		if t := l.folder[k.Variable]; t != "" && !outside && !a.Key.Set() {
			a.Key, a.From = Secret{t}, l.dotenv
			a.BaseURL = cmp.Or(k.BaseURL, a.BaseURL)
		}
	}
	v, ok := l.variable(p.Address)
	if t := l.folder[p.Address]; t != "" && !ok {
		if v, ok = (value{t, l.dotenv}), a.From == l.dotenv; !ok {
			a.passed = p.Address
		}
	}
	if ok {
		a.BaseURL = v.text
		if p.Name == "openai" {
			a.API = catalog.Chat
		}
		if p.API != catalog.Ollama && !address(v.text) {
			a.wrong = misconfigured(nil, "the base URL from %s is no http or https address with a host; write it like https://api.example.com/v1.", v.from)
		}
	}
	if !sendable(a.Key.Reveal()) {
		a.wrong = misconfigured(nil, "the credential from %s holds a blank, a control character or a character outside ASCII; copy it again.", a.From)
	}
	return a
}

// custom is how a provider of the user's settings is reached.
func (l *loader) custom(name string, o ownProvider) Access {
	p, _ := catalog.FindProvider(name)
	p.Name, p.API, p.Dialect = name, cmp.Or(o.API, catalog.Chat), o.Dialect
	a := Access{Provider: p}
	if len(p.Keys) > 0 {
		a = l.access(p)
		a.API = p.API
	}
	a.Custom, a.Models = true, o.Models
	a.BaseURL = cmp.Or(o.BaseURL, a.BaseURL)
	if o.KeyVariable != "" {
		a.Keys = []catalog.Key{{Variable: o.KeyVariable}}
		v, _ := l.variable(o.KeyVariable)
		a.Key, a.From = Secret{v.text}, v.from
		l.out.hide(v.text)
		if !sendable(v.text) {
			a.wrong = misconfigured(nil, "the credential from %s holds a blank, a control character or a character outside ASCII; copy it again.", v.from)
		}
	}
	if len(o.KeyCommand) > 0 {
		a.Key, a.command, a.From = Secret{}, o.KeyCommand, l.own.path
		a.run = l.keyCommand(name, o.KeyCommand)
	}
	a.free = o.KeyVariable == "" && len(o.KeyCommand) == 0 && len(a.Keys) == 0
	for h, v := range o.Headers {
		if a.Header == nil {
			a.Header = http.Header{}
		}
		a.Header.Set(h, v)
		if wire.Secret(h) {
			l.out.hide(strings.TrimPrefix(v, "Bearer "))
			a.free = true
		}
	}
	if len(o.Models) > 0 {
		a.Default = o.Models[0]
	}
	return a
}

// keyTime is how long a command that prints a key may take.
const keyTime = 20 * time.Second

// keyCommand runs the command that prints a key, without a shell and at most
// once.
func (l *loader) keyCommand(name string, argv []string) func(context.Context) (Secret, error) {
	var once sync.Mutex
	var key Secret
	return func(ctx context.Context) (Secret, error) {
		once.Lock()
		defer once.Unlock()
		if key.Set() {
			return key, nil
		}
		ctx, cancel := context.WithTimeoutCause(ctx, keyTime, fmt.Errorf("it took longer than %v", keyTime))
		defer cancel()
		program := argv[0]
		if rest, ok := strings.CutPrefix(program, "~"); ok && rest != "" && os.IsPathSeparator(rest[0]) {
			program = l.home + rest
		}
		cmd := exec.CommandContext(ctx, program, argv[1:]...)
		cmd.Env, cmd.WaitDelay = l.Environ, time.Second
		if l.home != "" {
			cmd.Dir = l.home // what is in the folder has no part in it
		}
		out := &limited{full: cancel}
		cmd.Stdout = out
		err := cmd.Run()
		if errors.Is(err, exec.ErrWaitDelay) { // it is done, and what it left running has its output still open
			err = nil
		}
		if cause := context.Cause(ctx); cause != nil && !out.over {
			err = cause
		}
		if out.over {
			err = fmt.Errorf("it printed more than %d bytes, which is no key", maxKey)
		}
		text := strings.TrimSpace(string(out.text))
		if err == nil && text == "" {
			err = errors.New("it printed nothing")
		}
		if err == nil && !sendable(text) {
			err = errors.New("what it printed holds a blank, a control character or a character outside ASCII")
		}
		if err != nil {
			return Secret{}, misconfigured(err, "the keyCommand of the provider %s (%s) gave no key: %v; run it by hand to see why.", name, argv[0], err)
		}
		key = Secret{text}
		l.out.hide(text)
		return key, nil
	}
}

// maxKey is more than any key has, in bytes.
const maxKey = 64 << 10

// limited keeps what a command prints, and gives it up when that is too much.
type limited struct {
	text []byte
	over bool
	full func()
}

func (l *limited) Write(p []byte) (int, error) {
	if len(l.text)+len(p) > maxKey {
		l.over = true
		l.full()
		return 0, io.ErrShortWrite
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

func sendable(key string) bool {
	return !strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f })
}

// address reports whether text is one that can be asked.
func address(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && port(u.Port())
}

// readBook reads what the user's file says of models.
func (l *loader) readBook() error {
	if l.out.ConfigDir == "" {
		return nil
	}
	path := filepath.Join(l.out.ConfigDir, "models.json")
	data, _, err := readRegular(path)
	if absent(err) {
		return nil
	}
	if err == nil && len(bytes.TrimSpace(data)) > 0 {
		l.out.Book, err = catalog.Read(bytes.TrimPrefix(data, []byte("\ufeff")))
	}
	if err != nil {
		return misconfigured(err, "%s: %s; correct it or move it away.", path, cause(err))
	}
	return nil
}

// Access is how the provider of this name is reached.
func (s *Settings) Access(name string) (Access, bool) {
	for _, a := range s.access {
		if a.Name == name {
			return a, true
		}
	}
	if p, ok := catalog.FindProvider(name); ok && name == "anthropic" { // settings that were not loaded
		p.BaseURL = s.BaseURL
		return Access{Provider: p, Key: s.Key, Token: s.Token}, true
	}
	return Access{}, false
}

// Reachable are all providers, those of the user's settings last.
func (s *Settings) Reachable() []Access { return slices.Clone(s.access) }

// hide keeps a credential from commands, and masks it.
func (s *Settings) hide(secret string) {
	s.hiding.Lock()
	defer s.hiding.Unlock()
	if secret != "" && !slices.Contains(s.secrets, secret) {
		s.secrets = append(s.secrets, secret)
	}
}
