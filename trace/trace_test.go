package trace_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"oneloop"
	"oneloop/trace"
)

const secret = `s3cr"t-key`

// turn is what a turn with one call, one child and one retry emits.
func turn() []oneloop.Event {
	call := &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(`{"command": "echo <北京>\n"}`)}
	reply := &oneloop.Message{Role: oneloop.Assistant, ID: "msg_1", Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{
		&oneloop.Text{Text: "I look."}, call}}
	result := oneloop.TextResult("<北京> " + secret)
	result.ID = "t1"
	done := &oneloop.Message{Role: oneloop.Assistant, ID: "msg_2", Stop: oneloop.StopEndTurn, Blocks: []oneloop.Block{&oneloop.Text{Text: "好"}}}
	prompt := oneloop.UserText("你好")
	return []oneloop.Event{
		oneloop.TurnStart{Messages: []*oneloop.Message{prompt}},
		oneloop.MessageAdded{Message: prompt},
		oneloop.RequestSent{Method: "POST", URL: "http://x/v1/messages", Body: oneloop.Parts{[]byte(`{"messages":`), []byte(`["你好"]}`)}},
		oneloop.Received{Bytes: 10},
		oneloop.Retry{Attempt: 1, Of: 9, Error: "overloaded"},
		oneloop.Stream{Data: json.RawMessage(`{"type":"message_start"}`)},
		oneloop.MessageAdded{Message: reply},
		oneloop.ToolStart{Call: call},
		oneloop.Child{Agent: "1", Event: oneloop.Spend{Model: "m", Usage: oneloop.Usage{Reported: true, Input: 1}, Cost: 0.5, Known: true}},
		oneloop.Denied{Call: call, Reason: "no"},
		oneloop.ToolEnd{Call: call, Result: result},
		oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.User, result)},
		oneloop.MessageAdded{Message: done},
		oneloop.Spend{Model: "m", Usage: oneloop.Usage{Reported: true, Input: 2, Output: 3}, Cost: 0.25, Known: true},
		oneloop.TurnEnd{Stop: oneloop.StopEndTurn, Requests: 2},
	}
}

func TestLinesAreNumberedObjectsWithoutSecrets(t *testing.T) {
	var b bytes.Buffer
	l := trace.NewLines(&b, "s1", secret, "", "1")
	for _, e := range turn() {
		l.Event(e)
	}
	if err := l.Err(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if len(lines) != len(turn())-1 {
		t.Fatalf("%d lines; Received is left out and every other event is one line", len(lines))
	}
	for i, line := range lines {
		var e struct {
			V, Seq int
			Agent  string
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("line %d: %v\n%s", i, err, line)
		}
		if e.V != 1 || e.Seq != i+1 {
			t.Errorf("line %d has version %d and number %d", i, e.V, e.Seq)
		}
	}
	all := b.String()
	if strings.Contains(all, `s3cr`) || !strings.Contains(all, "[masked]") {
		t.Error("a secret is not masked")
	}
	for _, want := range []string{`<北京>`, `"agent":"/1","kind":"spend"`, `{"messages":["你好"]}`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
}

type full struct{ n int }

func (f *full) Write(p []byte) (int, error) {
	if f.n--; f.n < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestAnEventWithoutAFormInJSONIsSaidAndTheRestIsKept(t *testing.T) {
	var b bytes.Buffer
	l := trace.NewLines(&b, "s1")
	l.Event(oneloop.ToolStart{Call: &oneloop.ToolUse{ID: "t1", Name: "T", Input: json.RawMessage(`{"a":`)}})
	l.Event(oneloop.Child{Agent: "1", Event: oneloop.ToolStart{Call: &oneloop.ToolUse{ID: "t1", Name: "T", Input: json.RawMessage(`{"a":`)}}})
	l.Event(oneloop.Notice{Text: "the end"})
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")
	if err := l.Err(); err != nil || len(lines) != 3 {
		t.Fatalf("%d lines, %v", len(lines), err)
	}
	for i, want := range []string{`"seq":1,`, `"seq":2,`, `"seq":3,`} {
		if !json.Valid([]byte(lines[i])) || !strings.Contains(lines[i], want) || i < 2 && !strings.Contains(lines[i], "the event tool_start that belongs here") {
			t.Errorf("line %d is %s", i+1, lines[i])
		}
	}
}

func TestTheFirstWriteErrorIsKeptAndEndsTheFile(t *testing.T) {
	w := &full{n: 2}
	l := trace.NewLines(w, "s1")
	for _, e := range turn() {
		l.Event(e)
	}
	if err := l.Err(); err == nil || err.Error() != "event 3 (request) and all after it are missing: disk full" {
		t.Errorf("Err is %v", err)
	}
	if w.n != -1 {
		t.Errorf("it went on writing after the error: %d", w.n)
	}
}

func TestPrettyShowsTheConversationAroundEveryRound(t *testing.T) {
	var b bytes.Buffer
	p := trace.NewPretty(&b, secret)
	for _, e := range turn() {
		p.Event(e)
	}
	all := b.String()
	at := -1
	for _, want := range []string{"messages:\n", "request: POST http://x/v1/messages", "assistant response:", "tool call:",
		"messages:\n", "assistant response:"} {
		i := strings.Index(all[at+1:], want)
		if i < 0 {
			t.Fatalf("no %q after byte %d in\n%s", want, at, all)
		}
		at += 1 + i
	}
	for _, want := range []string{`"echo <北京>\n"`, `"你好"`, `[masked]`} {
		if !strings.Contains(all, want) {
			t.Errorf("no %s in\n%s", want, all)
		}
	}
	if strings.Contains(all, "s3cr") {
		t.Error("a secret is not masked")
	}
}

func TestStreamJSONBeginsWithInitAndEndsWithOneResult(t *testing.T) {
	for _, c := range []struct {
		only trace.Kinds
		want string
	}{
		{trace.Whole, "system/init system/api_retry assistant/ assistant/ user/ assistant/ result/success"},
		{trace.Partial, "system/init system/api_retry stream_event/ assistant/ assistant/ user/ assistant/ result/success"},
		{trace.ResultOnly, "result/success"},
	} {
		var b bytes.Buffer
		s := trace.NewStreamJSON(&b, trace.StreamOptions{Session: "s1", Model: "m", Tools: []string{"Bash"}, Only: c.only})
		for _, e := range turn() {
			s.Event(e)
		}
		s.Result("好", nil)
		var got []string
		var last map[string]any
		for line := range strings.Lines(b.String()) {
			last = nil
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("%v in %s", err, line)
			}
			sub, _ := last["subtype"].(string)
			got = append(got, last["type"].(string)+"/"+sub)
			if last["session_id"] != "s1" || last["uuid"] == "" {
				t.Errorf("line without its ids: %s", line)
			}
			if !strings.HasPrefix(line, `{"type":"`) {
				t.Errorf("type is not first: %s", line)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("lines are %v, want %s", got, c.want)
		}
		if last["result"] != "好" || last["is_error"] != false || last["total_cost_usd"] != 0.75 || last["num_turns"] != 2.0 {
			t.Errorf("result is %v", last)
		}
		if n := len(last["permission_denials"].([]any)); n != 1 {
			t.Errorf("%d denials", n)
		}
	}
}

func TestStreamJSONShowsAgentsUnderTheCallsThatStartedThem(t *testing.T) {
	said := func(text string) oneloop.Event {
		return oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: text})}
	}
	in := func(agent string, e oneloop.Event) oneloop.Event { return oneloop.Child{Agent: agent, Event: e} }
	var b bytes.Buffer
	s := trace.NewStreamJSON(&b, trace.StreamOptions{Secrets: []string{secret}, Agents: []string{"Explore"}})
	for _, e := range []oneloop.Event{
		oneloop.TurnStart{}, oneloop.ChildStart{Agent: "/1", Call: "t1"}, oneloop.ChildStart{Agent: "/2"},
		in("1", said("one knows "+secret)), in("1", oneloop.Notice{Text: "hidden"}),
		in("1", oneloop.ChildStart{Agent: "/1/1", Call: "t2"}), in("1/1", said("below")),
		in("2", said("hidden")), in("2", oneloop.ChildStart{Agent: "/2/1", Call: "t3"}), in("2/1", said("hidden")), said("all"),
	} {
		s.Event(e)
	}
	s.Result("all", nil)
	var got []string
	for line := range strings.Lines(b.String()) {
		var l struct {
			Type, Subtype string
			Parent        *string `json:"parent_tool_use_id"`
			Agents        []string
			Slash         []string `json:"slash_commands"`
			Turns         int      `json:"num_turns"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l.Subtype == "init" && (len(l.Agents) != 1 || l.Slash == nil) || l.Type == "result" && l.Turns != 1 {
			t.Error(line)
		}
		if l.Type == "assistant" && l.Parent != nil {
			got = append(got, *l.Parent)
		} else if l.Type == "assistant" {
			got = append(got, "-")
		}
	}
	if strings.Join(got, " ") != "t1 t2 -" || strings.Contains(b.String(), "hidden") || strings.Contains(b.String(), secret) {
		t.Errorf("%v\n%s", got, b.String())
	}
}

func TestAResultSaysWhatWentWrong(t *testing.T) {
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("cut"), "error_during_execution"},
		{&oneloop.LimitError{What: "turns"}, "error_max_turns"},
		{&oneloop.LimitError{What: "cost"}, "error_max_budget_usd"},
		{&oneloop.LimitError{What: "time"}, "error_during_execution"},
	} {
		var b bytes.Buffer
		s := trace.NewStreamJSON(&b, trace.StreamOptions{})
		s.Event(oneloop.Spend{Model: "m"})
		s.Result("half", c.err)
		var r map[string]any
		if err := json.Unmarshal(b.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		used := r["modelUsage"].(map[string]any)["m"].(map[string]any)
		if cost, told := used["costUSD"]; !told || cost != nil {
			t.Errorf("the unknown cost of a model is %v", used)
		}
		if r["subtype"] != c.want || r["is_error"] != true || r["total_cost_usd"] != nil {
			t.Errorf("%v gives %v", c.err, r)
		}
	}
}

func TestTheResultSaysWhatWasInterrupted(t *testing.T) {
	for stop, want := range map[oneloop.StopReason]string{oneloop.StopToolUse: "aborted_tools", oneloop.StopInterrupted: "aborted_streaming"} {
		for _, err := range []error{oneloop.ErrInterrupted, oneloop.ErrShutdown} {
			var b bytes.Buffer
			s := trace.NewStreamJSON(&b, trace.StreamOptions{Only: trace.ResultOnly})
			s.Event(oneloop.MessageAdded{Message: &oneloop.Message{Role: oneloop.Assistant, Stop: stop, Blocks: []oneloop.Block{&oneloop.Text{Text: "a"}}}})
			s.Result("", err)
			if !strings.Contains(b.String(), `"terminal_reason":"`+want+`"`) {
				t.Errorf("%v after %v: %s", err, stop, b.String())
			}
		}
	}
}

func TestLinesOfOneMessageShareItsIDAndTheLastSaysWhyItStopped(t *testing.T) {
	for _, id := range []string{"msg_1", ""} {
		var b bytes.Buffer
		s := trace.NewStreamJSON(&b, trace.StreamOptions{})
		s.Event(oneloop.MessageAdded{Message: &oneloop.Message{Role: oneloop.Assistant, ID: id, Stop: oneloop.StopEndTurn,
			Blocks: []oneloop.Block{&oneloop.Text{Text: "a"}, &oneloop.Text{Text: "b"}}}})
		var ids []string
		var stops []any
		for line := range strings.Lines(b.String()) {
			var l struct {
				Message struct {
					ID   string `json:"id"`
					Stop any    `json:"stop_reason"`
				} `json:"message"`
			}
			if err := json.Unmarshal([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			ids, stops = append(ids, l.Message.ID), append(stops, l.Message.Stop)
		}
		if len(ids) != 2 || ids[0] != ids[1] || ids[0] == "" || id != "" && ids[0] != id {
			t.Errorf("ids are %q", ids)
		}
		if len(stops) != 2 || stops[0] != nil || stops[1] != "end_turn" {
			t.Errorf("stop reasons are %v", stops)
		}
	}
}

func TestPrettyShowsCharactersAndNothingThatSteersATerminal(t *testing.T) {
	var b bytes.Buffer
	p := trace.NewPretty(&b)
	raw := json.RawMessage(`{"type":"text","text":"\u5317\u4eac <&> \"q\\\u001b[2J \u009b2J \u202e"}`)
	block, err := oneloop.DecodeBlock(raw)
	if err != nil {
		t.Fatal(err)
	}
	m := &oneloop.Message{Role: oneloop.Assistant, Blocks: []oneloop.Block{block}}
	p.Event(oneloop.MessageAdded{Message: m})
	if want := `"text": "北京 <&> \"q\\\u001b[2J \u009b2J \u202e"`; !strings.Contains(b.String(), want) {
		t.Errorf("no %s in\n%s", want, b.String())
	}
	if string(block.RawJSON()) != string(raw) {
		t.Error("the block itself was changed")
	}
}

func TestPrettyShowsMessagesAsTheyAreSent(t *testing.T) {
	var b bytes.Buffer
	p := trace.NewPretty(&b)
	prompt := oneloop.UserText("hi")
	p.Event(oneloop.TurnStart{Messages: []*oneloop.Message{prompt}})
	if want := "messages:\n[\n  {\n    \"role\": \"user\",\n    \"content\": [\n"; !strings.HasPrefix(b.String(), want) {
		t.Errorf("it begins with\n%s", b.String())
	}
	b.Reset()
	p.Event(oneloop.MessageAdded{Message: prompt})
	p.Event(oneloop.MessageAdded{Message: &oneloop.Message{Role: oneloop.Assistant, ID: "msg_1", Blocks: []oneloop.Block{&oneloop.Text{Text: "a"}}}})
	b.Reset()
	result := oneloop.TextResult("r")
	p.Event(oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.User, result)})
	if got := b.String(); strings.Contains(got, "msg_1") || strings.Count(got, `"role"`) != 3 {
		t.Errorf("the conversation is shown as\n%s", got)
	}
}

func TestPrettyShowsNoMessagesThatASummaryStandsFor(t *testing.T) {
	var b bytes.Buffer
	p := trace.NewPretty(&b)
	p.Event(oneloop.TurnStart{Messages: []*oneloop.Message{oneloop.UserText("long ago")}})
	p.Event(oneloop.MessageAdded{Message: oneloop.UserText("long ago")})
	p.Event(oneloop.Compacted{Trigger: "auto", Before: 900, After: 70})
	before := b.Len()
	p.Event(oneloop.TurnStart{Messages: []*oneloop.Message{oneloop.UserText("now")}})
	if after := b.String()[before:]; !strings.Contains(b.String()[:before], "made shorter: 900 tokens before, 70 now") || strings.Contains(after, "long ago") || !strings.Contains(after, "now") {
		t.Errorf("it shows\n%s", b.String())
	}
}
