package session

import (
	"fmt"
	"strings"
	"time"

	"oneloop"
)

// fromMend is the source of messages that stand for what never came, or was
// lost.
const fromMend = "mend"

// unanswered is the message that answers the calls the conversation ends with;
// nil when there are none. What it says is what the log knows.
func (v *view) unanswered() *oneloop.Message {
	if len(v.msgs) == 0 {
		return nil
	}
	last := v.msgs[len(v.msgs)-1]
	if last.Role != oneloop.Assistant || last.Stop != oneloop.StopToolUse {
		return nil
	}
	m := oneloop.NewMessage(oneloop.User)
	m.Meta.Source = fromMend
	for _, c := range last.ToolUses() {
		m.Blocks = append(m.Blocks, v.answer(c))
	}
	return m
}

// answerLost is the answer to a call of which a damaged log says nothing.
const answerLost = "The answer to this call is lost: the log of the session is damaged. The call may have been run; look before you make it again."

func (v *view) answer(c *oneloop.ToolUse) *oneloop.ToolResult {
	if c.Broken != "" {
		r := oneloop.ErrorResult(c.Broken)
		r.ID = c.ID
		return r
	}
	text := "Interrupted: the conversation broke off before this call was run. It changed nothing; make the call again if it is still needed."
	if r := v.running[c.ID]; r == nil && v.damaged {
		text = answerLost
	} else if r != nil {
		text = fmt.Sprintf("Interrupted; outcome unknown: the conversation broke off while this call ran, which began at %s. It may have done all of its work, a part of it, or nothing: look before you do it again.",
			r.since.UTC().Format(time.RFC3339))
		if out := strings.TrimSpace(r.text); out != "" {
			text += "\nIts output until then, of which the last second may be missing:\n" + out
			if r.more {
				text += "\n[more followed that was not kept]"
			}
		}
	}
	r := oneloop.ErrorResult(text)
	r.ID = c.ID
	return r
}

// mend makes what is left of a damaged log a conversation that an API takes:
// it begins with the user, every call is answered by the message behind it,
// and no answer is without its call. The same log always gives the same.
func (v *view) mend() {
	if len(v.msgs) == 0 {
		return
	}
	was := view{at: v.at, msgs: v.msgs}
	v.at, v.msgs = nil, nil
	add := func(at int64, m *oneloop.Message) {
		if v.holes {
			m = withoutThinking(m)
		}
		if m.Sendable() {
			v.at, v.msgs = append(v.at, at), append(v.msgs, m)
		}
	}
	if was.msgs[0].Role != oneloop.User || len(results(was.msgs[0])) > 0 {
		m := oneloop.UserText("[The beginning of this conversation is lost: its log is damaged.]")
		m.Meta.Source = fromMend
		add(was.at[0]-1, m)
	}
	var calls []*oneloop.ToolUse // of the message before
	for i, m := range was.msgs {
		if m.Role == oneloop.User && (len(calls) > 0 || len(results(m)) > 0) {
			m = paired(calls, m)
			calls = nil
		} else if len(calls) > 0 {
			add(was.at[i]-1, paired(calls, oneloop.NewMessage(oneloop.User)))
			calls = nil
		}
		if m.Role == oneloop.Assistant && m.Stop == oneloop.StopToolUse {
			calls = m.ToolUses()
		}
		add(was.at[i], m)
	}
}

// paired is the user message m with exactly the answers to calls in front.
func paired(calls []*oneloop.ToolUse, m *oneloop.Message) *oneloop.Message {
	given := map[string]*oneloop.ToolResult{}
	var others []oneloop.Block
	for _, b := range m.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok {
			given[r.ID] = r
			continue
		}
		others = append(others, b)
	}
	if len(m.Blocks)-len(others) == len(calls) && sameOrder(calls, m) {
		return m
	}
	fixed := *m
	fixed.Blocks = nil
	for _, c := range calls {
		r := given[c.ID]
		if r == nil {
			r = oneloop.ErrorResult(answerLost)
			r.ID = c.ID
		}
		fixed.Blocks = append(fixed.Blocks, r)
	}
	fixed.Blocks = append(fixed.Blocks, others...)
	return &fixed
}

func sameOrder(calls []*oneloop.ToolUse, m *oneloop.Message) bool {
	if len(m.Blocks) < len(calls) {
		return false
	}
	for i, c := range calls {
		if r, ok := m.Blocks[i].(*oneloop.ToolResult); !ok || r.ID != c.ID {
			return false
		}
	}
	return true
}
