package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Part is a command that is run by a text, however deep in it: written in it,
// started by a wrapper such as env or xargs, in the text of sh -c.
type Part struct {
	// Words are its words without quotes. What is not known of a word stands
	// in it as a rune that is in no text.
	Words []string
	// Sure is false for what a variable or the output of another command
	// makes of it.
	Sure bool
}

// Text is the part on one line of at most 200 bytes.
func (p Part) Text() string {
	words := make([]string, len(p.Words))
	for i, w := range p.Words {
		words[i] = printable(w)
	}
	return clip(strings.Join(words, " "))
}

// Access is a file or folder that a command is seen to read or to write.
type Access struct {
	// Path is absolute; links are not looked at, ".." is still in it, and it
	// may hold wildcards of the shell.
	Path  string
	Write bool
	Sure  bool // as in Part
	Tree  bool // with all that is in it, if it is a folder
}

// maxParts is how many different parts are kept. A text with more is too much
// to be judged.
const maxParts = 20_000

// parts collects all that is run. A nil one collects nothing.
type parts struct {
	list     []Part
	at       map[string]int // in list, by words
	files    []Access
	touched  map[Access]bool
	overflow bool
}

func (p *parts) add(words []string, sure bool) {
	key := strings.Join(words, "\x05")
	if i, had := p.at[key]; had {
		p.list[i].Sure = p.list[i].Sure || sure
		return
	}
	if len(p.list) == maxParts {
		p.overflow = true
		return
	}
	if p.at == nil {
		p.at = map[string]int{}
	}
	p.at[key] = len(p.list)
	p.list = append(p.list, Part{slices.Clone(words), sure})
}

// run notes a command that is followed.
func (p *parts) run(argv []string, c context) {
	if p == nil {
		return
	}
	p.add(argv, !c.moving && !c.guess)
	p.arguments(argv, c)
}

// read notes the simple commands of a text as they are written, also those
// that are not followed.
func (p *parts) read(stmts []*syntax.Stmt, c context) {
	if p == nil {
		return
	}
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			call, is := n.(*syntax.CallExpr)
			if !is || len(call.Args) == 0 {
				return true
			}
			words := make([]string, len(call.Args))
			for i, w := range call.Args {
				if words[i] = literal(w); moves(call.Args[i : i+1]) {
					words[i] = unknown
				}
			}
			p.add(words, !c.moving)
			return true
		})
	}
}

// touch notes a file.
func (p *parts) touch(name string, c context, write bool) { p.use(name, c, write, false) }

// use notes a file, and all that is in it when tree is set.
func (p *parts) use(name string, c context, write, tree bool) {
	if p == nil || name == "" || strings.ContainsAny(name, unknown+fetched+process+every) {
		return
	}
	for _, dir := range c.st.dirs {
		a := Access{under(dir, name), write, !c.moving && !c.guess && len(c.st.dirs) == 1, tree}
		if p.touched[a] {
			continue
		}
		if len(p.files) == maxParts {
			p.overflow = true
			return
		}
		if p.touched == nil {
			p.touched = map[Access]bool{}
		}
		p.touched[a] = true
		p.files = append(p.files, a)
	}
}

// moves reports whether words are decided only when they are expanded.
func moves(words []*syntax.Word) bool {
	return slices.ContainsFunc(words, func(w *syntax.Word) bool { return slices.ContainsFunc(w.Parts, decided) })
}

// decided reports whether a part of a word is decided only when it is
// expanded.
func decided(p syntax.WordPart) bool {
	switch p := p.(type) {
	case *syntax.ParamExp, *syntax.CmdSubst, *syntax.ArithmExp, *syntax.ProcSubst:
		return true
	case *syntax.DblQuoted:
		return slices.ContainsFunc(p.Parts, decided)
	}
	return false
}
