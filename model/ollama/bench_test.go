package ollama_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/ollama"
)

// turn is what one round of the loop adds: a call and its result of 1 KB.
func turn(n int) []*oneloop.Message {
	id := fmt.Sprint("call", n)
	raw := []byte(`{"id":"` + id + `","function":{"name":"Bash","arguments":{"command":"cat file"}}}`)
	return []*oneloop.Message{
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: ollama.API, Model: "m"}, Stop: oneloop.StopToolUse,
			Blocks: []oneloop.Block{&oneloop.ToolUse{Wire: oneloop.Wire{Raw: raw, API: ollama.API}, ID: id, Name: "Bash", Input: []byte(`{"command":"cat file"}`)}}},
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
func sender(tb testing.TB, size *int) *ollama.Model {
	buf := make([]byte, 32<<10)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/api/show") {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{}`)), Request: r}, nil
		}
		*size = int(r.ContentLength)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return nil, err
			}
		}
	})}
	m, err := ollama.New(ollama.Config{Model: "m", Client: client, Context: 10_000_000})
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

func ignore(oneloop.Event) {}

func TestATurnAllocatesTheSameHoweverLongTheConversationIs(t *testing.T) {
	allocs := func(n int) float64 {
		size := 0
		m := sender(t, &size)
		turns := make([][]*oneloop.Message, 60)
		for i := range turns {
			turns[i] = turn(n + i)
		}
		req := &oneloop.Request{Tools: []oneloop.ToolDef{{Name: "Bash"}}, Messages: conversation(n)}
		m.Generate(t.Context(), req, ignore)
		i := 0
		return testing.AllocsPerRun(50, func() {
			req.Messages = append(req.Messages, turns[i]...)
			i++
			m.Generate(t.Context(), req, ignore)
		})
	}
	short, long := allocs(20), allocs(1000)
	t.Logf("allocations per turn: %v with 20 messages, %v with 1000", short, long)
	// What is used again is dropped now and then, by the collector and at random
	// by the race detector. A single allocation per message would be 980 more.
	if long > short+20 {
		t.Errorf("%v allocations per turn with 1000 messages, %v with 20", long, short)
	}
}

// deltas is a stream of n pieces of text.
func deltas(n int) string {
	return strings.Repeat(piece(`"content":"some words of a reply \n"`)+"\n", n) + end("stop", 20, n) + "\n"
}

func TestADeltaCostsFewAllocations(t *testing.T) {
	perReply := func(n int) float64 {
		body := deltas(n)
		m := open(t, &fake{show: `{}`, chat: func() io.Reader { return strings.NewReader(body) }}, ollama.Config{})
		return testing.AllocsPerRun(3, func() {
			if _, err := m.Generate(t.Context(), hi(), ignore); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := perReply(100), perReply(1100)
	t.Logf("%.1f allocations per delta", (many-few)/1000)
	if (many-few)/1000 > 12 {
		t.Errorf("%.1f allocations per delta", (many-few)/1000)
	}
}
