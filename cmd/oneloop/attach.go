package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/workspace"
)

// Bounds of what is attached to one prompt.
const (
	mostAttached  = 20      // files
	attachedChars = 200_000 // characters, after which no further file is attached
	missedTold    = 5       // files that cannot be, and are told with the reason
)

// mentionsSaid is where the person hears of files they named; nil: nowhere.
type mentionsSaid struct{ attached, not func(text string) }

// attaching has what the person names by @ come with their words, after before.
func (p *program) attaching(a *agent, before func(context.Context, *oneloop.Message) error) func(context.Context, *oneloop.Message) error {
	return func(ctx context.Context, m *oneloop.Message) error {
		words := slices.Clone(m.Blocks) // hooks put theirs behind them
		if err := before(ctx, m); err != nil {
			return err
		}
		at := attachment{program: p, agent: a}
		a.rules.Drop(ofSkills)
		for _, b := range words {
			if t, ok := b.(*oneloop.Text); ok {
				if err := at.called(ctx, p.spoken(t.Text)); err != nil {
					return err
				}
				at.mentions(ctx, p.spoken(t.Text))
			}
		}
		m.Blocks = append(m.Blocks, at.blocks...)
		at.tell()
		return nil
	}
}

// spoken are the person's own words in what a turn says: what is piped in is
// what they are about.
func (p *program) spoken(text string) string {
	if p.opts.task(p.stdin) {
		return p.opts.prompt
	}
	return text
}

// attachment is what one prompt brings along.
type attachment struct {
	*program
	agent  *agent
	blocks []oneloop.Block
	chars  int
	paths  []string // real ones
	names  []string // as the person wrote them
	missed []string // each with the reason
}

// mentions attaches what text names.
func (t *attachment) mentions(ctx context.Context, text string) {
	for _, m := range mentions(text) {
		if ctx.Err() != nil {
			return
		}
		name, path, err := t.find(m)
		switch {
		case err != nil:
			t.miss(strings.TrimRight(m.names[0], closing), err.Error())
		case name == "" && m.path:
			t.miss(strings.TrimRight(m.names[0], closing), t.words.AttachMissing)
		case name == "", slices.Contains(t.paths, path):
		case len(t.paths) >= mostAttached || t.chars >= attachedChars:
			t.miss(name, t.words.AttachMuch)
		default:
			t.paths = append(t.paths, path)
			t.attach(ctx, name, path)
		}
	}
}

// find is the file or folder that m names, as it is written and by its real
// path; empty: there is none.
func (t *attachment) find(m mention) (name, path string, err error) {
	files := t.agent.ws.Files()
	for _, name := range m.names {
		full := t.homely(name)
		info, err := files.Stat(full)
		switch link := t.isLink(full); {
		case errors.Is(err, workspace.ErrOutside) && (m.path || link):
			return "", "", errors.New(t.words.AttachOutside)
		case err != nil && link:
			return "", "", errors.New(t.words.AttachLink)
		case err != nil:
			continue
		case !info.IsDir() && !info.Mode().IsRegular():
			return "", "", errors.New(t.words.AttachNoFile)
		}
		if path, err := files.Resolve(full); err == nil {
			return name, path, nil
		}
	}
	return "", "", nil
}

// isLink reports whether name is one in the folder that is worked in, wherever
// it leads.
func (t *attachment) isLink(name string) bool {
	if !filepath.IsAbs(name) {
		name = filepath.Join(t.agent.dir, name)
	}
	info, err := os.Lstat(name)
	return err == nil && info.Mode().Type() == fs.ModeSymlink
}

// attach has a file or folder come along as Read shows it, if that is allowed.
func (t *attachment) attach(ctx context.Context, name, path string) {
	input, err := json.Marshal(map[string]string{"file_path": t.shown(path)})
	if err != nil {
		t.miss(name, err.Error())
		return
	}
	denied := false
	r, err := t.agent.reader.Run(ctx, &oneloop.ToolUse{ID: "attached", Name: t.agent.reader.Name, Input: input}, func(e oneloop.Event) {
		_, no := e.(oneloop.Denied)
		denied = denied || no
		t.agent.tell(e)
	})
	switch {
	case denied:
		t.miss(name, t.words.AttachDenied)
	case err != nil:
		t.miss(name, err.Error())
	case r.IsError:
		t.miss(name, r.Text())
	default:
		t.names = append(t.names, name)
		t.chars += utf8.RuneCountInString(r.Text())
		t.add(t.shown(path), r.Content)
	}
}

// add puts content behind the prompt, in marks that no line of a file can be.
func (t *attachment) add(path string, content []oneloop.Block) {
	begin, end := fmt.Sprintf("\n<attached path=%q>\n", path), "\n</attached>"
	for i, b := range content {
		text, ok := b.(*oneloop.Text)
		if !ok {
			t.blocks = append(t.blocks, b)
			continue
		}
		said := text.Text
		if i == 0 {
			said = begin + said + end
		}
		t.blocks = append(t.blocks, &oneloop.Text{Text: said})
	}
}

// shown is a path as the model knows it.
func (t *attachment) shown(path string) string {
	if rel, err := filepath.Rel(t.agent.dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

func (t *attachment) miss(name, why string) {
	t.missed = append(t.missed, fmt.Sprintf(t.words.AttachNot, tui.Head(name), why))
}

// tell says what comes along and what does not.
func (t *attachment) tell() {
	says := t.agent.says
	if len(t.names) > 0 && says.attached != nil {
		says.attached(fmt.Sprintf(t.words.Attached, strings.Join(t.names, ", ")))
	}
	if n := len(t.missed) - missedTold; n > 0 {
		t.missed = append(t.missed[:missedTold], t.words.NotAttached(n))
	}
	if len(t.missed) > 0 && says.not != nil {
		says.not(strings.Join(t.missed, "\n"))
	}
}
