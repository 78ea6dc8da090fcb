package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/model/anthropic"
	"oneloop/session"
)

// picky is a server that refuses requests with refuse, where that gives a
// reply, and else plays replies. What it refuses is no breach of a rule.
func picky(t *testing.T, refuse func(script.Request) *script.Reply, replies ...script.Reply) *script.Server {
	t.Helper()
	n := 0
	return looptest.Serve(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if no := refuse(r); no != nil {
			return *no
		}
		if n++; n > len(replies) {
			return script.Say(script.Text("ok"))
		}
		return replies[n-1]
	}})
}

// logged is a session over server that is kept in a log.
func logged(t *testing.T, server *script.Server, l *session.Log, run oneloop.ToolFunc) *session.Session {
	t.Helper()
	api, err := anthropic.New(anthropic.Config{BaseURL: server.URL(), Key: "k", Model: "claude-sonnet-4-6"})
	if err != nil {
		t.Fatal(err)
	}
	box := tools(run)
	box.Tools[0].Schema = json.RawMessage(`{"type":"object"}`)
	l.Use(session.Setup{Model: "claude-sonnet-4-6", Tools: box.Defs()})
	return &session.Session{Model: api, Tools: box, Transcript: l}
}

// binding is a server that refuses reasoning in other places than it was sent
// in, and nothing else.
func binding(t *testing.T, replies ...script.Reply) *script.Server {
	t.Helper()
	server := script.New(replies...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		server.Close()
		for _, b := range server.Breaches() {
			if b.Rule != script.RuleThinking {
				t.Error(b)
			}
		}
		if list := server.Failures(); len(list) > 0 {
			t.Error(list)
		}
	})
	return server
}

// told takes a turn and returns the notices in it.
func told(t *testing.T, s *session.Session, blocks ...oneloop.Block) (list []string, err error) {
	t.Helper()
	err = s.Turn(t.Context(), func(e oneloop.Event) {
		if n, ok := e.(oneloop.Notice); ok {
			list = append(list, n.Text)
		}
	}, blocks...)
	return list, err
}

func refused(format string, args ...any) *script.Reply {
	r := script.Fail(400, "invalid_request_error", fmt.Sprintf(format, args...))
	return &r
}

func image(data string) *oneloop.Media {
	return &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte(data)}
}

func TestAnImageThatIsRefusedCostsOneMoreRequest(t *testing.T) {
	for name, where := range map[string]string{
		"named": "messages.2.content.0.tool_result.content.1.image.source.base64.data: ", "unnamed": "",
		"another block is named": "messages.0.content.1.image.source.base64: ",
	} {
		t.Run(name, func(t *testing.T) {
			server := picky(t, func(r script.Request) *script.Reply {
				if strings.Contains(string(r.Body), `"YmFk"`) { // bad
					return refused("%sCould not process image", where)
				}
				return nil
			}, script.Say(script.Tool("t1", "T", "{}")))
			path := filepath.Join(t.TempDir(), "s.jsonl")
			l := session.NewLog(path, session.LogOptions{})
			s := logged(t, server, l, func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
				return &oneloop.ToolResult{Content: []oneloop.Block{text("look:"), image("bad")}}, nil
			})
			said, err := told(t, s, image("good"), text("hi"))
			if err != nil {
				t.Fatal(err)
			}
			if len(said) != 1 || !strings.Contains(said[0], "Could not process image") || !strings.Contains(said[0], "an image in a result of T") {
				t.Errorf("the user was told %q", said)
			}
			if n := len(server.Requests()); n != 3 {
				t.Errorf("it took %d requests, not 3", n)
			}
			sent := string(server.Requests()[2].Body)
			if !strings.Contains(sent, `"Z29vZA=="`) || !strings.Contains(sent, "look:") || !strings.Contains(sent, "no longer sent") {
				t.Errorf("sent again was %s", sent)
			}
			if _, err := send(t, t.Context(), s, text("go on")); err != nil {
				t.Fatal(err)
			}
			before := asJSON(t, request(t, l).Messages)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			again, _ := open(t, path)
			if after := asJSON(t, request(t, again).Messages); !slices.Equal(before, after) {
				t.Errorf("another process would send\n%q, and not\n%q", after, before)
			}
			if file, err := os.ReadFile(path); err != nil || !strings.Contains(string(file), "YmFk") {
				t.Errorf("the log does not keep the image: %v", err)
			}
		})
	}
}

func TestReasoningThatIsRefusedIsLeftOutOfWhatFollows(t *testing.T) {
	thought := script.Thinking("hm", "sig")
	server := binding(t, script.Say(thought, script.Text("one")), script.Say(thought, script.Text("two")), script.Say(script.Text("three")))
	l := session.NewLog("", session.LogOptions{})
	s := logged(t, server, l, nil)
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	// What a reply is bound to changes: the API refuses it.
	l.Use(session.Setup{Model: "claude-sonnet-4-6", Tools: s.Tools.(*oneloop.Toolbox).Defs(), System: []oneloop.Block{text("other")}})
	said, err := told(t, s, text("go on"))
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "reasoning") {
		t.Errorf("the user was told %q", said)
	}
	if _, err := send(t, t.Context(), s, text("and on")); err != nil {
		t.Fatal(err)
	}
	if n := len(server.Requests()); n != 4 {
		t.Errorf("it took %d requests, not 4", n)
	}
}

func TestCallsWhoseReasoningIsRefusedAreToldInWords(t *testing.T) {
	thought := script.Thinking("hm", "sig")
	server := binding(t, script.Say(thought, script.Text("I look"), script.Tool("t1", "T", `{"a":"b"}`)), script.Say(script.Text("two")))
	l := session.NewLog("", session.LogOptions{})
	var s *session.Session
	s = logged(t, server, l, func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		l.Use(session.Setup{Model: "claude-sonnet-4-6", Tools: s.Tools.(*oneloop.Toolbox).Defs(), System: []oneloop.Block{text("other")}})
		return oneloop.TextResult("found it"), nil
	})
	if _, err := send(t, t.Context(), s, text("hi")); err != nil {
		t.Fatal(err)
	}
	last := server.Requests()[len(server.Requests())-1]
	if n := last.N; n != 4 || !strings.Contains(string(last.Body), `I called T with {\"a\":\"b\"}`) || !strings.Contains(string(last.Body), "found it") {
		t.Errorf("request %d was %s", n, last.Body)
	}
}

func TestARequestThatIsTooLargeIsMadeSmaller(t *testing.T) {
	server := picky(t, func(r script.Request) *script.Reply {
		if len(r.Body) > 100_000 {
			no := script.HTML(413, "<p>too large")
			return &no
		}
		return nil
	}, script.Say(script.Text("seen")), script.Say(script.Tool("t1", "T", "{}")))
	l := session.NewLog("", session.LogOptions{})
	s := logged(t, server, l, func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return oneloop.TextResult(strings.Repeat("new ", 10_000)), nil
	})
	old := strings.Repeat("old", 20_000)
	if _, err := send(t, t.Context(), s, image(old), text("one")); err != nil {
		t.Fatal(err)
	}
	said, err := told(t, s, text("two"))
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 1 {
		t.Errorf("the user was told %q", said)
	}
	if sent := string(server.Requests()[3].Body); strings.Contains(sent, "b2xkb2xk") || !strings.Contains(sent, "new new") {
		t.Errorf("the old image was not left out, or more than that: %d bytes", len(sent))
	}
}

// A conversation that is too large for what is small in it is summed up. What
// tools said is not left out in a hundred places.
func TestARequestOfManyTextsThatIsTooLargeIsSummedUp(t *testing.T) {
	w := &worker{rounds: 100}
	s := working(t, w, strings.Repeat("new ", 3000))
	if _, err := send(t, t.Context(), s, text("grow")); err != nil {
		t.Fatal(err)
	}
	w.refuse = func(req *oneloop.Request) error {
		if len(spoken(req)) > 600_000 {
			return &oneloop.APIError{Class: oneloop.ErrTooLarge, Status: 413, Message: "too large"}
		}
		return nil
	}
	kinds, err := send(t, t.Context(), s, text("more"))
	if err != nil {
		t.Fatal(err)
	}
	last := spoken(w.requests[len(w.requests)-1])
	if !strings.Contains(kinds, "compacted") || strings.Contains(last, "no longer sent") {
		t.Errorf("%s; the last request says\n%.2000s", kinds, last)
	}
}

func TestWhatIsRefusedAgainAndAgainEnds(t *testing.T) {
	for name, say := range map[string]string{
		"a prompt": "messages.0.content.2: no",
		"an image": "Could not process image",
		"no place": "no",
		"a result": "messages.2.content.0.content.0: no",
		"a call":   "messages.1.content.0.tool_use.input: no",
	} {
		t.Run(name, func(t *testing.T) {
			bodies := map[string]bool{}
			server := picky(t, func(r script.Request) *script.Reply {
				if bodies[string(r.Body)] {
					t.Errorf("request %d is one that was refused before", r.N)
				}
				if bodies[string(r.Body)] = true; r.N == 1 {
					return nil
				}
				return refused("%s (%d)", say, r.N)
			}, script.Say(script.Tool("t1", "T", "{}")))
			s := logged(t, server, session.NewLog("", session.LogOptions{}), func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
				return oneloop.TextResult("r"), nil
			})
			_, err := send(t, t.Context(), s, image("a"), image("b"), text("hi"))
			if !errors.Is(err, oneloop.ErrInvalidRequest) {
				t.Errorf("the turn ended with %v", err)
			}
			if want := 3 - strings.Count("a prompt, no place", name); len(server.Requests()) != want {
				t.Errorf("it took %d requests, not %d", len(server.Requests()), want)
			}
		})
	}
}

func TestWithoutALogARefusalEndsTheTurn(t *testing.T) {
	server := picky(t, func(script.Request) *script.Reply { return refused("Could not process image") })
	s := logged(t, server, session.NewLog("", session.LogOptions{}), nil)
	s.Transcript = new(oneloop.History)
	if _, err := send(t, t.Context(), s, image("a"), text("hi")); !errors.Is(err, oneloop.ErrInvalidRequest) || len(server.Requests()) != 1 {
		t.Errorf("after %d requests: %v", len(server.Requests()), err)
	}
}
