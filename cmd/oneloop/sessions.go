package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/session"
)

// store is where sessions are kept; nil when nothing is kept.
func (p *program) store() *session.Store {
	if p.settings.StateDir == "" {
		return nil
	}
	return &session.Store{Dir: filepath.Join(p.settings.StateDir, "sessions")}
}

// keep gives an agent the log of its conversation.
func (p *program) keep(a *agent, s spec) error {
	opts := p.logOptions(a, s)
	a.lost = func(e *session.LostError) {
		fmt.Fprintf(p.stderr, p.words.LogLost+"\n", e.Entries, tui.Visible(e.Path), tui.Visible(e.Err.Error()))
	}
	if s.resume == "" {
		a.take(p.newLog(opts))
		return nil
	}
	log, damage, err := p.openLog(s.resume, opts)
	if err != nil {
		return p.inUse(err, s.resume)
	}
	for _, d := range damage {
		if said := p.damaged(log.ID(), d); s.parent != nil {
			s.parent.tell(oneloop.Notice{Text: said})
		} else {
			p.settings.Notices = append(p.settings.Notices, said)
		}
	}
	a.take(log)
	a.ends.source = "resume"
	return nil
}

// openLog opens a log that is there. A long one takes twice its size.
func (p *program) openLog(path string, opts session.LogOptions) (*session.Log, []session.Damage, error) {
	if info, err := os.Stat(path); err == nil {
		p.heap.expect(2 * info.Size())
	}
	return session.OpenLog(path, opts)
}

func (p *program) logOptions(a *agent, s spec) session.LogOptions {
	return session.LogOptions{
		Head: session.Head{Dir: realPath(s.dir), Program: version(), User: p.person(), Child: s.child, ID: s.id, Series: p.opts.series},
		Trouble: func(err error) {
			text := p.words.LogKept
			if err != nil {
				text = fmt.Sprintf(p.words.LogTrouble, err)
			}
			a.tell(oneloop.Notice{Text: text})
		},
	}
}

func (p *program) newLog(opts session.LogOptions) *session.Log {
	if store := p.store(); store != nil && !p.offline {
		log := store.New(opts)
		log.Prepare()
		return log
	}
	return session.NewLog("", opts)
}

func (a *agent) take(log *session.Log) {
	a.log.Store(log)
	a.id, a.earlier = log.ID(), newest(log)
}

// renew begins a new conversation with the same agent.
func (p *program) renew(a *agent) {
	old := a.log.Load()
	if err := old.Close(); err != nil {
		a.tell(oneloop.Notice{Text: fmt.Sprintf(p.words.LogTrouble, err)})
	}
	a.take(p.newLog(p.logOptions(a, spec{dir: a.dir})))
	a.Session = a.build()
}

// person is who runs the program and where: a number that the system knows, and
// the name of the machine.
func (p *program) person() string {
	host, err := os.Hostname()
	if err != nil {
		host = ""
	}
	return strconv.Itoa(os.Getuid()) + "@" + host
}

func realPath(dir string) string {
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return dir
}

// resumed is the session that the command line means, and the folder it works
// in. The path is empty when it means a new one.
func (p *program) resumed(ctx context.Context, dir string) (path, work string, err error) {
	if !p.opts.goOn && !p.opts.pick && p.opts.resume == "" {
		return "", dir, nil
	}
	store, err := p.kept()
	if err != nil {
		return "", "", err
	}
	var l session.Listed
	switch {
	case p.opts.pick && !tui.IsTerminal(p.stdin):
		return "", "", usagef(p.words.FlagNeeds, "--resume")
	case p.opts.pick:
		if l, err = p.choose(ctx, store, dir, "", p.askTrust()); err != nil {
			return "", "", err
		}
		if l.Path == "" { // none of them: a new one
			return "", dir, nil
		}
	case p.opts.resume != "":
		if l, err = store.Find(realPath(dir), p.opts.resume); err != nil {
			return "", "", p.noSession(p.opts.resume, err)
		}
	default:
		switch l, err = store.Newest(realPath(dir)); {
		case errors.Is(err, session.ErrNoSession):
			return "", "", usagef(p.words.NoSessionHere, dir)
		case err != nil:
			return "", "", &codeError{exitConfig, err}
		}
	}
	if l.Err != nil {
		return "", "", &codeError{exitConfig, unread(l)}
	}
	if err := p.held(l); err != nil {
		return "", "", err
	}
	if err := p.noTree(l.ID, l.Dir); err != nil {
		return "", "", err
	}
	if p.opts.fork {
		if l.Path, err = session.Fork(l.Path, 0, p.forked()); err != nil {
			return "", "", &codeError{exitConfig, err}
		}
	}
	if p.opts.dir == "" && p.tree == nil && l.Dir != "" {
		dir = l.Dir
	}
	return l.Path, dir, nil
}

// unread is why the log l cannot be used, with its path said once.
func unread(l session.Listed) error {
	if bad := new(fs.PathError); errors.As(l.Err, &bad) && bad.Path == l.Path {
		return l.Err
	}
	return fmt.Errorf("%s: %w", l.Path, l.Err)
}

// noSession is err, which [session.Store.Find] had for ref, for the user.
func (p *program) noSession(ref string, err error) error {
	if errors.Is(err, session.ErrNoSession) {
		return usagef(p.words.NoSuchSession, ref)
	}
	return usagef(p.words.NoSession, err)
}

// damaged says what is damaged in the log of a session that is opened.
func (p *program) damaged(id string, d session.Damage) string {
	if d.Torn() {
		return fmt.Sprintf(p.words.LogTorn, id)
	}
	return fmt.Sprintf(p.words.LogDamaged, id, d)
}

// inUse is err with what can be done about a session that is open elsewhere.
func (p *program) inUse(err error, path string) error {
	if errors.Is(err, session.ErrInUse) {
		return &codeError{exitConfig, fmt.Errorf(p.words.SessionInUse, idOf(path))}
	}
	return err
}

// shownSessions is how many sessions the user chooses from.
const shownSessions = 20

// choose has the user say which session of the folder is meant, of those that
// are not but; none is an answer too.
func (p *program) choose(ctx context.Context, store session.Store, dir, but string, ask oneloop.Ask) (l session.Listed, err error) {
	list, err := store.List(realPath(dir))
	if err != nil {
		return l, &codeError{exitConfig, err}
	}
	list = slices.DeleteFunc(list, func(l session.Listed) bool { return l.ID == but })
	if len(list) == 0 {
		return l, usagef(p.words.NoSessionHere, dir)
	}
	q := oneloop.Question{Kind: "choice", Title: p.words.PickSession}
	for _, l := range list[:min(len(list), shownSessions)] {
		q.Choices = append(q.Choices, oneloop.Choice{Label: p.sessionLine(l) + "  " + l.ID})
	}
	a, err := ask(ctx, q)
	if err != nil {
		return l, err
	}
	for i, c := range q.Choices {
		if slices.Contains(a.Chosen, c.Label) {
			return list[i], nil
		}
	}
	if ref := strings.TrimSpace(a.Text); ref != "" {
		if l, err = store.Find(realPath(dir), ref); err != nil {
			return l, p.noSession(ref, err)
		}
	}
	return l, nil
}
