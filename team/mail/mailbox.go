package mail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"oneloop/internal/disk"
)

// Reader is who reads a mailbox.
type Reader struct {
	Session string          // its id, for others who want to read it too
	Seen    map[string]bool // ids of the messages that it has already, see [Seen]
}

// Mailbox is the mailbox of an agent in the hands of its one reader. It is safe
// for concurrent use.
type Mailbox struct {
	post *Post
	box  *box
	lock *os.File
	path string // of lock

	mu    sync.Mutex
	taken map[string]bool // and not acknowledged
	seen  map[string]bool // by the session, and not acknowledged
	done  bool
}

// holder is what a lock file says.
type holder struct {
	PID     int    `json:"pid"`
	Session string `json:"session,omitempty"`
}

// Mailbox opens the mailbox of a name to read it. Nobody else can until it is
// closed or this process has ended, however that ends: to others Mailbox returns
// [ErrRead], and says who has it.
//
// The sender of messages to name need not wait for this: they are in its mailbox
// when it comes.
func (p *Post) Mailbox(name string, r Reader) (*Mailbox, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	m := &Mailbox{post: p, box: p.box(name), path: filepath.Join(p.dir, name+".lock"), taken: map[string]bool{}, seen: map[string]bool{}}
	if err := m.hold(name, holder{os.Getpid(), r.Session}); err != nil {
		return nil, err
	}
	err := m.box.journal.View(func() {
		for _, w := range m.box.waiting {
			if r.Seen[w.ID] {
				m.seen[w.ID] = true
			}
		}
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read the mailbox of %s: %w", name, err), m.lock.Close())
	}
	return m, nil
}

// hold takes the lock of the file that is at the path.
func (m *Mailbox) hold(name string, h holder) error {
	for {
		f, err := os.OpenFile(m.path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return fmt.Errorf("open the mailbox of %s: %w", name, err)
		}
		if err := disk.TryLock(f); err != nil {
			defer f.Close()
			if errors.Is(err, disk.ErrHeld) {
				return refuse(ErrRead, "the mailbox of %s is read by %s", name, reads(f))
			}
			return fmt.Errorf("lock the mailbox of %s: %w", name, err)
		}
		m.lock = f
		if m.held() != nil {
			f.Close() // it was removed in between
			continue
		}
		said, err := json.Marshal(h)
		if err == nil {
			err = f.Truncate(0)
		}
		if err == nil {
			_, err = f.WriteAt(said, 0)
		}
		if err != nil {
			return errors.Join(fmt.Errorf("write who reads the mailbox of %s: %w", name, err), f.Close())
		}
		return nil
	}
}

// reads says who has a lock.
func reads(f *os.File) string {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, 4096))
	var h holder
	if err != nil || json.Unmarshal(text, &h) != nil || h.PID == 0 {
		return "another process"
	}
	by := fmt.Sprintf("process %d", h.PID)
	if h.PID == os.Getpid() {
		by = "this process"
	}
	if h.Session != "" {
		by += fmt.Sprintf(", session %.60q", h.Session)
	}
	return by
}

// held says why the mailbox is not this reader's any more.
func (m *Mailbox) held() error {
	own, err := m.lock.Stat()
	if err != nil {
		return fmt.Errorf("the mailbox of %s is closed: %w", m.box.name, err)
	}
	at, err := os.Stat(m.path)
	if err == nil && os.SameFile(own, at) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the mailbox of %s: %w", m.box.name, err)
	}
	return refuse(ErrRead, "the mailbox of %s was taken away: somebody removed its lock", m.box.name)
}

// Name is whose mailbox it is.
func (m *Mailbox) Name() string { return m.box.name }

// Bad is how many lines of the mailbox could not be read: what a broken disk left, or a
// process that was killed while it wrote. None of them is a message that was sent: what
// Send has returned from is whole.
func (m *Mailbox) Bad() int { return m.box.journal.Bad() }

// Take returns the messages that wait and were not taken yet, in the order in
// which they were sent. They go on waiting for others to see until [Mailbox.Ack],
// and for the next reader if this one ends before that.
func (m *Mailbox) Take() ([]Message, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.fresh()
	for _, w := range list {
		m.taken[w.ID] = true
	}
	return list, err
}

func (m *Mailbox) fresh() (list []Message, err error) {
	if err := m.held(); err != nil {
		return nil, err
	}
	err = m.box.journal.View(func() {
		for _, w := range m.box.waiting {
			if !m.taken[w.ID] && !m.seen[w.ID] {
				list = append(list, w)
			}
		}
	})
	if err != nil {
		return nil, fmt.Errorf("read the mailbox of %s: %w", m.box.name, err)
	}
	return list, nil
}

// Back gives back what was taken and could not be used: the next Take returns it
// again.
func (m *Mailbox) Back(messages ...Message) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range messages {
		delete(m.taken, w.ID)
	}
}

// Ack says that messages are in a place that survives a crash, and need not be
// delivered again. Those that were seen before are acknowledged with them.
func (m *Mailbox) Ack(ctx context.Context, messages ...Message) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.held(); err != nil {
		return err
	}
	var ids []string
	for _, w := range messages {
		ids = append(ids, w.ID)
	}
	for id := range m.seen {
		ids = append(ids, id)
	}
	if len(ids) == 0 {
		return nil
	}
	if err := m.box.acknowledge(ctx, ids, m.post.now); err != nil {
		return fmt.Errorf("acknowledge messages to %s: %w", m.box.name, err)
	}
	for _, id := range ids {
		delete(m.taken, id)
	}
	clear(m.seen)
	if err := m.box.compact(ctx, m.post.now); err != nil {
		return fmt.Errorf("leave out what %s has read: %w", m.box.name, err)
	}
	return nil
}

// errClosed is what waiting ends with when the mail is closed.
var errClosed = errors.New("the mail was closed")

// Wait returns nil when there is something to take, now or as soon as somebody
// sends it, and the cause when ctx ends before. It takes no time meanwhile.
func (m *Mailbox) Wait(ctx context.Context) error {
	folders := m.post.watch()
	for folders != nil {
		changed := folders.Next(m.box.path)
		m.mu.Lock()
		list, err := m.fresh()
		m.mu.Unlock()
		if err != nil || len(list) > 0 {
			return err
		}
		select {
		case <-changed:
		case <-m.post.closed:
			return errClosed
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return errClosed
}

// Close lets another one read the mailbox. What was taken and not acknowledged
// is delivered to that one.
func (m *Mailbox) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.done {
		return nil
	}
	m.done = true
	return m.lock.Close() // the file stays: removing it would let two have locks of the same name
}
