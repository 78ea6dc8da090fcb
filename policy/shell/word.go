package shell

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

// expander turns words into the arguments bash would make of them, for one
// choice of what the variables hold.
type expander struct {
	j      *judge
	c      context
	radix  []int // how many values there are at each point of choice
	pick   []int // which of them is taken
	at     int
	chosen map[*value]int
	blind  bool // too many combinations: what has several values is unknown
	asked  bool // an unknown variable of the environment was used
}

// each calls fn for every combination of values, until it returns false. It
// reports whether all were tried.
func (j *judge) each(c context, fn func(*expander) bool) (all bool) {
	x := &expander{j: j, c: c}
	for range maxPicks {
		x.at, x.chosen = 0, nil
		if !fn(x) {
			return true
		}
		i := len(x.pick) - 1
		for ; i >= 0 && x.pick[i] == x.radix[i]-1; i-- {
		}
		if i < 0 {
			return true
		}
		x.pick, x.radix = x.pick[:i+1], x.radix[:i+1]
		x.pick[i]++
	}
	fn(&expander{j: j, c: c, blind: true})
	return false
}

// one calls fn once; what has several values is unknown.
func (j *judge) one(c context, fn func(*expander)) { fn(&expander{j: j, c: c, blind: true}) }

// choose picks one of n.
func (x *expander) choose(n int) int {
	if n <= 1 || x.blind {
		return 0
	}
	if x.at == len(x.pick) {
		x.pick, x.radix = append(x.pick, 0), append(x.radix, n)
	}
	i := x.pick[x.at]
	x.at++
	return i
}

// result is what an expansion gives.
type result struct {
	text string
	list []string // of "$@" and arrays
	many bool     // list is meant
	set  int      // no, yes, perhaps
}

const (
	isUnset = iota
	isSet
	maybeSet
)

// lookup gives the value of a variable or parameter.
func (x *expander) lookup(name string) result {
	st := x.c.st
	switch name {
	case "@", "*":
		if st.anyArg {
			return result{list: []string{unknown}, many: true, set: maybeSet}
		}
		return result{list: st.args, many: true, set: isSet}
	case "#", "?", "$", "!", "-", "_", "RANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "BASHPID", unknownVar:
		return result{text: unknown, set: isSet}
	case fetchedVar:
		return result{text: fetched, set: isSet}
	case everyVar:
		return result{text: every, set: isSet}
	case "0":
		return result{text: "bash", set: isSet}
	}
	if n, err := strconv.Atoi(name); err == nil {
		if st.anyArg {
			return result{text: unknown, set: maybeSet}
		}
		if n <= len(st.args) {
			return result{text: st.args[n-1], set: isSet}
		}
		return result{}
	}
	if v, ok := st.vars[name]; ok {
		return x.value(v)
	}
	switch name {
	case "HOME":
		return result{text: x.j.home, set: isSet}
	case "PWD":
		return result{text: st.dirs[x.choose(len(st.dirs))], set: isSet}
	case "SHELL", "BASH":
		return result{text: "/bin/bash", set: isSet}
	case "OLDPWD", "PATH", "USER", "LOGNAME", "HOSTNAME", "BASH_VERSION", "OSTYPE":
		return result{text: unknown, set: isSet}
	case "IFS":
		return result{text: " \t\n", set: isSet}
	}
	x.asked = true
	if x.c.guess {
		return result{}
	}
	return result{text: unknown, set: maybeSet}
}

// The names by which unknown text is put into a text that is parsed again.
const (
	unknownVar = "_oneloop_unknown_"
	fetchedVar = "_oneloop_fetched_"
	everyVar   = "_oneloop_every_"
)

func (x *expander) value(v *value) result {
	set := isSet
	if v.ifUnset != nil {
		if x.asked = true; x.c.guess {
			v = v.ifUnset
		} else {
			set = maybeSet
		}
	}
	if v.array {
		return result{list: v.list, many: true, set: isSet}
	}
	n := len(v.texts)
	if v.unset {
		n++
	}
	if n == 0 {
		return result{}
	}
	i, done := x.chosen[v]
	if !done {
		if x.blind && n > 1 {
			return result{text: unknown, set: maybeSet}
		}
		i = x.choose(n)
		if x.chosen == nil {
			x.chosen = map[*value]int{}
		}
		x.chosen[v] = i
	}
	if i == len(v.texts) {
		return result{}
	}
	return result{text: v.texts[i], set: set}
}

// fields expands words as the arguments of a command.
func (x *expander) fields(words []*syntax.Word) []string {
	var out []string
	for _, w := range words {
		if w == nil {
			continue
		}
		for _, parts := range braces(w) {
			f := fielder{j: x.j, ifs: x.lookup("IFS").text}
			x.parts(parts, &f, false)
			out = append(out, f.end()...)
		}
	}
	return out
}

// single expands a word where bash does not split, as in an assignment.
func (x *expander) single(w *syntax.Word) string {
	if w == nil {
		return ""
	}
	f := fielder{j: x.j}
	x.parts(w.Parts, &f, false)
	return strings.Join(f.end(), " ")
}

// document expands the body of a here-document.
func (x *expander) document(w *syntax.Word, quoted bool) string {
	f := fielder{j: x.j}
	x.parts(w.Parts, &f, !quoted)
	return strings.Join(f.end(), " ")
}

// fielder collects fields.
type fielder struct {
	j    *judge
	ifs  string // empty: do not split
	out  []string
	cur  strings.Builder
	some bool // there is a current field, perhaps empty
}

func (f *fielder) add(s string) {
	if f.j.bytes += len(s); f.j.bytes > maxBytes { // x=$x$x again and again
		s = unknown
	}
	f.cur.WriteString(s)
	f.some = f.some || s != ""
}

// split adds text that came unquoted from an expansion.
func (f *fielder) split(s string) {
	if f.ifs == "" {
		f.add(s)
		return
	}
	for {
		i := strings.IndexAny(s, f.ifs)
		if i < 0 {
			f.add(s)
			return
		}
		f.add(s[:i])
		f.next()
		_, n := utf8.DecodeRuneInString(s[i:])
		s = s[i+n:]
	}
}

func (f *fielder) next() {
	if f.some {
		f.out = append(f.out, f.cur.String())
	}
	f.cur.Reset()
	f.some = false
}

func (f *fielder) end() []string {
	f.next()
	return f.out
}

func (x *expander) parts(parts []syntax.WordPart, f *fielder, quoted bool) {
	for i, p := range parts {
		if x.j.blind && decided(p) {
			f.add(unknown)
			continue
		}
		switch p := p.(type) {
		case *syntax.Lit:
			s := tidy(p.Value)
			if i == 0 && !quoted {
				s = x.tilde(s, f)
			}
			f.add(unescape(s, quoted))
		case *syntax.SglQuoted:
			f.some = true
			s := tidy(p.Value)
			if p.Dollar {
				s, _, _ = strings.Cut(ansi(s), "\x00")
			}
			f.add(s)
		case *syntax.DblQuoted:
			if len(p.Parts) != 1 || !isAll(p.Parts[0]) {
				f.some = true
			}
			x.parts(p.Parts, f, true)
		case *syntax.ParamExp:
			x.put(x.param(p), f, quoted, isAll(p))
		case *syntax.CmdSubst:
			x.put(result{text: x.substituted(p.Stmts)}, f, quoted, false)
		case *syntax.ArithmExp:
			f.add(unknown)
		case *syntax.ProcSubst:
			in := input{}
			if in.text, in.known = x.j.output(p.Stmts, x.c); !in.known {
				in.paths = x.j.listed(p.Stmts, x.c)
			}
			if in.known || len(in.paths) > 0 {
				x.j.files = append(x.j.files, in)
				f.add("/dev/fd/" + process + strconv.Itoa(len(x.j.files)-1))
			} else if fetches(p.Stmts) {
				f.add("/dev/fd/" + fetched)
			} else {
				f.add("/dev/fd/" + process)
			}
		case *syntax.ExtGlob:
			f.add("*")
		case *syntax.BraceExp:
			f.add("*") // a sequence
		}
	}
}

// substituted is what $(…) becomes. A command that fails prints nothing.
func (x *expander) substituted(list []*syntax.Stmt) string {
	text, known := x.j.output(list, x.c)
	switch {
	case known:
		return strings.TrimRight(text, "\n")
	case fetches(list):
		return fetched
	case !answers(list):
		if x.asked = true; x.c.guess {
			return ""
		}
	}
	if paths := x.j.listed(list, x.c); len(paths) > 0 {
		return strings.Join(paths, "\n")
	}
	return unknown
}

// tidy takes the runes out of source text that mean something here.
func tidy(s string) string {
	if !strings.ContainsAny(s, unknown+fetched+process+every+"\x01") {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r <= 4 {
			return -1
		}
		return r
	}, s)
}

func isAll(p syntax.WordPart) bool {
	pe, ok := p.(*syntax.ParamExp)
	if !ok || pe.Param == nil || pe.Length || pe.Excl {
		return false
	}
	if pe.Param.Value == "@" {
		return true
	}
	w, ok := pe.Index.(*syntax.Word)
	return ok && w.Lit() == "@"
}

func (x *expander) put(r result, f *fielder, quoted, all bool) {
	switch {
	case r.many && quoted && !all:
		f.add(strings.Join(r.list, " "))
	case r.many:
		for i, e := range r.list {
			if i > 0 {
				f.next()
			}
			if quoted {
				f.some = true
				f.add(e)
			} else {
				f.split(e)
			}
		}
	case quoted:
		f.add(r.text)
	default:
		f.split(r.text)
	}
}

// tilde adds the folder that a leading ~ stands for and returns the rest.
func (x *expander) tilde(s string, f *fielder) string {
	if !strings.HasPrefix(s, "~") {
		return s
	}
	name, rest := s[1:], ""
	if i := strings.IndexByte(name, '/'); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	switch {
	case name == "":
		f.add(x.lookup("HOME").text)
	case name == "+":
		f.add(x.lookup("PWD").text)
	case name == "-":
		f.add(unknown)
	case strings.ContainsAny(name, `\*?[`):
		return s
	default:
		f.add(path.Join(path.Dir(x.j.home), "~"+name)) // somebody's home
	}
	return rest
}

// unescape takes backslashes out as bash does.
func unescape(s string, quoted bool) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && (!quoted || strings.IndexByte("$`\"\\\n", s[i+1]) >= 0) {
			i++
			if s[i] == '\n' {
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// ansi decodes the inside of $'…'. It also serves echo -e and printf.
func ansi(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b.WriteByte(s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case 'n', 't', 'r', 'a', 'b', 'f', 'v', 'e', 'E':
			b.WriteByte("\n\t\r\a\b\f\v\x1b\x1b"[strings.IndexByte("ntrabfveE", c)])
		case 'x', 'u', 'U':
			size := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
			n, used := number(s[i+1:], size, 16)
			if used == 0 {
				b.WriteString(s[i-1 : i+1])
				continue
			}
			i += used
			if c == 'x' {
				b.WriteByte(byte(n))
			} else {
				b.WriteRune(rune(n))
			}
		case '0', '1', '2', '3', '4', '5', '6', '7':
			n, used := number(s[i:], 3, 8)
			if c == '0' && used == 3 && i+3 < len(s) && s[i+3] >= '0' && s[i+3] <= '7' { // echo -e '\0NNN'
				n, used = number(s[i:], 4, 8)
			}
			i += used - 1
			b.WriteByte(byte(n))
		case 'c':
			if i+1 < len(s) {
				i++
				b.WriteByte(s[i] & 0x1f)
			}
		default:
			if strings.IndexByte(`\'"?`, c) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
	}
	return b.String()
}

// number reads at most size digits and says how many it read.
func number(s string, size, base int) (n uint64, used int) {
	for used < size && used < len(s) {
		d, err := strconv.ParseUint(s[used:used+1], base, 8)
		if err != nil {
			break
		}
		n = n*uint64(base) + d
		used++
	}
	return n, used
}

const maxBraces = 128 // words one word may become

// braces expands {a,b}. What becomes too much stays one word with a wildcard.
func braces(w *syntax.Word) [][]syntax.WordPart {
	c := *w
	if !syntax.SplitBraces(&c) {
		return [][]syntax.WordPart{w.Parts}
	}
	out := [][]syntax.WordPart{nil}
	for _, p := range c.Parts {
		var ways [][]syntax.WordPart
		if b, is := p.(*syntax.BraceExp); is && !b.Sequence {
			for _, e := range b.Elems {
				ways = append(ways, braces(e)...)
			}
		}
		if len(ways) == 0 || len(ways)*len(out) > maxBraces {
			for i := range out {
				out[i] = append(slices.Clip(out[i]), p)
			}
			continue
		}
		var next [][]syntax.WordPart
		for _, o := range out {
			for _, way := range ways {
				next = append(next, append(slices.Clip(o), way...))
			}
		}
		out = next
	}
	return out
}
