package anthropic_test

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/model/anthropic"
)

// answer asks a model whose API answers with this.
func answer(t *testing.T, status int, contentType, body string) result {
	t.Helper()
	return play(t, &exchange{Status: status, ContentType: contentType}, hi(), strings.NewReader(body))
}

// sse is a stream of events.
func sse(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

const (
	start     = `{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":5,"output_tokens":1}}}`
	textStart = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textDelta = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"ok"}}`
	blockStop = `{"type":"content_block_stop","index":0}`
	end       = `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`
	stop      = `{"type":"message_stop"}`
)

func TestTextSurvivesAnySplittingOfItsBytes(t *testing.T) {
	text := "你好，世界🌍 e\u0301"
	s := serve(t,
		script.Reply{Blocks: []script.Block{script.Text(text), script.Tool("t1", "Write", `{"文.txt":"北京🌤\n"}`)}, Chunk: 1},
		script.Reply{Blocks: []script.Block{script.Text(text)}, Padding: true, CRLF: true, Comments: true, Chunk: 3,
			Extra: []script.Extra{{At: 2, Text: "event: strange\r\ndata: {\"type\":\"strange\"}\r\n\r\n"}, {At: -1, Text: "data: [DONE]\r\n\r\n"}}},
	)
	l, tools := &log{}, echoTools("Write")
	h := converse(t, newModel(t, s, nil), tools, l, "go")
	if l.text() != text+text || h.Last().Text() != text || s.Requests()[1].Messages[1].Text() != text {
		t.Errorf("shown %q, last %q", l.text(), h.Last().Text())
	}
	if len(tools.ran) != 1 || tools.ran[0] != `Write{"文.txt":"北京🌤\n"}` {
		t.Errorf("ran %q", tools.ran)
	}
	if body := string(s.Requests()[1].Body); strings.Contains(body, "\ufffd") || strings.Contains(body, `\ufffd`) {
		t.Error("a character was lost")
	}
}

func TestBlocksMayComeInterleaved(t *testing.T) {
	s := serve(t,
		script.Reply{Blocks: []script.Block{script.Thinking("hmm", "c2ln"), script.Text("some text"), script.Tool("t1", "Bash", `{"a":1}`), script.Tool("t2", "Bash", `{"b":2}`)}, Interleave: true},
		script.Say(script.Text("ok")))
	tools := echoTools("Bash")
	converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if fmt.Sprint(tools.ran) != `[Bash{"a":1} Bash{"b":2}]` {
		t.Errorf("ran %q", tools.ran)
	}
}

func TestALineOfManyMegabytesCostsAFewTimesItsLength(t *testing.T) {
	if testing.Short() {
		t.Skip("20 MB lines are not tried in short mode")
	}
	for _, c := range []struct {
		kind string
		n    int
	}{{"input", 70 << 10}, {"input", 1100 << 10}, {"input", 20 << 20}, {"thinking", 2 << 20}} {
		block, delta, close := `{"type":"tool_use","id":"t","name":"W","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"x\":\"`, `\"}"}`
		if c.kind == "thinking" {
			block, delta, close = `{"type":"thinking","thinking":"","signature":"s"}`, `{"type":"thinking_delta","thinking":"`, `"}`
		}
		before := sse(start, `{"type":"content_block_start","index":0,"content_block":`+block+`}`) +
			`data: {"type":"content_block_delta","index":0,"delta":` + delta
		after := close + "}\n\n" + sse(blockStop, end, stop)
		body := io.MultiReader(strings.NewReader(before), io.LimitReader(letters{}, int64(c.n)), strings.NewReader(after))

		var m1, m2 runtime.MemStats
		runtime.ReadMemStats(&m1)
		got := play(t, &exchange{Status: 200, ContentType: "text/event-stream"}, hi(), body)
		runtime.ReadMemStats(&m2)
		if got.Err != nil {
			t.Fatal(got.Err)
		}
		have := ""
		switch b := got.Message.Blocks[0].(type) {
		case *oneloop.ToolUse:
			have = strings.TrimSuffix(strings.TrimPrefix(string(b.Input), `{"x":"`), `"}`)
		case *oneloop.Thinking:
			have = b.Text
		}
		if have != strings.Repeat("x", c.n) {
			t.Errorf("%s of %d bytes came as %d", c.kind, c.n, len(have))
		}
		// All that was ever allocated is more than was ever in use at once.
		if used := m2.TotalAlloc - m1.TotalAlloc; c.n >= 1<<20 && used > 10*uint64(c.n) {
			t.Errorf("%s of %d bytes took %d bytes, %.1f times", c.kind, c.n, used, float64(used)/float64(c.n))
		}
	}
}

func TestAnEventOfAnUnknownNameMayHoldAnything(t *testing.T) {
	text := sse(start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"yes"}}`)
	for name, ok := range map[string]bool{"gateway_note": true, "message_delta": false, "error": false} {
		body := text + "event: " + name + "\ndata: not json\n\n" + sse(blockStop, end, stop)
		got := play(t, &exchange{Status: 200, ContentType: "text/event-stream"}, hi(), strings.NewReader(body))
		if ok != (got.Err == nil) || ok && got.Message.Text() != "yes" {
			t.Errorf("%s: %v, %v", name, got.Message, got.Err)
		}
	}
}

type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestAnEventOverTheCapIsAClearError(t *testing.T) {
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := io.MultiReader(strings.NewReader("data: "), io.LimitReader(letters{}, 3<<20))
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(body), Request: r}, nil
	})}
	m, err := anthropic.New(anthropic.Config{Key: key, Model: "m", Client: client, MaxEvent: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(m, t.Context(), &log{})
	if err == nil || !strings.Contains(err.Error(), "more than 1 MiB") || errors.Is(err, oneloop.ErrStreamCut) {
		t.Error(err)
	}
}

func TestAnErrorInsideAStreamMakesWhatWasShownVoid(t *testing.T) {
	for kind, class := range map[string]error{
		"overloaded_error": oneloop.ErrOverloaded, "api_error": oneloop.ErrServer, "rate_limit_error": oneloop.ErrRateLimited,
		"timeout_error": oneloop.ErrServer, "invalid_request_error": oneloop.ErrInvalidRequest, "brand_new_error": oneloop.ErrServer,
	} {
		for _, blocks := range [][]script.Block{{script.Text("Half")}, nil} {
			s := serve(t, script.Reply{Blocks: blocks, Error: &script.Error{Type: kind, Message: "it \x1b[31mfailed"}})
			l := &log{}
			msg, err := ask(newModel(t, s, nil), t.Context(), l)
			var e *oneloop.APIError
			if msg != nil || !errors.As(err, &e) || e.Class != class || e.Type != kind || e.Status != 200 || e.Message != "it [31mfailed" || e.RequestID == "" {
				t.Errorf("%s: %+v", kind, err)
			}
			if void := of[oneloop.Discard](l); len(void) != 1 || !void[0].Usage.Reported || void[0].Usage.Input == 0 {
				t.Errorf("%s: %d blocks shown, discarded as %+v", kind, len(blocks), void)
			}
		}
	}
}

func TestWhatIsNotTheAPIIsDescribed(t *testing.T) {
	page := "<html><script>alert('\x1b[2J')</script>" + strings.Repeat("y", 300)
	message := `{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"text","text":"ok"}],"stop_reason":"end_turn","usage":{"input_tokens":5,"output_tokens":2}}`
	for _, c := range []struct {
		name       string
		status     int
		kind, body string
		class      error
		text       []string
	}{
		{"a page", 200, "text/html; charset=utf-8", page, oneloop.ErrNotAPI, []string{"status 200", "text/html", "<html>"}},
		{"a page said to be a stream", 200, "text/event-stream", page, oneloop.ErrNotAPI, []string{"<html>"}},
		{"an error as JSON", 200, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`, oneloop.ErrOverloaded, []string{"busy"}},
		{"an error said to be a stream", 200, "text/event-stream", ` {"error":{"type":"overloaded_error","message":"busy"}}`, oneloop.ErrOverloaded, []string{"busy"}},
		{"an error in a gateway's words", 200, "application/json", `{"error":"no route"}`, oneloop.ErrServer, []string{"no route"}},
		{"nothing", 200, "", "", oneloop.ErrNotAPI, []string{"an empty body"}},
		{"blank lines", 200, "text/plain", "\n\n", oneloop.ErrNotAPI, []string{"text/plain"}},
		{"other JSON", 200, "application/json", `{"hello":1}`, oneloop.ErrNotAPI, []string{`{"hello":1}`}},
		{"half a message", 200, "application/json", message[:60], oneloop.ErrStreamCut, nil},
		{"no JSON in braces", 200, "application/json", "{oops}", oneloop.ErrNotAPI, []string{"{oops}"}},
		{"a message without a stop reason", 200, "application/json", strings.Replace(message, `"end_turn"`, "null", 1), oneloop.ErrNotAPI, []string{"without a stop reason"}},
		{"garbage", 200, "text/plain", "hello", oneloop.ErrNotAPI, []string{"text/plain", "hello"}},
		{"Bedrock frames", 200, "application/vnd.amazon.eventstream", "\x00\x00\x00\x01", oneloop.ErrNotAPI, []string{"vnd.amazon.eventstream"}},
		{"a gateway's page", 502, "text/html", page, oneloop.ErrServer, []string{"502", "text/html"}},
		{"a firewall's page", 403, "text/html", page, oneloop.ErrNotAPI, []string{"403", "text/html"}},
		{"a page for a large body", 413, "text/html", page, oneloop.ErrTooLarge, []string{"413"}},
		{"a page for a wrong address", 404, "text/html", page, oneloop.ErrNotFound, []string{"404", "https://api.anthropic.com/v1/messages"}},
		{"no body", 520, "", "", oneloop.ErrServer, []string{"520", "an empty body"}},
		{"a stream in an error", 500, "text/event-stream", sse(start), oneloop.ErrServer, []string{"500"}},
	} {
		got := answer(t, c.status, c.kind, c.body)
		var e *oneloop.APIError
		if got.Message != nil || !errors.As(got.Err, &e) || e.Class != c.class || e.Status != c.status {
			t.Errorf("%s: %+v", c.name, got.Err)
			continue
		}
		for _, want := range c.text {
			if !strings.Contains(e.Error(), want) {
				t.Errorf("%s: no %q in %q", c.name, want, e)
			}
		}
		if strings.Contains(e.Error(), "\x1b") || strings.Contains(e.Error(), strings.Repeat("y", 200)) {
			t.Errorf("%s: %q", c.name, e)
		}
	}
	for _, kind := range []string{"application/json", "text/event-stream", ""} {
		if got := answer(t, 200, kind, message); got.Err != nil || got.Message.Text() != "ok" || got.Message.Stop != oneloop.StopEndTurn || !got.Message.Usage.Reported {
			t.Errorf("a whole message as %q: %+v, %v", kind, got.Message, got.Err)
		}
	}
	for _, kind := range []string{"application/json", "text/plain", ""} {
		if got := answer(t, 200, kind, "\n: hi\n"+sse(start, textStart, textDelta, blockStop, end, stop)); got.Err != nil || got.Message.Text() != "ok" {
			t.Errorf("a stream as %q: %+v, %v", kind, got.Message, got.Err)
		}
	}
}

func TestOddButWholeEndingsAreReplies(t *testing.T) {
	whole := sse(start, textStart, textDelta, blockStop, end)
	for name, tail := range map[string]string{
		"message_stop": sse(stop), "no message_stop": "", "[DONE]": sse(stop) + "data: [DONE]\n\n", "only [DONE]": "data: [DONE]\n\n",
		"cut inside message_stop": "event: message_stop\ndata: {\"ty", "garbage": "data: bye\n\n", "an error after the end": sse(`{"type":"error","error":{"type":"api_error"}}`),
	} {
		got := answer(t, 200, "text/event-stream", whole+tail)
		if got.Err != nil || got.Message.Text() != "ok" || got.Message.Stop != oneloop.StopEndTurn {
			t.Errorf("%s: %+v, %v", name, got.Message, got.Err)
		}
	}
	for name, body := range map[string]string{
		"no stop reason": sse(start, textStart, textDelta, blockStop, stop), "a block that never stopped": sse(start, textStart, textDelta, end, stop),
		"nothing": "", "only a ping": sse(`{"type":"ping"}`), "a null stop reason": sse(start, textStart, blockStop, `{"type":"message_delta","delta":{"stop_reason":null}}`, stop),
	} {
		if got := answer(t, 200, "text/event-stream", body); got.Message != nil || !errors.Is(got.Err, oneloop.ErrStreamCut) {
			t.Errorf("%s: %+v, %v", name, got.Message, got.Err)
		}
	}
}

func TestABrokenConnectionIsACutReply(t *testing.T) {
	for _, clean := range []bool{false, true} {
		s := serve(t, script.Reply{Blocks: []script.Block{script.Text("some"), script.Tool("t1", "Bash", `{}`)}, Cut: &script.Cut{Events: -2, Clean: clean}})
		l := &log{}
		msg, err := ask(newModel(t, s, nil), t.Context(), l)
		if msg != nil || !errors.Is(err, oneloop.ErrStreamCut) || len(of[oneloop.Discard](l)) != 1 {
			t.Errorf("clean %v: %+v, %v", clean, msg, err)
		}
	}
}

func TestGzipIsShownBeforeItsEndIsSent(t *testing.T) {
	seen := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Encoding", "gzip")
		zw := gzip.NewWriter(w)
		send := func(s string) {
			io.WriteString(zw, s)
			zw.Flush()
			w.(http.Flusher).Flush()
		}
		send(sse(start, textStart, textDelta))
		select {
		case <-seen:
		case <-time.After(time.Minute):
			t.Error("the text was not shown while the stream was open")
		}
		send(sse(blockStop, end, stop))
		zw.Close()
	}))
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{BaseURL: srv.URL, Key: key, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	msg, err := m.Generate(t.Context(), hi(), func(e oneloop.Event) {
		if _, ok := e.(oneloop.TextDelta); ok {
			close(seen)
		}
	})
	if err != nil || msg.Text() != "ok" {
		t.Errorf("%+v, %v", msg, err)
	}
}

func TestTheConnectionServesTheNextRequest(t *testing.T) {
	var conns atomic.Int32
	last := make(chan struct{}, 1) // the client has the last event
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range []string{start, textStart, textDelta, blockStop, end, stop, "[DONE]"} {
			if e == "[DONE]" {
				<-last
			}
			io.WriteString(w, sse(e))
			w.(http.Flusher).Flush()
		}
	}))
	srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			conns.Add(1)
		}
	}
	srv.Start()
	defer srv.Close()
	m, err := anthropic.New(anthropic.Config{BaseURL: srv.URL, Key: key, Model: "m", StreamEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		msg, err := m.Generate(t.Context(), hi(), func(e oneloop.Event) {
			if s, ok := e.(oneloop.Stream); ok && string(s.Data) == stop {
				last <- struct{}{}
			}
		})
		if err != nil || msg.Text() != "ok" {
			t.Fatal(msg, err)
		}
	}
	if n := conns.Load(); n != 1 {
		t.Errorf("%d connections for 5 requests", n)
	}
}

func TestAReplyIsNotHeldUpByAServerThatLingers(t *testing.T) {
	for after, where := range map[int]string{7: "before its last event", 8: "after its last event"} {
		s := serve(t, script.Reply{Blocks: []script.Block{script.Text("ok")}, Extra: []script.Extra{{At: -1, Text: ": bye\n\n"}},
			Pauses: []script.Pause{{After: after, For: script.Forever}}})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if msg, err := ask(newModel(t, s, nil), ctx, &log{}); err != nil || msg.Text() != "ok" || msg.Stop != oneloop.StopEndTurn || ctx.Err() != nil {
			t.Errorf("%s: %+v, %v, %v", where, msg, err, ctx.Err())
		}
	}
}

func TestAnInterruptedReplyKeepsWhatIsFinishedAndTheTextThatWasShown(t *testing.T) {
	signed, search := script.Thinking("done", "c2ln"), json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)
	for _, c := range []struct {
		name   string
		blocks []script.Block
		events int // sent before the interrupt, message_start and ping included
		want   []string
	}{
		{"in text", []script.Block{signed, script.TextPieces("I will ", "look")}, 2 + 5 + 2, []string{"*oneloop.Thinking", "*oneloop.Text"}},
		{"in a call", []script.Block{script.Text("I will look"), script.Tool("t1", "Bash", `{"command":"echo"}`)}, 2 + 4 + 3, []string{"*oneloop.Text"}},
		{"after a call", []script.Block{script.Text("I will look"), script.ToolPieces("t1", "Bash", `{}`)}, 2 + 4 + 3, []string{"*oneloop.Text"}},
		{"in reasoning", []script.Block{script.Text("I will look"), script.Thinking("half a thought", "c2ln")}, 2 + 4 + 2, []string{"*oneloop.Text"}},
		{"after reasoning", []script.Block{script.Text("I will look"), script.Redacted("eA"), signed}, 2 + 4 + 2 + 5, []string{"*oneloop.Text"}},
		{"in the server's own call", []script.Block{script.Text("I will look"), script.Raw(search)}, 2 + 4 + 2, []string{"*oneloop.Text"}},
		{"before any block", []script.Block{script.Text("I will look")}, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			r := script.Reply{Blocks: c.blocks, Pauses: []script.Pause{{After: c.events, For: script.Forever}}}
			s := serve(t, r, script.Say(script.Text("ok")))
			m := newModel(t, s, func(c *anthropic.Config) { c.StreamEvents = true })
			l := &log{}
			n := 0
			msg, err := m.Generate(ctx, hi(), func(e oneloop.Event) {
				l.emit(e)
				if _, ok := e.(oneloop.Stream); ok {
					if n++; n == c.events {
						cancel(oneloop.ErrInterrupted)
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			var kinds []string
			for _, b := range msg.Blocks {
				kinds = append(kinds, fmt.Sprintf("%T", b))
			}
			if msg.Stop != oneloop.StopInterrupted || fmt.Sprint(kinds) != fmt.Sprint(c.want) {
				t.Errorf("stop %q, blocks %v, want %v", msg.Stop, kinds, c.want)
			}
			if msg.Text() != l.text() {
				t.Errorf("shown %q, kept %q", l.text(), msg.Text())
			}
			if n := len(of[oneloop.Discard](l)); n != 0 {
				t.Error("what is kept was discarded")
			}
			if !msg.Usage.Reported || msg.Usage.Input == 0 {
				t.Errorf("the prompt is on the bill, but not in %+v", msg.Usage)
			}
			h := &oneloop.History{}
			if err := h.Append(t.Context(), oneloop.UserText("hi"), msg, oneloop.UserText("next")); err != nil {
				t.Fatal(err)
			}
			req, err := h.Request(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Generate(t.Context(), req, l.emit); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAStalledOrUnbegunReplyReturnsTheCause(t *testing.T) {
	stalled := fmt.Errorf("no byte for 5m: %w", oneloop.ErrStalled)
	for _, c := range []struct {
		name   string
		cause  error
		pause  *script.Pause
		when   oneloop.Kind
		thrown int
	}{
		{"stalled in text", stalled, &script.Pause{After: 4, For: script.Forever}, oneloop.KindTextDelta, 1},
		{"interrupted before the headers", oneloop.ErrInterrupted, nil, oneloop.KindRequest, 0},
		{"interrupted after the headers", oneloop.ErrInterrupted, &script.Pause{After: 0, For: script.Forever}, oneloop.KindResponse, 0},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		r := script.Say(script.Text("Half a word"))
		if c.pause != nil {
			r.Pauses = []script.Pause{*c.pause}
		} else {
			r.Wait = script.Forever
		}
		s := script.New(r)
		if err := s.Start(); err != nil {
			t.Fatal(err)
		}
		l := &log{}
		msg, err := newModel(t, s, nil).Generate(ctx, hi(), func(e oneloop.Event) {
			l.emit(e)
			if e.Kind() == c.when {
				cancel(c.cause)
			}
		})
		if msg != nil || err != c.cause || len(of[oneloop.Discard](l)) != c.thrown {
			t.Errorf("%s: %+v, %v, discarded %d times", c.name, msg, err, len(of[oneloop.Discard](l)))
		}
		for _, void := range of[oneloop.Discard](l) {
			if !void.Usage.Reported || void.Usage.Input == 0 {
				t.Errorf("%s: the prompt is on the bill, but not in %+v", c.name, void)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	l := &log{}
	m, err := anthropic.New(anthropic.Config{Key: key, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if msg, err := ask(m, ctx, l); msg != nil || err != oneloop.ErrShutdown || len(l.events) != 0 {
		t.Errorf("ended before it began: %+v, %v, %v", msg, err, l.events)
	}
}
