// Package shell judges commands for bash by a list of dangerous ones. It
// parses the command and follows it as far as it can be followed without
// running it: quoting, variables, functions, wrappers such as env and sudo,
// texts handed to other shells. It runs nothing and looks at no file.
//
// The list keeps mistakes from doing damage. It is no boundary: whoever wants
// to get past it can.
package shell

import (
	"errors"
	"io"
	"path"
	"runtime"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// Tier says how a command is to be treated. A greater tier is stricter.
type Tier int

const (
	Allow Tier = iota // nothing on the list
	Ask               // not without somebody's permission
	Deny              // never
)

func (t Tier) String() string {
	switch t {
	case Allow:
		return "allow"
	case Ask:
		return "ask"
	}
	return "deny"
}

// Rules of the list.
const (
	RuleRemove   = "remove"    // deny: rm of everything that matters, recursively
	RuleFormat   = "format"    // deny: a new file system
	RuleDevice   = "device"    // deny: writing to a block device; ask: perhaps doing so
	RulePower    = "power"     // deny: halting or restarting the machine
	RuleForkBomb = "fork-bomb" // deny: a function that starts itself without end

	RuleUnset   = "unset"   // ask: removes everything that matters if a variable is not set or a folder is not the one meant
	RuleWide    = "wide"    // ask: removes or changes files all over the machine, or all of a folder that matters
	RuleRoot    = "root"    // ask: becoming another user
	RulePiped   = "piped"   // ask: running a program that comes through a pipe or from the network
	RuleGit     = "git"     // ask: losing what git keeps
	RuleSyntax  = "syntax"  // ask: no bash that could be read
	RuleUnclear = "unclear" // ask: not understood
)

// Place is where a command starts.
type Place struct {
	Dir  string // absolute; empty: unknown
	Home string // the home folder, absolute; empty: unknown
}

// Verdict is what is to be thought of a command. The zero value allows it.
type Verdict struct {
	Tier   Tier
	Rule   string
	Reason *Reason
	Part   string // the part of the command it is about, at most 200 bytes on one line
}

// Judge gives the strictest verdict on any part of command. It allows what is
// not on the list, and does not allow what it cannot follow: text that does
// not parse, is nested too deeply or takes too long is at least [Ask].
func Judge(command string, at Place) Verdict {
	return (&judge{home: at.Home}).whole(command, at)
}

// whole judges a whole command.
func (j *judge) whole(command string, at Place) (v Verdict) {
	if j.home == "" {
		j.home = nowhere + "/home"
	}
	dir := at.Dir
	if dir == "" {
		dir = nowhere + "/work"
	}
	j.dir = path.Clean(dir)
	j.protect(dir)
	defer func() {
		if r := recover(); r != nil { // a fault of the parser or of ours is no permission
			v = j.worst
			if v.Tier < Ask {
				v = Verdict{Ask, RuleUnclear, Because("not-understood", "it could not be understood"), clip(command)}
			}
		}
	}()
	c := context{st: &state{dirs: []string{dir}}, part: command}
	j.text(command, c)
	if j.bytes > maxBytes {
		j.report(c, Ask, RuleUnclear, Because("too-long", "it is too long to be followed"))
	}
	return j.worst
}

// nowhere stands for a folder whose path is not known. It has parents, so that
// ".." in it is not the root.
const nowhere = "/\x01/\x01/\x01/\x01"

// Limits of what is followed; beyond them a command is unclear.
const (
	maxFrames = 4000     // frames of Go's stack while parsing
	maxSteps  = 50_000   // commands looked at, loops and calls included
	maxTexts  = 16       // texts within texts, as in sh -c "sh -c …"
	maxPicks  = 64       // combinations of values tried for one command
	maxBytes  = 64 << 20 // bytes of text that words are expanded to, in all
)

// judge is one judgement.
type judge struct {
	home       string
	dir        string  // where the command starts; below nowhere if that is not known
	protected  []place // folders that must not be removed
	worst      Verdict
	steps      int
	bytes      int
	files      []input         // what process substitutions print, where it is known
	calls      []frame         // functions being followed, outermost first
	parts      *parts          // gets all that is run; nil: nobody wants to know
	evaluating map[string]bool // variables whose values bash evaluates when they are set
	blind      bool            // no variable and nothing printed is known
}

// report keeps the strictest verdict, and of equals the first.
func (j *judge) report(c context, tier Tier, rule string, reason *Reason) {
	if c.guess {
		if tier > Ask {
			tier, rule = Ask, RuleUnset
		}
		reason = Because("if-unset", "%s if a variable is not set or a command prints nothing", reason)
	}
	if tier > j.worst.Tier {
		part := c.part
		if rule == RulePiped && c.pipe != "" {
			part = c.pipe
		}
		j.worst = Verdict{tier, rule, reason, clip(part)}
	}
}

// piped reports a program that comes through a pipe.
func (j *judge) piped(c context) {
	j.report(c, Ask, RulePiped, Because("piped", "it runs what comes through a pipe"))
}

// fetched reports a program of which nobody knows what it is.
func (j *judge) fetched(c context) {
	j.report(c, Ask, RulePiped, Because("fetched", "it runs text that comes from the network or was decoded"))
}

// text judges a script. It returns the state the script leaves behind.
func (j *judge) text(src string, c context) *state {
	if strings.IndexByte(src, 0) >= 0 {
		c.part = strings.ReplaceAll(src, "\x00", "\\0")
		j.report(c, Ask, RuleUnclear, Because("nul-byte", "it holds a NUL byte, which bash drops"))
		src = strings.ReplaceAll(src, "\x00", "")
	}
	if c.texts++; c.texts > maxTexts {
		c.part = src
		j.report(c, Ask, RuleUnclear, Because("nested-shells", "its shells are nested too deeply to be followed"))
		return c.st
	}
	stmts, err := parse(src)
	c.src = src
	j.parts.read(stmts, c)
	if err != nil {
		c.part = src
		if errors.Is(err, errDeep) {
			j.report(c, Ask, RuleUnclear, unparsed(err))
		} else {
			j.report(c, Ask, RuleSyntax, unparsed(err))
			j.pieces(src, c)
		}
	}
	return j.stmts(stmts, c)
}

// pieces judges what can be read of a text that does not parse. Bash runs a
// text line by line, so what comes before a fault runs; it reads (( as two
// parentheses where it is no arithmetic; and it may know a form that our
// parser does not. What is found here only adds to the verdict.
func (j *judge) pieces(src string, c context) {
	c.st = c.st.clone()
	if apart := strings.ReplaceAll(src, "((", "( ("); apart != src {
		if stmts, err := parse(apart); err == nil {
			c.src = apart
			j.parts.read(stmts, c)
			j.stmts(stmts, c)
			return
		}
	}
	left := 1000 // tries
	for line := range strings.Lines(src) {
		if stmts, err := parse(line); err == nil {
			c.src = line
			j.parts.read(stmts, c)
			c.st = j.stmts(stmts, c)
			continue
		}
		for part := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(";&|(){}`\n", r) }) {
			for part != "" && left > 0 {
				left--
				if stmts, err := parse(part); err == nil {
					c.src = part
					j.parts.read(stmts, c)
					j.stmts(stmts, c)
				}
				_, part, _ = strings.Cut(strings.TrimLeft(part, " \t"), " ")
			}
		}
	}
}

func unparsed(err error) *Reason {
	return Because("unparsed", "it does not parse: %s", reason(err))
}

func reason(err error) string {
	var p syntax.ParseError
	if errors.As(err, &p) {
		return oneLine(p.Text)
	}
	return oneLine(err.Error())
}

// parsers are used again: a new one takes many times the memory of an everyday
// command. One that failed is not.
var parsers = sync.Pool{New: func() any { return syntax.NewParser(syntax.Variant(syntax.LangBash)) }}

// parse returns the statements of src, with an error also those before it.
func parse(src string) ([]*syntax.Stmt, error) {
	var stmts []*syntax.Stmt
	p := parsers.Get().(*syntax.Parser)
	for s, err := range p.StmtsSeq(&guarded{src: src}) {
		if err != nil {
			return stmts, err
		}
		stmts = append(stmts, s)
	}
	parsers.Put(p)
	return stmts, nil
}

var errDeep = errors.New("it is nested too deeply")

// guarded is a reader that ends parsing when the parser, which is recursive,
// has gone too deep: overflowing the stack cannot be recovered from. The
// parser reads 1 KiB at a time, so it is looked at often enough.
type guarded struct {
	src   string
	reads int
}

func (g *guarded) Read(p []byte) (int, error) {
	if g.src == "" {
		return 0, io.EOF
	}
	var pc [1]uintptr
	if g.reads++; g.reads > 1 && runtime.Callers(maxFrames, pc[:]) > 0 {
		return 0, errDeep
	}
	n := copy(p, g.src)
	g.src = g.src[n:]
	return n, nil
}

// clip makes text one short line.
func clip(s string) string {
	const limit = 200 // bytes
	s = oneLine(s)
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit-3], "") + "…"
}

func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	return strings.TrimSpace(s)
}
