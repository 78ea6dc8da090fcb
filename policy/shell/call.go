package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// call follows a simple command.
func (j *judge) call(cmd *syntax.CallExpr, c context) (ok, bad *state) {
	for _, a := range cmd.Assigns {
		j.inside(a, c)
	}
	for _, w := range cmd.Args {
		j.inside(w, c)
	}
	if len(cmd.Args) == 0 {
		for _, a := range cmd.Assigns {
			j.assign(a, c)
		}
		return c.st, c.st
	}
	before := c.st
	c.st = c.st.clone()
	if len(cmd.Assigns) > 0 { // they count for what the command expands itself, as in x=/ eval 'rm -rf $x'
		for _, a := range cmd.Assigns {
			j.assign(a, c)
		}
	}
	words := c
	words.st = before
	var after, failed *state
	matters, asked := false, false
	all := j.each(words, func(x *expander) bool {
		argv := x.fields(cmd.Args)
		asked = asked || x.asked
		cc := c
		cc.st = c.st.clone()
		o, b := j.run(argv, cc)
		if after == nil {
			after, failed = o, b
		} else {
			after, failed = join(after, o), join(failed, b)
		}
		matters = matters || len(argv) > 0 && onList(argv[0])
		return true
	})
	if !all && matters {
		j.report(c, Ask, RuleUnclear, "it may mean too many things to be followed")
	}
	if asked && matters {
		words.guess, c.guess = true, true
		j.each(words, func(x *expander) bool {
			cc := c
			cc.st = c.st.clone()
			j.run(x.fields(cmd.Args), cc)
			return true
		})
	}
	for _, a := range cmd.Assigns { // and are gone after it
		if a.Name == nil {
			continue
		}
		for _, st := range []*state{after, failed} {
			if v, was := before.vars[a.Name.Value]; was {
				st.set(a.Name.Value, v)
			} else {
				st.own()
				delete(st.vars, a.Name.Value)
			}
		}
	}
	return after, failed
}

// assign notes what a variable holds from now on.
func (j *judge) assign(a *syntax.Assign, c context) {
	if a.Name == nil {
		return
	}
	name := a.Name.Value
	v := &value{}
	switch {
	case a.Naked:
		return
	case a.Array != nil:
		v.array = true
		if old := c.st.vars[name]; a.Append && old != nil && old.array {
			v.list = slices.Clone(old.list)
		}
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			words = append(words, e.Value)
		}
		j.one(c, func(x *expander) { v.list = append(v.list, x.fields(words)...) })
	case a.Index != nil:
		old := c.st.vars[name]
		if old != nil && old.array {
			v.list = slices.Clone(old.list)
		}
		v.array = true
		j.one(c, func(x *expander) { v.list = append(v.list, x.single(a.Value)) })
	default:
		j.each(c, func(x *expander) bool {
			text := x.single(a.Value)
			if a.Append {
				text = x.lookup(name).text + text
			}
			v.add(text)
			return true
		})
	}
	c.st.set(name, v)
}

// run follows a command by its arguments.
func (j *judge) run(argv []string, c context) (ok, bad *state) {
	if j.steps++; j.steps > maxSteps {
		j.report(c, Ask, RuleUnclear, "it takes too long to be followed")
		return c.st, c.st
	}
	if len(argv) == 0 {
		return c.st, c.st
	}
	name := argv[0]
	if name == "--" { // bash takes it after time
		return j.run(argv[1:], c)
	}
	if f, defined := c.st.funcs[name]; defined {
		st := j.enter(name, f, argv[1:], false, c)
		if !f.maybe {
			return st, st
		}
	}
	switch {
	case strings.Contains(name, fetched):
		j.report(c, Ask, RulePiped, "it runs text that comes from the network or was decoded")
	case strings.Contains(name, unknown):
		j.remove(argv[1:], c) // it may be rm
		if name == unknown {  // or nothing, or a wrapper
			return j.run(argv[1:], c)
		}
	case strings.ContainsAny(name, "*?["):
		for _, n := range names() {
			if matches(path.Base(name), n) {
				j.program(n, argv, c)
			}
		}
	default:
		return j.program(base(name), argv, c)
	}
	return c.st, c.st
}

// base is the name of a program that is called by a path.
func base(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[i+1:]
	}
	return name
}

// names are those of the programs that wildcards are compared with.
func names() []string {
	return []string{"rm", "dd", "tee", "mkfs", "mke2fs", "shutdown", "reboot", "halt", "poweroff", "init", "systemctl",
		"sudo", "su", "doas", "git", "find", "sh", "bash", "dash", "env", "xargs", "busybox", "wipefs", "shred", "kill"}
}

// onList reports whether a program of this name is one that is looked at: only
// then does it matter that its arguments could not all be followed.
func onList(name string) bool {
	if strings.ContainsAny(name, unknown+fetched+"*?[") {
		return true
	}
	name = base(name)
	_, wraps := wrapper(name)
	return wraps || slices.Contains(names(), name) || isShell(name)
}

// program follows a command whose name is known. Its state changes are those
// of builtins.
func (j *judge) program(name string, argv []string, c context) (ok, bad *state) {
	if ok, bad, is := j.builtin(name, argv, c); is {
		return ok, bad
	}
	args := argv[1:]
	if w, is := wrapper(name); is {
		return j.wrapped(w, args, c)
	}
	switch {
	case isShell(name):
		j.shell(args, c)
	case isInterpreter(name):
		j.interpreter(args, c)
	case j.danger(name, args, c):
	case strings.HasPrefix(name, "mkfs") || name == "mke2fs" || name == "mkswap":
		if !onlyHelp(args) {
			j.report(c, Deny, RuleFormat, "it makes a new file system")
		}
	case j.local(argv[0], c.st.dirs):
	default:
		j.power(name, args, c)
	}
	return c.st, c.st
}

// local tells programs called by a relative path that does not lead to where
// the system's programs are, such as ./init.
func (j *judge) local(name string, dirs []string) bool {
	if !strings.Contains(name, "/") || strings.HasPrefix(name, "/") {
		return false
	}
	return !slices.ContainsFunc(dirs, func(dir string) bool {
		where := path.Base(path.Dir(rooted(name, dir)))
		return where == "bin" || where == "sbin"
	})
}
