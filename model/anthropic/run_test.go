package anthropic

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"oneloop"
)

// TestALongConversationIsSentWhole has one that is kept in several pieces, grows,
// and goes back.
func TestALongConversationIsSentWhole(t *testing.T) {
	e := &encoder{model: "m"}
	long := strings.Repeat("line\n", 2000)
	var msgs []*oneloop.Message
	said := 0
	say := func(n int) {
		for range n {
			said++
			m := oneloop.UserText(fmt.Sprint("question ", said, long))
			if len(msgs)%2 == 1 {
				m = oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: fmt.Sprint("first ", said)}, &oneloop.Text{Text: fmt.Sprint("answer ", said, long)})
			}
			if said%3 == 0 { // as it is read from a log
				raw, err := oneloop.AppendBlock(nil, m.Blocks[len(m.Blocks)-1])
				if err != nil {
					t.Fatal(err)
				}
				if m.Blocks[len(m.Blocks)-1], err = oneloop.DecodeBlock(raw); err != nil {
					t.Fatal(err)
				}
			}
			msgs = append(msgs, m)
		}
	}
	var parts []oneloop.Parts
	var sent [][]byte
	back := slices.Repeat([]int{-1}, 27) // over the edge of a piece
	for _, n := range append([]int{1, 30, 25, 2, 100, 1, -40, 7, -2, 3, -81}, back...) {
		if n < 0 { // it goes back, and on otherwise
			msgs = msgs[: len(msgs)+n : len(msgs)+n]
		} else {
			say(n)
		}
		p, err := e.body([]byte(`{"model":"m"`), &oneloop.Request{Messages: msgs})
		if err != nil {
			t.Fatal(err)
		}
		parts, sent = append(parts, p), append(sent, p.Bytes())
		var body struct {
			Messages []struct {
				Content []struct {
					Text  string
					Cache json.RawMessage `json:"cache_control"`
				}
			}
		}
		if err := json.Unmarshal(p.Bytes(), &body); err != nil || len(body.Messages) != len(msgs) {
			t.Fatalf("%d messages are sent as %d, %v", len(msgs), len(body.Messages), err)
		}
		marks := 0
		for i, m := range body.Messages {
			var text string
			for _, b := range m.Content {
				text += b.Text
				marks += min(1, len(b.Cache))
			}
			want := msgs[i].Text()
			if i == len(msgs)-1 && msgs[i].Role == oneloop.Assistant {
				want = strings.TrimRight(want, "\n")
			}
			if text != want {
				t.Fatalf("of %d messages number %d is sent as %.40q, %d bytes", len(msgs), i, text, len(text))
			}
		}
		if marks != min(2, len(msgs)) {
			t.Errorf("%d messages are sent with %d cache marks", len(msgs), marks)
		}
	}
	if len(parts[4]) < 6 {
		t.Errorf("%d bytes are in %d parts", len(sent[4]), len(parts[4]))
	}
	for i, p := range parts {
		if !bytes.Equal(p.Bytes(), sent[i]) {
			t.Errorf("what request %d sent was changed later", i)
		}
	}
}
