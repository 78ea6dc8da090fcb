package shell

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Pattern is what a rule says of commands: the words of one simple command.
//
//	git status        exactly these words
//	git status:*      these words, and any others behind them
//	git * main        * is any text, of several words too
//	git *             the same as git:*
//	*                 every command
//
// A pattern is compared with words, not with text: quotes, blanks and line
// continuations make no difference, and "git status:*" is no "git statusx".
type Pattern struct {
	text string // words, with between after each but the last
	open bool   // anything may follow after a blank
	any  bool   // the pattern is * alone
}

// ParsePattern reads a pattern. What is no simple command, such as a list or a
// redirection, can never match and is an error.
func ParsePattern(text string) (Pattern, error) {
	text = strings.TrimSpace(text)
	p := Pattern{}
	if text == "" || text == "*" || text == ":*" {
		return Pattern{any: true}, nil
	}
	for _, end := range []string{":*", " *"} {
		if rest, is := strings.CutSuffix(text, end); is {
			text, p.open = strings.TrimSpace(rest), true
			break
		}
	}
	stmts, err := parse(text)
	if err != nil {
		return p, fmt.Errorf("%q does not parse: %s", text, reason(err))
	}
	if len(stmts) != 1 || len(stmts[0].Redirs) > 0 || stmts[0].Background || stmts[0].Negated {
		return p, fmt.Errorf("%q is no simple command; a rule is compared with one command at a time, without redirections", text)
	}
	call, is := stmts[0].Cmd.(*syntax.CallExpr)
	if !is || len(call.Assigns) > 0 || len(call.Args) == 0 {
		return p, fmt.Errorf("%q is no simple command; a rule is compared with one command at a time, without variables that are set for it", text)
	}
	if moves(call.Args) {
		return p, fmt.Errorf("%q uses a variable, or what another command prints; a rule is compared with words", text)
	}
	words := make([]string, len(call.Args))
	for i, w := range call.Args {
		words[i] = literal(w)
	}
	p.text = joined(words)
	return p, nil
}

// between stands between two words, so that a blank inside of one is none
// between two. A command that has it in a word is odd and never allowed.
const between = "\x1f"

func joined(words []string) string { return strings.Join(words, between) }

// Program is the first word of what the pattern matches, empty when that may
// be anything.
func (p Pattern) Program() string {
	name, _, _ := strings.Cut(p.text, between)
	if strings.Contains(name, "*") {
		return ""
	}
	return name
}

// Covers reports whether all that q matches is matched by p, as far as that
// is seen at once.
func (p Pattern) Covers(q Pattern) bool {
	switch {
	case p.any:
		return true
	case q.any || q.open && !p.open && !strings.HasSuffix(p.text, "*"):
		return false
	}
	return p.glob(q.text) // a * of q is a letter here
}

// Matching says whether a pattern matches.
type Matching int

const (
	No      Matching = iota
	Perhaps          // what is not known of the command decides
	Yes
)

// Match compares a pattern that denies or asks with a part of a command: also
// by the program's name alone when it is called by a path.
func (p Pattern) Match(part Part) Matching {
	best := p.match(part.Words)
	if name := base(part.Words[0]); best < Yes && name != part.Words[0] {
		words := slices.Clone(part.Words)
		words[0] = name
		best = max(best, p.match(words))
	}
	if best == Yes && !part.Sure {
		return Perhaps
	}
	return best
}

func (p Pattern) match(words []string) Matching {
	if p.any {
		return Yes
	}
	text := joined(words)
	if p.glob(text) {
		return Yes
	}
	if strings.ContainsAny(text, open) && p.perhaps(words) {
		return Perhaps
	}
	return No
}

// Allows reports whether a pattern that allows matches a command as it is
// written. What is not known of the command has to make no difference, and its
// program is not taken for another of the same name.
func (p Pattern) Allows(c Command) bool {
	return p.any || p.glob(joined(c.Words)) || slices.ContainsFunc(unwrapped(c.Words), func(w []string) bool { return p.glob(joined(w)) })
}

// open are the runes that stand for text that is not known.
const open = unknown + fetched + process + every + "*?["

func (p Pattern) glob(text string) bool {
	return star(p.text, text) || p.open && star(p.text+between+"*", text)
}

// star matches a text with a pattern whose only wildcard is *.
func star(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, is := strings.CutPrefix(text, parts[0])
	if !is || len(parts) == 1 {
		return is && rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return len(rest) >= len(last) && strings.HasSuffix(rest, last)
}

// longest is the length in bytes up to which what is unknown is compared
// exactly.
const longest = 4096

// perhaps reports whether words can turn out to be matched.
func (p Pattern) perhaps(words []string) bool {
	text := joined(words)
	if len(text)*len(p.text) > longest*64 {
		return true
	}
	text = strings.NewReplacer(unknown, "*", fetched, "*", process, "*", every, "*", "?", "*").Replace(text)
	for i := strings.IndexByte(text, '['); i >= 0; i = strings.IndexByte(text, '[') {
		end := strings.IndexByte(text[i:], ']')
		if end < 0 {
			break
		}
		text = text[:i] + "*" + text[i+end+1:]
	}
	return meet(p.text, text) || p.open && meet(p.text+between+"*", text)
}

// meet reports whether two patterns match some text in common. A * of a word
// can be nothing at all, and then the blank beside it is not there either.
func meet(a, b string) bool {
	row := make([]bool, len(b)+1)
	row[0] = true
	for k := range b {
		row[k+1] = row[k] && optional(b, k)
	}
	for i := range a {
		last := row
		row = make([]bool, len(b)+1)
		row[0] = last[0] && optional(a, i)
		for k := range b {
			row[k+1] = last[k] && (a[i] == b[k] || a[i] == '*' || b[k] == '*') ||
				row[k] && (a[i] == '*' || optional(b, k)) || last[k+1] && (b[k] == '*' || optional(a, i))
		}
	}
	return row[len(b)]
}

// optional reports whether the byte at i may be missing.
func optional(s string, i int) bool {
	switch s[i] {
	case '*':
		return true
	case between[0]:
		return i+1 < len(s) && s[i+1] == '*' || i > 0 && s[i-1] == '*'
	}
	return false
}

// unwrapped are the forms of a command without what only runs it: a time
// limit, a lower priority.
func unwrapped(words []string) (forms [][]string) {
	for len(words) > 1 {
		rest := words[1:]
		switch words[0] {
		case "timeout":
			for len(rest) > 0 && (rest[0] == "--foreground" || rest[0] == "--preserve-status" || rest[0] == "-v" || rest[0] == "--verbose") {
				rest = rest[1:]
			}
			if len(rest) < 2 || strings.Trim(rest[0], "0123456789.smhd") != "" {
				return forms
			}
			rest = rest[1:]
		case "nice":
			if rest[0] == "-n" && len(rest) > 2 && strings.Trim(rest[1], "0123456789") == "" {
				rest = rest[2:]
			}
		case "nohup", "stdbuf":
			for words[0] == "stdbuf" && len(rest) > 0 && len(rest[0]) > 2 && (rest[0][:2] == "-o" || rest[0][:2] == "-e" || rest[0][:2] == "-i") {
				rest = rest[1:]
			}
		default:
			return forms
		}
		if len(rest) == 0 || rest[0] == "" || rest[0][0] == '-' || strings.ContainsAny(rest[0], open) {
			return forms
		}
		forms = append(forms, rest)
		words = rest
	}
	return forms
}
