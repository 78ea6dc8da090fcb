package mail

import (
	"context"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"time"

	"oneloop/internal/journal"
)

// version of the lines.
const version = 1

// line is one line of a mailbox.
type line struct {
	V    int       `json:"v"`
	N    int64     `json:"n"`
	Time time.Time `json:"t"`
	Op   string    `json:"op"`

	// opSend
	ID      string `json:"id,omitempty"`
	From    string `json:"from,omitempty"`
	Kind    Kind   `json:"kind,omitempty"`
	Text    string `json:"text,omitempty"`
	Summary string `json:"summary,omitempty"`
	ReplyTo string `json:"re,omitempty"`
	Request string `json:"request,omitempty"`
	Verdict string `json:"verdict,omitempty"`

	// opAck
	IDs []string `json:"ids,omitempty"`

	// opHead, which a file that was rewritten begins with
	Last   string                 `json:"last,omitempty"` // the newest id, also of messages that are read
	Recent map[string][]time.Time `json:"recent,omitempty"`
}

const (
	opSend = "send"
	opAck  = "ack"
	opHead = "head"
)

// box is what comes out of the lines of a mailbox.
type box struct {
	name    string
	path    string
	journal *journal.Journal

	// Under the lock of journal.
	n       int64
	last    string
	waiting []Message
	recent  map[string][]time.Time // when a sender sent, within the last hour
}

func newBox(dir, name string) *box {
	b := &box{name: name, path: filepath.Join(dir, name+".jsonl")}
	b.journal = journal.New(b.path, b)
	return b
}

// Reset is for the journal.
func (b *box) Reset() { b.n, b.last, b.waiting, b.recent = 0, "", nil, nil }

// Apply is for the journal.
func (b *box) Apply(data []byte) {
	var l line
	if json.Unmarshal(data, &l) != nil {
		return // of some other program
	}
	b.n = max(b.n, l.N)
	switch l.Op {
	case opSend:
		if l.ID == "" || CheckName(l.From) != nil {
			return // nobody whom a message could be from
		}
		b.last = max(b.last, l.ID)
		b.sent(l.From, l.Time)
		b.waiting = append(b.waiting, Message{ID: l.ID, From: l.From, To: b.name, Kind: l.Kind, Text: l.Text, Summary: l.Summary,
			Time: l.Time, ReplyTo: l.ReplyTo, Request: l.Request, Verdict: l.Verdict})
	case opAck:
		b.waiting = slices.DeleteFunc(b.waiting, func(m Message) bool { return slices.Contains(l.IDs, m.ID) })
		if len(b.waiting) == 0 {
			b.waiting = nil // and their texts
		}
	case opHead:
		b.last, b.recent = max(b.last, l.Last), l.Recent
	}
}

// sent notes when a sender sent, and forgets what is longer ago than counts.
func (b *box) sent(from string, at time.Time) {
	if b.recent == nil {
		b.recent = map[string][]time.Time{}
	}
	times := b.recent[from]
	for len(times) > 0 && times[0].Before(at.Add(-time.Hour)) {
		times = times[1:]
	}
	b.recent[from] = append(times, at)
}

// within counts the messages of a sender that are no older than d, and says when
// the first of the last most ones was sent. What a clock dated into the future
// does not count.
func (b *box) within(from string, now time.Time, d time.Duration, most int) (n int, first time.Time) {
	for _, t := range slices.Backward(b.recent[from]) {
		if t.After(now) || now.Sub(t) >= d {
			continue
		}
		if n++; n <= most {
			first = t
		}
	}
	return n, first
}

// add writes a message under the lock of its mailbox.
func (b *box) add(ctx context.Context, m Message, limits Limits, now func() time.Time) (Message, error) {
	err := b.journal.Update(ctx, func() ([][]byte, error) {
		m.Time = now()
		if err := b.room(m, limits); err != nil {
			return nil, err
		}
		m.ID = NewID(b.last, m.Time)
		l, err := json.Marshal(b.line(m, b.n+1))
		return [][]byte{l}, err
	})
	return m, err
}

func (b *box) line(m Message, n int64) line {
	return line{V: version, N: n, Time: m.Time, Op: opSend, ID: m.ID, From: m.From, Kind: m.Kind, Text: m.Text, Summary: m.Summary,
		ReplyTo: m.ReplyTo, Request: m.Request, Verdict: m.Verdict}
}

// room says why there is none for a message.
func (b *box) room(m Message, limits Limits) error {
	if most := limit(limits.Waiting, DefaultWaiting); len(b.waiting) >= most {
		own := 0
		for _, w := range b.waiting {
			if w.From == m.From {
				own++
			}
		}
		return refuse(ErrFull, "the mailbox of %s is full: %d messages wait there, %d of them yours. Send it again when %s has read some, or go on without", b.name, len(b.waiting), own, b.name)
	}
	for _, w := range []struct {
		most int
		d    time.Duration
		name string
	}{{limit(limits.PerMinute, DefaultPerMinute), time.Minute, "minute"}, {limit(limits.PerHour, DefaultPerHour), time.Hour, "hour"}} {
		if w.most == math.MaxInt {
			continue
		}
		if n, first := b.within(m.From, m.Time, w.d, w.most); n >= w.most {
			wait := first.Add(w.d).Sub(m.Time).Round(time.Second)
			return refuse(ErrTooMany, "%s sent %d messages to %s within one %s, and %d is the most; %d of all that were sent to %s are not read yet. The next one can be sent in %v. Do not wait for that by sending: do something else, or end your turn",
				m.From, n, b.name, w.name, w.most, len(b.waiting), b.name, max(wait, time.Second))
		}
	}
	return nil
}

// acknowledge writes that messages were read.
func (b *box) acknowledge(ctx context.Context, ids []string, now func() time.Time) error {
	return b.journal.Update(ctx, func() ([][]byte, error) {
		ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool {
			return !slices.ContainsFunc(b.waiting, func(m Message) bool { return m.ID == id })
		})
		if len(ids) == 0 {
			return nil, nil
		}
		l, err := json.Marshal(line{V: version, N: b.n + 1, Time: now(), Op: opAck, IDs: ids})
		return [][]byte{l}, err
	})
}

// A file is rewritten when it has so many lines, and so many times more than are
// needed.
const (
	longFile  = 512
	needsOnly = 4
)

// compact leaves out what was read, when that is most of the file.
func (b *box) compact(ctx context.Context, now func() time.Time) error {
	waiting := 0
	if err := b.journal.View(func() { waiting = len(b.waiting) }); err != nil || b.journal.Lines() <= max(longFile, needsOnly*waiting) {
		return err
	}
	return b.journal.Rewrite(ctx, func() (lines [][]byte, err error) {
		head := line{V: version, N: b.n, Time: now(), Op: opHead, Last: b.last, Recent: map[string][]time.Time{}}
		for from := range b.recent {
			times := slices.DeleteFunc(slices.Clone(b.recent[from]), func(t time.Time) bool {
				return head.Time.Sub(t) > time.Hour || // those of what waits come with its lines
					slices.ContainsFunc(b.waiting, func(m Message) bool { return m.From == from && m.Time.Equal(t) })
			})
			if len(times) > 0 {
				head.Recent[from] = times
			}
		}
		l, err := json.Marshal(head)
		lines = append(lines, l)
		for _, m := range b.waiting {
			if err == nil {
				l, err = json.Marshal(b.line(m, b.n))
				lines = append(lines, l)
			}
		}
		return lines, err
	})
}
