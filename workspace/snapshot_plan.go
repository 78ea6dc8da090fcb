package workspace

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Acts of going back.
const (
	ActRestore = "restore" // a file gets what it held, or its mode
	ActMake    = "make"    // what was removed is made again
	ActRemove  = "remove"  // what was made since is removed
)

// FileChange is what going back would do to a path.
type FileChange struct {
	Path  string // from the root of the workspace with slashes; absolute in another of its folders
	Act   string
	Yours bool // somebody other than the agent has changed it since, or may have
	Lossy bool // what it is now cannot be kept: it is too large to be copied

	key      string
	now, was state
}

// FileLoss is something that does not come back.
type FileLoss struct {
	Path string // empty: not of one file
	Why  string // for people: one of the reasons below, some with a detail behind them
}

// Reasons of losses.
const (
	LossIgnored  = "an ignore file named it, so no copy was kept"
	LossSpecial  = "it was no file (a pipe, a socket or a device)"
	LossLarge    = "it is too large to be copied: more than "         // size
	LossFull     = "no copy was kept, since the copies have reached " // size
	LossUnread   = "it could not be read: "                           // error
	LossUnkept   = "no copy could be kept: "                          // error
	LossAgain    = "it was changed again before a copy could be kept"
	LossGone     = "git no longer has it"
	LossForm     = "git has it in another form (line ends or a filter)"
	LossGit      = "git did not tell: " // error
	LossEarlier  = "what was changed before copies were kept, such as in the session this one is a fork of"
	LossCommands = "what commands changed: "    // one of the next two
	LossMany     = "there are more files than " // number
	LossSlow     = "looking at all files takes too long"
	LossCommits  = "commits, branches and the index of git stay as they are now"
	LossMoved    = "it was changed meanwhile, so it stays as it is"
	LossDamaged  = "the copy of it, or what was known of it, is damaged"
	LossHolds    = "it is not empty: " // error
)

// Plan is what going back to before a prompt would do.
type Plan struct {
	Changes []FileChange // sorted by path
	Lost    []FileLoss
	Left    []string // paths that only somebody else has changed: they stay as they are
	to      int64
}

// Plan says what going back to before the prompt to would do. All of it is
// only looked at.
func (s *Snapshots) Plan(ctx context.Context, to int64) (*Plan, error) {
	s.stop()
	s.mu.Lock()
	defer s.tell()
	defer s.mu.Unlock()
	if err := s.load(); err != nil {
		return nil, fmt.Errorf("go back with files: %w", err)
	}
	defer s.release()
	if err := s.now(ctx); err != nil {
		return nil, fmt.Errorf("go back with files: %w", err)
	}
	p := &Plan{to: to}
	for _, key := range slices.Sorted(maps.Keys(s.known)) {
		s.plan(p, key)
	}
	if err := s.possible(ctx, p); err != nil {
		return nil, fmt.Errorf("go back with files: %w", err)
	}
	if s.since >= to {
		p.Lost = append(p.Lost, FileLoss{Why: LossEarlier})
	}
	if s.ran >= to && s.ran > 0 {
		p.Lost = append(p.Lost, FileLoss{Why: LossCommands + s.why})
	}
	p.Lost = append(p.Lost, s.moved(to)...)
	return p, s.failed
}

// now brings what is known up to date.
func (s *Snapshots) now(ctx context.Context) error {
	n := s.opts.At()
	defer s.keep()
	if s.based {
		if err := s.settle(ctx); err != nil {
			return err
		}
		by, at := s.whose(n)
		return s.look(ctx, by, at, keepNew)
	}
	for key, t := range s.known {
		st, err := s.lstat(key)
		if err != nil {
			st = stat{kind: kindAbsent}
		}
		by := byUser
		if t.same(st) {
			by = t.by
		}
		s.compare(key, t, st, by, n, keepNew)
	}
	return nil
}

// before is what a path was before the agent's first change at the prompt to
// or later, and who has changed it since; ok is false when the agent has not.
func (t *tracked) before(to int64) (was state, yours, theirs, ok bool) {
	all := append(t.past[:len(t.past):len(t.past)], t.change)
	for i, c := range all {
		switch {
		case c.n < to || c.by == byBase:
		case c.by == byUser:
			yours = yours || ok
			theirs = true
		case !ok:
			ok = true
			was = state{stat: stat{kind: kindAbsent}}
			if i > 0 {
				was = all[i-1].state
			}
			fallthrough
		default:
			yours = yours || c.by == byUnknown
		}
	}
	return was, yours, theirs, ok
}

// plan adds what is to be done about a path.
func (s *Snapshots) plan(p *Plan, key string) {
	t := s.known[key]
	was, yours, theirs, ok := t.before(p.to)
	if !ok {
		if theirs {
			p.Left = append(p.Left, key)
		}
		return
	}
	// It may have been there: the line that said so can be the one that is lost.
	if was.kind == kindAbsent && s.store.damaged {
		was.kind, was.why = kindOther, LossDamaged
	}
	if was.kind == kindAbsent && s.wasHidden(key, p.to) {
		was.kind = kindIgnored
	}
	if s.equal(was, t.state) {
		return
	}
	c := FileChange{Path: key, Act: ActRestore, Yours: yours || s.store.damaged, key: key, now: t.state, was: was}
	switch {
	case was.kind == kindAbsent:
		c.Act = ActRemove
	case t.kind == kindAbsent:
		c.Act = ActMake
	}
	if why := was.lost(); why != "" {
		p.Lost = append(p.Lost, FileLoss{key, why})
		return
	}
	c.Lossy = t.kind == kindFile && !t.has && t.git == ""
	p.Changes = append(p.Changes, c)
}

// wasHidden reports whether a path that nobody knew of lay in a folder that was
// ignored then: it may have been there.
func (s *Snapshots) wasHidden(key string, to int64) bool {
	for i := strings.LastIndexByte(key, '/'); i > 0; i = strings.LastIndexByte(key[:i], '/') {
		t := s.known[key[:i]]
		if t == nil {
			continue
		}
		if was, _, _, ok := t.before(to); ok && was.kind == kindIgnored || !ok && t.kind == kindIgnored {
			return true
		}
	}
	return false
}

// lost says why a state cannot be brought back; empty: it can.
func (st state) lost() string {
	switch {
	case st.kind == kindIgnored:
		return LossIgnored
	case st.why != "":
		return st.why
	case st.kind == kindOther:
		return LossSpecial
	case st.unread:
		return LossAgain
	}
	return ""
}

// objectMost is how large an object of git may be, in bytes, to be brought
// back from there.
const objectMost = 256 << 20

// possible moves what git no longer has to what is lost.
func (s *Snapshots) possible(ctx context.Context, p *Plan) error {
	wanted := map[string]map[string]bool{}
	for _, c := range p.Changes {
		if c.was.git != "" {
			if wanted[c.was.repo] == nil {
				wanted[c.was.repo] = map[string]bool{}
			}
			wanted[c.was.repo][c.was.git] = true
		}
	}
	have, failed := map[string]int64{}, map[string]error{}
	for top, names := range wanted {
		sizes, err := s.objectSizes(ctx, top, slices.Collect(maps.Keys(names)))
		if errors.Is(err, context.Canceled) {
			return err
		}
		failed[top] = err
		maps.Copy(have, sizes)
	}
	p.Changes = slices.DeleteFunc(p.Changes, func(c FileChange) bool {
		if c.was.git == "" {
			return false
		}
		size, ok := have[c.was.git]
		why := ""
		switch {
		case failed[c.was.repo] != nil:
			why = LossGit + failed[c.was.repo].Error()
		case !ok:
			why = LossGone
		case size != c.was.size:
			why = LossForm
		case size > objectMost:
			why = LossLarge + megabytes(objectMost)
		default:
			return false
		}
		p.Lost = append(p.Lost, FileLoss{c.Path, why})
		return true
	})
	return nil
}

// megabytes is a size for people.
func megabytes(n int64) string { return strconv.FormatInt(n/1_000_000, 10) + " MB" }
