package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output says what commands print, for those whose output is in their text:
// echo, printf, cat of a here-document, pwd.
func (j *judge) output(list []*syntax.Stmt, c context) (text string, known bool) {
	if len(list) == 0 {
		return "", true
	}
	if len(list) > 1 || list[0].Background || list[0].Negated {
		return "", false
	}
	switch cmd := list[0].Cmd.(type) {
	case *syntax.Block:
		if len(list[0].Redirs) > 0 {
			return "", false
		}
		return j.output(cmd.Stmts, c)
	case *syntax.Subshell:
		if len(list[0].Redirs) > 0 {
			return "", false
		}
		return j.output(cmd.Stmts, c)
	case *syntax.CallExpr:
		return j.printed(list[0], cmd, c)
	}
	return "", false
}

func (j *judge) printed(s *syntax.Stmt, cmd *syntax.CallExpr, c context) (string, bool) {
	if len(cmd.Assigns) > 0 || len(cmd.Args) == 0 {
		return "", false
	}
	switch cmd.Args[0].Lit() { // cheap, before words are expanded
	case "echo", "printf", "cat", "pwd", "command", "builtin":
	default:
		return "", false
	}
	var stdin input
	for _, r := range s.Redirs {
		if r.N != nil && r.N.Value == "2" {
			continue
		}
		if r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc && r.Op != syntax.WordHdoc {
			return "", false
		}
		stdin = j.redirect(r, c).stdin
	}
	var argv []string
	j.one(c, func(x *expander) { argv = x.fields(cmd.Args) })
	for len(argv) > 1 && (argv[0] == "command" || argv[0] == "builtin") {
		argv = argv[1:]
	}
	if len(argv) == 0 {
		return "", false
	}
	switch argv[0] {
	case "echo":
		return echoed(argv[1:]), true
	case "printf":
		return formatted(argv[1:])
	case "pwd":
		if len(c.st.dirs) == 1 {
			return c.st.dirs[0] + "\n", true
		}
	case "cat":
		if len(argv) == 1 || len(argv) == 2 && argv[1] == "-" {
			return stdin.text, stdin.known
		}
	}
	return "", false
}

func echoed(args []string) string {
	end, escapes := "\n", false
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' && strings.Trim(args[0][1:], "neE") == "" {
		if strings.Contains(args[0], "n") {
			end = ""
		}
		escapes = strings.LastIndexByte(args[0], 'e') > strings.LastIndexByte(args[0], 'E')
		args = args[1:]
	}
	text := strings.Join(args, " ")
	if escapes {
		text = ansi(text)
	}
	return text + end
}

// formatted is what printf prints for formats with %s, %b, %d and %%.
func formatted(args []string) (string, bool) {
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "-v" {
		return "", false
	}
	format, args := args[0], args[1:]
	var b strings.Builder
	for first := true; first || len(args) > 0; first = false {
		had := len(args)
		for rest := format; rest != ""; {
			i := strings.IndexByte(rest, '%')
			if i < 0 || i+1 == len(rest) {
				b.WriteString(lined(rest))
				break
			}
			b.WriteString(lined(rest[:i]))
			verb := rest[i+1]
			rest = rest[i+2:]
			if verb == '%' {
				b.WriteByte('%')
				continue
			}
			if verb != 's' && verb != 'b' && verb != 'd' && verb != 'q' {
				return "", false
			}
			if len(args) > 0 {
				arg := args[0]
				args = args[1:]
				if verb == 'b' {
					arg = ansi(arg)
				}
				b.WriteString(arg)
			}
		}
		if len(args) == had {
			break
		}
	}
	return b.String(), true
}

// lined is a format's text; NUL, which ends names for xargs -0, is a line's end.
func lined(format string) string { return strings.ReplaceAll(ansi(format), "\x00", "\n") }

// answers reports whether commands are sure to print something, as the last of
// them never succeeds without: then an empty $(…) is no case to think of.
func answers(list []*syntax.Stmt) bool {
	if len(list) != 1 || list[0].Negated {
		return false
	}
	switch cmd := list[0].Cmd.(type) {
	case *syntax.BinaryCmd:
		return cmd.Op == syntax.AndStmt && answers([]*syntax.Stmt{cmd.Y})
	case *syntax.CallExpr:
		if len(cmd.Args) > 0 {
			switch base(literal(cmd.Args[0])) {
			case "mktemp", "pwd", "dirname", "date", "id", "whoami", "uname", "nproc", "hostname":
				return true
			}
		}
	}
	return false
}

// saved reports whether s prints files as they are: cat of named files.
func saved(s *syntax.Stmt) bool {
	call, is := s.Cmd.(*syntax.CallExpr)
	if !is || len(call.Args) < 2 || len(call.Assigns) > 0 || len(s.Redirs) > 0 || literal(call.Args[0]) != "cat" {
		return false
	}
	for _, w := range call.Args[1:] {
		if name := literal(w); name == "" || name[0] == '-' || strings.HasPrefix(name, "/dev/") || strings.HasPrefix(name, "/proc/") {
			return false
		}
		for _, p := range w.Parts {
			switch p.(type) {
			case *syntax.Lit, *syntax.SglQuoted:
			default:
				return false
			}
		}
	}
	return true
}

// fetches reports whether statements name a program that gets text from the
// network, or makes text out of what cannot be read.
func fetches(list []*syntax.Stmt) bool {
	found := false
	for _, s := range list {
		syntax.Walk(s, func(n syntax.Node) bool {
			w, is := n.(*syntax.Word)
			if !is || found {
				return !found
			}
			if isFetcher(base(literal(w))) {
				found = true
			}
			return true
		})
	}
	return found
}

// literal is a word without quotes, for words that hold nothing else.
func literal(w *syntax.Word) string {
	var b strings.Builder
	for _, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			b.WriteString(unescape(p.Value, false))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			for _, q := range p.Parts {
				if l, is := q.(*syntax.Lit); is {
					b.WriteString(l.Value)
				}
			}
		}
	}
	return b.String()
}

func isFetcher(name string) bool {
	switch name {
	case "curl", "wget", "wget2", "fetch", "aria2c", "lynx", "nc", "ncat", "netcat", "socat", "ftp", "http", "https", "xh",
		"base64", "base32", "xxd", "uudecode", "openssl":
		return true
	}
	return false
}
