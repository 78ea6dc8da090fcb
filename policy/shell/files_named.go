package shell

import (
	"slices"
	"strings"
)

// named notes each word of a command that may be the name of a file, also
// behind an option it is joined to: what a program of which nothing is known
// is given, it may read. What holds a blank or a wildcard is more often text.
func (p *parts) named(args []string, c context) {
	for i, a := range args {
		if i > 0 && leavesOut(args[i-1]) && !strings.Contains(args[i-1], "=") || leavesOut(a) || isURL(a) || strings.ContainsAny(a, " \t\n*?[") {
			continue
		}
		for _, name := range namesIn(a) {
			p.touch(name, c, false)
		}
	}
}

// leavesOut tells options whose value is what a program does not look at.
func leavesOut(option string) bool {
	return strings.HasPrefix(option, "--exclude") || strings.HasPrefix(option, "--ignore")
}

// isURL tells addresses that are of no file here.
func isURL(a string) bool {
	return strings.Contains(a, "://") && !strings.HasPrefix(a, "file://") && !strings.HasPrefix(a, "fileb://")
}

// namesIn are the names of files that an argument may hold: F, -xF, --opt=F,
// x=F, @F, x=@F, x=<F, F:x, x:F, file://F.
func namesIn(a string) (names []string) {
	if len(a) > 1 && a[0] == '-' {
		if a[1] != '-' {
			for n := 2; n < len(a) && n < 5; n++ { // letters of several options
				names = append(names, strings.TrimPrefix(a[n:], "@"))
			}
		}
	} else {
		names = append(names, strings.TrimPrefix(a, "@"))
	}
	if _, val, has := strings.Cut(a, "="); has {
		names = append(names, val, strings.TrimLeft(val, "@<"))
		a = val
	}
	if before, after, has := strings.Cut(a, ":"); has {
		if before == "file" || before == "fileb" {
			after = strings.TrimPrefix(after, "//")
		}
		names = append(names, before, after)
	}
	if strings.ContainsAny(a, ",;") { // src=F,dst=x
		names = append(names, strings.FieldsFunc(a, func(r rune) bool { return strings.ContainsRune("=,;:@<", r) })...)
	}
	return names
}

// quiet are builtins and programs that open none of the files they are given
// the names of, or are looked at elsewhere.
var quiet = []string{"echo", "printf", "test", "[", "cd", "pushd", "popd", "export", "declare", "typeset", "local", "readonly", "unset", "read", "set", "shift", "eval", "trap", "alias", "unalias",
	"true", "false", ":", "which", "type", "hash", "let", "return", "exit", "wait", "kill", "basename", "dirname", "seq", "sleep", "ls", "tree"}

// results notes the files that programs are told to write by an option: -o F,
// -oF, --output=F and the like.
func (p *parts) results(argv []string, c context) {
	letters := "o"
	switch base(argv[0]) {
	case "wget":
		letters = "oOa"
	case "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ps", "ssh", "set", "find", "ls", "jq", "mount", "od":
		return // it means something else to them
	}
	for i, a := range argv[1:] {
		name, val, joined := strings.Cut(a, "=")
		if !joined {
			val = strings.Join(argv[min(i+2, len(argv)):min(i+3, len(argv))], "")
		}
		switch {
		case slices.Contains([]string{"-out", "--out", "--output", "--outfile", "--output-file", "--output-document", "--append-output", "--dump-header", "--cookie-jar"}, name):
			p.touch(val, c, true)
		default:
			if rest, is := amongFlags(a, letters, ""); is && rest != "" {
				p.touch(rest, c, true)
			} else if is {
				p.touch(val, c, true)
			}
		}
	}
}

// packs reports whether a program that packs or unpacks puts the result in the
// place of a file.
func packs(argv []string) bool {
	switch base(argv[0]) {
	case "gzip", "gunzip", "bzip2", "bunzip2", "xz", "unxz", "lzma", "unlzma", "zstd", "unzstd", "compress", "uncompress":
		return !slices.ContainsFunc(argv[1:], func(a string) bool {
			_, is := amongFlags(a, "ctl", "")
			return is || a == "--stdout" || a == "--to-stdout" || a == "--test" || a == "--list"
		})
	}
	return false
}
