package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"oneloop/internal/mask"
	"oneloop/prompt"
	"oneloop/workspace"
)

// notebook is the memory of the repository that is worked in, by its real path;
// nil when there is none.
func (p *program) notebook() *prompt.Memory {
	s := p.settings
	if !s.Memory || s.StateDir == "" || p.offline || s.Instructions == nil {
		return nil
	}
	top := s.Instructions.Top()
	if p.tree != nil {
		top = p.tree.main
	}
	sum := sha256.Sum256([]byte(top))
	name := fmt.Sprintf("%s-%x", strings.Trim(filepath.Base(top), `/\`), sum[:8])
	return &prompt.Memory{Dir: filepath.Join(s.StateDir, "memory", name), Secret: p.secretIn}
}

// secretIn says what secret a text holds: a credential of this program, one of
// the environment, or what looks like one.
func (p *program) secretIn(text string) string {
	known := mask.New(append(workspace.Secrets(p.env), p.settings.Secrets()...)...)
	if known.String(text) != text {
		return "a credential of the user's"
	}
	return mask.Looks(text)
}

// remembered lists the notes for the system prompt of a session that begins,
// if the agent has the tool that reads them: a child of another one, too.
func (p *program) remembered(a *agent) (string, error) {
	m := p.notebook()
	if m == nil || !p.chosen("Memory") || !a.mayHave("Memory") {
		return "", nil
	}
	return m.Index()
}

// notes does what /memory says: lists the notes, shows one, deletes one.
func (c *conversation) notes(ctx context.Context, words string) {
	m := c.notebook()
	if m == nil {
		c.front.Say(c.words.MemoryOff)
		return
	}
	name, more, _ := strings.Cut(words, " ")
	more = strings.TrimSpace(more)
	switch {
	case words == "":
		c.listNotes(m)
		return
	case name == "delete" && more != "":
		name = more
	}
	n, err := m.Read(name)
	if name != words && !errors.Is(err, fs.ErrNotExist) { // also one that cannot be read as a note
		err = m.Delete(ctx, name, n)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist) && words == "delete":
		c.front.Say(c.words.MemoryWhich)
	case errors.Is(err, fs.ErrNotExist):
		c.front.Say(fmt.Sprintf(c.words.MemoryNot, name))
	case err != nil:
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, err))
	case name != words:
		c.front.Say(fmt.Sprintf(c.words.MemoryGone, name))
	default:
		c.front.Say(strings.TrimSpace(n.String()))
	}
}

func (c *conversation) listNotes(m *prompt.Memory) {
	notes, others, err := m.List()
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, err))
		return
	}
	if len(notes)+len(others) == 0 {
		c.front.Say(c.words.MemoryNone)
		return
	}
	for _, n := range notes {
		c.front.Say(n.Line())
	}
	for _, name := range others {
		c.front.Say("? " + name)
	}
	c.front.Say(fmt.Sprintf(c.words.MemoryIn, m.Dir))
}
