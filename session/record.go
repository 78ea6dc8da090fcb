package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"oneloop"
)

// Intend has calls of t that must not run twice written down, and that on the
// disk, before they run. It is the innermost wrapper of a tool: an intent is
// for a call that runs.
func (l *Log) Intend(t oneloop.Tool) oneloop.Tool {
	run := t.Run
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		if t.Effect == nil || t.Effect(call) == oneloop.Once {
			l.intend(call)
		}
		return run(ctx, call, emit)
	}
	return t
}

func (l *Log) intend(call *oneloop.ToolUse) {
	l.mu.Lock()
	i := intent{Call: call.ID, Tool: call.Name}
	e := l.put(kindIntent, i)
	l.view.intent(e.at, i)
	l.mu.Unlock()
	l.sync()
	l.tell()
}

// sync waits until what was written before is on the disk. Of several that
// wait at once, the first syncs for those whose entries were written by then;
// entries that follow wait too.
func (l *Log) sync() {
	if l.file == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.file.sync(); err != nil {
		l.bad = err
	}
}

// Bounds of what is kept of the output of a call that must not run twice. It
// is for the case that the process ends before the call does.
const (
	outputKept  = 16 << 10    // bytes of a call
	outputPiece = 1 << 10     // bytes that are collected
	outputPause = time.Second // that they are collected at most
)

// collected is output of a call that is not written yet.
type collected struct {
	text strings.Builder
	kept int
}

// Event keeps those events that a conversation cannot be told without: what
// came from outside, in order. Messages are kept by Append; deltas are not
// kept, and those of subtasks are in logs of their own.
func (l *Log) Event(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.ToolOutput:
		l.output(e)
		return
	case oneloop.TurnStart: // its messages are kept by Append
		l.mu.Lock()
		if l.begin() == nil {
			l.write(string(e.Kind()), []byte("{}"))
		}
		l.mu.Unlock()
		return
	case oneloop.Spend:
		l.mu.Lock()
		e = l.charge(e)
		l.mu.Unlock()
		l.event(e)
		if e.Model == "" { // of a subtask: the next entry may be long in coming
			l.writeOut()
		}
		return
	case oneloop.TurnEnd:
		l.event(e)
		l.mu.Lock()
		l.view.endTurn()
		l.mu.Unlock()
		l.SetInfo(l.view.account)
		return
	case oneloop.Child:
		return
	}
	if slices.Contains(kept, e.Kind()) {
		l.event(e)
	}
}

// kept are the kinds of events that are entries.
var kept = []oneloop.Kind{
	oneloop.KindTurnEnd, oneloop.KindDiscard, oneloop.KindRetry, oneloop.KindQuestion, oneloop.KindAnswer, oneloop.KindDenied,
	oneloop.KindSpend, oneloop.KindCompacted, oneloop.KindLimit, oneloop.KindNotice, oneloop.KindBoundary, oneloop.KindChildStart, oneloop.KindChildEnd,
}

func (l *Log) event(e oneloop.Event) {
	l.mu.Lock()
	if l.begin() == nil {
		l.put(string(e.Kind()), e)
	}
	l.mu.Unlock()
	l.tell()
}

// writeOut writes what waits to be written with a later entry.
func (l *Log) writeOut() {
	l.mu.Lock()
	if l.file != nil {
		l.bad = l.file.add(nil)
	}
	l.mu.Unlock()
	l.tell()
}

// output keeps what a call prints that must not run twice, in large pieces, or
// in what came within outputPause.
func (l *Log) output(o oneloop.ToolOutput) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.view.running[o.ID]
	if r == nil || r.more || l.file == nil {
		return
	}
	p := &r.pending
	p.text.WriteString(o.Text[:min(len(o.Text), outputKept)])
	if p.text.Len() < outputPiece && p.kept > 0 {
		l.flushSoon()
		return
	}
	l.flush(o.ID, r)
}

// flushSoon has what is collected written though nothing follows it: one timer
// for all calls, which does not run when nothing is collected.
func (l *Log) flushSoon() {
	switch {
	case l.flushing:
		return
	case l.timer == nil:
		l.timer = time.AfterFunc(outputPause, func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.flushing {
				l.flushAll()
			}
		})
	default:
		l.timer.Reset(outputPause)
	}
	l.flushing = true
}

// flushAll writes all that is collected.
func (l *Log) flushAll() {
	l.flushing = false
	for id, r := range l.view.running {
		if r.pending.text.Len() > 0 {
			l.flush(id, r)
		}
	}
}

// flush writes what is collected of a call.
func (l *Log) flush(id string, r *running) {
	p := &r.pending
	text := p.text.String()
	p.text.Reset()
	if p.kept+len(text) > outputKept {
		text, r.more = text[:max(0, outputKept-p.kept)], true
	}
	p.kept += len(text)
	l.put(kindOutput, printed{Call: id, Text: text, More: r.more})
}

// Errors of changes to a conversation.
var errNoSuchPlace = errors.New("the conversation has no such place")

// Rewind takes the conversation back to what it was after the entry to; 0
// begins it anew. What followed stays in the log and is no longer sent.
func (l *Log) Rewind(to int64) error {
	l.mu.Lock()
	defer l.tell()
	defer l.mu.Unlock()
	if to < 0 || to > l.n {
		return fmt.Errorf("rewind to entry %d of %d: %w", to, l.n, errNoSuchPlace)
	}
	if err := l.begin(); err != nil {
		return err
	}
	l.put(kindRewind, rewound{To: to})
	if l.view.rewind(to) {
		return nil
	}
	if l.file == nil {
		return fmt.Errorf("rewind to entry %d: %w", to, errNoSuchPlace)
	}
	// It lies before a compaction: what was sent then is in the file.
	var v view
	var n int64
	if _, _, _, err := fold(l.dir, l.reader(), 0, &v, &n); err != nil {
		return fmt.Errorf("rewind to entry %d: %w", to, err)
	}
	v.settle()
	l.view = v
	return nil
}

// Redaction has one block of a conversation sent otherwise than it is kept.
type Redaction struct {
	Message *oneloop.Message // as a request had it
	Block   int              // index in Message.Blocks
	Inner   int              // index in the Content of a tool result; -1: the block itself
	With    oneloop.Block    // what is sent instead; nil: nothing is
	Why     string
}

// Redact has blocks sent otherwise from now on. The log keeps what they were.
// It is an error, and nothing changes, when one of them is not sent anyway.
func (l *Log) Redact(list ...Redaction) error {
	l.mu.Lock()
	defer l.tell()
	defer l.mu.Unlock()
	if err := l.begin(); err != nil {
		return err
	}
	entries := make([]redacted, len(list))
	for i, r := range list {
		at := slices.Index(l.view.msgs, r.Message)
		if at < 0 {
			return fmt.Errorf("redact a block: %w", errNoSuchPlace)
		}
		entries[i] = redacted{At: l.view.at[at], Block: r.Block, Inner: r.Inner, Why: r.Why}
		if r.With != nil {
			with, err := oneloop.AppendBlock(nil, r.With)
			if err != nil {
				return fmt.Errorf("redact a block: %w", err)
			}
			entries[i].With = with
		}
		if _, err := redact(r.Message, entries[i]); err != nil {
			return fmt.Errorf("redact a block: %w", err)
		}
	}
	// From the back, so that what is left out moves nothing that follows.
	slices.SortStableFunc(entries, func(a, b redacted) int {
		return cmp.Or(cmp.Compare(b.At, a.At), cmp.Compare(b.Block, a.Block), cmp.Compare(b.Inner, a.Inner))
	})
	for _, r := range entries {
		l.put(kindRedact, r)
		if err := l.view.redact(r); err != nil {
			return fmt.Errorf("redact a block: %w", err)
		}
	}
	return nil
}

// Strip leaves out of what is sent from now on the reasoning in it, which an
// API may bind to what came before. It reports whether there was any.
func (l *Log) Strip() bool {
	l.mu.Lock()
	defer l.tell()
	defer l.mu.Unlock()
	if !slices.ContainsFunc(l.view.msgs, func(m *oneloop.Message) bool { return slices.ContainsFunc(m.Blocks, oneloop.Reasoning) }) || l.begin() != nil {
		return false
	}
	c := compacted{Strip: true}
	l.view.compact(l.put(kindCompact, c).n, c)
	return true
}

// Prompts are the places a conversation can go back to: before each of these
// the user spoke.
func (l *Log) Prompts() []Prompt {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.view.prompts)
}

// Info is what lists show of the session.
func (l *Log) Info() Info {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.info
}

// SetInfo changes it.
func (l *Log) SetInfo(change func(*Info)) {
	l.mu.Lock()
	info := l.view.info
	if change(&info); info != l.view.info {
		l.view.info = info
		if l.begin() == nil {
			l.put(kindInfo, info)
		}
	}
	l.mu.Unlock()
	l.tell()
}

// Spent is what the session used in all its runs.
func (l *Log) Spent() oneloop.Spend {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.view.spentAll()
}

// Compaction has a summary take the place of what came before.
type Compaction struct {
	Summary *oneloop.Message
	Stay    []int // indexes, ascending, of the messages of a request that stand behind it
	Before  int64 // tokens in the window before it
}

// Compact makes the conversation shorter. Reasoning goes from the messages that
// stay: an API may bind it to what came before it. What is left out stays in
// the log. A call stays with its answer or not at all.
func (l *Log) Compact(c Compaction) error {
	l.mu.Lock()
	defer l.tell()
	defer l.mu.Unlock()
	e := compacted{Summary: c.Summary, Strip: true, Before: c.Before}
	if err := l.view.staying(c, &e); err != nil {
		return fmt.Errorf("compact the session: %w", err)
	}
	if err := l.begin(); err != nil {
		return err
	}
	l.view.compact(l.put(kindCompact, e).n, e)
	return nil
}

// staying names the entries that stay.
func (v *view) staying(c Compaction, e *compacted) error {
	if c.Summary == nil || c.Summary.Role != oneloop.User || !c.Summary.Sendable() {
		return errors.New("its summary is no message of the user")
	}
	open := 0 // calls of the message before
	for n, i := range c.Stay {
		if i < 0 || i >= len(v.msgs) || n > 0 && i <= c.Stay[n-1] {
			return errNoSuchPlace
		}
		m := v.msgs[i]
		if answers := len(results(m)); answers != open {
			return fmt.Errorf("message %d is parted from its call or its answer", i)
		}
		open = 0
		if m.Role == oneloop.Assistant && m.Stop == oneloop.StopToolUse {
			open = len(m.ToolUses())
		}
	}
	if open > 0 {
		return errors.New("the last message is parted from its answer")
	}
	tail := len(c.Stay)
	for tail > 0 && c.Stay[tail-1] == len(v.msgs)-len(c.Stay)+tail-1 {
		tail--
		e.From = v.at[c.Stay[tail]]
	}
	for _, i := range c.Stay[:tail] {
		e.Also = append(e.Also, v.at[i])
	}
	return nil
}
