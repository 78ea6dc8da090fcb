package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"oneloop/policy"
)

func isTier(name string) bool { return name == "allow" || name == "ask" || name == "deny" }

// rules collects the rules and sees whether they can be understood.
func (l *loader) rules() error {
	l.collect()
	rules, err := policy.NewRules(policy.RuleOptions{Dir: l.Dir, Dirs: l.out.Dirs, Home: l.home}, l.out.Permissions...)
	if err != nil {
		return misconfigured(err, "%v.", err)
	}
	for _, n := range rules.Notices() {
		l.notice("%s", n)
	}
	return nil
}

func (l *loader) collect() {
	if list := splitRules(l.Flags.AllowedTools); len(list) > 0 {
		l.out.Permissions = append(l.out.Permissions, policy.File{Path: "--allowed-tools", Base: l.Dir, Allow: list})
	}
	if l.own != nil {
		l.permit(l.own, l.out.ConfigDir, false)
	}
	for _, f := range l.project {
		l.permit(f, l.Dir, true)
	}
}

// permit adds the rules of one file.
func (l *loader) permit(f *file, base string, shared bool) {
	if len(f.rules) == 0 {
		return
	}
	l.out.Permissions = append(l.out.Permissions, policy.File{
		Path: f.path, Base: base, Shared: shared, Approved: f.approved,
		Deny: f.rules["deny"], Ask: f.rules["ask"], Allow: f.rules["allow"],
	})
}

// Permissions reads only the rules and the further folders they hold in, and
// understands no rule, so that what is wrong with them can be told all at once.
// Its errors are those of [Load].
func Permissions(ctx context.Context, in Input) (files []policy.File, dirs []string, err error) {
	l := &loader{Input: in, env: environ(in.Environ), out: &Settings{From: map[string]string{}}}
	l.findDirs()
	for _, step := range []func() error{l.readOwn, func() error { return l.trust(ctx) }, l.readProject, l.addDirs} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	l.collect()
	return l.out.Permissions, l.out.Dirs, nil
}

// splitRules splits a list at its commas, but for those in parentheses.
func splitRules(list string) (rules []string) {
	depth, from := 0, 0
	add := func(to int) {
		if r := strings.TrimSpace(list[from:to]); r != "" {
			rules = append(rules, r)
		}
	}
	for i, r := range list {
		switch {
		case r == '(':
			depth++
		case r == ')':
			depth--
		case r == ',' && depth <= 0:
			add(i)
			from = i + 1
		}
	}
	add(len(list))
	return rules
}

// keptIn is the settings file that rules are put in, as trust calls it.
const keptIn = ".oneloop/settings.local.json"

// Keep is where "always" puts rules that allow: the settings.local.json of the
// folder that is worked in, which is the user's own and for this folder. With
// each rule the file is trusted as it then is. One that the user did not
// approve before gets none, as that would approve what else is in it.
func (s *Settings) Keep(dir string) *policy.Keep {
	k := &keeper{settings: s, path: filepath.Join(dir, filepath.FromSlash(keptIn))}
	return &policy.Keep{File: k.path, Base: dir, Add: k.add}
}

type keeper struct {
	settings *Settings
	path     string
	one      sync.Mutex
	last     []byte // what was written last
}

func (k *keeper) add(rule string) error {
	k.one.Lock()
	defer k.one.Unlock()
	store := k.settings.TrustStore()
	if store == "" {
		return errors.New("there is no state folder to remember that the file is yours")
	}
	dir := filepath.Dir(k.path)
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	for _, p := range []string{dir, k.path} { // a link may lead to another's settings
		if info, err := os.Lstat(p); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link", p)
		}
	}
	data, err := k.own()
	if err != nil {
		return err
	}
	if data == nil {
		if err := ignored(dir); err != nil {
			return err
		}
	}
	if data, err = withRule(data, rule); err != nil {
		return err
	}
	if err := replace(k.path, data); err != nil {
		return err
	}
	k.last = data
	return k.settings.Trusted.Remember(store, keptIn, data)
}

// ignored keeps git from committing the file that is the user's own. What says
// so may be there already, and is the folder's then.
func ignored(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(filepath.Base(keptIn) + "\n")
	return errors.Join(err, f.Close())
}

// own is what is in the file; an error when the user did not approve of that.
func (k *keeper) own() ([]byte, error) {
	data, _, err := readRegular(k.path)
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if k.last != nil && bytes.Equal(data, k.last) {
		return data, nil
	}
	was, err := k.settings.Trusted.Read(keptIn)
	if err != nil || !bytes.Equal(data, was) || !k.settings.Trusted.Approved(keptIn) {
		return nil, errors.New("its content is not approved")
	}
	return data, nil
}

// replace writes a file at once, with mode 0600: whoever reads it sees the old
// one or the new one. Its folder must exist.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".settings-*") // mode 0600, a name nobody knows before
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
