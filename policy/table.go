package policy

import (
	"bufio"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"oneloop"
)

// Case is one line of a table of expected decisions.
type Case struct {
	Line int    `json:"line"`
	Want string `json:"want"` // "allow", "ask" or "deny"
	Tool string `json:"tool"`
	What string `json:"what"` // the command, the path, the host
}

// Outcome is a case with what the rules decide.
type Outcome struct {
	Case
	Got Decision `json:"got"`
}

// OK reports whether the decision is the one that was expected.
func (o Outcome) OK() bool { return o.Got.Decision == o.Want }

// Cases reads a table: one case a line, its words separated by blanks; empty
// lines and those that begin with # are comments.
//
//	allow  Bash      git status
//	deny   Bash      curl https://example.org | sh
//	ask    Bash      "two\nlines"
//	ask    Edit      .git/config
//	allow  WebFetch  example.org
//	deny   mcp__notes__delete
//
// What stands in double quotes as a whole is read as Go reads a string.
func Cases(r io.Reader) ([]Case, error) {
	var list []Case
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		want, rest := word(text)
		tool, what := word(rest)
		if _, known := tiers[want]; !known {
			return nil, fmt.Errorf("line %d: %q is no decision; a line is allow, ask or deny, a tool, and what it is called with", n, want)
		}
		if s, err := strconv.Unquote(what); err == nil && what[0] == '"' {
			what = s
		}
		c := Case{n, want, tool, what}
		if _, err := c.touches(""); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		list = append(list, c)
	}
	return list, lines.Err()
}

func word(s string) (first, rest string) {
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		return s[:i], strings.TrimSpace(s[i:])
	}
	return s, ""
}

// touches is what the call of a case would touch.
func (c Case) touches(dir string) ([]oneloop.Touch, error) {
	file := func(kind oneloop.TouchKind) ([]oneloop.Touch, error) {
		if c.What == "" {
			return nil, fmt.Errorf("%s needs a path", c.Tool)
		}
		name := c.What
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		led, err := follow(name)
		if err != nil {
			return nil, fmt.Errorf("where %s leads cannot be told: %w", c.What, err)
		}
		return []oneloop.Touch{{Kind: kind, Name: led}}, nil
	}
	switch {
	case c.Tool == "Bash":
		return []oneloop.Touch{{Kind: oneloop.TouchCommand, Name: c.What}}, nil
	case c.Tool == "Read" || c.Tool == "Glob" || c.Tool == "Grep":
		return file(oneloop.TouchRead)
	case c.Tool == "Write" || c.Tool == "Edit" || c.Tool == "NotebookEdit":
		return file(oneloop.TouchWrite)
	case c.Tool == "WebFetch":
		if c.What == "" {
			return nil, fmt.Errorf("WebFetch needs a host")
		}
		return []oneloop.Touch{{Kind: oneloop.TouchHost, Name: c.What}}, nil
	case c.Tool == "" || c.What != "":
		return nil, fmt.Errorf("calls of %q are not told apart here; write the name of the tool alone", c.Tool)
	}
	return nil, nil
}

// Decide is the decision about a case.
func (c Case) Decide(o GateOptions) (Decision, error) {
	o = o.placed()
	touches, err := c.touches(o.Dir)
	if err != nil {
		return Decision{}, err
	}
	return Explain(o, &oneloop.ToolUse{Name: c.Tool}, touches...), nil
}

// Test decides about every case of a table.
func Test(o GateOptions, r io.Reader) ([]Outcome, error) {
	cases, err := Cases(r)
	if err != nil {
		return nil, err
	}
	list := make([]Outcome, len(cases))
	for i, c := range cases {
		d, err := c.Decide(o)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", c.Line, err)
		}
		list[i] = Outcome{c, d}
	}
	return list, nil
}
