package session

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"oneloop"
)

// view is what a log comes to when its entries are taken one after the other:
// what is sent, and what is known beside it.
type view struct {
	setup Setup
	sent  []byte  // setup as its entry has it
	at    []int64 // the entries of the messages
	msgs  []*oneloop.Message
	base  int64      // the entry before which nothing can be told from at
	older []snapshot // what was sent before each compaction, oldest first
	keep  bool       // older is kept

	running map[string]*running // calls that began and have no answer
	info    Info
	spent   oneloop.Spend // as told last, which is of one run
	before  oneloop.Spend // of the runs before that
	models  []oneloop.Spend
	turns   []oneloop.Spend
	closed  oneloop.Spend // at the end of the last turn
	prompts []Prompt
	queue   []queuedItem // what waits to be said
	inTurn  bool         // one began that has no end, and is not counted
	holes   bool         // entries are missing in it
	damaged bool         // its log is damaged

	ids map[string]bool // of the calls in msgs, while a log is read; nil: not known
}

// snapshot is the view as it was when the entry n was made.
type snapshot struct {
	n    int64
	at   []int64
	msgs []*oneloop.Message
	base int64
}

// running is a call that began.
type running struct {
	since time.Time
	text  string
	more  bool // what followed is not kept

	pending collected
}

// Prompt is something the user said: a point to which a conversation can go
// back.
type Prompt struct {
	N    int64 // its entry
	Time time.Time
	Text string
}

// take adds an entry.
func (v *view) take(e entry) error {
	switch e.kind {
	case kindMessage:
		v.message(e, e.message)
	case kindSetup:
		s, err := decodeSetup(e.data)
		if err != nil {
			return err
		}
		v.setup, v.sent = s, bytes.Clone(e.data)
	case kindIntent:
		return decoded(e.data, func(i intent) { v.intent(e.at, i) })
	case kindOutput:
		return decoded(e.data, func(p printed) {
			if r := v.running[p.Call]; r != nil {
				r.text, r.more = r.text+p.Text, p.More
			}
		})
	case kindRewind:
		v.ids = nil
		return decoded(e.data, func(r rewound) { v.rewind(r.To) })
	case kindCompact:
		v.ids = nil
		return decodedErr(e.data, func(c compacted) error {
			if c.Summary != nil {
				if err := sound(c.Summary); err != nil {
					return err
				}
			}
			v.compact(e.n, c)
			return nil
		})
	case kindRedact:
		v.ids = nil
		return decodedErr(e.data, v.redact)
	case kindQueue:
		return decodedErr(e.data, v.wait)
	case kindInfo:
		return decoded(e.data, func(i Info) { v.info, v.inTurn = i, false })
	case string(oneloop.KindTurnStart):
		v.inTurn = true
	case string(oneloop.KindSpend):
		return decoded(e.data, v.spend)
	case string(oneloop.KindTurnEnd):
		v.endTurn()
	}
	return nil // what only tells what happened
}

// wait takes what waits to be said.
func (v *view) wait(q queued) error {
	for _, i := range q.Items {
		for _, raw := range i.Blocks {
			b, err := oneloop.DecodeBlock(raw)
			if err == nil {
				err = soundBlock(b)
			}
			if err != nil {
				return err
			}
		}
	}
	v.queue = q.Items
	return nil
}

func decoded[T any](data []byte, use func(T)) error {
	return decodedErr(data, func(v T) error { use(v); return nil })
}

func decodedErr[T any](data []byte, use func(T) error) error {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return err
	}
	return use(v)
}

// spend takes what a run has used so far. One that says less than the last
// is of another run.
func (v *view) spend(s oneloop.Spend) {
	if s.Requests < v.spent.Requests {
		v.before, v.spent = v.spentAll(), oneloop.Spend{}
	}
	v.spent = s
	v.charged(s)
}

func (v *view) spentAll() oneloop.Spend { return plus(v.before, v.spent) }

// account is what lists show after a turn.
func (v *view) account(i *Info) {
	s := v.spentAll()
	i.Turns++
	i.Cost, i.Known, i.Model = s.TotalCost, s.TotalKnown, v.setup.Model
	if i.Title == "" && len(v.prompts) > 0 {
		i.Title = Title(v.prompts[0].Text)
	}
}

func (v *view) message(e entry, m *oneloop.Message) {
	if v.spoken(m) {
		v.prompts = append(v.prompts, Prompt{e.n, e.at, lines(m.Blocks)})
	}
	v.said(m)
	for _, r := range results(m) {
		delete(v.running, r.ID)
	}
	if m.Sendable() {
		v.at, v.msgs = append(v.at, e.n), append(v.msgs, m)
	}
}

// spoken reports whether m is a prompt: the user spoke, and not into the middle
// of the work.
func (v *view) spoken(m *oneloop.Message) bool {
	if m.Role != oneloop.User || len(results(m)) > 0 {
		return false
	}
	return m.Meta.Source == "" ||
		m.Meta.Source == fromInbox && len(v.msgs) > 0 && v.msgs[len(v.msgs)-1].Role == oneloop.Assistant
}

func results(m *oneloop.Message) (found []*oneloop.ToolResult) {
	for _, b := range m.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok {
			found = append(found, r)
		}
	}
	return found
}

func (v *view) intent(at time.Time, i intent) {
	if v.running == nil {
		v.running = map[string]*running{}
	}
	v.running[i.Call] = &running{since: at}
}

// rewind takes the view back to what it was after the entry to. It reports
// whether it could: what was sent before a compaction may be forgotten.
func (v *view) rewind(to int64) bool {
	for len(v.older) > 0 && v.older[len(v.older)-1].n > to {
		s := v.older[len(v.older)-1]
		v.at, v.msgs, v.base = s.at, s.msgs, s.base
		v.older = v.older[:len(v.older)-1]
	}
	if to < v.base {
		return false
	}
	n := 0
	for n < len(v.at) && v.at[n] <= to {
		n++
	}
	// Clipped: what was handed out of the rest stays as it was.
	v.at, v.msgs = v.at[:n:n], v.msgs[:n:n]
	v.prompts = slices.DeleteFunc(slices.Clone(v.prompts), func(p Prompt) bool { return p.N > to })
	clear(v.running)
	return true
}

// compact puts the summary of entry n in the place of what came before.
func (v *view) compact(n int64, c compacted) {
	if v.keep {
		v.older = append(v.older, snapshot{n, v.at, v.msgs, v.base})
	}
	var at []int64
	var msgs []*oneloop.Message
	if c.Summary != nil {
		at, msgs = append(at, n), append(msgs, c.Summary)
	}
	from := slices.Index(v.at, c.From) // places, not numbers: a summary stands before what is older
	if from < 0 {
		from = len(v.at)
	}
	for i, m := range v.msgs {
		if c.Summary != nil && i < from && !slices.Contains(c.Also, v.at[i]) {
			continue
		}
		if c.Strip {
			m = withoutThinking(m)
		}
		m = withoutUsage(m)
		if m.Sendable() {
			at, msgs = append(at, v.at[i]), append(msgs, m)
		}
	}
	v.at, v.msgs, v.base = at, msgs, n
}

// withoutUsage is m without what an API counted for it: that held for a window
// with more in it.
func withoutUsage(m *oneloop.Message) *oneloop.Message {
	if m.Usage == (oneloop.Usage{}) {
		return m
	}
	less := *m
	less.Usage = oneloop.Usage{}
	return &less
}

// withoutThinking is m without reasoning, which an API may bind to what came
// before it.
func withoutThinking(m *oneloop.Message) *oneloop.Message {
	if !slices.ContainsFunc(m.Blocks, oneloop.Reasoning) {
		return m
	}
	less := *m
	less.Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), oneloop.Reasoning)
	return &less
}

func (v *view) redact(r redacted) error {
	i := slices.Index(v.at, r.At)
	if i < 0 {
		return nil // it is no longer sent
	}
	m, err := redact(v.msgs[i], r)
	if err != nil {
		return err
	}
	v.msgs = slices.Clone(v.msgs) // requests that were made keep theirs
	if v.msgs[i] = m; !m.Sendable() {
		v.at, v.msgs = slices.Delete(slices.Clone(v.at), i, i+1), slices.Delete(v.msgs, i, i+1)
	}
	return nil
}

// redact is m with one block replaced or left out.
func redact(m *oneloop.Message, r redacted) (*oneloop.Message, error) {
	if r.Block < 0 || r.Block >= len(m.Blocks) {
		return nil, fmt.Errorf("the message has no block %d", r.Block)
	}
	var with []oneloop.Block
	if len(r.With) > 0 {
		b, err := oneloop.DecodeBlock(r.With)
		if err == nil {
			err = soundBlock(b)
		}
		if err != nil {
			return nil, err
		}
		with = append(with, b)
	}
	changed := *m
	if r.Inner < 0 {
		changed.Blocks = slices.Replace(slices.Clone(m.Blocks), r.Block, r.Block+1, with...)
		return &changed, nil
	}
	result, ok := m.Blocks[r.Block].(*oneloop.ToolResult)
	if !ok || r.Inner >= len(result.Content) {
		return nil, fmt.Errorf("block %d of the message has no part %d", r.Block, r.Inner)
	}
	inner := *result
	inner.Raw = nil
	inner.Content = slices.Replace(slices.Clone(result.Content), r.Inner, r.Inner+1, with...)
	changed.Blocks = slices.Clone(m.Blocks)
	changed.Blocks[r.Block] = &inner
	return &changed, nil
}
