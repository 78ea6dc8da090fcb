package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/policy"
)

// policy is the command about rules: what they decide about a command, what is
// wrong with them, whether they decide as a table says.
func (p *program) policy(ctx context.Context) error {
	var sub string
	var rest []string
	if len(p.opts.words) > 0 {
		sub, rest = p.opts.words[0], p.opts.words[1:]
	}
	switch {
	case !takes("policy", p.opts.words):
	case sub == "explain" && len(rest) > 0:
		return p.explainCommand(ctx, strings.Join(rest, " "))
	case sub == "lint" && len(rest) == 0:
		return p.lintRules(ctx)
	case sub == "test" && len(rest) == 1:
		return p.testRules(ctx, rest[0])
	}
	return usagef("%s", p.words.PolicyUsage)
}

// ruled reads the rules that are in force in the folder.
func (p *program) ruled(ctx context.Context) (o policy.GateOptions, err error) {
	dir, err := p.folder()
	if err != nil {
		return o, err
	}
	in, err := p.input(dir)
	if err != nil {
		return o, err
	}
	s, err := config.Load(ctx, in)
	if err != nil {
		return o, err
	}
	for _, n := range s.Notices {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", n)
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	o = policy.GateOptions{Dir: dir, Dirs: s.Dirs, Home: p.home()}
	o.Isolation = func() policy.Isolation { // a command runs confined or not at all
		return policy.Isolation{Sandboxed: s.Sandbox != "none"}
	}
	o.Rules, err = policy.NewRules(policy.RuleOptions{Dir: o.Dir, Dirs: o.Dirs, Home: o.Home}, s.Permissions...)
	return o, err
}

// input is what settings are made of where nobody is asked.
func (p *program) input(dir string) (config.Input, error) {
	dirs, err := p.addDirs()
	return config.Input{
		Flags:   config.Flags{PermissionMode: p.opts.mode, Sandbox: p.opts.sandbox, AllowedTools: p.opts.allowed, AddDirs: dirs, Trust: p.opts.trust},
		Environ: p.env, Dir: dir,
	}, err
}

func (p *program) explainCommand(ctx context.Context, command string) error {
	o, err := p.ruled(ctx)
	if err != nil {
		return err
	}
	d := policy.ExplainCommand(o, command)
	if p.opts.json {
		return p.printJSON(d)
	}
	for i, line := range []string{
		d.Decision, p.words.Reason(d.Reason, d.Why), d.Part, d.Rule, d.File, strings.Join(d.Wants, ", "), fmt.Sprint(d.Sandboxed),
	} {
		if line == "" {
			continue
		}
		if _, err := fmt.Fprintf(p.stdout, "%-10s %s\n", p.words.ExplainLabels[i], tui.Visible(line)); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) lintRules(ctx context.Context) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	in, err := p.input(dir)
	if err != nil {
		return err
	}
	files, dirs, err := config.Permissions(ctx, in)
	if err != nil {
		return err
	}
	found := policy.Lint(policy.RuleOptions{Dir: dir, Dirs: dirs, Home: p.home()}, files...)
	if p.opts.json {
		if found == nil {
			found = []policy.Problem{}
		}
		if err := p.printJSON(found); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			if _, err := fmt.Fprintln(p.stdout, tui.Visible(f.String())); err != nil {
				return err
			}
		}
	}
	if len(found) > 0 {
		return &silentError{code: exitFailed}
	}
	return nil
}

func (p *program) testRules(ctx context.Context, name string) error {
	o, err := p.ruled(ctx)
	if err != nil {
		return err
	}
	f, err := os.Open(name)
	if err != nil {
		return usagef(p.words.BadFile, name, plain(err))
	}
	defer f.Close()
	list, err := policy.Test(o, f)
	if err != nil {
		return usagef("%s: %v", name, err)
	}
	wrong := 0
	for _, c := range list {
		if c.OK() {
			continue
		}
		wrong++
		if !p.opts.json {
			fmt.Fprintf(p.stdout, "%s:%d: %s %s: %s, not %s: %s\n", name, c.Line, c.Tool, tui.Visible(oneLine(c.What)), c.Got.Decision, c.Want, tui.Visible(c.Got.Reason))
		}
	}
	if p.opts.json {
		if list == nil {
			list = []policy.Outcome{}
		}
		err = p.printJSON(list)
	} else {
		_, err = fmt.Fprintf(p.stdout, p.words.PolicyTested+"\n", len(list), wrong)
	}
	if wrong > 0 {
		err = errors.Join(err, &silentError{code: exitFailed})
	}
	return err
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

func (p *program) printJSON(v any) error {
	e := json.NewEncoder(p.stdout)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
