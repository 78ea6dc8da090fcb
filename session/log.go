package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"oneloop"
)

// Setup is what is sent with every request beside the messages, and the model
// it is sent to.
type Setup struct {
	Model  string // as the user names it
	System []oneloop.Block
	Tools  []oneloop.ToolDef
	Params oneloop.Params
}

// LogOptions are those of a [Log].
type LogOptions struct {
	Head // of a new log; its ID is made where it is empty

	// Trouble is called when something could not be written, and with nil when
	// all of it was written after all. The work goes on either way. It is
	// called with no lock held.
	Trouble func(error)
}

// Log is a conversation that outlives the process: a [oneloop.Transcript] over
// a file of JSON lines. Every entry is written before it is acted on, so that
// however the process ends, the conversation can be taken up again, and what is
// then told of calls that were running is true. The zero Log keeps a
// conversation in memory.
//
// A Log is safe for concurrent use. Only one process has a log open at a time.
type Log struct {
	opts LogOptions

	mu     sync.Mutex
	file   *file // nil: in memory only
	view   view
	n      int64 // of the last entry
	begun  bool  // head and setup are written
	said   bool  // there is something that the file is kept for
	use    *Setup
	ledger *oneloop.Spend // as told last in this run
	bad    error          // why something is not written
	told   error          // what Trouble was told

	timer    *time.Timer // writes what is collected of the output of calls
	flushing bool        // it will

	dir string // of the file, where its parents are
	now func() time.Time
}

// NewLog returns a log that will be kept in the file path, which must not be
// there yet and is made with the first message, or by [Log.Prepare]; an empty
// path keeps it in memory.
func NewLog(path string, opts LogOptions) *Log {
	l := &Log{opts: opts, now: time.Now}
	l.opts.Version = Format
	if l.opts.ID == "" {
		l.opts.ID = NewID()
	}
	if path == "" {
		l.view.keep = true
		return l
	}
	l.file, l.dir = &file{path: path}, filepath.Dir(path)
	return l
}

// OpenLog opens a log that is there, mends its end and answers the calls that
// were running when the process that wrote it ended. Damage is told and left
// in the file; an error means that nothing of it can be used, or [ErrInUse].
func OpenLog(path string, opts LogOptions) (*Log, []Damage, error) {
	f, err := openFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("open session %s: %w", idOf(path), err)
	}
	l := &Log{opts: opts, now: time.Now, file: f, dir: filepath.Dir(path), begun: true, said: true}
	damage, err := l.read()
	if err != nil {
		f.close()
		return nil, damage, fmt.Errorf("open session %s: %w", idOf(path), err)
	}
	return l, damage, nil
}

// read takes the file's entries, and those of its parents.
func (l *Log) read() ([]Damage, error) {
	head, whole, damage, err := fold(l.dir, io.NewSectionReader(l.file.f, 0, 1<<62), 0, &l.view, &l.n)
	if err != nil {
		return damage, err
	}
	if work := l.opts.Dir; whole > 0 {
		if head.Version == 0 { // the first entry is damaged, or is none
			head.Version = Format
		}
		if head.Dir == "" && folderName(work) == filepath.Base(l.dir) {
			head.Dir = work
		}
		l.opts.Head = head
	} else { // its writer was killed before the first entry was whole
		l.begun, l.opts.Version = false, Format
	}
	l.opts.ID = idOf(l.file.path)
	if info, err := l.file.f.Stat(); err != nil {
		return damage, err
	} else if info.Size() > whole {
		if err := l.file.f.Truncate(whole); err != nil {
			return damage, fmt.Errorf("cut off the unfinished end: %w", err)
		}
	}
	if l.file.size = whole; whole > 0 {
		var end [1]byte
		if _, err := l.file.f.ReadAt(end[:], whole-1); err == nil && end[0] != '\n' {
			if err := l.file.write([][]byte{[]byte("\n")}); err != nil {
				return damage, err
			}
		}
	}
	l.view.settle()
	if m := l.view.unanswered(); m != nil {
		if err := l.append(m); err != nil {
			return damage, err
		}
	}
	if l.view.inTurn && len(l.view.prompts) > 0 { // its process ended before the turn did
		l.view.inTurn = false
		l.view.account(&l.view.info)
		l.put(kindInfo, l.view.info)
	}
	return damage, nil
}

// settle ends the folding of a log: what is only needed for it is let go.
func (v *view) settle() {
	if !v.keep {
		v.older = nil
	}
	v.ids = nil
	v.mend()
}

// fold takes the entries of r up to the number upTo (0: all), and before them
// those of the logs it was forked from, which lie in dir.
func fold(dir string, r io.Reader, upTo int64, v *view, n *int64) (head Head, whole int64, damage []Damage, err error) {
	v.keep = true
	defer func() { v.keep = false }()
	var before []Damage // in logs it was forked from
	whole, damage, err = scan(r, upTo, func(e entry) error {
		*n = e.n
		if e.kind == kindHead && head.ID == "" {
			if err := decoded(e.data, func(h Head) { head = h }); err != nil {
				return &unusable{e.kind, err, false}
			}
			if err := head.readable(); err != nil {
				return err
			}
			if head.Parent == nil && e.n > 1 {
				return &unusable{e.kind, errNoParent, true}
			}
			if head.Parent == nil {
				return nil
			}
			earlier, err := foldParent(dir, *head.Parent, e.n, v)
			if gone(err) {
				return &unusable{e.kind, err, true}
			}
			before = earlier
			return err
		}
		var unfit error
		if e.kind == kindMessage {
			err, usable := v.fits(e.message)
			if !usable {
				return &unusable{e.kind, err, false}
			}
			unfit = err
		}
		if err := v.take(e); err != nil {
			return &unusable{e.kind, err, false}
		}
		if unfit != nil {
			return &unusable{e.kind, unfit, true}
		}
		return nil
	})
	if err == nil && head.ID == "" && *n == 0 && len(damage) > 1 {
		err = errNoHead
	}
	v.damaged = v.damaged || slices.ContainsFunc(damage, func(d Damage) bool { return !d.Torn() })
	v.holes = v.holes || slices.ContainsFunc(damage, func(d Damage) bool { return d.hole })
	return head, whole, append(before, damage...), err
}

func foldParent(dir string, p Place, before int64, v *view) ([]Damage, error) {
	f, err := above(dir, p, before)
	if err != nil {
		return nil, fmt.Errorf("read the session it was forked from: %w", err)
	}
	defer f.Close()
	var n int64
	_, _, damage, err := fold(dir, f, p.N, v, &n)
	for i := range damage {
		damage[i].What = fmt.Sprintf("%s (in session %s, which it was forked from)", damage[i].What, p.ID)
	}
	v.keep = true // the one who called still needs it
	// Those are not the fork's.
	v.info.Name, v.queue, v.inTurn = "", nil, false
	v.before, v.spent, v.closed, v.models, v.turns = oneloop.Spend{}, oneloop.Spend{}, oneloop.Spend{}, nil, nil
	return damage, err
}

// Use says what is sent beside the messages from now on. It reports whether
// that is what was sent before, which is when what an API has cached and what
// it has bound its reasoning to are still good.
func (l *Log) Use(s Setup) (same bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.use = &s
	if !l.begun {
		return false
	}
	text, err := appendSetup(nil, s)
	return err == nil && l.sent(text)
}

// sent reports whether text is the setup that was written last.
func (l *Log) sent(text []byte) bool {
	if l.view.sent == nil {
		var err error
		if l.view.sent, err = appendSetup(nil, l.view.setup); err != nil {
			return false
		}
	}
	return bytes.Equal(text, l.view.sent)
}

// Request returns what may be sent, oldest first. It costs the same however
// long the conversation is.
func (l *Log) Request(ctx context.Context) (*oneloop.Request, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	msgs := l.view.msgs
	req := &oneloop.Request{Messages: msgs[:len(msgs):len(msgs)]}
	if l.use != nil {
		req.System, req.Tools, req.Params = l.use.System, l.use.Tools, l.use.Params
	} else {
		s := l.view.setup
		req.System, req.Tools, req.Params = s.System, s.Tools, s.Params
	}
	return req, nil
}

// Append keeps msgs. Those that are not [oneloop.Message.Sendable] are kept
// too, but left out of requests. It fails only for a message that has no form
// in JSON: one that cannot be written is kept in memory, Trouble is told, and
// it is written with the next one.
func (l *Log) Append(_ context.Context, msgs ...*oneloop.Message) error {
	l.mu.Lock()
	defer l.tell()
	defer l.mu.Unlock()
	return l.append(msgs...)
}

func (l *Log) append(msgs ...*oneloop.Message) error {
	if err := l.begin(); err != nil {
		return err
	}
	for _, m := range msgs {
		parts, err := m.Parts()
		if err != nil {
			return err
		}
		e := l.write(kindMessage, parts...)
		l.view.message(e, m)
	}
	return nil
}

// begin writes the first entries, and the setup when it has changed.
func (l *Log) begin() error {
	if l.now == nil { // the zero Log
		l.now, l.view.keep = time.Now, true
	}
	if !l.begun {
		head, err := appendHead(nil, l.opts.Head)
		if err != nil {
			return err
		}
		l.begun = true
		l.write(kindHead, head)
	}
	if l.use == nil {
		return nil
	}
	text, err := appendSetup(nil, *l.use)
	if err != nil {
		return err
	}
	if !l.sent(text) {
		l.write(kindSetup, text)
		l.view.sent = text
	}
	l.view.setup, l.use = *l.use, nil
	return nil
}

// Prepare makes the file of a new log beside what follows: on a busy disk a
// folder takes longer than all else at the start. The first message waits for
// it. A file in which nothing was said goes with Close.
func (l *Log) Prepare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && !l.begun {
		l.file.begin()
	}
}

// put writes an entry with v in it. What is put here always has a form in
// JSON.
func (l *Log) put(kind string, v any) entry {
	if l.file == nil { // nobody will read it
		return l.write(kind)
	}
	data, err := encode(v)
	if err != nil {
		data, _ = encode(oneloop.Notice{Text: fmt.Sprintf("the entry %s that belongs here has no form in JSON: %v", kind, err)})
		kind = string(oneloop.KindNotice)
	}
	return l.write(kind, data)
}

// mayWait reports whether nobody acts on an entry of that kind: it is written
// with the next one of another kind.
func (l *Log) mayWait(kind string) bool {
	switch kind {
	case kindHead, kindSetup, string(oneloop.KindTurnStart), string(oneloop.KindTurnEnd), string(oneloop.KindSpend):
		return true
	}
	return !l.said
}

// write writes an entry. An error of the disk does not stop the work.
func (l *Log) write(kind string, data ...[]byte) entry {
	l.n++
	l.said = l.said || kind == kindMessage || kind == kindInfo
	e := entry{n: l.n, at: l.now(), kind: kind}
	if l.file != nil {
		if l.mayWait(kind) {
			l.file.later(e.line(data))
		} else {
			l.bad = l.file.add(e.line(data))
		}
	}
	return e
}

// tell tells of trouble, and of its end.
func (l *Log) tell() {
	l.mu.Lock()
	bad, told := l.bad, l.told
	l.told = bad
	l.mu.Unlock()
	if l.opts.Trouble != nil && (bad == nil) != (told == nil) {
		l.opts.Trouble(bad)
	}
}

// Kept is nil when everything is written, and else says why it is not.
func (l *Log) Kept() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return errors.New("the session is kept in memory only")
	}
	if err := l.file.made(); err != nil {
		l.bad = err
	}
	return l.bad
}

// ID is the session's.
func (l *Log) ID() string { return l.opts.ID }

// Path is the file the session is kept in; empty: in none.
func (l *Log) Path() string {
	if l.file == nil {
		return ""
	}
	return l.file.path
}

// Newest is the number of the newest entry; 0: there is none.
func (l *Log) Newest() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.n
}

// Child says which call a subtask was started by; nil: it is none.
func (l *Log) Child() *Child { return l.opts.Child }

// Dir is the folder the session works in.
func (l *Log) Dir() string { return l.opts.Dir }

// Close lets others open the log. What was not written is tried once more.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	if err := l.file.made(); err != nil {
		l.bad = err
	}
	if !l.said {
		return l.file.remove()
	}
	if l.flushing {
		l.timer.Stop()
		l.flushAll()
	}
	if l.bad != nil || len(l.file.wait) > 0 {
		l.bad = l.file.add(nil)
	}
	if lost := bytes.Count(l.file.wait, []byte("\n")); l.bad != nil && lost > 0 {
		l.bad = &LostError{Path: l.file.path, Entries: lost, Err: l.bad}
	}
	return errors.Join(l.bad, l.file.close())
}

// LostError says that entries of a log that is closed could not be written.
type LostError struct {
	Path    string
	Entries int
	Err     error
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the last %d entries of the session log %s are lost: %v", e.Entries, e.Path, e.Err)
}

func (e *LostError) Unwrap() error { return e.Err }

// reader reads the log as it is now, also what waits to be written.
func (l *Log) reader() io.Reader {
	if err := l.file.made(); err != nil || l.file.f == nil {
		return bytes.NewReader(l.file.wait)
	}
	return io.MultiReader(io.NewSectionReader(l.file.f, 0, l.file.size), bytes.NewReader(l.file.wait))
}
