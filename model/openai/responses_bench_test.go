package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/openai"
)

// itemsTurn is what one round of the loop adds to a conversation over the
// Responses API: reasoning, a call, and its result of 1 KB.
func itemsTurn(n int) []*oneloop.Message {
	id := fmt.Sprint("call", n)
	thought := `{"id":"rs_` + id + `","type":"reasoning","summary":[],"encrypted_content":"sealed"}`
	call := `{"id":"fc_` + id + `","type":"function_call","status":"completed","arguments":"{\"command\":\"cat file\"}","call_id":"` + id + `","name":"Bash"}`
	return []*oneloop.Message{
		{Role: oneloop.Assistant, Origin: oneloop.Origin{API: openai.ResponsesAPI, Model: "gpt-5"}, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{
			&oneloop.Thinking{Wire: rawItem(thought)},
			&oneloop.ToolUse{Wire: rawItem(call), ID: id, Name: "Bash", Input: []byte(`{"command":"cat file"}`)}}},
		{Role: oneloop.User, Blocks: []oneloop.Block{&oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: strings.Repeat("a line of output\n", 64)}}}}},
	}
}

func itemsConversation(n int) []*oneloop.Message {
	msgs := []*oneloop.Message{oneloop.UserText("go")}
	for i := range n / 2 {
		msgs = append(msgs, itemsTurn(i)...)
	}
	return msgs
}

// BenchmarkResponsesTurn sends one more round of a conversation whose request
// has about 1 MB; BenchmarkCopy moves that many bytes in the same pieces.
func BenchmarkResponsesTurn(b *testing.B) {
	const n = 1400
	size := 0
	buf := make([]byte, 32<<10)
	m := responsesModel(b)(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		size = int(r.ContentLength)
		for {
			if _, err := r.Body.Read(buf); err != nil {
				return nil, err
			}
		}
	})})
	msgs := itemsConversation(n)
	req := &oneloop.Request{Tools: []oneloop.ToolDef{{Name: "Bash"}}, Messages: msgs}
	m.Generate(b.Context(), req, ignore)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		msgs = append(msgs, itemsTurn(n+i)...)
		if len(msgs) > n+n/10 { // back to where it was, so that the length stays about n
			b.StopTimer()
			msgs = itemsConversation(n)
			req.Messages = msgs
			m.Generate(b.Context(), req, ignore)
			b.StartTimer()
		}
		req.Messages = msgs
		m.Generate(b.Context(), req, ignore)
	}
	b.SetBytes(int64(size))
}

// itemDeltas is a stream of n pieces of text and of a call's arguments.
func itemDeltas(n int) []byte {
	var b bytes.Buffer
	event := func(name, rest string, args ...any) {
		fmt.Fprintf(&b, "event: %s\ndata: {\"type\":\"%s\","+rest+"}\n\n", append([]any{name, name}, args...)...)
	}
	event("response.output_item.added", `"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	event("response.output_item.added", `"output_index":1,"item":{"id":"fc_1","type":"function_call","status":"in_progress","arguments":"","call_id":"c1","name":"Bash"}`)
	for i := range n {
		if i%2 == 0 {
			event("response.output_text.delta", `"content_index":0,"delta":" word","item_id":"msg_1","logprobs":[],"obfuscation":"x7Kq","output_index":0,"sequence_number":%d`, i)
		} else {
			event("response.function_call_arguments.delta", `"delta":" ","item_id":"fc_1","obfuscation":"x7Kq","output_index":1,"sequence_number":%d`, i)
		}
	}
	event("response.output_item.done", `"output_index":0,"item":{"id":"msg_1","type":"message","content":[{"type":"output_text","text":"words"}],"role":"assistant"}`)
	event("response.output_item.done", `"output_index":1,"item":{"id":"fc_1","type":"function_call","arguments":"{}","call_id":"c1","name":"Bash"}`)
	event("response.completed", `"response":{"id":"r","status":"completed"}`)
	return b.Bytes()
}

// BenchmarkResponsesDeltas reads a stream of 10,000 deltas.
func BenchmarkResponsesDeltas(b *testing.B) {
	stream := itemDeltas(deltasInAll)
	m := responsesModel(b)(&http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(bytes.NewReader(stream))}, nil
	})})
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Generate(b.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, ignore); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(deltasInAll)*float64(b.N)/b.Elapsed().Seconds(), "deltas/s")
}
