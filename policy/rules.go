package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"oneloop/policy/shell"
)

// File holds the rules of one settings file, or of a flag.
type File struct {
	Path string // or the name of the flag; it is what is told of where a rule is from
	Base string // folder that paths with / in front are relative to; empty: there is none
	// Shared marks a file that is part of the folder that is worked in, so
	// that whoever wrote the folder wrote it. Its rules that allow count only
	// if it is Approved.
	Shared   bool
	Approved bool

	Deny, Ask, Allow []string
}

// RuleOptions is what rules are read for.
type RuleOptions struct {
	Dir   string   // the workspace, absolute
	Dirs  []string // its further folders, likewise
	Home  string   // the home folder; empty: unknown
	Tools []string // names of tools besides those this package knows
}

// Rules are the rules that are in force. They are safe for concurrent use.
type Rules struct {
	opts    RuleOptions
	notices []string
	mu      sync.Mutex
	all     []Rule // by tier, the strictest first
}

// NewRules reads rules. Any rule of a stricter tier beats all of a milder one,
// whichever file it is in and however much more exactly the other one says it;
// the order of files only decides which of two is told of. An error names the
// file and the rule.
func NewRules(o RuleOptions, files ...File) (*Rules, error) {
	rs := &Rules{opts: o}
	for _, tier := range []shell.Tier{shell.Deny, shell.Ask, shell.Allow} {
		for _, f := range files {
			if err := rs.read(f, tier); err != nil {
				return nil, err
			}
		}
	}
	return rs, nil
}

func (rs *Rules) read(f File, tier shell.Tier) error {
	list := f.texts(tier)
	if len(list) == 0 {
		return nil
	}
	for _, text := range list {
		r, err := parseRule(tier, text, rs.opts.place(f.Base), rs.opts.Tools)
		if err != nil {
			return fmt.Errorf("%s: permissions.%s: %w", f.Path, tier, err)
		}
		r.File = f.Path
		if r.dead != "" {
			rs.notice("%s: the rule %s in permissions.%s has no effect: %s.", f.Path, r.Text, tier, r.dead)
		}
		if tier > shell.Allow || !f.Shared || f.Approved {
			rs.all = append(rs.all, r)
		}
	}
	if tier == shell.Allow && f.Shared && !f.Approved {
		rs.notice("%s: its rules that allow (%s) are ignored: the file is part of the folder and not approved.", f.Path, strings.Join(list, ", "))
	}
	return nil
}

func (rs *Rules) notice(format string, args ...any) {
	rs.notices = append(rs.notices, fmt.Sprintf(format, args...))
}

// Notices are what the user should know of the rules, each one line.
func (rs *Rules) Notices() []string { return rs.notices }

func (f File) texts(tier shell.Tier) []string {
	switch tier {
	case shell.Deny:
		return f.Deny
	case shell.Ask:
		return f.Ask
	}
	return f.Allow
}

func (o RuleOptions) place(base string) place {
	return place{dirs: append([]string{o.Dir}, o.Dirs...), home: o.Home, base: base}
}

// Add adds a rule for the rest of the session.
func (rs *Rules) Add(tier shell.Tier, text string, f File) error {
	r, err := parseRule(tier, text, rs.opts.place(f.Base), rs.opts.Tools)
	if err == nil && r.dead != "" {
		err = errors.New(r.dead)
	}
	if err != nil {
		return err
	}
	r.File = f.Path
	rs.mu.Lock()
	defer rs.mu.Unlock()
	at := slices.IndexFunc(rs.all, func(other Rule) bool { return other.Tier < tier })
	if at < 0 {
		at = len(rs.all)
	}
	rs.all = slices.Insert(slices.Clone(rs.all), at, r)
	return nil
}

// Drop takes away the rules that were added with a file of this path.
func (rs *Rules) Drop(path string) {
	if rs == nil {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.all = slices.DeleteFunc(slices.Clone(rs.all), func(r Rule) bool { return r.File == path })
}

// List returns the rules, the strictest tier first.
func (rs *Rules) List() []Rule {
	if rs == nil {
		return nil
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.all // never changed in place
}

// with returns the rules and one more.
func (rs *Rules) with(tier shell.Tier, text string, f File) (*Rules, error) {
	other := &Rules{}
	if rs != nil {
		other.opts, other.all = rs.opts, rs.List()
	}
	return other, other.Add(tier, text, f)
}
