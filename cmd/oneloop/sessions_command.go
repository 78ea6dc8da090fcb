package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/session"
)

// kept is the store of sessions for commands that need no settings.
func (p *program) kept() (session.Store, error) {
	state := config.StateDir(p.env)
	if state == "" {
		return session.Store{}, &codeError{exitConfig, errors.New(p.words.NothingKept)}
	}
	return session.Store{Dir: filepath.Join(state, "sessions")}, nil
}

// sessions lists, shows and changes the sessions that are kept.
func (p *program) sessions(context.Context) error {
	store, err := p.kept()
	if err != nil {
		return err
	}
	dir, err := p.folder()
	if err != nil {
		return err
	}
	words := p.opts.words
	if len(words) == 0 {
		words = []string{"list"}
	}
	do, args := words[0], words[1:]
	switch {
	case !takes("sessions", words):
	case do == "list" && len(args) == 0:
		return p.listSessions(store, realPath(dir))
	case do == "show" && len(args) == 1:
		return p.withSession(store, dir, args[0], p.showSession)
	case do == "rename" && len(args) > 1:
		return p.withSession(store, dir, args[0], func(l session.Listed) error {
			return p.busy(session.Rename(l.Path, strings.Join(args[1:], " ")), l.Path)
		})
	case do == "rm" && len(args) > 0:
		for _, ref := range args {
			err := p.withSession(store, dir, ref, func(l session.Listed) error {
				if err := store.Remove(l.Path); err != nil {
					return p.busy(err, l.Path)
				}
				_, err := fmt.Fprintf(p.stdout, p.words.SessionRemoved+"\n", tui.Visible(l.ID))
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	case do == "export" && (len(args) == 1 || len(args) == 2 && (args[1] == "md" || args[1] == "jsonl")):
		write := session.Markdown
		if len(args) == 2 && args[1] == "jsonl" {
			write = session.Export
		}
		return p.withSession(store, dir, args[0], func(l session.Listed) error {
			var b bytes.Buffer // so that nothing half is written
			if err := write(&b, l.Path); err != nil {
				return &codeError{exitConfig, err}
			}
			text := b.String()
			if tui.IsTerminal(p.stdout) {
				text = tui.Visible(text)
			}
			_, err := io.WriteString(p.stdout, text)
			return err
		})
	}
	return usagef("%s", p.words.SessionsUsage)
}

// busy is err with what can be done about a session that is open elsewhere
// and is to be changed: no copy helps.
func (p *program) busy(err error, path string) error {
	if errors.Is(err, session.ErrInUse) {
		return &codeError{exitConfig, fmt.Errorf(p.words.SessionBusy, idOf(path))}
	}
	return err
}

// withSession does something with the session that is meant by ref.
func (p *program) withSession(store session.Store, dir, ref string, do func(session.Listed) error) error {
	l, err := store.Find(realPath(dir), ref)
	if err != nil {
		return p.noSession(ref, err)
	}
	if err := do(l); err != nil {
		if _, ok := errors.AsType[*codeError](err); ok {
			return err
		}
		return &codeError{exitConfig, err}
	}
	return nil
}

// listedJSON is a session as --json has it.
type listedJSON struct {
	ID      string    `json:"id"`
	Name    string    `json:"name,omitempty"`
	Title   string    `json:"title"`
	Dir     string    `json:"dir"`
	Turns   int       `json:"turns"`
	Cost    *float64  `json:"cost_usd"` // null: not all of it has a price
	Model   string    `json:"model,omitempty"`
	Changed time.Time `json:"changed"`
	Size    int64     `json:"size"`
	Path    string    `json:"path"`
	Parent  string    `json:"parent,omitempty"`
	Error   string    `json:"error,omitempty"`
}

func (p *program) listSessions(store session.Store, dir string) error {
	if p.opts.all {
		dir = ""
	}
	list, err := store.List(dir)
	if err != nil {
		return &codeError{exitConfig, err}
	}
	if p.opts.json {
		all := []listedJSON{}
		for _, l := range list {
			j := listedJSON{ID: l.ID, Name: l.Name, Title: l.Title, Dir: l.Dir, Turns: l.Turns, Model: l.Model, Changed: l.Changed.UTC(), Size: l.Size, Path: l.Path}
			if l.Known {
				j.Cost = &l.Cost
			}
			if l.Parent != nil {
				j.Parent = l.Parent.ID
			}
			if l.Err != nil {
				j.Error = l.Err.Error()
			}
			all = append(all, j)
		}
		b, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(p.stdout, "%s\n", b)
		return err
	}
	if len(list) == 0 {
		_, err := fmt.Fprintf(p.stdout, p.words.NoSessionHere+"\n", cmp.Or(dir, p.words.AnyFolder))
		return err
	}
	for _, l := range list {
		line := tui.Visible(l.ID) + "  " + p.sessionLine(l)
		if dir == "" {
			line += "  " + tui.Visible(l.Dir)
		}
		if _, err := fmt.Fprintln(p.stdout, line); err != nil {
			return err
		}
	}
	return nil
}

// sessionLine is what a list says of a session beside its id.
func (p *program) sessionLine(l session.Listed) string {
	if l.Err != nil {
		return fmt.Sprintf(p.words.ErrorLine, l.Err)
	}
	cost := ""
	if l.Known {
		cost = "  " + tui.Money(l.Cost)
	}
	title := tui.Visible(cmp.Or(l.Name, l.Title, "–"))
	return l.Changed.Local().Format("2006-01-02 15:04") + "  " + p.words.Turns(l.Turns) + cost + "  " + title
}

// showSession prints one session: what it is, and its turns with the numbers
// that fork takes.
func (p *program) showSession(l session.Listed) error {
	l, prompts, damage, err := session.Look(l.Path)
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", tui.Visible(l.ID), p.sessionLine(l))
	labels := p.words.SessionLabels
	row := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", label, tui.Visible(value))
		}
	}
	row(labels[0], l.Dir)
	row(labels[1], l.Model)
	row(labels[2], l.Path)
	if l.Parent != nil {
		row(labels[3], l.Parent.ID)
	}
	for _, d := range damage {
		row(labels[4], d.String())
	}
	for i, q := range prompts {
		fmt.Fprintf(&b, "%4d  %s  %s\n", i+1, q.Time.Local().Format("2006-01-02 15:04"), tui.Visible(session.Title(q.Text)))
	}
	_, err = io.WriteString(p.stdout, b.String())
	return err
}

// forkCommand copies a session, up to a turn of it if one is named, and prints
// the new one's id.
func (p *program) forkCommand(context.Context) error {
	words := p.opts.words
	if len(words) == 0 || len(words) > 2 {
		return usagef("%s", p.words.ForkUsage)
	}
	store, err := p.kept()
	if err != nil {
		return err
	}
	dir, err := p.folder()
	if err != nil {
		return err
	}
	return p.withSession(store, dir, words[0], func(l session.Listed) error {
		at := int64(0)
		if len(words) == 2 {
			if at, err = p.afterTurn(l.Path, words[1]); err != nil {
				return err
			}
		}
		path, err := session.Fork(l.Path, at, p.forked())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(p.stdout, idOf(path))
		return err
	})
}

func (p *program) forked() session.LogOptions {
	return session.LogOptions{Head: session.Head{Program: version(), User: p.person()}}
}

// afterTurn is the last entry of a turn, by its number in show.
func (p *program) afterTurn(path, word string) (int64, error) {
	_, prompts, _, err := session.Look(path)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(word)
	if err != nil || n < 1 || n > len(prompts) {
		return 0, &codeError{exitUsage, fmt.Errorf(p.words.NoTurn, word, len(prompts))}
	}
	if n == len(prompts) {
		return 0, nil
	}
	return prompts[n].N - 1, nil
}

func idOf(path string) string { return strings.TrimSuffix(filepath.Base(path), ".jsonl") }
