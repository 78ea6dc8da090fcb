package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"oneloop"
	"oneloop/session"
)

// kept reports whether a log keeps events of this kind.
func kept(e oneloop.Event) bool {
	_, child := e.(oneloop.Child)
	return !child && readerOf(e.Kind()) != nil
}

// readerOf reads the events of a kind that are entries of logs; nil: none are.
func readerOf(kind oneloop.Kind) func([]byte) oneloop.Event {
	switch kind {
	case oneloop.KindTurnEnd:
		return decode[oneloop.TurnEnd]
	case oneloop.KindDiscard:
		return decode[oneloop.Discard]
	case oneloop.KindRetry:
		return decode[oneloop.Retry]
	case oneloop.KindQuestion:
		return decode[oneloop.Asked]
	case oneloop.KindAnswer:
		return decode[oneloop.Answered]
	case oneloop.KindDenied:
		return decode[oneloop.Denied]
	case oneloop.KindSpend:
		return decode[oneloop.Spend]
	case oneloop.KindCompacted:
		return decode[oneloop.Compacted]
	case oneloop.KindLimit:
		return decode[oneloop.Limited]
	case oneloop.KindNotice:
		return decode[oneloop.Notice]
	case oneloop.KindBoundary:
		return decode[oneloop.Boundary]
	case oneloop.KindChildStart:
		return decode[oneloop.ChildStart]
	case oneloop.KindChildEnd:
		return decode[oneloop.ChildEnd]
	}
	return nil
}

func decode[T oneloop.Event](data []byte) oneloop.Event {
	var e T
	if json.Unmarshal(data, &e) != nil {
		return nil
	}
	return e
}

// printed is a piece of what a call printed.
func printed(data []byte) oneloop.Event {
	var o struct{ Call, Text string }
	if json.Unmarshal(data, &o) != nil {
		return nil
	}
	return oneloop.ToolOutput{ID: o.Call, Text: o.Text}
}

// eventOf is the event that an entry tells of; nil: it tells of none.
func eventOf(e session.Entry) oneloop.Event {
	if e.Kind == "output" {
		return printed(e.Data)
	}
	if read := readerOf(oneloop.Kind(e.Kind)); read != nil {
		return read(e.Data)
	}
	return nil
}

func endOf(e session.Entry) oneloop.TurnEnd {
	end, _ := eventOf(e).(oneloop.TurnEnd)
	return end
}

// asksForLimit reports whether e asks whether a turn that goes round in circles
// is to go on.
func asksForLimit(e session.Entry) bool {
	q, ok := eventOf(e).(oneloop.Asked)
	return ok && q.Question.Kind == "limit"
}

// repetition reports whether e says that a turn was ended for that.
func repetition(e session.Entry) bool {
	l, ok := eventOf(e).(oneloop.Limited)
	return ok && l.What == "repetition"
}

// remarked reports whether something was added to results that bring nothing new.
func remarked(m *oneloop.Message) bool {
	return slices.ContainsFunc(m.Blocks, func(b oneloop.Block) bool {
		r, is := b.(*oneloop.ToolResult)
		return is && session.Unremarked(r) != r
	})
}

// callOf is the id of the call that an entry is about; empty: it is about none.
func callOf(e session.Entry) string {
	call := func(c *oneloop.ToolUse) string {
		if c == nil {
			return ""
		}
		return c.ID
	}
	switch e := eventOf(e).(type) {
	case oneloop.Asked:
		return call(e.Question.Call)
	case oneloop.Answered:
		return call(e.Question.Call)
	case oneloop.Denied:
		return call(e.Call)
	case oneloop.ToolOutput:
		return e.ID
	}
	return ""
}

// sameEvent reports whether the entry tells of e, but for times and for how
// many requests there were: a replay makes none.
func sameEvent(x session.Entry, e oneloop.Event) bool {
	switch e := e.(type) {
	case oneloop.TurnEnd:
		end := endOf(x)
		return end.Stop == e.Stop && end.Error == e.Error
	case oneloop.Retry:
		r, ok := eventOf(x).(oneloop.Retry)
		r.Wait, e.Wait = 0, 0
		return ok && r == e
	}
	return sameJSON(x.Data, encode(e))
}

func sameMessage(a, b *oneloop.Message) bool {
	if a == b {
		return true
	}
	x, err := a.AppendJSON(nil)
	if err != nil {
		return false
	}
	y, err := b.AppendJSON(nil)
	return err == nil && sameJSON(x, y)
}

func sameBlock(a, b oneloop.Block) bool {
	x, err := oneloop.AppendBlock(nil, a)
	if err != nil {
		return false
	}
	y, err := oneloop.AppendBlock(nil, b)
	return err == nil && sameJSON(x, y)
}

// sameJSON compares values, however they are written.
func sameJSON(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	read := func(data []byte) (v any, err error) {
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	x, err := read(a)
	if err != nil {
		return false
	}
	y, err := read(b)
	return err == nil && reflect.DeepEqual(x, y)
}

// describe is an entry in words.
func describe(e session.Entry) string {
	if e.Message != nil {
		return describeMessage(e.Message)
	}
	if event := eventOf(e); event != nil {
		return describeEvent(event)
	}
	return e.Kind + " " + string(e.Data)
}

func describeEvent(e oneloop.Event) string {
	if end, ok := e.(oneloop.TurnEnd); ok {
		text := fmt.Sprintf("the end of the turn after %q", end.Stop)
		if end.Error != "" {
			text += ": " + end.Error
		}
		return text
	}
	return string(e.Kind()) + " " + string(encode(e))
}

func describeMessage(m *oneloop.Message) string {
	who := "a message of the user"
	switch {
	case m.Role == oneloop.Assistant:
		who = fmt.Sprintf("a reply (%s)", m.Stop)
	case !speaks(m):
		who = "results"
	case m.Meta.Source != "":
		who = fmt.Sprintf("a message of the user (%s)", m.Meta.Source)
	}
	var parts []string
	for _, b := range m.Blocks {
		text, err := oneloop.AppendBlock(nil, b)
		if err != nil {
			text = []byte(err.Error())
		}
		parts = append(parts, string(text))
	}
	return who + " " + strings.Join(parts, " ")
}

// apart is what two texts are in few words: where they differ is in it.
func apart(a, b string) (string, string) {
	const most, before = 240, 60
	a, b = strings.Join(strings.Fields(a), " "), strings.Join(strings.Fields(b), " ")
	same := 0
	for same < min(len(a), len(b)) && a[same] == b[same] {
		same++
	}
	cut := func(s string) string {
		left := ""
		if from := same - before; len(s) > most && from > before {
			head := strings.ToValidUTF8(s[:before], "")
			left, s = head+" … ", s[from:]
		}
		if len(s) > most {
			s = s[:most] + " …"
		}
		return left + strings.ToValidUTF8(s, "")
	}
	return cut(a), cut(b)
}
