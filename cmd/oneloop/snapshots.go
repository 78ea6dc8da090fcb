package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"oneloop"
	"oneloop/policy"
	"oneloop/session"
	"oneloop/workspace"
)

// shots are the snapshots of files for a run, those of the conversation that
// goes on: agents that work for it share them. Nothing is made before the first
// change.
type shots struct {
	open func(*session.Log) (*workspace.Snapshots, error)
	log  func() *session.Log

	mu   sync.Mutex
	of   *session.Log
	now  atomic.Pointer[workspace.Snapshots] // of that log; nil: none yet
	prep sync.Once
	tidy func() // the store, beside other work
}

// snapshots gives an agent its snapshots.
func (p *program) snapshots(a *agent, parent *agent) {
	if parent != nil {
		a.shots = parent.shots
		return
	}
	a.shots = &shots{
		log: a.log.Load,
		open: func(log *session.Log) (*workspace.Snapshots, error) {
			return workspace.NewSnapshots(a.ws, workspace.SnapshotOptions{
				Dir:   session.FilesDir(log.Path()),
				At:    func() int64 { return newest(log) },
				Since: a.earlier,
				Busy:  func() bool { return a.jobs != nil && len(a.jobs.Running()) > 0 },
				NoGit: !p.trusts(),
				Trouble: func(err error) {
					a.tell(oneloop.Notice{Text: fmt.Sprintf(p.words.RewindOff, err)})
				},
			})
		},
		tidy: func() {
			if p.settings.StateDir != "" {
				a.waiting.Go(func() { tidyFiles(p.settings.StateDir, time.Now()) })
			}
		},
	}
}

// newest is the number of the newest prompt.
func newest(log *session.Log) int64 {
	prompts := log.Prompts()
	if len(prompts) == 0 {
		return 0
	}
	return prompts[len(prompts)-1].N
}

// trusts reports whether the user trusts all that the folder brings along.
func (p *program) trusts() bool {
	t := p.settings.Trusted
	return t == nil || !slices.ContainsFunc(t.Found, func(f policy.Finding) bool { return !t.Has(f.Name) })
}

// get returns the snapshots of the conversation that goes on; nil when it is
// not kept.
func (s *shots) get() *workspace.Snapshots {
	s.mu.Lock()
	defer s.mu.Unlock()
	log := s.log()
	if log == s.of {
		return s.now.Load()
	}
	s.end()
	if log.Path() == "" {
		return nil
	}
	snaps, err := s.open(log)
	if err != nil {
		return nil // the folder is gone, and nothing runs in it
	}
	s.prep.Do(s.tidy)
	s.of = log
	s.now.Store(snaps)
	return snaps
}

// made are the snapshots as far as there are any.
func (s *shots) made() *workspace.Snapshots {
	if s == nil {
		return nil
	}
	return s.now.Load()
}

// end keeps what is not kept yet.
func (s *shots) end() error {
	snaps := s.now.Swap(nil)
	s.of = nil
	if snaps == nil {
		return nil
	}
	return snaps.Close()
}

func (s *shots) close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end()
}

// answerable has calls that must not run twice written down before they run,
// and what calls change in files kept as it was. The log is looked up then:
// another conversation has another one.
func (a *agent) answerable(t oneloop.Tool) oneloop.Tool {
	inner := t
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		effect := oneloop.Once
		if inner.Effect != nil {
			effect = inner.Effect(call)
		}
		if effect == oneloop.ReadOnly {
			return inner.Run(ctx, call, emit)
		}
		if snaps := a.shots.get(); snaps != nil {
			defer snaps.Before(ctx, written(inner, call, effect)...)()
		}
		once := inner
		once.Effect = func(*oneloop.ToolUse) oneloop.Effect { return effect } // a long command is not parsed again
		return a.log.Load().Intend(once).Run(ctx, call, emit)
	}
	return t
}

// written are the files that a call changes; none when it can be any.
func written(t oneloop.Tool, call *oneloop.ToolUse, effect oneloop.Effect) (paths []string) {
	if effect == oneloop.Once || t.Touches == nil {
		return nil
	}
	touches, err := t.Touches(call)
	if err != nil {
		return nil
	}
	for _, touch := range touches {
		if touch.Kind == oneloop.TouchWrite {
			paths = append(paths, touch.Name)
		}
	}
	return paths
}

// watching has what changes until done is called count as the agent's own
// doing.
func (a *agent) watching() (done func()) {
	files := a.files.Watching()
	return func() {
		files()
		if snaps := a.shots.made(); snaps != nil {
			snaps.Again()
		}
	}
}

// watched has changes looked at beside the requests of m.
func (a *agent) watched(m oneloop.Model) oneloop.Model {
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		var coming sync.Once
		return m.Generate(ctx, req, func(e oneloop.Event) {
			if snaps := a.shots.made(); snaps != nil {
				switch e.(type) {
				case oneloop.RequestSent:
					snaps.Sent()
				case oneloop.InputDelta:
					coming.Do(func() { snaps.Coming(newest(a.shots.log())) })
				}
			}
			emit(e)
		})
	})
}

// rest has what a turn has left kept, beside what follows.
func (a *agent) rest() {
	if snaps := a.shots.made(); snaps != nil {
		snaps.Rest()
	}
}

// late is for what a command in the background has changed.
func (a *agent) late() {
	if snaps := a.shots.made(); snaps != nil {
		snaps.Late()
	}
}

const (
	filesAge   = 30 * 24 * time.Hour // since a session has changed files
	filesMost  = 2_000_000_000       // bytes of all copies of all sessions
	filesEvery = 24 * time.Hour      // how often that is looked at
	filesTime  = 2 * time.Second     // to remove some; what is left then is for another day
)

// tidyFiles removes copies of files of sessions that are gone or long past, and
// the oldest where there are too many. Nothing depends on it.
func tidyFiles(state string, now time.Time) {
	stamp := filepath.Join(state, "files-looked")
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()) < filesEvery {
		return
	}
	if os.WriteFile(stamp, nil, 0o600) != nil || os.Chtimes(stamp, now, now) != nil {
		return
	}
	root, err := os.OpenRoot(filepath.Join(state, "sessions"))
	if err != nil {
		return
	}
	defer root.Close()
	found := keptFiles(root)
	slices.SortFunc(found, func(a, b *keptDir) int { return b.changed.Compare(a.changed) })
	end, total := time.Now().Add(filesTime), int64(0)
	for i, d := range found {
		if total += d.size; d.gone || now.Sub(d.changed) > filesAge || total > filesMost && i > 0 {
			removeTree(root, d.name, end)
		}
	}
}

// keptDir holds the copies of a session's files.
type keptDir struct {
	name    string // from the folder of all sessions
	changed time.Time
	size    int64
	gone    bool // the session is
}

func keptFiles(root *os.Root) (found []*keptDir) {
	for _, folder := range entries(root, ".") {
		for _, name := range entries(root, folder) {
			id, ok := strings.CutSuffix(name, session.FilesEnd)
			if !ok {
				continue
			}
			d := &keptDir{name: filepath.Join(folder, name)}
			_, err := root.Lstat(filepath.Join(folder, id+".jsonl"))
			d.gone = os.IsNotExist(err)
			if info, err := root.Lstat(d.name); err == nil && len(entries(root, d.name)) == 0 {
				d.changed = info.ModTime() // it is being made
			}
			for _, file := range entries(root, d.name) {
				if info, err := root.Lstat(filepath.Join(d.name, file)); err == nil {
					d.size += info.Size()
					if info.ModTime().After(d.changed) {
						d.changed = info.ModTime()
					}
				}
			}
			found = append(found, d)
		}
	}
	return found
}

func entries(root *os.Root, name string) []string {
	dir, err := root.Open(name)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(-1)
	if err != nil {
		return nil
	}
	return names
}
