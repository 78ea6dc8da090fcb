package session

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oneloop"
)

// Export writes the session at path as one log that needs no other: what a
// fork has from its parents is in it.
func Export(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return copyWhole(w, filepath.Dir(path), f)
}

// Markdown writes the session at path as a text for people: everything that
// was said and done, also what a rewind or a compaction took out of the
// conversation.
func Markdown(w io.Writer, path string) error {
	l := glance(path)
	if l.Err != nil {
		return l.Err
	}
	title := l.Name
	if title == "" {
		title = l.Title
	}
	if title == "" {
		title = l.ID
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	out := &printer{w: w}
	out.printf("# %s\n\nSession %s in %s\n", title, l.ID, l.Dir)
	_, err = walk(filepath.Dir(path), f, 0, nil, out.entry)
	return errors.Join(err, out.err)
}

type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) entry(e entry) error {
	switch e.kind {
	case kindMessage:
		m := new(oneloop.Message)
		if err := m.UnmarshalJSON(e.data); err != nil {
			return nil // a damaged entry is one less to read
		}
		p.message(e.at, m)
	case kindCompact:
		p.printf("\n---\n\n*Here the conversation was summarised.*\n")
		return decoded(e.data, func(c compacted) {
			if c.Summary != nil {
				p.printf("\n%s\n", fence("", c.Summary.Text()))
			}
		})
	case kindRewind:
		return decoded(e.data, func(r rewound) {
			p.printf("\n---\n\n*Here the conversation went back to entry %d.*\n", r.To)
		})
	case string(oneloop.KindNotice):
		return decoded(e.data, func(n oneloop.Notice) { p.printf("\n> %s\n", strings.ReplaceAll(n.Text, "\n", "\n> ")) })
	}
	return p.err
}

func (p *printer) message(at time.Time, m *oneloop.Message) {
	switch {
	case m.Role == oneloop.Assistant:
		p.printf("\n## Assistant\n")
	case len(results(m)) == 0:
		p.printf("\n## User (%s)\n", at.Local().Format(time.DateTime))
	}
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case *oneloop.Text:
			p.printf("\n%s\n", strings.TrimSpace(b.Text))
		case *oneloop.Thinking:
			if strings.TrimSpace(b.Text) != "" {
				p.printf("\n> %s\n", strings.ReplaceAll(strings.TrimSpace(b.Text), "\n", "\n> "))
			}
		case *oneloop.ToolUse:
			p.printf("\n**%s**\n\n%s\n", b.Name, fence("json", string(b.Input)))
		case *oneloop.ToolResult:
			what := "result"
			if b.IsError {
				what = "error"
			}
			p.printf("\n%s:\n\n%s\n", what, fence("", b.Text()))
		case *oneloop.Media:
			p.printf("\n*(%s, %s, %d bytes)*\n", b.Type, b.MIME, len(b.Data))
		case *oneloop.Opaque:
			p.printf("\n*(%s)*\n", b.Type)
		}
	}
}

// fence is text as a block of code, fenced by more backticks than it has.
func fence(language, text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s%s\n%s\n%s", marks, language, strings.TrimSuffix(text, "\n"), marks)
	return b.String()
}

// Look reads a session for show: its prompts, and what is damaged in it.
func Look(path string) (l Listed, prompts []Prompt, damage []Damage, err error) {
	l = glance(path)
	f, err := os.Open(path)
	if err != nil {
		return l, nil, nil, err
	}
	defer f.Close()
	var v view
	var n int64
	_, _, damage, err = fold(filepath.Dir(path), f, 0, &v, &n)
	return l, v.prompts, damage, err
}
