package shell

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// find judges find, which removes by itself and runs other commands.
func (j *judge) find(args []string, c context) {
	paths, tests := found(args)
	for _, p := range paths {
		for i, t := range tests {
			switch t {
			case "-delete":
				j.remove([]string{"-r", "--", p}, c)
			case "-exec", "-execdir", "-ok", "-okdir":
				var command []string
				for _, a := range tests[i+1:] {
					if a == ";" || a == "+" && len(command) > 0 && command[len(command)-1] == p {
						break
					}
					command = append(command, strings.ReplaceAll(a, "{}", p))
				}
				j.forEach(command, c)
			}
		}
	}
}

// forEach follows a command that is run for paths that were found.
func (j *judge) forEach(command []string, c context) {
	c.st = c.st.clone()
	c.stdin = input{}
	j.run(command, c)
}

// found says what find finds, and returns its tests and actions.
func found(args []string) (paths, tests []string) {
	i := 0
	for ; i < len(args); i++ {
		a := args[i]
		if a == "-H" || a == "-L" || a == "-P" || strings.HasPrefix(a, "-O") {
			continue
		}
		if a == "-D" {
			i++
			continue
		}
		if len(a) > 0 && (a[0] == '-' || a[0] == '(' || a[0] == '!') {
			break
		}
		paths = append(paths, a)
	}
	tests = args[min(i, len(args)):]
	if len(paths) == 0 {
		paths = []string{"."}
	}
	paths = slices.DeleteFunc(paths, func(p string) bool { return p == "" }) // there is no such folder
	for i, p := range paths {
		paths[i] = below(p, narrowed(tests))
	}
	return paths, tests
}

// below is what is found below dir: everything, or some of it.
func below(dir, some string) string {
	return strings.TrimRight(dir, "/") + "/" + every + some
}

// How much a walk of a tree leaves out.
const (
	nothing = ""            // no more than a kind of file
	perhaps = "/" + every   // by age, size, owner: that may be little
	others  = "/" + unknown // all but what has some name
)

// narrowed says how much the tests of find leave out. Of a name only .git
// matters.
func narrowed(tests []string) string {
	out, git := nothing, ""
	not, group, prunes := false, false, false
	for i := 0; i < len(tests); i++ {
		arg := ""
		if i+1 < len(tests) {
			arg = tests[i+1]
		}
		test := strings.TrimLeft(tests[i], "-")
		switch test {
		case "name", "iname", "path", "wholename", "ipath", "regex", "iregex", "lname", "samefile", "inum":
			i++
			switch {
			case everything(strings.ReplaceAll(arg, "/", "")):
			case not || group:
				if out == nothing {
					out = perhaps
				}
			case isGit(path.Base(arg)):
				git = "/" + path.Base(arg)
			default:
				out = others
			}
		case "newer", "mtime", "atime", "ctime", "mmin", "amin", "cmin", "size", "user", "group", "perm", "links", "uid", "gid", "type":
			i++
			if out == nothing && (test != "type" || arg == "l" || arg == "s" || arg == "p") {
				out = perhaps
			}
		case "empty", "nouser", "nogroup", "executable":
			if out == nothing {
				out = perhaps
			}
		case "prune":
			prunes = true
		case "o", "or":
			if prunes { // what was named is what is left out
				out, git = perhaps, ""
			}
		case "exec", "execdir", "ok", "okdir":
			for i < len(tests) && tests[i] != ";" && tests[i] != "+" {
				i++
			}
		}
		group = test != ")" && (group || not && test == "(")
		not = test == "!" || test == "not"
	}
	if git != "" {
		return git
	}
	return out
}

// fd judges fd, whose -x runs a command for what it finds.
func (j *judge) fd(args []string, c context) {
	paths, commands := fdFound(args)
	for _, command := range commands {
		if len(command) == 0 {
			continue
		}
		for _, p := range paths {
			rest := make([]string, len(command), len(command)+1)
			there := false
			for i, a := range command {
				rest[i] = strings.ReplaceAll(a, "{}", p)
				there = there || strings.Contains(a, "{}")
			}
			if !there {
				rest = append(rest, p)
			}
			j.forEach(rest, c)
		}
	}
}

// fdFound says what fd finds, and the commands it runs. It leaves out what is
// hidden or ignored unless it is told not to.
func fdFound(args []string) (paths []string, commands [][]string) {
	some, hidden := nothing, false
	var operands []string
	for i := 0; i < len(args); i++ {
		if command, used := fdCommand(args[i:]); used > 0 {
			commands = append(commands, command)
			i += used - 1
			continue
		}
		switch a := args[i]; a {
		case "-t", "--type", "-d", "--max-depth", "-c", "--color", "-j", "--threads", "--min-depth":
			i++
		case "-e", "--extension":
			some = others
			i++
		case "-E", "--exclude", "-S", "--size", "-o", "--owner", "--changed-within", "--changed-before":
			some = perhaps
			i++
		case "-H", "--hidden", "-u", "--unrestricted", "-I", "--no-ignore":
			hidden = true
		default:
			if len(a) < 2 || a[0] != '-' {
				operands = append(operands, a)
			} else if _, is := amongFlags(a, "HuI", fdValues); is {
				hidden = true
			}
		}
	}
	if len(operands) > 0 {
		if p := strings.Trim(operands[0], "^$"); p != "" && !everything(p) && p != "." {
			some = others
		}
		operands = operands[1:]
	}
	if len(operands) == 0 {
		operands = []string{"."}
		if !hidden {
			some = others
		}
	}
	for _, o := range operands {
		paths = append(paths, below(o, some))
	}
	return paths, commands
}

// fdValues are the short options of fd that take a value.
const fdValues = "tdcjeESoC"

// fdCommand reads the command that fd is to run, up to a semicolon, and says
// how many arguments that takes; none if args begin with something else.
func fdCommand(args []string) (command []string, used int) {
	a := args[0]
	name, val, joined := strings.Cut(a, "=")
	switch {
	case name == "--exec" || name == "--exec-batch":
	default:
		val, joined = amongFlags(a, "xX", fdValues)
		if !joined {
			return nil, 0
		}
		val = strings.TrimPrefix(val, "=")
		joined = val != ""
	}
	command, used = args[1:], len(args)
	if i := slices.Index(command, ";"); i >= 0 {
		command, used = command[:i], i+2
	}
	if joined {
		command = append([]string{val}, command...)
	}
	return command, used
}

// listed says which paths commands print, one a line; it is empty when that is
// not known.
func (j *judge) listed(list []*syntax.Stmt, c context) []string {
	if len(list) != 1 {
		return nil
	}
	b, is := list[0].Cmd.(*syntax.BinaryCmd)
	if !is || b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
		return j.lists(list[0], c)
	}
	list = stages(b)
	var paths []string
	if text, known := j.output(list[:1], c); known {
		paths = strings.Fields(text)
	} else {
		paths = j.lists(list[0], c)
	}
	for _, s := range list[1:] {
		paths = j.through(paths, s, c)
	}
	return paths
}

// through says which of paths the next command of a pipeline prints.
func (j *judge) through(paths []string, s *syntax.Stmt, c context) []string {
	if len(paths) == 0 {
		return nil
	}
	some, known := j.filters(s, c)
	if !known {
		return nil
	}
	paths = slices.Clone(paths)
	for i, p := range paths {
		if some != nothing && everything(path.Base(p)) {
			paths[i] = below(path.Dir(p), some)
		}
	}
	return paths
}

// words are the arguments of a simple command, without what runs it as it is.
func (j *judge) words(s *syntax.Stmt, c context) []string {
	call, is := s.Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) == 0 || s.Negated {
		return nil
	}
	switch base(literal(call.Args[0])) { // cheap, before words are expanded
	case "find", "gfind", "fd", "fdfind", "ls", "gls", "command", "builtin", "sudo", "doas", "nice", "env", "time",
		"sort", "uniq", "cat", "tac", "tee", "tr", "shuf", "nl", "head", "tail", "sed", "awk", "cut", "grep", "egrep", "fgrep", "rg":
	default:
		return nil
	}
	var argv []string
	j.one(c, func(x *expander) { argv = x.fields(call.Args) })
	for len(argv) > 0 {
		switch base(argv[0]) {
		case "command", "builtin", "sudo", "doas", "nice", "env", "time":
			argv = argv[1:]
			continue
		}
		break
	}
	return argv
}

// lists says which paths one command prints.
func (j *judge) lists(s *syntax.Stmt, c context) []string {
	argv := j.words(s, c)
	if len(argv) == 0 {
		return nil
	}
	switch base(argv[0]) {
	case "find", "gfind":
		paths, _ := found(argv[1:])
		return paths
	case "fd", "fdfind":
		if paths, commands := fdFound(argv[1:]); len(commands) == 0 {
			return paths
		}
	case "ls", "gls":
		return shown(argv[1:])
	}
	return nil
}

// shown says what ls prints: the paths it is given, or the names in folders,
// which whoever reads them takes for names where he is.
func shown(args []string) []string {
	var paths []string
	folders, some := true, perhaps
	for _, a := range args {
		switch {
		case a == "--directory":
			folders = false
		case a == "--all" || a == "--almost-all":
			some = nothing
		case len(a) > 1 && a[0] == '-' && a[1] == '-':
		case len(a) > 1 && a[0] == '-':
			folders = folders && !strings.Contains(a, "d")
			if strings.ContainsAny(a, "aA") {
				some = nothing
			}
		default:
			paths = append(paths, a)
		}
	}
	if folders { // a pattern finds files too
		paths = slices.DeleteFunc(paths, func(p string) bool { return !strings.ContainsAny(p, "*?[") })
	}
	if len(paths) == 0 {
		paths = []string{below(".", some)}
	}
	return paths
}

// filters says how much a command in a pipeline leaves out of the lines that
// go through it.
func (j *judge) filters(s *syntax.Stmt, c context) (some string, known bool) {
	argv := j.words(s, c)
	if len(argv) == 0 {
		return "", false
	}
	switch base(argv[0]) {
	case "sort", "uniq", "cat", "tac", "tee", "tr", "shuf", "nl":
		return nothing, true
	case "head", "tail", "sed", "awk", "cut":
		return perhaps, true
	case "grep", "egrep", "fgrep", "rg":
		for _, a := range argv[1:] {
			if a == "--invert-match" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "v") {
				return perhaps, true
			}
		}
		return others, true
	}
	return "", false
}
