package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/model/anthropic"
)

const key = "sk-test-0123456789"

// serve starts a scripted API that the test's end checks.
func serve(t *testing.T, replies ...script.Reply) *script.Server {
	t.Helper()
	s := script.New(replies...)
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Check(); err != nil {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// newModel returns a model that asks s, with settings changed by change.
func newModel(t *testing.T, s *script.Server, change func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{Proxy: nil}}
	t.Cleanup(client.CloseIdleConnections)
	c := anthropic.Config{BaseURL: s.URL(), Key: key, Model: "claude-sonnet-4-6", Client: client}
	if change != nil {
		change(&c)
	}
	m, err := anthropic.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// log keeps events.
type log struct {
	mu     sync.Mutex
	events []oneloop.Event
}

func (l *log) emit(e oneloop.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}

func of[E oneloop.Event](l *log) []E {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []E
	for _, e := range l.events {
		if e, ok := e.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

func (l *log) text() string {
	var b strings.Builder
	for _, d := range of[oneloop.TextDelta](l) {
		b.WriteString(d.Text)
	}
	return b.String()
}

// tools answer every call with its input, and keeps those it ran.
type tools struct {
	box oneloop.Toolbox
	ran []string
}

func echoTools(names ...string) *tools {
	t := &tools{}
	for _, name := range names {
		t.box.Tools = append(t.box.Tools, oneloop.Tool{
			ToolDef: oneloop.ToolDef{Name: name, Description: "Repeats its input.", Schema: json.RawMessage(`{"type":"object"}`)},
			Run: func(_ context.Context, c *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
				t.ran = append(t.ran, c.Name+string(c.Input))
				return oneloop.TextResult(string(c.Input)), nil
			},
		})
	}
	return t
}

// converse runs the loop over user messages, each with what the one before
// left behind.
func converse(t *testing.T, m oneloop.Model, tools *tools, l *log, prompts ...string) *oneloop.History {
	t.Helper()
	h := &oneloop.History{System: []oneloop.Block{&oneloop.Text{Text: "Be brief."}}, Tools: tools.box.Defs()}
	for _, p := range prompts {
		if err := h.Append(t.Context(), oneloop.UserText(p)); err != nil {
			t.Fatal(err)
		}
		if err := oneloop.Run(t.Context(), m, &tools.box, h, l.emit); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

func ask(m oneloop.Model, ctx context.Context, l *log) (*oneloop.Message, error) {
	return m.Generate(ctx, &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, l.emit)
}

func TestATurnWithToolsRunsAgainstAStrictAPI(t *testing.T) {
	s := serve(t,
		script.Say(script.Thinking("Let me see.", "c2ln"), script.Text("I look. "), script.Tool("t1", "Bash", `{"command":"ls"}`), script.Tool("t2", "Bash", `{"command": "ls -l"}`)),
		script.Say(script.Redacted("ZGF0YQ"), script.Tool("t3", "Bash", `{}`)),
		script.Say(script.Text("你好，世界🌍")),
		script.Say(script.Text("again")),
	)
	l, tools := &log{}, echoTools("Bash")
	h := converse(t, newModel(t, s, nil), tools, l, "go", "more")
	if got := h.Last().Text(); got != "again" {
		t.Errorf("the last message is %q", got)
	}
	if want := []string{`Bash{"command":"ls"}`, `Bash{"command": "ls -l"}`, `Bash{}`}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
	if got := l.text(); got != "I look. 你好，世界🌍again" {
		t.Errorf("shown: %q", got)
	}
	for _, m := range h.Messages() {
		if m.Role == oneloop.Assistant && (m.Origin.API != anthropic.API || m.Origin.Model != "claude-sonnet-4-6" || m.ID == "" || !m.Usage.Reported || m.Meta.RequestID == "") {
			t.Errorf("a message without its particulars: %+v", m)
		}
	}
	requests := s.Requests()
	for i, r := range requests[1:] {
		if !strings.HasPrefix(strip(r.Body), strings.TrimSuffix(strip(requests[i].Body), "]}]}")) {
			t.Errorf("request %d does not begin with request %d", r.N, i+1)
		}
	}
	if n := len(of[oneloop.RequestSent](l)); n != 4 {
		t.Errorf("%d requests were told of", n)
	}
	if got := string(of[oneloop.RequestSent](l)[1].Body.Bytes()); got != string(requests[1].Body) {
		t.Errorf("told of\n%s\nsent\n%s", got, requests[1].Body)
	}
}

// strip is a body without its cache marks.
func strip(body []byte) string {
	return strings.ReplaceAll(string(body), `,"cache_control":{"type":"ephemeral"}`, "")
}

func TestEveryErrorIsAnAPIErrorOfItsClass(t *testing.T) {
	s := serve(t, script.Fail(529, "overloaded_error", "busy"))
	l := &log{}
	msg, err := ask(newModel(t, s, nil), t.Context(), l)
	var e *oneloop.APIError
	if msg != nil || !errors.As(err, &e) || !errors.Is(err, oneloop.ErrOverloaded) || e.Status != 529 || e.Type != "overloaded_error" || e.Message != "busy" {
		t.Errorf("%v, %v", msg, err)
	}
}

func TestNobodyNeedListen(t *testing.T) {
	s := serve(t, script.Say(script.Thinking("hm", "c2ln"), script.Text("ok")))
	msg, err := newModel(t, s, func(c *anthropic.Config) { c.StreamEvents = true }).Generate(t.Context(), hi(), nil)
	if err != nil || msg.Text() != "ok" {
		t.Errorf("%v, %v", msg, err)
	}
}
