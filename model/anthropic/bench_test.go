package anthropic_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/anthropic"
)

// turn is what one round of the loop adds: a call and its result of 1 KB.
func turn(n int) []*oneloop.Message {
	id := fmt.Sprint("toolu_", n)
	raw := []byte(`{"type":"tool_use","id":"` + id + `","name":"Bash","input":{"command":"cat file"}}`)
	return []*oneloop.Message{
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: anthropic.API, Model: "m"}, Stop: oneloop.StopToolUse,
			Blocks: []oneloop.Block{&oneloop.ToolUse{Wire: oneloop.Wire{Raw: raw}, ID: id, Name: "Bash", Input: []byte(`{"command":"cat file"}`)}}},
		{Role: oneloop.User, Blocks: []oneloop.Block{&oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: strings.Repeat("a line of output\n", 64)}}}}},
	}
}

// conversation has n messages after the first.
func conversation(n int) []*oneloop.Message {
	msgs := []*oneloop.Message{oneloop.UserText("go")}
	for i := range n / 2 {
		msgs = append(msgs, turn(i)...)
	}
	return msgs
}

// sender returns a model whose API reads every byte of a request in pieces of
// 32 KB and refuses it.
func sender(tb testing.TB) *anthropic.Model {
	buf := make([]byte, 32<<10)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return nil, err
			}
		}
	})}
	m, err := anthropic.New(anthropic.Config{Key: key, Model: "m", Client: client})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func ignore(oneloop.Event) {}

func TestATurnAllocatesTheSameHoweverLongTheConversationIs(t *testing.T) {
	allocs := func(n int) float64 {
		m := sender(t)
		msgs := conversation(n)
		turns := make([][]*oneloop.Message, 60)
		for i := range turns {
			turns[i] = turn(n + i)
		}
		req := &oneloop.Request{Tools: []oneloop.ToolDef{{Name: "Bash"}}, Messages: msgs}
		m.Generate(t.Context(), req, ignore)
		i := 0
		return testing.AllocsPerRun(50, func() {
			req.Messages = append(req.Messages, turns[i]...)
			i++
			m.Generate(t.Context(), req, ignore)
		})
	}
	short, long := allocs(20), allocs(2000)
	t.Logf("allocations per turn: %v with 20 messages, %v with 2000", short, long)
	// What is used again is dropped now and then, by the collector and at random
	// by the race detector. A single allocation per message would be 1980 more.
	if long > short+20 {
		t.Errorf("%v allocations per turn with 2000 messages, %v with 20", long, short)
	}
}
