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
	matters, asked, follow := false, false, false
	c.moving = c.moving || !j.blind && moves(cmd.Args)
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
		if len(argv) > 0 {
			_, defined := c.st.funcs[argv[0]]
			matters = matters || onList(argv[0])
			follow = follow || matters || defined || followed(base(argv[0]))
		}
		return true
	})
	if !all && matters {
		j.report(c, Ask, RuleUnclear, Because("too-many-meanings", "it may mean too many things to be followed"))
	}
	if follow && !c.guess && (asked || len(before.ifUnset) > 0 || len(c.stdin.ifUnset) > 0) {
		for _, d := range j.guessed(cmd, words, c) {
			if !slices.Contains(after.dirs, d) {
				after.ifUnset = union(after.ifUnset, []string{d})
			}
		}
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

// guessed follows a command once more as if what is not known were empty. It
// returns where the shell is after that.
func (j *judge) guessed(cmd *syntax.CallExpr, words, c context) (dirs []string) {
	words.guess, c.guess = true, true
	words.st, c.st = words.st.clone(), c.st.clone()
	all := union(c.st.dirs, c.st.ifUnset)
	words.st.dirs, words.st.ifUnset = all, nil
	c.st.dirs, c.st.ifUnset = all, nil
	if len(c.stdin.ifUnset) > 0 {
		c.stdin.paths = c.stdin.ifUnset
	}
	j.each(words, func(x *expander) bool {
		cc := c
		cc.st = c.st.clone()
		ok, _ := j.run(x.fields(cmd.Args), cc)
		dirs = union(dirs, ok.dirs)
		return true
	})
	return dirs
}

// assign notes what a variable holds from now on.
func (j *judge) assign(a *syntax.Assign, c context) {
	if a.Name == nil {
		return
	}
	if a.Naked {
		return
	}
	v, asked := j.assigned(a, c)
	if asked && !c.guess {
		c.guess = true
		v.ifUnset, _ = j.assigned(a, c)
	}
	j.keep(a.Name.Value, v, c)
	for _, text := range v.texts {
		j.expanded(a.Name.Value, text, c)
	}
}

// assigned is what an assignment puts into a variable, and whether something
// unknown that may be empty went into it.
func (j *judge) assigned(a *syntax.Assign, c context) (v *value, asked bool) {
	name := a.Name.Value
	v = &value{}
	note := func(x *expander) { asked = asked || x.asked }
	switch {
	case a.Array != nil:
		v.array = true
		if old := c.st.vars[name]; a.Append && old != nil && old.array {
			v.list = slices.Clone(old.list)
		}
		var words []*syntax.Word
		for _, e := range a.Array.Elems {
			words = append(words, e.Value)
		}
		j.one(c, func(x *expander) { v.list = append(v.list, x.fields(words)...); note(x) })
	case a.Index != nil:
		old := c.st.vars[name]
		if old != nil && old.array {
			v.list = slices.Clone(old.list)
		}
		v.array = true
		j.one(c, func(x *expander) { v.list = append(v.list, x.single(a.Value)); note(x) })
	default:
		j.each(c, func(x *expander) bool {
			text := x.single(a.Value)
			if a.Append {
				text = x.lookup(name).text + text
			}
			v.add(text)
			note(x)
			return true
		})
	}
	return v, asked
}

// run follows a command by its arguments.
func (j *judge) run(argv []string, c context) (ok, bad *state) {
	if j.steps++; j.steps > maxSteps {
		j.report(c, Ask, RuleUnclear, Because("takes-too-long", "it takes too long to be followed"))
		return c.st, c.st
	}
	if len(argv) == 0 {
		return c.st, c.st
	}
	name := argv[0]
	j.parts.run(argv, c)
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
		j.fetched(c)
	case strings.ContainsAny(name, unknown+every):
		j.remove(argv[1:], c) // it may be rm
		c.moving = true
		if name == unknown { // or nothing, or a wrapper
			return j.run(argv[1:], c)
		}
	case name != "[" && strings.ContainsAny(name, "*?["):
		c.moving = true
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
	if strings.ContainsAny(name, unknown+fetched+every+"*?[") {
		return true
	}
	name = base(name)
	_, wraps := wrapper(name)
	return wraps || slices.Contains(names(), name) || isShell(name)
}

// followed tells what else is followed with what is not known taken for empty:
// what changes the folder, runs a text, or is looked at by danger.
func followed(name string) bool {
	switch name {
	case "cd", "pushd", "popd", "eval", "trap", "alias", ".", "source", "fd", "fdfind", "grm", "srm",
		"chmod", "chown", "chgrp", "mv", "gmv", "rsync":
		return true
	}
	return false
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
			j.report(c, Deny, RuleFormat, Because("new-file-system", "it makes a new file system"))
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
