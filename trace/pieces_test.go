package trace_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"oneloop"
	"oneloop/trace"

	"pgregory.net/rapid"
)

const canary = "sk-test-canary-0123456789abcdef"

func delta(kind, field, piece string, index int) oneloop.Stream {
	p, err := json.Marshal(piece)
	if err != nil {
		panic(err)
	}
	return oneloop.Stream{Data: fmt.Appendf(nil, `{"type":"content_block_delta","index":%d,"delta":{"type":%q,%q:%s}}`, index, kind, field, p)}
}

// streams are the ways in which a text can come in pieces.
var streams = map[string]func(piece string) []oneloop.Event{
	"text":     func(s string) []oneloop.Event { return []oneloop.Event{oneloop.TextDelta{Text: s}} },
	"thinking": func(s string) []oneloop.Event { return []oneloop.Event{oneloop.ThinkingDelta{Text: s}} },
	"input": func(s string) []oneloop.Event {
		return []oneloop.Event{oneloop.InputDelta{ID: "t1", Name: "Bash", JSON: s}}
	},
	"output": func(s string) []oneloop.Event {
		return []oneloop.Event{oneloop.ToolOutput{ID: "t1", Text: s}, oneloop.ToolOutput{ID: "t2", Text: "x"}, oneloop.Notice{Text: "y"}}
	},
	"stream text": func(s string) []oneloop.Event { return []oneloop.Event{delta("text_delta", "text", s, 0)} },
	"stream input": func(s string) []oneloop.Event {
		return []oneloop.Event{delta("input_json_delta", "partial_json", s, 1)}
	},
	"both": func(s string) []oneloop.Event {
		return []oneloop.Event{delta("text_delta", "text", s, 0), oneloop.TextDelta{Text: s}, oneloop.Received{Bytes: 1}}
	},
	"a child beside": func(s string) []oneloop.Event {
		return []oneloop.Event{oneloop.Child{Agent: "1", Event: oneloop.Child{Agent: "2", Event: oneloop.TextDelta{Text: s}}}, oneloop.TextDelta{Text: "sk-test"}}
	},
}

// texts puts the pieces in a trace together again, by agent and kind.
func texts(t interface{ Fatalf(string, ...any) }, all []byte) map[string]string {
	got := map[string]string{}
	for line := range bytes.Lines(all) {
		var e struct {
			Agent string
			Kind  string
			Event json.RawMessage
			Data  struct {
				ID, Text, JSON string
				Data           json.RawMessage
			}
		}
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		raw := e.Data.Data
		if e.Event != nil {
			raw, e.Kind = e.Event, "stream"
		}
		var s struct {
			Index int
			Delta struct {
				Text, Thinking string
				Input          string `json:"partial_json"`
			}
		}
		if raw != nil {
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
		}
		got[fmt.Sprint(e.Agent, e.Kind, e.Data.ID, s.Index)] += e.Data.Text + e.Data.JSON + s.Delta.Text + s.Delta.Thinking + s.Delta.Input
	}
	return got
}

func TestAttackA15ASecretSplitOverPiecesIsInNoTrace(t *testing.T) {
	var names []string
	for name := range streams {
		names = append(names, name)
	}
	forms := []string{canary, base64.StdEncoding.EncodeToString([]byte(canary)), base64.StdEncoding.EncodeToString([]byte("key=" + canary + "\n")),
		url.QueryEscape(canary), `{"command":"echo \"` + canary + `\""}`}
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(names).Draw(t, "stream")
		form := rapid.SampledFrom(forms).Draw(t, "form")
		whole := "before " + form + " after"
		var lines, stream bytes.Buffer
		sinks := []interface{ Event(oneloop.Event) }{trace.NewLines(&lines, "s1", canary), trace.NewStreamJSON(&stream, trace.StreamOptions{Secrets: []string{canary}, Only: trace.Partial})}
		for rest := whole; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "n")
			for _, e := range streams[name](rest[:n]) {
				for _, s := range sinks {
					s.Event(e)
				}
			}
			rest = rest[n:]
		}
		call := &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{}`)}
		for _, e := range []oneloop.Event{oneloop.ToolEnd{Call: call, Result: oneloop.TextResult("x")}, oneloop.Child{Agent: "1", Event: oneloop.Child{Agent: "2", Event: oneloop.TurnEnd{}}}, oneloop.TurnEnd{}} {
			for _, s := range sinks {
				s.Event(e)
			}
		}
		kept := false
		for i, all := range [][]byte{lines.Bytes(), stream.Bytes()} {
			for key, text := range texts(t, all) {
				plain, err := base64.StdEncoding.DecodeString(strings.Trim(strings.TrimSuffix(strings.TrimPrefix(text, "before "), " after"), "="))
				if strings.Contains(text, canary) || err == nil && strings.Contains(string(plain), canary) || strings.Contains(text, form) {
					t.Fatalf("%d: %s holds the secret: %q", i, key, text)
				}
				kept = kept || strings.HasPrefix(text, "before ") && strings.HasSuffix(text, " after") && strings.Contains(text, "[masked]")
			}
		}
		if !kept {
			t.Fatalf("%s: the text around is lost: %s", name, lines.String())
		}
	})
}

func TestPiecesWithoutSecretsAreWrittenAsTheyAre(t *testing.T) {
	for name, split := range streams {
		var with, without bytes.Buffer
		a, b := trace.NewLines(&with, "s1", canary), trace.NewLines(&without, "s1")
		for _, piece := range []string{"one ", "two s", "ix ", "threes"} { // "s" could begin the secret
			for _, e := range split(piece) {
				a.Event(e)
				b.Event(e)
			}
		}
		for _, e := range []oneloop.Event{oneloop.ToolEnd{Call: &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{}`)}}, oneloop.MessageAdded{Message: oneloop.UserText("x")},
			oneloop.Child{Agent: "1", Event: oneloop.Child{Agent: "2", Event: oneloop.TurnEnd{}}}} {
			a.Event(e)
			b.Event(e)
		}
		got, want := texts(t, with.Bytes()), texts(t, without.Bytes())
		for key := range want {
			if got[key] != want[key] {
				t.Errorf("%s: %s is %q instead of %q", name, key, got[key], want[key])
			}
		}
	}
}

func TestWhatIsHeldBackComesBeforeWhatEndsIt(t *testing.T) {
	var b bytes.Buffer
	l := trace.NewLines(&b, "s1", canary)
	l.Event(oneloop.TextDelta{Text: "ask-test"})
	l.Event(oneloop.InputDelta{ID: "t1", JSON: "{}"})
	l.Event(oneloop.Discard{Reason: "cut"})
	var kinds []string
	for line := range strings.Lines(b.String()) {
		var e struct {
			Kind string
			Seq  int
			Data struct{ Text string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Seq != len(kinds)+1 {
			t.Errorf("%v in %s", err, line)
		}
		kinds = append(kinds, e.Kind+e.Data.Text)
	}
	if got := strings.Join(kinds, " "); got != "text_deltaa text_deltask-test input_delta discard" {
		t.Errorf("the events are %s", got)
	}
}
