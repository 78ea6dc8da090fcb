package shell

import (
	"cmp"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"

	"oneloop/internal/unseen"
)

// Command is a simple command as it is written in a text.
type Command struct {
	// Words are its words without quotes. One that is known only when the
	// command runs, such as a wildcard, holds a rune that is in no text.
	Words []string
	Text  string // its source on one line, at most 200 bytes
	// Reads are the files and folders it is known to read, as in [Access].
	// They are known of what is on the read-only table, and only there.
	Reads []string
	// Changes says why it is not known to change nothing; nil: it is on the
	// read-only table with everything it is given.
	Changes *Reason
}

// tree is what is seen of a text without following it.
type tree struct {
	src      string
	dir      string
	commands []Command
	exprs    []*syntax.CallExpr // of commands, one by one
	static   bool
	moving   *Reason // why it is not static
	flat     bool    // no loops and no choices by pattern
	moved    bool    // a command changes the folder
	reads    []string
	writes   []string
	changes  *Reason // why the text around the commands changes something
}

// look collects the simple commands of stmts, at any depth, and what is only
// known when they run.
func look(stmts []*syntax.Stmt, src, dir string) *tree {
	t := &tree{src: src, dir: dir, static: true, flat: true}
	for _, s := range stmts {
		syntax.Walk(s, t.node)
	}
	if t.moved && len(t.reads)+len(t.writes) > 0 {
		t.moves(Because("opens-after-cd", "it opens a file after the folder was changed"))
	}
	return t
}

func (t *tree) moves(why *Reason) {
	if t.static {
		t.static, t.moving = false, why
	}
}

func (t *tree) node(n syntax.Node) bool {
	switch n := n.(type) {
	case *syntax.Stmt:
		if n.Background || n.Coprocess || n.Disown {
			t.moves(Because("background", "it goes on in the background"))
		}
	case *syntax.Redirect:
		t.redirect(n)
	case *syntax.CallExpr:
		t.call(n)
	case *syntax.BinaryCmd:
		if n.Op != syntax.AndStmt && n.Op != syntax.OrStmt && n.Op != syntax.Pipe && n.Op != syntax.PipeAll {
			t.flat = false
		}
	case *syntax.Assign:
		t.moves(Because("sets-variable", "it sets a variable"))
	case *syntax.ParamExp:
		t.moves(Because("uses-variable", "it uses a variable"))
	case *syntax.CmdSubst, *syntax.ProcSubst:
		t.moves(Because("uses-output", "it uses what another command prints"))
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.TestClause:
		t.moves(Because("evaluates", "it evaluates an expression"))
	case *syntax.FuncDecl:
		t.moves(Because("defines-function", "it defines a function"))
	case *syntax.DeclClause:
		t.moves(Because("sets-variable", "it sets a variable"))
	case *syntax.CoprocClause:
		t.moves(Because("background", "it goes on in the background"))
	case *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause, *syntax.TestDecl:
		t.flat = false
	}
	return true
}

func (t *tree) call(n *syntax.CallExpr) {
	if len(n.Args) == 0 {
		return
	}
	c := Command{Text: clip(t.slice(n))}
	var rough *Reason
	for _, w := range n.Args {
		word, why := fixed(w)
		c.Words = append(c.Words, word)
		rough = cmp.Or(rough, why)
	}
	if rough != nil {
		c.Changes = rough
	} else {
		c.Reads, c.Changes = readOnly(c.Words, t.dir)
	}
	switch c.Words[0] {
	case "cd", "pushd", "popd":
		t.moved = true
	case "echo", "pwd", "true", "false", "whoami", "id", "uname", "seq", "which", "basename", "dirname":
	default:
		if t.moved && c.Changes == nil { // what is judged from one folder is read in another
			c.Reads, c.Changes = nil, Because("after-cd", "it comes after the folder was changed: %s", c.Words[0])
		}
	}
	t.commands = append(t.commands, c)
	t.exprs = append(t.exprs, n)
}

func (t *tree) slice(n syntax.Node) string {
	from, to := int(n.Pos().Offset()), int(n.End().Offset())
	if from > to || to > len(t.src) {
		return ""
	}
	return t.src[from:to]
}

// redirect sorts redirections: those that change nothing, those that read a
// file, those that write one, and the rest.
func (t *tree) redirect(r *syntax.Redirect) {
	word, why := "", (*Reason)(nil)
	if r.Word != nil {
		word, why = fixed(r.Word)
	}
	number := word == "1" || word == "2"
	fd := "1"
	if r.N != nil {
		fd = r.N.Value
	}
	switch r.Op {
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.RdrAll, syntax.AppAll, syntax.DplOut:
		switch {
		case r.Op == syntax.DplOut && number && (fd == "1" || fd == "2"), why == nil && word == "/dev/null":
			return
		case why != nil:
			t.moves(Because("writes-somewhere", "it writes where only running it tells"))
		case r.Op == syntax.DplOut && strings.Trim(word, "0123456789-") == "":
			t.note(Because("moves-output", "it changes where output goes"))
			return
		}
		t.note(Because("writes-file", "it writes %s", printable(word)))
		t.writes = append(t.writes, under(t.dir, word))
	case syntax.RdrIn:
		if why != nil {
			t.moves(Because("reads-something", "it reads what only running it tells"))
		}
		if isNetwork(word) {
			t.moves(Because("connects", "it connects to %s", printable(word)))
		} else {
			t.reads = append(t.reads, under(t.dir, word))
		}
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		t.note(Because("own-input", "it has text of its own as input"))
	default:
		t.moves(Because("opens-oddly", "it opens %s in an unusual way", printable(word)))
	}
}

func (t *tree) note(why *Reason) {
	if t.changes == nil {
		t.changes = why
	}
}

// isNetwork tells the paths that bash takes for addresses, and those that
// look so.
func isNetwork(word string) bool {
	p := path.Clean(word)
	return strings.HasPrefix(p, "/dev/tcp") || strings.HasPrefix(p, "/dev/udp")
}

// under is the path of a file that a command in dir calls name. What is ".." in
// it stays, since it leads elsewhere behind a link.
func under(dir, name string) string {
	if strings.HasPrefix(name, "/") {
		return name
	}
	return strings.TrimSuffix(dir, "/") + "/" + name
}

// fixed is a word without quotes. why says what keeps it from being known,
// and then the word is unknown, or from being the same for every shell.
func fixed(w *syntax.Word) (word string, why *Reason) {
	var b strings.Builder
	for i, p := range w.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			if reason := rough(p.Value, i == 0); reason != nil {
				return unknown, reason
			}
			b.WriteString(unescape(p.Value, false))
		case *syntax.SglQuoted:
			if p.Dollar {
				return unknown, Because("dollar-quotes", "it has a word in $'…'")
			}
			b.WriteString(p.Value)
		case *syntax.DblQuoted:
			if p.Dollar {
				return unknown, Because("dollar-double-quotes", `it has a word in $"…"`)
			}
			for _, q := range p.Parts {
				l, is := q.(*syntax.Lit)
				if !is {
					return unknown, Because("uses-variable-or-output", "it uses a variable, or what another command prints")
				}
				b.WriteString(unescape(l.Value, true))
			}
		default:
			return unknown, Because("uses-variable-or-output", "it uses a variable, or what another command prints")
		}
	}
	return b.String(), nil
}

// rough says what bash would make something else of in an unquoted text.
func rough(s string, first bool) *Reason {
	brace := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '*', '?', '[':
			return Because("wildcard", "it has a wildcard")
		case '{':
			brace = true
		case ',':
			if brace {
				return Because("braces", "it has a word in braces")
			}
		case '.':
			if brace && i+1 < len(s) && s[i+1] == '.' {
				return Because("braces", "it has a word in braces")
			}
		case '~':
			if i == 0 && first || i > 0 && (s[i-1] == '=' || s[i-1] == ':') {
				return Because("tilde", "it names a home folder by ~")
			}
		}
	}
	return nil
}

// odd says what is in a text that nobody sees, or sees as something else.
func odd(text string) *Reason {
	if !utf8.ValidString(text) {
		return Because("no-text", "it holds bytes that are no text")
	}
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r < 0x7f:
		case r == '\r':
			return Because("carriage-return", "it holds a carriage return")
		case unicode.IsControl(r):
			return Because("control-character", "it holds a control character")
		case unseen.Is(r):
			return Because("invisible-character", "it holds an invisible character")
		}
	}
	return nil
}

// Visible shows text as it is, but for runes that would not be seen or would
// change how the rest is seen: those stand as escapes, as in \u202e.
func Visible(text string) string { return unseen.Visible(text) }

// quoted is a word as every shell reads it.
func quoted(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-+./:,@%=^", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
