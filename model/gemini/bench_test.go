package gemini_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/gemini"
)

// turn is what one round of the loop adds: a call and its result of 1 KB.
func turn(n int) []*oneloop.Message {
	id := fmt.Sprint("call", n)
	raw := []byte(`{"functionCall":{"name":"Bash","args":{"command":"cat file"},"id":"` + id + `"},"thoughtSignature":"c2lnbmF0dXJl"}`)
	return []*oneloop.Message{
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: gemini.API, Model: "gemini-3-pro"}, Stop: oneloop.StopToolUse,
			Blocks: []oneloop.Block{&oneloop.ToolUse{Wire: oneloop.Wire{Raw: raw, API: gemini.API}, ID: id, Name: "Bash", Input: []byte(`{"command":"cat file"}`)}}},
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
func sender(tb testing.TB, size *int) *gemini.Model {
	buf := make([]byte, 32<<10)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		*size = int(r.ContentLength)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return nil, err
			}
		}
	})}
	m, err := gemini.New(gemini.Config{Key: key, Model: "gemini-3-pro", Client: client})
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

// deltas is a stream of n pieces of text, as long as the real ones are.
func deltas(n int) string {
	one := `{"candidates": [{"content": {"parts": [{"text": "some words of a reply \n"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 211,"candidatesTokenCount": 18,"totalTokenCount": 249,"promptTokensDetails": [{"modality": "TEXT","tokenCount": 211}],"thoughtsTokenCount": 20},"modelVersion": "gemini-3.1-pro-preview","responseId": "VgCzafjWBa_Qz7IP1KnJoQk"}`
	return strings.Repeat("data: "+one+"\r\n\r\n", n) + "data: " + done + "\r\n\r\n"
}

func TestADeltaCostsFewAllocations(t *testing.T) {
	perDelta := func(n int) float64 {
		body := deltas(n)
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			return answer(r, 200, "text/event-stream", body), nil
		})}
		m, err := gemini.New(gemini.Config{Key: key, Model: "gemini-3-pro", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		return testing.AllocsPerRun(3, func() {
			if _, err := m.Generate(t.Context(), hi(), ignore); err != nil {
				t.Fatal(err)
			}
		})
	}
	few, many := perDelta(100), perDelta(1100)
	t.Logf("%.1f allocations per delta", (many-few)/1000)
	if (many-few)/1000 > 12 {
		t.Errorf("%.1f allocations per delta", (many-few)/1000)
	}
}
