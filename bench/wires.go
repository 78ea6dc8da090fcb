package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/model/gemini"
	"oneloop/model/ollama"
	"oneloop/model/openai"
)

const (
	limitDelta  = 25 // µs: 40,000 a second
	limitAllocs = 12
	limitEncode = 3 // to copying the bytes

	wireDeltas = 10_000
	wireBody   = 1 << 20 // bytes of a request
	wireRounds = 200     // that are added to it
	wireRuns   = 7
)

// fakeAPI is what a model is asked through here, without a network.
type fakeAPI func(*http.Request) (*http.Response, error)

func (f fakeAPI) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A spoken wire is an adapter and a stream that its API would send: what comes
// first, a piece of text, a call that is given an id, and the end.
type spoken struct {
	name                string
	open                func(*http.Client) (oneloop.Model, error)
	mime                string
	head, delta, end    string
	callHead, call, cut string
}

func spokenWires() []spoken {
	const key = "none"
	return []spoken{
		{
			name: "Messages", mime: "text/event-stream",
			open: func(c *http.Client) (oneloop.Model, error) {
				return anthropic.New(anthropic.Config{Key: key, Model: "m", Client: c})
			},
			head: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n" +
				"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
			delta: "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\" word\"}}\n\n",
			end: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			callHead: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n",
			call: "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"call_%d\",\"name\":\"Bash\",\"input\":{}}}\n\n" +
				"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\":\\\"cat file\\\"}\"}}\n\n",
			cut: "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
				"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":9}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
		},
		{
			name: "Chat Completions", mime: "text/event-stream",
			open: func(c *http.Client) (oneloop.Model, error) {
				return openai.NewChat(openai.Config{Key: key, Model: "m", Client: c})
			},
			delta: "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word\"},\"finish_reason\":null}]}\n\n",
			end:   "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
			call:  "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_%d\",\"type\":\"function\",\"function\":{\"name\":\"Bash\",\"arguments\":\"{\\\"command\\\":\\\"cat file\\\"}\"}}]},\"finish_reason\":null}]}\n\n",
			cut:   "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
		},
		{
			name: "Responses", mime: "text/event-stream",
			open: func(c *http.Client) (oneloop.Model, error) {
				return openai.NewResponses(openai.Config{Key: key, Model: "m", Client: c})
			},
			head:  "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"status\":\"in_progress\",\"content\":[],\"role\":\"assistant\"}}\n\n",
			delta: "data: {\"type\":\"response.output_text.delta\",\"content_index\":0,\"delta\":\" word\",\"item_id\":\"msg_1\",\"logprobs\":[],\"obfuscation\":\"xxxx\",\"output_index\":0,\"sequence_number\":7}\n\n",
			end: "data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"msg_1\",\"type\":\"message\",\"content\":[{\"type\":\"output_text\",\"text\":\"" + strings.Repeat(" word", wireDeltas) + "\"}],\"role\":\"assistant\"}}\n\n" +
				"data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\"}}\n\n",
			call: "data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\",\"status\":\"in_progress\",\"arguments\":\"\",\"call_id\":\"call_%[1]d\",\"name\":\"Bash\"}}\n\n" +
				"data: {\"type\":\"response.output_item.done\",\"output_index\":0,\"item\":{\"id\":\"fc_1\",\"type\":\"function_call\",\"arguments\":\"{\\\"command\\\":\\\"cat file\\\"}\",\"call_id\":\"call_%[1]d\",\"name\":\"Bash\"}}\n\n",
			cut: "data: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"status\":\"completed\"}}\n\n",
		},
		{
			name: "Gemini", mime: "text/event-stream",
			open: func(c *http.Client) (oneloop.Model, error) {
				return gemini.New(gemini.Config{Key: key, Model: "gemini-m", Client: c})
			},
			delta: "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \" word\"}],\"role\": \"model\"},\"index\": 0}],\"usageMetadata\": {\"promptTokenCount\": 9,\"candidatesTokenCount\": 9,\"totalTokenCount\": 18},\"modelVersion\": \"m\",\"responseId\": \"r\"}\r\n\r\n",
			end:   "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}]}\r\n\r\n",
			call:  "data: {\"candidates\": [{\"content\": {\"parts\": [{\"functionCall\": {\"id\": \"call_%d\",\"name\": \"Bash\",\"args\": {\"command\": \"cat file\"}},\"thoughtSignature\": \"c2lnbmVk\"}],\"role\": \"model\"},\"index\": 0}]}\r\n\r\n",
			cut:   "data: {\"candidates\": [{\"content\": {\"parts\": [{\"text\": \"\"}],\"role\": \"model\"},\"finishReason\": \"STOP\",\"index\": 0}]}\r\n\r\n",
		},
		{
			name: "Ollama", mime: "application/x-ndjson",
			open: func(c *http.Client) (oneloop.Model, error) {
				return ollama.New(ollama.Config{Model: "m", Client: c, Context: 10_000_000})
			},
			delta: "{\"model\":\"m\",\"created_at\":\"2026-12-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\" word\"},\"done\":false}\n",
			end:   "{\"model\":\"m\",\"created_at\":\"2026-12-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":9,\"eval_count\":9}\n",
			call:  "{\"model\":\"m\",\"created_at\":\"2026-12-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\",\"tool_calls\":[{\"id\":\"call_%d\",\"function\":{\"name\":\"Bash\",\"arguments\":{\"command\":\"cat file\"}}}]},\"done\":false}\n",
			cut:   "{\"model\":\"m\",\"created_at\":\"2026-12-01T00:00:00Z\",\"message\":{\"role\":\"assistant\",\"content\":\"\"},\"done\":true,\"done_reason\":\"stop\",\"prompt_eval_count\":9,\"eval_count\":9}\n",
		},
	}
}

// wires measures what the adapters of the APIs take: to read a reply piece by
// piece, and to write a request that holds a long conversation.
func (b *bench) wires(ctx context.Context) (figures []figure, err error) {
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // as in the program
	for _, w := range spokenWires() {
		for _, part := range []func(context.Context, spoken) ([]figure, error){decoding, encoding} {
			f, err := part(ctx, w)
			if err != nil {
				return figures, fmt.Errorf("%s: %w", w.name, err)
			}
			figures = append(figures, f...)
		}
	}
	return figures, nil
}

// answering is a client that gives a stream to whatever is asked.
func (w spoken) answering(stream func() string) *http.Client {
	return &http.Client{Transport: fakeAPI(func(r *http.Request) (*http.Response, error) {
		body, mime := stream(), w.mime
		if strings.HasSuffix(r.URL.Path, "/api/show") {
			body, mime = "{}", "application/json"
		}
		if r.Body != nil {
			r.Body.Close()
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {mime}}, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
	})}
}

func unheard(oneloop.Event) {}

// answered asks a model, of which nothing is measured but that: no loop is here.
func answered(ctx context.Context, m oneloop.Model, req *oneloop.Request) (*oneloop.Message, error) {
	return m.Generate(ctx, req, unheard)
}

// decoding reads a reply of many pieces, and its lines alone.
func decoding(ctx context.Context, w spoken) ([]figure, error) {
	stream := w.head + strings.Repeat(w.delta, wireDeltas) + w.end
	m, err := w.open(w.answering(func() string { return stream }))
	if err != nil {
		return nil, err
	}
	req := &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}
	var whole, lines []time.Duration
	var allocs []int64
	for range wireRuns {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		begin := time.Now()
		msg, err := answered(ctx, m, req)
		whole = append(whole, time.Since(begin))
		runtime.ReadMemStats(&after)
		if err != nil {
			return nil, err
		}
		if n := len(msg.Text()); n < 5*wireDeltas {
			return nil, fmt.Errorf("of the text %d bytes arrived", n)
		}
		allocs = append(allocs, int64(after.Mallocs-before.Mallocs))

		begin = time.Now()
		in := bufio.NewReader(strings.NewReader(stream))
		for err == nil {
			_, err = in.ReadSlice('\n')
		}
		lines = append(lines, time.Since(begin))
	}
	slices.Sort(allocs)
	same := func(d time.Duration) time.Duration { return d }
	took, read := median(whole, same), median(lines, same)
	micro := func(d time.Duration) float64 { return float64(d) / wireDeltas / 1e3 }
	each := float64(allocs[len(allocs)/2]) / wireDeltas
	return []figure{
		{Name: fmt.Sprintf("%s: a delta (%.0f a second, %.0f × reading its lines)", w.name, 1e6/micro(took), float64(took)/float64(read)),
			Ours: fmt.Sprintf("%.2f µs", micro(took)), Against: fmt.Sprintf("%.3f µs", micro(read)), Value: micro(took), Limit: limitDelta, Unit: "µs"},
		{Name: w.name + ": allocations of a delta", Ours: number(each), Value: each, Limit: limitAllocs, Unit: ""},
	}, nil
}

// round is a call, as the API said it, and its result of 1 KB.
func (w spoken) round(ctx context.Context, ask oneloop.Model) ([]*oneloop.Message, error) {
	said, err := ask.Generate(ctx, &oneloop.Request{Tools: wireTools, Messages: []*oneloop.Message{oneloop.UserText("go")}}, unheard)
	if err != nil {
		return nil, err
	}
	calls := said.ToolUses()
	if len(calls) != 1 {
		return nil, errors.New("it made no call")
	}
	result := &oneloop.ToolResult{ID: calls[0].ID, Content: []oneloop.Block{&oneloop.Text{Text: strings.Repeat("a line of output\n", 64)}}}
	return []*oneloop.Message{said, {Role: oneloop.User, Blocks: []oneloop.Block{result}}}, nil
}

var wireTools = []oneloop.ToolDef{{Name: "Bash", Description: "Runs a command."}}

// encoding adds rounds to a conversation whose request has 1 MB, and copies that
// many bytes in the pieces in which they are read.
func encoding(ctx context.Context, w spoken) ([]figure, error) {
	id := 0
	ask, err := w.open(w.answering(func() string { id++; return w.callHead + fmt.Sprintf(w.call, id) + w.cut }))
	if err != nil {
		return nil, err
	}
	rounds := func(n int) (msgs []*oneloop.Message, err error) {
		for range n {
			r, err := w.round(ctx, ask)
			if err != nil {
				return nil, err
			}
			msgs = append(msgs, r...)
		}
		return msgs, nil
	}
	size, pieces := 0, make([]byte, 32<<10)
	m, err := w.open(&http.Client{Transport: fakeAPI(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/api/show") {
			return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}")), Request: r}, nil
		}
		size = int(r.ContentLength)
		for {
			if _, err := r.Body.Read(pieces); err != nil {
				return nil, err
			}
		}
	})})
	if err != nil {
		return nil, err
	}
	const first = wireBody / 1300
	before, err := rounds(first)
	if err != nil {
		return nil, err
	}
	req := &oneloop.Request{Tools: wireTools, Messages: append([]*oneloop.Message{oneloop.UserText("go")}, before...)}
	m.Generate(ctx, req, unheard) // what was said before is written once
	more, err := rounds(wireRounds)
	if err != nil {
		return nil, err
	}
	body := bytes.Repeat([]byte("x"), 2*wireBody)
	var took, copied []time.Duration
	for i := 0; i < len(more); i += 2 {
		req.Messages = append(req.Messages, more[i:i+2]...)
		begin := time.Now()
		answered(ctx, m, req)
		took = append(took, time.Since(begin))

		begin = time.Now()
		for rest := body[:size]; len(rest) > 0; {
			rest = rest[copy(pieces, rest):]
		}
		copied = append(copied, time.Since(begin))
	}
	if size < wireBody*3/4 {
		return nil, fmt.Errorf("the request has %d bytes", size)
	}
	same := func(d time.Duration) time.Duration { return d }
	ours, against := median(took, same), median(copied, same)
	micro := func(d time.Duration) string { return fmt.Sprintf("%.0f µs", float64(d)/1e3) }
	return []figure{{Name: fmt.Sprintf("%s: a turn of %.1f MB written, against copying it", w.name, float64(size)/1e6),
		Ours: micro(ours), Against: micro(against), Value: float64(ours) / float64(against), Limit: limitEncode, Unit: "×"}}, nil
}
