package shell

import (
	"path"
	"slices"
	"strings"
)

// builtin follows what changes the shell itself.
func (j *judge) builtin(name string, argv []string, c context) (ok, bad *state, is bool) {
	args := argv[1:]
	switch name {
	case "cd", "pushd", "popd":
		bad = c.st.clone()
		return j.cd(name, args, c), bad, true
	case "set":
		if i := slices.Index(args, "--"); i >= 0 {
			c.st.args, c.st.anyArg = args[i+1:], false
		} else if len(args) > 0 && args[0] != "" && args[0][0] != '-' && args[0][0] != '+' {
			c.st.args, c.st.anyArg = args, false
		}
	case "shift":
		if len(c.st.args) > 0 && len(args) == 0 {
			c.st.args = c.st.args[1:]
		} else {
			c.st.args, c.st.anyArg = nil, true
		}
	case "unset":
		c.st.own()
		for _, a := range args {
			delete(c.st.funcs, a)
			c.st.vars[a] = &value{}
		}
	case "read", "mapfile", "readarray":
		j.read(args, c)
	case "printf":
		if len(args) > 1 && args[0] == "-v" {
			v := &value{texts: []string{unknown}}
			if text, known := formatted(args[2:]); known {
				v.texts[0] = text
			}
			c.st.set(args[1], v)
		}
	case "export", "declare", "typeset", "local", "readonly":
		for _, a := range args {
			if name, text, found := strings.Cut(a, "="); found {
				c.st.set(name, &value{texts: []string{text}})
			}
		}
	case "eval":
		return both(j.again(strings.Join(args, " "), c))
	case "trap":
		args = dropDashes(args)
		if len(args) > 1 && args[0] != "-" {
			j.again(args[0], c)
		}
	case "alias":
		for _, a := range args {
			if _, text, found := strings.Cut(a, "="); found {
				j.again(text, c)
			}
		}
	case ".", "source":
		if args = dropDashes(args); len(args) > 0 && strings.Contains(args[0], fetched) {
			j.report(c, Ask, RulePiped, "it runs text that comes from the network or was decoded")
		} else if len(args) > 0 && isStdin(args[0]) {
			if c.stdin.piped {
				j.report(c, Ask, RulePiped, "it runs what comes through a pipe")
			}
			if c.stdin.known {
				return both(j.again(c.stdin.text, c))
			}
		} else if len(args) > 0 {
			if text, known := j.file(args[0]); known {
				return both(j.again(text, c))
			}
		}
	default:
		return nil, nil, false
	}
	return c.st, c.st, true
}

func both(st *state) (ok, bad *state, is bool) { return st, st, true }

func dropDashes(args []string) []string {
	if len(args) > 0 && args[0] == "--" {
		return args[1:]
	}
	return args
}

// again judges a text that a command runs, with what is unknown put back in as
// variables.
func (j *judge) again(text string, c context) *state {
	if strings.Contains(text, fetched) {
		j.report(c, Ask, RulePiped, "it runs text that comes from the network or was decoded")
	}
	text = strings.NewReplacer(unknown, "${"+unknownVar+"}", fetched, "${"+fetchedVar+"}", process, "").Replace(text)
	j.steps += len(text) / 64 // reading it again takes time too
	return j.text(text, c)
}

// cd changes where the shell may be.
func (j *judge) cd(name string, args []string, c context) *state {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		args = args[1:]
	}
	st := c.st
	var to []string
	switch {
	case name == "popd" || len(args) > 0 && (args[0] == "-" || args[0] == ""):
		to = []string{"/" + unknown + "/" + unknown}
	case len(args) == 0:
		to = []string{j.home}
	default:
		for _, d := range st.dirs {
			to = append(to, rooted(args[0], d))
		}
	}
	st.dirs = to
	return st
}

// rooted makes an absolute path, without links being looked at.
func rooted(p, dir string) string {
	if strings.HasPrefix(p, unknown) || strings.HasPrefix(p, fetched) {
		return "/" + unknown + "/" + unknown + path.Clean("/"+p[1:])
	}
	if !strings.HasPrefix(p, "/") {
		p = dir + "/" + p
	}
	return path.Clean(p)
}

// read notes what the read builtin puts into variables.
func (j *judge) read(args []string, c context) {
	var names []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if len(a) > 1 && a[0] == '-' {
			if strings.IndexByte("adinNptuOsCc", a[len(a)-1]) >= 0 && a[len(a)-1] != 's' && a[len(a)-1] != 'a' {
				i++
			}
			continue
		}
		names = append(names, a)
	}
	for _, n := range names {
		v := &value{texts: []string{unknown}}
		if c.stdin.fetched {
			v.texts[0] = fetched
		}
		if c.stdin.known && len(names) == 1 {
			line, _, _ := strings.Cut(c.stdin.text, "\n")
			v.texts[0] = strings.Trim(line, " \t")
		}
		c.st.set(n, v)
	}
}
