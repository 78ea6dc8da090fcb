package script_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"oneloop/looptest/script"
)

func start(t *testing.T, replies ...script.Reply) *script.Server {
	t.Helper()
	s := script.New(replies...)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// send posts body with the headers a good client sends.
func send(t *testing.T, s *script.Server, body string) *http.Response {
	t.Helper()
	res, err := http.DefaultClient.Do(newRequest(t, s, body))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func newRequest(t *testing.T, s *script.Server, body string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Api-Key", "dummy")
	req.Header.Set("Anthropic-Version", "2023-06-01")
	req.Header.Set("Content-Type", "application/json")
	return req
}

func readAll(t *testing.T, r io.Reader) string {
	t.Helper()
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// plainHello asks for one object instead of a stream.
const plainHello = `{"model":"claude-sonnet-5","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`

const hello = `{"model":"claude-sonnet-5","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`

func eventNames(stream string) []string {
	var names []string
	for line := range strings.Lines(stream) {
		if name, ok := strings.CutPrefix(line, "event: "); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	return names
}

func TestAReplyIsStreamedAsTheRealAPIStreamsIt(t *testing.T) {
	s := start(t, script.Say(script.Text("Let me look."), script.Tool("t1", "Bash", `{"command":"ls"}`)))
	res := send(t, s, hello)
	if got := res.Header.Get("Content-Type"); !strings.HasPrefix(got, "text/event-stream") {
		t.Errorf("content type %q", got)
	}
	stream := readAll(t, res.Body)
	got := strings.Join(eventNames(stream), " ")
	want := "message_start ping " +
		"content_block_start content_block_delta content_block_delta content_block_stop " +
		"content_block_start content_block_delta content_block_delta content_block_delta content_block_stop " +
		"message_delta message_stop"
	if got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	for _, part := range []string{
		`"partial_json":""`, `"partial_json":"{\"comman"`, `"partial_json":"d\":\"ls\"}"`,
		`"stop_reason":"tool_use"`, `"text":"Let me"`, `"model":"claude-sonnet-5"`,
	} {
		if !strings.Contains(stream, part) {
			t.Errorf("the stream lacks %s:\n%s", part, stream)
		}
	}
	for line := range strings.Lines(stream) {
		if data, ok := strings.CutPrefix(line, "data: "); ok && !json.Valid([]byte(data)) {
			t.Errorf("no JSON: %s", data)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestARequestThatIsNotStreamedGetsOneObject(t *testing.T) {
	s := start(t, script.Say(script.Text("ok")))
	res := send(t, s, plainHello)
	var m struct {
		Type    string
		Content []struct{ Type, Text string }
		Stop    string `json:"stop_reason"`
	}
	if err := json.Unmarshal([]byte(readAll(t, res.Body)), &m); err != nil {
		t.Fatal(err)
	}
	if m.Type != "message" || m.Stop != "end_turn" || len(m.Content) != 1 || m.Content[0].Text != "ok" {
		t.Errorf("got %+v", m)
	}
}

func TestAnUnscriptedRequestIsAFailure(t *testing.T) {
	s := start(t)
	if res := send(t, s, hello); res.StatusCode != 500 {
		t.Errorf("status %d", res.StatusCode)
	}
	if len(s.Failures()) != 1 || s.Check() == nil {
		t.Errorf("failures %q, check %v", s.Failures(), s.Check())
	}
}

func TestARequestForAnotherPathIsAFailure(t *testing.T) {
	s := start(t, script.Say())
	req := newRequest(t, s, hello)
	req.URL.Path = "/v1/models"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 404 || len(s.Failures()) != 1 {
		t.Errorf("status %d, failures %q", res.StatusCode, s.Failures())
	}
}

func TestAReplyNobodyAskedForIsNoticed(t *testing.T) {
	s := start(t, script.Say(), script.Say())
	send(t, s, hello)
	if s.Unplayed() != 1 || s.Check() == nil {
		t.Errorf("unplayed %d, check %v", s.Unplayed(), s.Check())
	}
	s = start(t, script.Reply{Repeat: true})
	if s.Unplayed() != 1 {
		t.Errorf("a repeated reply nobody asked for: unplayed %d", s.Unplayed())
	}
	send(t, s, hello)
	send(t, s, hello)
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestConversationsHaveTheirOwnReplies(t *testing.T) {
	s := start(t, script.Say(script.Text("the rest")))
	s.Route("child", script.Say(script.Text("one")), script.Say(script.Text("two")))
	ask := func(text string) string {
		return readAll(t, send(t, s, strings.Replace(plainHello, `"hi"`, `"`+text+`"`, 1)).Body)
	}
	for _, c := range []struct{ ask, want string }{
		{"the child", `"one"`}, {"parent", `"the rest"`}, {"the child", `"two"`},
	} {
		if got := ask(c.ask); !strings.Contains(got, c.want) {
			t.Errorf("asked %q: no %s in\n%s", c.ask, c.want, got)
		}
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func TestTurnsAnswersByTheStateOfTheConversation(t *testing.T) {
	s := start(t, script.Turns(script.Say(script.Text("first")), script.Say(script.Text("second"))))
	second := `{"model":"claude-sonnet-5","max_tokens":10,"messages":[{"role":"user","content":"hi"},
		{"role":"assistant","content":"first"},{"role":"user","content":"go on"}]}`
	for range 2 {
		if got := readAll(t, send(t, s, plainHello).Body); !strings.Contains(got, `"first"`) {
			t.Errorf("first turn: %s", got)
		}
		if got := readAll(t, send(t, s, second).Body); !strings.Contains(got, `"second"`) {
			t.Errorf("second turn: %s", got)
		}
	}
}

func TestAReactionSeesTheRequestAndItsPanicIsAFailure(t *testing.T) {
	s := start(t,
		script.Reply{React: func(r script.Request) script.Reply { return script.Say(script.Text("you said " + r.FirstText())) }},
		script.Reply{React: func(script.Request) script.Reply { panic("no idea") }})
	if got := readAll(t, send(t, s, plainHello).Body); !strings.Contains(got, "you said hi") {
		t.Errorf("got %s", got)
	}
	if res := send(t, s, hello); res.StatusCode != 500 || len(s.Failures()) != 1 {
		t.Errorf("status %d, failures %q", res.StatusCode, s.Failures())
	}
}

func TestTheStreamIsTheSameHoweverItIsDelivered(t *testing.T) {
	reply := script.Say(script.Thinking("hm, 北京", "sig"), script.Text("你好🌍"), script.Tool("a", "B", `{"x":"é"}`))
	reply.ID = "msg_1"
	reply.Usage = &script.Usage{Input: 1, Output: 2}
	one := reply
	one.Chunk = 1
	zipped := reply
	zipped.Gzip = true
	s := start(t, reply, one, zipped)
	plain := readAll(t, send(t, s, hello).Body)
	if got := readAll(t, send(t, s, hello).Body); got != plain {
		t.Errorf("byte by byte:\n%s", got)
	}
	req := newRequest(t, s, hello)
	req.Header.Set("Accept-Encoding", "gzip") // so that the client leaves it compressed
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	z, err := gzip.NewReader(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := readAll(t, z); got != plain {
		t.Errorf("compressed:\n%s", got)
	}
}

func TestInterleavedBlocksHoldTheSameDeltas(t *testing.T) {
	r := script.Say(script.TextPieces("a", "b", "c"), script.TextPieces("x"))
	r.Interleave = true
	stream := string(r.Stream(script.Request{}))
	want := "message_start ping content_block_start content_block_start content_block_delta content_block_delta " +
		"content_block_delta content_block_stop content_block_delta content_block_stop message_delta message_stop"
	if got := strings.Join(eventNames(stream), " "); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
}

func TestFramingCanBeOdd(t *testing.T) {
	r := script.Say(script.Text("ok"))
	r.CRLF, r.Padding, r.Comments = true, true, true
	r.Extra = []script.Extra{{At: 1, Text: ": extra\r\n\r\n"}, {At: -1, Text: "data: [DONE]\r\n\r\n"}}
	stream := string(r.Stream(script.Request{}))
	for _, part := range []string{": a comment\r\n", "   }   \r\n\r\n", "\r\n\r\n: extra\r\n\r\n: a comment\r\nevent: ping"} {
		if !strings.Contains(stream, part) {
			t.Errorf("the stream lacks %q:\n%q", part, stream)
		}
	}
	if !strings.HasSuffix(stream, "data: [DONE]\r\n\r\n") {
		t.Errorf("the end is missing:\n%q", stream)
	}
}

func TestAnErrorEventEndsTheStream(t *testing.T) {
	r := script.Say(script.Text("Half"))
	r.Error = &script.Error{Type: "overloaded_error", Message: "Overloaded"}
	names := eventNames(string(r.Stream(script.Request{})))
	if names[len(names)-1] != "error" {
		t.Errorf("events %v", names)
	}
}

func TestACutBreaksTheConnectionOrEndsTheBody(t *testing.T) {
	whole := script.Say(script.Text("a longer answer"))
	whole.ID = "msg_1"
	cut := func(c script.Cut) script.Reply { r := whole; r.Cut = &c; return r }
	s := start(t, whole, cut(script.Cut{Bytes: 100}), cut(script.Cut{Bytes: 100, Clean: true}),
		cut(script.Cut{Events: -1, Clean: true}), cut(script.Cut{Bytes: -3}))
	full := readAll(t, send(t, s, hello).Body)

	got, err := io.ReadAll(send(t, s, hello).Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != full[:100] {
		t.Errorf("cut at byte 100: %v, %q", err, got)
	}
	if got := readAll(t, send(t, s, hello).Body); got != full[:100] {
		t.Errorf("clean cut at byte 100: %q", got)
	}
	if got := eventNames(readAll(t, send(t, s, hello).Body)); got[len(got)-1] != "message_delta" {
		t.Errorf("without the last event: %v", got)
	}
	got, err = io.ReadAll(send(t, s, hello).Body)
	if !errors.Is(err, io.ErrUnexpectedEOF) || string(got) != full[:len(full)-3] {
		t.Errorf("cut 3 bytes before the end: %v, %q", err, got)
	}
}

func TestSilenceLastsUntilTheClientLeaves(t *testing.T) {
	quiet := script.Say(script.Text("ab"))
	quiet.Pauses = []script.Pause{{After: 4, For: script.Forever}}
	s := start(t, quiet, script.Reply{Wait: script.Forever})

	res := send(t, s, hello)
	buf := make([]byte, 1<<16)
	seen := ""
	for !strings.Contains(seen, "content_block_delta\"") {
		n, err := res.Body.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		seen += string(buf[:n])
	}
	res.Body.Close()

	ctx, cancel := context.WithCancelCause(t.Context())
	left := errors.New("left")
	go func() { // ends with the wait below
		if s.Wait(ctx, 2) == nil {
			cancel(left)
		}
	}()
	_, err := http.DefaultClient.Do(newRequest(t, s, hello).WithContext(ctx))
	if err == nil || context.Cause(ctx) != left {
		t.Errorf("answered before the headers: %v", err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Close() }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("Close waits for a silent reply")
	}
}

func TestOtherAnswersArriveAsScripted(t *testing.T) {
	s := start(t,
		script.HTML(502, "<h1>no</h1>"),
		script.Fail(529, "overloaded_error", "Overloaded"),
		script.Reply{Body: []byte{}},
		script.Reply{SSE: []byte("event: x\ndata: {}\n\n")},
		script.Reply{Status: 429, Header: http.Header{"retry-after": {"3"}}, Body: []byte("{}")},
		script.Reply{OneShot: true, Blocks: []script.Block{script.Tool("t", "N", "[1]")}})
	for i, want := range []struct {
		status     int
		kind, body string
	}{
		{502, "text/html; charset=utf-8", "<h1>no</h1>"},
		{529, "application/json", `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{200, "application/json", ""},
		{200, "text/event-stream; charset=utf-8", "event: x\ndata: {}\n\n"},
		{429, "application/json", "{}"},
	} {
		res := send(t, s, hello)
		body := readAll(t, res.Body)
		if res.StatusCode != want.status || res.Header.Get("Content-Type") != want.kind || body != want.body {
			t.Errorf("answer %d: %d %s %q", i+1, res.StatusCode, res.Header.Get("Content-Type"), body)
		}
		if i == 4 && res.Header.Get("Retry-After") != "3" {
			t.Errorf("headers %v", res.Header)
		}
	}
	if body := readAll(t, send(t, s, hello).Body); !strings.Contains(body, `"input":[1],`) && !strings.Contains(body, `"input":[1]}`) {
		t.Errorf("one object: %s", body)
	}
}

func TestRequestsAreKeptAsTheyCame(t *testing.T) {
	s := start(t, script.Say())
	body := ` {"model":"m","max_tokens":10,"system":"be brief","tools":[{"name":"T","input_schema":{"type":"object"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}]} `
	req := newRequest(t, s, body)
	req.URL.RawQuery = "beta=true"
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	got := s.Requests()
	if len(got) != 1 {
		t.Fatalf("%d requests", len(got))
	}
	r := got[0]
	if !bytes.Equal(r.Body, []byte(body)) || r.Path != "/v1/messages?beta=true" || r.Header.Get("X-Api-Key") != "dummy" || r.At.IsZero() || r.N != 1 {
		t.Errorf("got %+v", r)
	}
	if r.Model != "m" || r.MaxTokens != 10 || r.SystemText() != "be brief" || r.FirstText() != "ab" || len(r.Tools) != 1 || r.Tools[0].Name != "T" {
		t.Errorf("the view is %+v", r)
	}
}
