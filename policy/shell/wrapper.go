package shell

import (
	"cmp"
	"slices"
	"strings"
)

// wrapped follows the command inside of a wrapper and returns the states
// after it, as stmt does.
func (j *judge) wrapped(w wrapping, args []string, c context) (ok, bad *state) {
	if w.root {
		j.report(c, Ask, RuleRoot, Because("another-user", "it runs as another user"))
	}
	if w.special == "find" {
		j.find(args, c)
		return c.st, c.st
	}
	c.st = c.st.clone()
	before := c.st.clone()
	if w.special == "runuser" && !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "-u") || strings.HasPrefix(a, "--us") }) {
		w.special = "su"
	}
	rest, replace, runs := j.options(w, args, c)
	if w.special == "chrt" && len(rest) > 0 && strings.Trim(rest[0], "0123456789") != "" && !strings.Contains(rest[0], unknown) {
		w.skip = 0 // some policies need no priority
	}
	for w.assigns && len(rest) > 0 && isAssign(rest[0]) {
		name, val, _ := strings.Cut(rest[0], "=")
		c.st.set(name, &value{texts: []string{val}})
		j.expanded(name, val, c)
		rest = rest[1:]
	}
	if !runs || len(rest) < w.skip {
		return before, before
	}
	rest = rest[w.skip:]
	switch w.special {
	case "su":
		if c.stdin.known {
			j.again(c.stdin.text, c)
		}
		return before, before
	case "script":
		if len(rest) > 1 { // script FILE COMMAND, as in BSD
			j.run(rest[1:], c)
		}
		return before, before
	case "text":
		j.again(strings.Join(rest, " "), c)
		return before, before
	case "texts":
		for _, text := range rest {
			j.again(text, c)
		}
		return before, before
	case "parallel":
		j.parallel(rest, replace, c)
		return before, before
	case "flock":
		if len(rest) > 1 && (rest[0] == "-c" || rest[0] == "--command") {
			j.again(rest[1], c)
			return before, before
		}
	case "xargs":
		rest = appended(rest, replace, c.stdin)
		c.stdin = input{}
	}
	if len(rest) == 0 {
		if w.root { // sudo -s is a shell
			j.shell(nil, c)
		}
		return before, before
	}
	c.st.own()
	if f := c.st.funcs[rest[0]]; f == nil || !f.path || w.special != "command" && w.special != "exec" {
		delete(c.st.funcs, rest[0]) // not the function of that name
	}
	ok, bad = j.run(rest, c)
	if w.special == "builtin" || w.special == "command" { // may be cd or set
		if f, was := before.funcs[rest[0]]; was {
			ok, bad = ok.clone(), bad.clone()
			ok.define(rest[0], f)
			bad.define(rest[0], f)
		}
		return ok, bad
	}
	return before, before
}

// options reads the options of a wrapper and judges the texts among them. It
// returns what follows them, what xargs is to replace, and whether a command
// is run at all.
func (j *judge) options(w wrapping, rest []string, c context) (left []string, replace string, runs bool) {
	for len(rest) > 0 {
		a := rest[0]
		if a == "--" {
			return rest[1:], replace, true
		}
		if a == "-" && w.special == "env" { // the same as -i
			rest = rest[1:]
			continue
		}
		if len(a) < 2 || a[0] != '-' {
			if w.special != "su" && w.special != "script" || !anyOption(rest) {
				break
			}
			if w.special == "script" && len(rest) > 1 && !strings.HasPrefix(rest[1], "-") { // script FILE COMMAND, as in BSD
				j.run(rest[1:], c)
			}
			rest = append(rest[1:len(rest):len(rest)], a) // options may follow
			continue
		}
		used, option, val := w.option(rest)
		if len(rest) > 1 && used == 1 && !w.knows(a) && c.alts < maxAlts {
			cc := c // it may take what follows it for its value
			cc.alts++
			cc.moving = true
			j.wrapped(w, rest[2:], cc)
		}
		switch {
		case w.special == "command" && strings.ContainsAny(option, "vV"):
			return nil, "", false // only says what it is
		case w.special == "env" && (option == "S" || option == "--split-string"):
			rest = append(splitString(val), rest[used:]...)
			continue
		case w.special == "coreutils" && option == "--coreutils-prog":
			return append([]string{val}, rest[used:]...), replace, true
		case w.folder != "" && option == w.folder, option == "--chdir", option == "--working-directory", option == "--wd":
			j.cd("cd", []string{val}, c)
		case (w.special == "xargs" || w.special == "parallel") && (option == "I" || option == "J" || option == "--replace" || option == "i"):
			replace = cmp.Or(val, "{}")
		}
		if w.texts[option] {
			j.again(val, c)
		}
		rest = rest[used:]
	}
	return rest, replace, true
}

func anyOption(args []string) bool {
	for _, a := range args {
		if len(a) > 1 && a[0] == '-' {
			return true
		}
	}
	return false
}

func isAssign(s string) bool {
	name, _, ok := strings.Cut(s, "=")
	return ok && name != "" && !strings.ContainsAny(name, "/-. \t")
}

// option reads one option with its value: how many arguments it takes, its
// name (a letter, or --name) and the value.
func (w wrapping) option(args []string) (used int, name, val string) {
	a := args[0]
	if strings.HasPrefix(a, "--") {
		name, val, has := strings.Cut(a, "=")
		if strings.Contains(w.pairs, " "+name+" ") {
			return min(3, len(args)), name, ""
		}
		name = w.full(name)
		if !has && (w.texts[name] || strings.Contains(w.longs, " "+name+" ")) && len(args) > 1 {
			return 2, name, args[1]
		}
		return 1, name, val
	}
	for i := 1; i < len(a); i++ {
		letter := a[i : i+1]
		if strings.Contains(w.joined, letter) {
			return 1, letter, a[i+1:]
		}
		if !w.texts[letter] && !strings.Contains(w.values, letter) {
			continue
		}
		if i+1 < len(a) {
			return 1, letter, a[i+1:]
		}
		if len(args) > 1 {
			return 2, letter, args[1]
		}
		return 1, letter, ""
	}
	return 1, a[1:], ""
}

// full is the long option that is meant by its first letters.
func (w wrapping) full(name string) string {
	if strings.Contains(w.longs+w.switches, " "+name+" ") || len(name) < 3 {
		return name
	}
	for long := range strings.FieldsSeq(w.longs + w.switches) {
		if strings.HasPrefix(long, name) {
			return long
		}
	}
	for long := range w.texts {
		if strings.HasPrefix(long, name) {
			return long
		}
	}
	return name
}

// knows reports whether it is known whether an option takes a value.
func (w wrapping) knows(a string) bool {
	if strings.HasPrefix(a, "--") {
		name, _, has := strings.Cut(a, "=")
		name = w.full(name)
		return has || strings.Trim(name, "-0123456789") == "" || w.texts[name] || strings.Contains(w.longs+w.switches+w.pairs, " "+name+" ")
	}
	for i := 1; i < len(a); i++ {
		letter := a[i : i+1]
		switch {
		case w.texts[letter], strings.Contains(w.values+w.joined, letter):
			return true
		case !strings.Contains(w.flags+"0123456789", letter):
			return false
		}
	}
	return true
}

// splitString takes apart what env -S is given: quotes and backslashes are
// its own, variables are those of the environment.
func splitString(s string) (words []string) {
	var word strings.Builder
	begun, quote := false, byte(0)
	end := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for i := 0; i < len(s); i++ {
		ch := s[i]
		switch {
		case ch == '\\' && i+1 < len(s) && (quote != '\'' || s[i+1] == '\'' || s[i+1] == '\\'):
			i++
			switch {
			case s[i] == 'c' && quote == 0:
				end()
				return words
			case s[i] == '_' && quote == 0:
				end()
				continue
			case strings.IndexByte("fnrtv_", s[i]) >= 0:
				word.WriteByte(' ')
			default:
				word.WriteByte(s[i])
			}
			begun = true
		case ch == '$' && quote != '\'' && i+1 < len(s) && s[i+1] == '{':
			n := strings.IndexByte(s[i:], '}')
			if n < 0 {
				n = len(s) - i - 1
			}
			i += n
			word.WriteString(unknown)
			begun = true
		case quote == 0 && (ch == '\'' || ch == '"'):
			quote, begun = ch, true
		case ch == quote && quote != 0:
			quote = 0
		case quote == 0 && strings.IndexByte(" \t\n\v\f\r", ch) >= 0:
			end()
		case quote == 0 && ch == '#' && !begun:
			return words
		default:
			word.WriteByte(ch)
			begun = true
		}
	}
	end()
	return words
}

// parallel follows what GNU parallel runs: texts for a shell, made of its
// arguments and of what comes behind ::: or is read.
func (j *judge) parallel(args []string, replace string, c context) {
	command, values := args, []string(nil)
	for i, a := range args {
		if strings.HasPrefix(a, ":::") && strings.Trim(a, ":+") == "" {
			command, values = args[:i], args[i+1:]
			if strings.HasPrefix(a, "::::") {
				values = []string{unknown}
			}
			break
		}
	}
	if values == nil {
		switch {
		case c.stdin.known:
			values = strings.Split(strings.TrimRight(c.stdin.text, "\n"), "\n")
		case len(c.stdin.paths) > 0:
			values = c.stdin.paths
		case len(command) == 0 && c.stdin.piped:
			j.piped(c)
			return
		default:
			values = []string{unknown}
		}
	}
	c.stdin = input{}
	text := strings.Join(command, " ")
	for _, v := range values {
		if strings.HasPrefix(v, ":::") {
			continue
		}
		run := strings.NewReplacer(cmp.Or(replace, "{}"), v, "{.}", v, "{/}", v, "{//}", v, "{/.}", v, "{1}", v).Replace(text)
		if run == text {
			run = strings.TrimSpace(text + " " + v)
		}
		j.again(run, c)
	}
}

// appended adds what xargs reads to the command it runs.
func appended(command []string, replace string, in input) []string {
	more := []string{unknown}
	if in.known {
		more = strings.Fields(in.text)
	} else if in.fetched {
		more = []string{fetched}
	} else if len(in.paths) > 0 {
		more = in.paths
	}
	if replace == "" {
		return append(command[:len(command):len(command)], more...)
	}
	out := make([]string, len(command))
	for i, a := range command {
		out[i] = strings.ReplaceAll(a, replace, strings.Join(more, " "))
	}
	return out
}

func isShell(name string) bool {
	switch name {
	case "sh", "bash", "dash", "zsh", "ksh", "ksh93", "mksh", "ash", "fish", "rbash", "yash", "csh", "tcsh", "lksh":
		return true
	}
	return false
}

func isInterpreter(name string) bool {
	switch strings.TrimRight(name, "0123456789.") {
	case "python", "pypy", "perl", "ruby", "node", "nodejs", "php", "lua", "luajit", "deno", "bun", "osascript", "pwsh", "tclsh", "Rscript":
		return true
	}
	return false
}

// isStdin tells the names of standard input.
func isStdin(path string) bool {
	switch path {
	case "-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		return true
	}
	return false
}

// shell follows a call of a shell: its text, or where its text comes from.
func (j *judge) shell(args []string, c context) {
	inner := c
	inner.st = c.st.clone()
	inner.st.args, inner.st.anyArg = nil, false
	rest, text, stdin := args, false, false
	for len(rest) > 0 && len(rest[0]) > 1 && (rest[0][0] == '-' || rest[0][0] == '+') {
		a := rest[0]
		rest = rest[1:]
		if a == "--" {
			break
		}
		if strings.HasPrefix(a, "--") {
			if a == "--rcfile" || a == "--init-file" {
				rest = rest[min(1, len(rest)):]
			}
			continue
		}
		text = text || strings.Contains(a, "c") && a[0] == '-'
		stdin = stdin || strings.Contains(a, "s") && a[0] == '-'
		if strings.ContainsAny(a, "oO") {
			rest = rest[min(1, len(rest)):]
		}
	}
	switch {
	case text:
		if len(rest) > 0 {
			if len(rest) > 2 {
				inner.st.args = rest[2:]
			}
			j.again(rest[0], inner)
		}
	case stdin || len(rest) == 0 || isStdin(rest[0]):
		if c.stdin.piped {
			j.piped(c)
		}
		if c.stdin.known {
			inner.stdin = input{}
			j.again(c.stdin.text, inner)
		}
	case strings.ContainsAny(rest[0], process+fetched):
		j.piped(c)
		if f := j.file(rest[0]); f.known {
			j.again(f.text, inner)
		}
	}
}

// interpreter judges where a program for another interpreter comes from. What
// such a program does is not seen.
func (j *judge) interpreter(args []string, c context) {
	for i, a := range args {
		switch {
		case i > 0 && (args[i-1] == "-W" || args[i-1] == "-X"): // the value of python's option
		case isStdin(a):
			j.pipedProgram(c)
			return
		case len(a) > 1 && a[0] == '-':
			if a == "-c" || a == "-e" || a == "-m" || a == "-p" || a == "-r" || a == "--eval" || a == "--print" || a == "-pe" || a == "-ne" {
				if i+1 < len(args) && strings.Contains(args[i+1], fetched) {
					j.fetched(c)
				}
				return
			}
			if a[1] != '-' && strings.ContainsAny(a[1:], "cem") && len(a) > 2 { // -Bc, -lane, -mjson.tool
				return
			}
			if a == "--version" || a == "-V" || a == "--help" || a == "-v" {
				return
			}
		default:
			if strings.ContainsAny(a, process+fetched) {
				j.piped(c)
			}
			return
		}
	}
	j.pipedProgram(c)
}

// pipedProgram judges a program on standard input of an interpreter that is no
// shell. "cat x.py | python3" is "python3 x.py", which runs; with a shell the
// list names every pipe.
func (j *judge) pipedProgram(c context) {
	if c.stdin.piped && !c.stdin.saved && (!c.stdin.known || strings.Contains(c.stdin.text, fetched)) {
		j.piped(c)
	}
}
