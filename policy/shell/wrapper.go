package shell

import (
	"strings"
)

// wrapping says how a program that runs another one is called:
//
//	name [options] [assignments] [skip arguments] command [arguments]
type wrapping struct {
	values  string          // short options that take a value
	longs   string          // long options that take one, each between blanks
	skip    int             // arguments before the command
	assigns bool            // NAME=value may stand before the command
	root    bool            // it runs the command as another user
	texts   map[string]bool // options whose value is a text for a shell: "-c"
	folder  string          // the option for the folder it runs the command in, a letter
	special string
}

// wrapper tells the wrappers by name.
func wrapper(name string) (wrapping, bool) {
	switch name {
	case "command", "builtin", "exec", "nohup", "setsid", "eatmydata", "fakeroot", "catchsegv", "dbus-run-session", "unbuffer":
		return wrapping{values: "a", special: name}, true
	case "env":
		return wrapping{values: "uCS", longs: " --unset --chdir --split-string ", folder: "C", assigns: true, special: name}, true
	case "nice":
		return wrapping{values: "n", longs: " --adjustment "}, true
	case "ionice":
		return wrapping{values: "cnpPu", longs: " --class --classdata "}, true
	case "chrt":
		return wrapping{values: "TPD", skip: 1}, true
	case "taskset", "setarch", "numactl":
		if name == "numactl" {
			return wrapping{values: "iNmCp"}, true
		}
		return wrapping{skip: 1}, true
	case "linux32", "linux64", "i386", "x86_64":
		return wrapping{}, true
	case "timeout", "gtimeout":
		return wrapping{values: "ks", longs: " --kill-after --signal ", skip: 1}, true
	case "time", "gtime":
		return wrapping{values: "fo", longs: " --format --output "}, true
	case "stdbuf", "gstdbuf":
		return wrapping{values: "ioe", longs: " --input --output --error "}, true
	case "xargs", "gxargs":
		return wrapping{values: "aEIJLnPsRSd", longs: " --arg-file --delimiter --max-lines --max-args --max-procs --max-chars --replace --process-slot-var ", special: "xargs"}, true
	case "parallel":
		return wrapping{values: "jNnIaSd", longs: " --jobs --arg-file --delimiter --max-args ", special: "xargs"}, true
	case "busybox", "toybox", "coreutils":
		return wrapping{}, true
	case "chroot":
		return wrapping{longs: " --groups --userspec ", skip: 1}, true
	case "unshare", "nsenter":
		return wrapping{values: "tSGRw", folder: "w", longs: " --target --setuid --setgid --root --wd --map-user --map-group "}, true
	case "strace", "ltrace":
		return wrapping{values: "abeEIoOpPsSuUX", longs: " --output --trace --attach "}, true
	case "watch":
		return wrapping{values: "nq", longs: " --interval ", special: "text"}, true
	case "script":
		return wrapping{texts: map[string]bool{"c": true, "--command": true}, special: "script"}, true
	case "flock":
		return wrapping{values: "wE", longs: " --timeout --wait --conflict-exit-code ", skip: 1, special: "flock"}, true
	case "prlimit":
		return wrapping{values: "po", longs: " --pid --output "}, true
	case "systemd-run":
		return wrapping{values: "pMHEut", longs: " --property --machine --unit --slice --uid --gid --description --working-directory --setenv "}, true
	case "systemd-inhibit":
		return wrapping{longs: " --what --who --why --mode "}, true
	case "ssh-agent", "xvfb-run", "proot", "bwrap":
		return wrapping{values: "satenfrbw", longs: " --server-args "}, true
	case "sudo", "doas":
		return wrapping{values: "ugpChDrtTRUaA", longs: " --user --group --prompt --close-from --host --chdir --role --type --command-timeout --chroot --other-user ", folder: "D", assigns: true, root: true}, true
	case "pkexec", "run0":
		return wrapping{values: "uDg", longs: " --user --group --chdir --unit ", folder: "D", root: true}, true
	case "su", "runuser":
		return wrapping{values: "uGgsw", longs: " --user --group --shell ", root: true, special: name,
			texts: map[string]bool{"c": true, "--command": true, "--session-command": true}}, true
	case "gosu", "su-exec", "setpriv", "chpst":
		return wrapping{values: "u", root: name != "setpriv", skip: 1}, true
	case "find":
		return wrapping{special: name}, true
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		return wrapping{longs: " --library-path --argv0 --preload --audit "}, true
	}
	return wrapping{}, false
}

// wrapped follows the command inside of a wrapper and returns the states
// after it, as stmt does.
func (j *judge) wrapped(w wrapping, args []string, c context) (ok, bad *state) {
	if w.root {
		j.report(c, Ask, RuleRoot, "it runs as another user")
	}
	if w.special == "find" {
		j.find(args, c)
		return c.st, c.st
	}
	c.st = c.st.clone()
	before := c.st.clone()
	rest, replace, runs := j.options(w, args, c)
	for w.assigns && len(rest) > 0 && isAssign(rest[0]) {
		name, val, _ := strings.Cut(rest[0], "=")
		c.st.set(name, &value{texts: []string{val}})
		rest = rest[1:]
	}
	if !runs || len(rest) < w.skip {
		return before, before
	}
	rest = rest[w.skip:]
	switch w.special {
	case "su", "script":
		if w.root && c.stdin.known {
			j.again(c.stdin.text, c)
		}
		return before, before
	case "text":
		j.again(strings.Join(rest, " "), c)
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
	delete(c.st.funcs, rest[0]) // not the function of that name
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
		if len(a) < 2 || a[0] != '-' {
			if w.special != "su" && w.special != "script" || !anyOption(rest) {
				break
			}
			rest = append(rest[1:len(rest):len(rest)], a) // options may follow
			continue
		}
		used, option, val := w.option(rest)
		switch {
		case w.special == "command" && strings.ContainsAny(option, "vV"):
			return nil, "", false // only says what it is
		case w.special == "env" && (option == "S" || option == "--split-string"):
			rest = append(strings.Fields(val), rest[used:]...)
			continue
		case w.folder != "" && option == w.folder, option == "--chdir", option == "--working-directory", option == "--wd":
			j.cd("cd", []string{val}, c)
		case w.special == "xargs" && (option == "I" || option == "J" || option == "--replace"):
			replace = val
		case w.special == "xargs" && option == "i":
			replace = "{}"
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
		if !has && (w.texts[name] || strings.Contains(w.longs, " "+name+" ")) && len(args) > 1 {
			return 2, name, args[1]
		}
		return 1, name, val
	}
	for i := 1; i < len(a); i++ {
		letter := a[i : i+1]
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
			j.report(c, Ask, RulePiped, "it runs what comes through a pipe")
		}
		if c.stdin.known {
			inner.stdin = input{}
			j.again(c.stdin.text, inner)
		}
	case strings.ContainsAny(rest[0], process+fetched):
		j.report(c, Ask, RulePiped, "it runs what comes through a pipe")
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
					j.report(c, Ask, RulePiped, "it runs text that comes from the network or was decoded")
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
				j.report(c, Ask, RulePiped, "it runs what comes through a pipe")
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
		j.report(c, Ask, RulePiped, "it runs what comes through a pipe")
	}
}
