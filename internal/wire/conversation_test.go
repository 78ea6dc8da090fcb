package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/internal/wire"

	"pgregory.net/rapid"
)

// TestAConversationIsTheJSONOfItsMessagesWhateverCameBefore grows one, goes back
// and fails in the middle; nothing that was handed out changes.
func TestAConversationIsTheJSONOfItsMessagesWhateverCameBefore(t *testing.T) {
	errNo := errors.New("no")
	rapid.Check(t, func(t *rapid.T) {
		var c wire.Conversation
		var msgs []*oneloop.Message
		fails := false
		add := func(r *wire.Run, m *oneloop.Message) error {
			r.Tail = append(r.Tail, '<')
			if r.Share([]byte(m.Text())); fails {
				return errNo
			}
			r.Tail = append(r.Tail, '>')
			return nil
		}
		type handed struct {
			parts oneloop.Parts
			text  string
		}
		var all []handed
		for i := range rapid.IntRange(1, 8).Draw(t, "requests") {
			msgs = msgs[:rapid.IntRange(0, len(msgs)).Draw(t, "kept"):len(msgs)]
			msgs = msgs[:len(msgs):len(msgs)]
			for j := range rapid.IntRange(0, 3).Draw(t, "more") {
				size := rapid.SampledFrom([]int{1, 100, 3000, 300_000}).Draw(t, "size")
				msgs = append(msgs, oneloop.UserText(fmt.Sprint(i, " ", j, strings.Repeat("x", size))))
			}
			if fails = rapid.IntRange(0, 4).Draw(t, "fails") == 0; fails {
				if err := c.Grow(msgs, add); err != nil && err != errNo {
					t.Fatal(err)
				}
				fails = false
			}
			if err := c.Grow(msgs, add); err != nil {
				t.Fatal(err)
			}
			want := ""
			for _, m := range msgs {
				want += "<" + m.Text() + ">"
			}
			all = append(all, handed{c.Run.Parts(nil, 0, c.Run.Len()), want})
			if len(c.Messages()) != len(msgs) || c.Run.Len() != len(want) {
				t.Fatalf("%d messages of %d, %d bytes of %d", len(c.Messages()), len(msgs), c.Run.Len(), len(want))
			}
		}
		for i, h := range all {
			if !bytes.Equal(h.parts.Bytes(), []byte(h.text)) {
				t.Fatalf("request %d is not, or no longer, what it was made of", i)
			}
		}
	})
}

func TestTheConversationThatKnowsMostIsTaken(t *testing.T) {
	var idle wire.Idle[*wire.Conversation]
	add := func(r *wire.Run, m *oneloop.Message) error { r.Tail = append(r.Tail, m.Text()...); return nil }
	made := 0
	fresh := func() *wire.Conversation { made++; return &wire.Conversation{} }
	a, b, c := oneloop.UserText("a"), oneloop.UserText("b"), oneloop.UserText("c")
	take := func(msgs ...*oneloop.Message) *wire.Conversation {
		x := idle.Take(msgs, fresh)
		if err := x.Grow(msgs, add); err != nil {
			t.Fatal(err)
		}
		return x
	}
	one := take(a, b)
	two := take(a) // while the first is out
	idle.Give(two)
	idle.Give(one)
	if made != 2 || take(a, b, c) != one {
		t.Errorf("%d were made, and the one that knows two messages was not taken", made)
	}
	idle.Give(one)
	other := oneloop.UserText("other")
	if got := take(a, other); got != two {
		t.Error("the one that has least to forget was not taken")
	}
	idle.Give(two)
	if got := take(other); got == one || got == two {
		t.Error("one that has nothing in common was taken")
	}
}
