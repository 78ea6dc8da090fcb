package looptest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
)

// Key is the credential that [TestModel] expects a model to send.
const Key = "looptest-key"

// TestModel checks the contract of [oneloop.Model] on adapters of the
// Messages API. open makes one for a scripted server at url, with [Key] as
// its credential and any model that thinks.
func TestModel(t *testing.T, open func(t testing.TB, url string) oneloop.Model) {
	for _, law := range []struct {
		name string
		run  func(*testing.T, func(testing.TB, string) oneloop.Model)
	}{
		{"deltas add up to the message", deltasAddUp},
		{"what came goes back unchanged", goesBack},
		{"a cut call is never run", cutCall},
		{"an interrupted reply keeps what is finished", interrupted},
		{"a context that ends before the reply gives its cause", notBegun},
		{"errors have a class", classes},
		{"a failure voids what was streamed", voids},
	} {
		t.Run(law.name, func(t *testing.T) { law.run(t, open) })
	}
}

type opener = func(testing.TB, string) oneloop.Model

var bash = oneloop.ToolDef{Name: "Bash", Description: "runs a command", Schema: json.RawMessage(`{"type":"object"}`)}

func asking(msgs ...*oneloop.Message) *oneloop.Request {
	return &oneloop.Request{
		System:   []oneloop.Block{&oneloop.Text{Text: "be brief"}},
		Messages: append([]*oneloop.Message{oneloop.UserText("hi")}, msgs...),
		Tools:    []oneloop.ToolDef{bash},
	}
}

// generate collects the events; emit may be called from several goroutines.
func generate(ctx context.Context, m oneloop.Model, req *oneloop.Request) ([]oneloop.Event, *oneloop.Message, error) {
	var events []oneloop.Event
	var msg *oneloop.Message
	var err error
	for e, failed := range oneloop.Events(ctx, func(ctx context.Context, emit func(oneloop.Event)) (err error) {
		msg, err = m.Generate(ctx, req, emit)
		return err
	}) {
		if err = failed; e != nil {
			events = append(events, e)
		}
	}
	return events, msg, err
}

func deltasAddUp(t *testing.T, open opener) {
	reply := script.Say(script.Thinking("let me think", "c2ln"), script.Text("你好，世界🌍"),
		script.Tool("t1", "Bash", `{"command":"ls"}`), script.Tool("t2", "Bash", ""))
	reply.Chunk = 1
	s := Serve(t, reply)
	events, msg, err := generate(t.Context(), open(t, s.URL()), asking())
	if err != nil {
		t.Fatal(err)
	}
	var text, thinking, input string
	for _, e := range events {
		switch e := e.(type) {
		case oneloop.TextDelta:
			text += e.Text
		case oneloop.ThinkingDelta:
			thinking += e.Text
		case oneloop.InputDelta:
			input += e.JSON
		case oneloop.RequestSent:
			for name, values := range e.Header {
				if strings.Contains(strings.Join(values, " "), Key) {
					t.Errorf("an event shows the credential in %s", name)
				}
			}
		}
	}
	if text != msg.Text() || text != "你好，世界🌍" || thinking != "let me think" || input != `{"command":"ls"}` {
		t.Errorf("text %q, message %q, thinking %q, input %q", text, msg.Text(), thinking, input)
	}
	uses := msg.ToolUses()
	if msg.Stop != oneloop.StopToolUse || len(uses) != 2 || string(uses[0].Input) != `{"command":"ls"}` || string(uses[1].Input) != `{}` {
		t.Errorf("stop %q, calls %+v", msg.Stop, uses)
	}
}

func goesBack(t *testing.T, open opener) {
	odd := `{"type":"hologram","depth":18446744073709551616,"a":{"z":1,"b":2}}`
	s := Serve(t,
		script.Say(script.Thinking("", "c2ln"), script.Raw(json.RawMessage(odd)), script.Text("a < b"), script.Tool("t1", "Bash", `{"b":1.10,"a":2}`)),
		script.Say(script.Text("ok")))
	m := open(t, s.URL())
	_, msg, err := generate(t.Context(), m, asking())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := generate(t.Context(), m, asking(msg, round("t1")[1])); err != nil {
		t.Fatal(err)
	}
	body := string(s.Requests()[1].Body)
	for _, part := range []string{odd, `{"b":1.10,"a":2}`, `"signature":"c2ln"`} {
		if !strings.Contains(body, part) {
			t.Errorf("the second request lacks %s:\n%s", part, body)
		}
	}
}

func cutCall(t *testing.T, open opener) {
	limit := script.Say(script.Text("x"), script.ToolPieces("t1", "Bash", `{"command":"rm -r bui`))
	limit.Stop = "max_tokens"
	s := Serve(t, limit)
	_, msg, err := generate(t.Context(), open(t, s.URL()), asking())
	if err != nil {
		t.Fatal(err)
	}
	if msg.Stop != oneloop.StopMaxTokens {
		t.Errorf("stop is %q", msg.Stop)
	}
}

func interrupted(t *testing.T, open opener) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	reply := script.Say(script.Text("I will look"), script.Open(script.ToolPieces("t1", "Bash", `{"command":"ec`)))
	reply.Pauses = []script.Pause{{After: 8, For: script.Forever}}
	s := Serve(t, reply)
	time.AfterFunc(30*time.Second, func() { cancel(errors.New("the deltas never came")) })
	m := open(t, s.URL())
	msg, err := m.Generate(ctx, asking(), func(e oneloop.Event) {
		if d, ok := e.(oneloop.InputDelta); ok && d.JSON != "" {
			cancel(oneloop.ErrInterrupted)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if context.Cause(ctx) != oneloop.ErrInterrupted {
		t.Fatal(context.Cause(ctx))
	}
	if msg.Stop != oneloop.StopInterrupted || msg.Text() != "I will look" || len(msg.ToolUses()) != 0 {
		t.Errorf("stop %q, text %q, %d calls", msg.Stop, msg.Text(), len(msg.ToolUses()))
	}
}

func notBegun(t *testing.T, open opener) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := Serve(t, script.Reply{Wait: script.Forever})
	m := open(t, s.URL())
	waited := make(chan error, 1)
	go func() { // ends when the request has come, at the latest with the test
		waited <- s.Wait(t.Context(), 1)
		cancel(oneloop.ErrInterrupted)
	}()
	msg, err := m.Generate(ctx, asking(), func(oneloop.Event) {})
	if werr := <-waited; werr != nil {
		t.Fatal(werr)
	}
	if msg != nil && msg.Stop == oneloop.StopInterrupted && len(msg.Blocks) == 0 {
		return
	}
	if msg != nil || !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("got %+v, %v; want the cause", msg, err)
	}
}

func classes(t *testing.T, open opener) {
	inStream := script.Say(script.Text("half"))
	inStream.Error = &script.Error{Type: "overloaded_error", Message: "Overloaded"}
	cut := script.Say(script.Text("half"))
	cut.Cut = &script.Cut{Events: -2}
	for _, c := range []struct {
		reply script.Reply
		want  error
	}{
		{script.Fail(401, "authentication_error", "no"), oneloop.ErrAuth},
		{script.Fail(404, "not_found_error", "no"), oneloop.ErrNotFound},
		{script.Fail(429, "rate_limit_error", "no"), oneloop.ErrRateLimited},
		{script.Fail(400, "invalid_request_error", "no"), oneloop.ErrInvalidRequest},
		{script.Fail(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000 maximum"), oneloop.ErrContextOverflow},
		{script.Fail(500, "api_error", "no"), oneloop.ErrServer},
		{script.Fail(529, "overloaded_error", "no"), oneloop.ErrOverloaded},
		{inStream, oneloop.ErrOverloaded},
		{cut, oneloop.ErrStreamCut},
		{script.HTML(200, "<p>hello"), oneloop.ErrNotAPI},
	} {
		s := Serve(t, c.reply)
		_, msg, err := generate(t.Context(), open(t, s.URL()), asking())
		var api *oneloop.APIError
		if msg != nil || !errors.As(err, &api) || !errors.Is(err, c.want) {
			t.Errorf("got %v, want %v", err, c.want)
		}
	}
}

func voids(t *testing.T, open opener) {
	cut := script.Say(script.Text("half"))
	cut.Cut = &script.Cut{Events: -2}
	s := Serve(t, cut)
	events, _, err := generate(t.Context(), open(t, s.URL()), asking())
	if err == nil {
		t.Fatal("a cut reply is no error")
	}
	last := slices.IndexFunc(events, func(e oneloop.Event) bool { return e.Kind() == oneloop.KindDiscard })
	if last < 0 {
		t.Fatal("nothing says that the deltas are void")
	}
	for _, e := range events[last:] {
		if e.Kind() == oneloop.KindTextDelta {
			t.Error("text comes after it was declared void")
		}
	}
}
