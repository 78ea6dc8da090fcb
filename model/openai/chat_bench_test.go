package openai_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/openai"
)

// turn is what one round of the loop adds: a call and its result of 1 KB.
func turn(n int) []*oneloop.Message {
	id := fmt.Sprint("call", n)
	raw := []byte(`{"id":"` + id + `","type":"function","function":{"name":"Bash","arguments":"{\"command\":\"cat file\"}"}}`)
	return []*oneloop.Message{
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: openai.ChatAPI, Model: "m"}, Stop: oneloop.StopToolUse,
			Blocks: []oneloop.Block{&oneloop.ToolUse{Wire: oneloop.Wire{Raw: raw, API: openai.ChatAPI}, ID: id, Name: "Bash", Input: []byte(`{"command":"cat file"}`)}}},
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

func ignore(oneloop.Event) {}

// BenchmarkChatTurn sends one more round of a conversation whose request has
// about 1 MB; BenchmarkCopy moves that many bytes in the same pieces.
func BenchmarkChatTurn(b *testing.B) {
	const n = 1600
	size := 0
	buf := make([]byte, 32<<10)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		size = int(r.ContentLength)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return nil, err
			}
		}
	})}
	m, err := openai.NewChat(openai.Config{Key: key, Model: "m", Client: client})
	if err != nil {
		b.Fatal(err)
	}
	msgs := conversation(n)
	req := &oneloop.Request{Tools: []oneloop.ToolDef{{Name: "Bash"}}, Messages: msgs}
	m.Generate(b.Context(), req, ignore)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		msgs = append(msgs, turn(n+i)...)
		if len(msgs) > n+n/10 { // back to where it was, so that the length stays about n
			b.StopTimer()
			msgs = conversation(n)
			req.Messages = msgs
			m.Generate(b.Context(), req, ignore)
			b.StartTimer()
		}
		req.Messages = msgs
		m.Generate(b.Context(), req, ignore)
	}
	b.SetBytes(int64(size))
}

func BenchmarkCopy(b *testing.B) {
	body := make([]byte, 1<<20)
	buf := make([]byte, 32<<10)
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		for rest := body; len(rest) > 0; {
			rest = rest[copy(buf, rest):]
		}
	}
}

// deltas is a stream of n pieces of text and of a call's arguments.
func deltas(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		if i%2 == 0 {
			fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n")
		} else {
			name := ""
			if i == 1 {
				name = `"id":"c1","type":"function",`
			}
			fmt.Fprintf(&b, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,%s\"function\":{\"arguments\":\" \"}}]},\"finish_reason\":null}]}\n\n", name)
		}
	}
	b.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n")
	return b.Bytes()
}

const deltasInAll = 10_000

// BenchmarkChatDeltas reads a stream of 10,000 deltas; BenchmarkLines reads its
// lines.
func BenchmarkChatDeltas(b *testing.B) {
	stream := deltas(deltasInAll)
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(stream))}, nil
	})}
	m, err := openai.NewChat(openai.Config{Key: key, Model: "m", Client: client})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(b.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, ignore); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(deltasInAll)*float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
}

func BenchmarkLines(b *testing.B) {
	stream := deltas(deltasInAll)
	for b.Loop() {
		s := bufio.NewScanner(bytes.NewReader(stream))
		n := 0
		for s.Scan() {
			n += len(s.Bytes())
		}
	}
	b.ReportMetric(float64(deltasInAll)*float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
}
