package shell

import (
	"bytes"
	"cmp"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"mvdan.cc/sh/v3/syntax"
)

// Analysis is all that is known of a command without running it.
type Analysis struct {
	// Verdict is that of the danger list.
	Verdict Verdict
	// Unclear says why not all of it can be judged; nil: it can. Parts are
	// then those that were found all the same.
	Unclear *Reason
	// Odd says what is in it that nobody sees, or sees as something else.
	Odd *Reason

	// Parts are the commands it runs, at any depth, each once.
	Parts []Part
	// Files are those it is seen to read or to write, by redirections and as
	// arguments of well-known programs.
	Files []Access

	// Commands are the simple commands as they are written, in order.
	Commands []Command
	// Moving says why it is not static, that is, what only running it
	// decides; nil: it is.
	Moving *Reason
	// Reads and Writes are the files that redirections name, as in [Access],
	// but for /dev/null.
	Reads, Writes []string
	// Changes says why it is not read-only; nil: everything in it is on the
	// read-only table, and what runs is what was judged.
	Changes *Reason

	source string
}

// Analyse takes a command apart. It ends soon whatever the command is. Nobody
// may change what it returns: others may be given the same.
func Analyse(command string, at Place) *Analysis {
	if l := last.Load(); l != nil && l.command == command && l.at == at {
		return l.analysis
	}
	a := analyse(command, at)
	last.Store(&analysed{command, at, a})
	return a
}

// last is what was analysed last: who permits a command and who runs it ask
// for the same, one right after the other.
var last atomic.Pointer[analysed]

type analysed struct {
	command  string
	at       Place
	analysis *Analysis
}

func analyse(command string, at Place) (a *Analysis) {
	a = &Analysis{Odd: odd(command)}
	defer func() {
		if r := recover(); r != nil { // a fault of the parser or of ours is no permission
			a.fail(Because("not-understood", "it could not be understood"), command)
		}
	}()
	var p parts
	a.Verdict = (&judge{home: at.Home, parts: &p}).whole(command, at)
	(&judge{home: at.Home, parts: &p, blind: true}).whole(command, at)
	a.Parts, a.Files = p.list, p.files
	whole := command
	command = unfinished(command)
	stmts, err := parse(command)
	if err != nil {
		a.fail(unparsed(err), command)
		return a
	}
	if p.overflow || a.Verdict.Rule == RuleUnclear {
		a.fail(cmp.Or(a.Verdict.Reason, Because("too-many-parts", "it has too many parts to be judged")), command)
		return a
	}
	t := look(stmts, command, path.Clean(cmp.Or(at.Dir, nowhere+"/work")))
	a.Commands, a.Moving, a.Reads, a.Writes = t.commands, t.moving, t.reads, t.writes
	if a.Changes = a.changes(t); a.Changes == nil {
		a.source, err = source(stmts, t)
		if err != nil {
			a.fail(Because("not-rewritten", "it cannot be written anew: %s", reason(err)), command)
		}
	} else if command != whole {
		a.Moving = cmp.Or(a.Moving, Because("ends-in-backslash", "it ends in a backslash"))
	}
	return a
}

// ReadOnly reports whether it changes nothing and runs nothing that is not on
// the read-only table. Which files it reads is another question.
func (a *Analysis) ReadOnly() bool { return a.Changes == nil }

// Source is the command written anew from what was judged, with every word
// quoted: how it is read by bash cannot differ from how it was read here. Only
// what is read-only has one.
func (a *Analysis) Source() string { return a.source }

// fail makes a of something that cannot be judged.
func (a *Analysis) fail(why *Reason, command string) {
	a.Unclear, a.Changes = why, why
	a.Moving = cmp.Or(a.Moving, why)
	if a.Verdict.Tier < Ask {
		a.Verdict = Verdict{Ask, RuleUnclear, why, clip(command)}
	}
}

// changes says why it is not read-only.
func (a *Analysis) changes(t *tree) *Reason {
	switch {
	case a.Odd != nil:
		return a.Odd
	case a.Verdict.Tier > Allow:
		return a.Verdict.Reason
	case t.moving != nil:
		return t.moving
	case !t.flat:
		return Because("loop", "it has a loop or a choice")
	}
	for _, c := range t.commands {
		if c.Changes != nil {
			return c.Changes
		}
	}
	return t.changes
}

// unfinished drops a backslash at the end, which joins the last line with one
// that is not there. Bash keeps it or drops it, by version.
func unfinished(command string) string {
	if n := len(command) - len(strings.TrimRight(command, `\`)); n%2 == 1 {
		return command[:len(command)-1]
	}
	return command
}

var printers = sync.Pool{New: func() any { return syntax.NewPrinter() }}

// source writes the commands of a tree anew.
func source(stmts []*syntax.Stmt, t *tree) (string, error) {
	for i, expr := range t.exprs {
		words := guards(t.commands[i].Words)
		for _, s := range settings(words[0]) {
			expr.Assigns = append(expr.Assigns, &syntax.Assign{
				Name: &syntax.Lit{Value: s[0]}, Value: &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: quoted(s[1])}}},
			})
		}
		expr.Args = make([]*syntax.Word, len(words))
		for k, w := range words {
			expr.Args[k] = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: quoted(w)}}}
		}
	}
	var b bytes.Buffer
	var list []*syntax.Redirect
	for _, s := range stmts {
		syntax.Walk(s, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Stmt: // none of them is in the background
				n.Semicolon, n.Comments = syntax.Pos{}, nil
			case *syntax.Redirect:
				list = append(list, n)
			}
			return true
		})
	}
	for _, r := range list {
		word, _ := fixed(r.Word)
		r.Word = &syntax.Word{Parts: []syntax.WordPart{&syntax.Lit{Value: quoted(word)}}}
	}
	p := printers.Get().(*syntax.Printer)
	defer printers.Put(p)
	err := p.Print(&b, &syntax.File{Stmts: stmts})
	return b.String(), err
}
