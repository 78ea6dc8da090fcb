package shell

import (
	"path"
	"slices"
	"strings"
)

// builtin follows what changes the shell itself.
func (j *judge) builtin(name string, argv []string, c context) (ok, bad *state, is bool) {
	args := argv[1:]
	if j.runs(name, args, c) {
		return c.st, c.st, true
	}
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
		j.read(name, args, c)
	case "printf":
		if len(args) > 1 && args[0] == "-v" {
			v := &value{texts: []string{unknown}}
			if text, known := formatted(args[2:]); known {
				v.texts[0] = text
			}
			j.keep(args[1], v, c)
		}
	case "export", "declare", "typeset", "local", "readonly":
		for _, a := range args {
			if name, text, found := strings.Cut(a, "="); found {
				j.keep(name, &value{texts: []string{text}}, c)
				j.expanded(name, text, c)
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
			j.fetched(c)
		} else if len(args) > 0 && isStdin(args[0]) {
			if c.stdin.piped {
				j.piped(c)
			}
			if c.stdin.known {
				return both(j.again(c.stdin.text, c))
			}
		} else if len(args) > 0 {
			if f := j.file(args[0]); f.known {
				return both(j.again(f.text, c))
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
		j.fetched(c)
	}
	text = strings.NewReplacer(unknown, "${"+unknownVar+"}", fetched, "${"+fetchedVar+"}", every, "${"+everyVar+"}", process, "").Replace(text)
	j.steps += len(text) / 64 // reading it again takes time too
	return j.text(text, c)
}

// lost stands for a folder of which nothing is known, not even that somebody
// knows it.
const lost = nowhere + "/\x01/lost"

// cd changes where the shell may be.
func (j *judge) cd(name string, args []string, c context) *state {
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		args = args[1:]
	}
	st := c.st
	var to []string
	switch {
	case name == "popd" || name == "pushd" && len(args) == 0:
		if len(st.stack) > 0 {
			to = st.stack[0]
		}
	case len(args) == 0:
		to = []string{j.home}
	case args[0] == "-":
		to = st.prev
	case args[0] == "" && !c.guess:
		to = st.dirs // bash stays
	case args[0] != "":
		for _, d := range st.dirs {
			to = append(to, rooted(args[0], d))
		}
	}
	switch {
	case name == "popd" && len(st.stack) > 0:
		st.stack = st.stack[1:]
	case name == "pushd":
		st.stack = append([][]string{st.dirs}, st.stack[min(len(st.stack), 1-min(1, len(args))):]...)
	}
	st.prev, st.ifUnset = st.dirs, nil
	if len(to) == 0 && c.guess {
		to = []string{lost}
	} else if len(to) == 0 {
		to, st.ifUnset = []string{"/" + unknown + "/" + unknown}, []string{lost}
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

// read notes what read and mapfile put into variables.
func (j *judge) read(name string, args []string, c context) {
	values, array, standard := "dinNptu", "", "REPLY"
	if name != "read" {
		values, standard = "dnOsuCc", "MAPFILE"
	}
	whole := name != "read" // not only a line of it
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		used, option, val := wrapping{values: values + "a"}.option(args)
		switch option {
		case "a":
			array = val
		case "d":
			whole = true
		}
		args = args[used:]
	}
	if len(args) == 0 {
		args = []string{standard}
	}
	lines := []string{unknown}
	switch in := c.stdin; {
	case in.fetched:
		lines[0] = fetched
	case in.known && whole && name == "read":
		lines = append(strings.Split(in.text, "\n"), in.text)
	case in.known: // read may be called again, for a line further on
		lines = strings.Split(strings.TrimRight(in.text, "\n"), "\n")
	case len(in.paths) > 0:
		lines = in.paths
	}
	if name != "read" {
		j.keep(args[0], &value{array: true, list: lines}, c)
		return
	}
	j.split(lines, args, array, c)
}

// split puts the fields of lines into variables as read does.
func (j *judge) split(lines, names []string, array string, c context) {
	var ifs string
	j.one(c, func(x *expander) { ifs = x.lookup("IFS").text })
	between := func(r rune) bool { return strings.ContainsRune(ifs, r) }
	if array != "" {
		v := &value{array: true}
		for _, l := range lines {
			v.list = append(v.list, strings.FieldsFunc(l, between)...)
		}
		j.keep(array, v, c)
		return
	}
	for i, n := range names {
		v := &value{}
		for _, l := range lines {
			fields := strings.FieldsFunc(l, between)
			switch {
			case l == unknown || l == fetched:
				v.add(l)
			case i == len(names)-1 && i == 0:
				v.add(strings.TrimFunc(l, between))
			case i == len(names)-1 && i < len(fields):
				v.add(strings.Join(fields[i:], " "))
			case i < len(fields):
				v.add(fields[i])
			default:
				v.add("")
			}
		}
		j.keep(n, v, c)
	}
}
