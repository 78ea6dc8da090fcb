package anthropic_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/model/anthropic"

	"github.com/google/go-cmp/cmp"
)

func TestBlankTextNeverComesBack(t *testing.T) {
	s := serve(t,
		script.Say(),
		script.Say(script.TextPieces("")),
		script.Say(script.TextPieces("\n ", "\n")),
		script.Say(script.TextPieces("\n\n"), script.Tool("t1", "Bash", `{"command":"true"}`), script.TextPieces(" \u3000")),
		script.Say(script.Text("ok")),
	)
	l := &log{}
	h := converse(t, newModel(t, s, nil), echoTools("Bash"), l, "one", "two", "three", "four")
	if got := h.Last().Text(); got != "ok" {
		t.Errorf("the last message says %q", got)
	}
	var repairs []oneloop.Repair
	for _, m := range h.Messages() {
		repairs = append(repairs, m.Meta.Repairs...)
	}
	want := []oneloop.Repair{{Block: 0, What: "blank"}, {Block: 0, What: "blank", From: "\n \n"}, {Block: 0, What: "blank", From: "\n\n"}, {Block: 2, What: "blank", From: " \u3000"}}
	if d := cmp.Diff(want, repairs); d != "" {
		t.Error(d)
	}
}

func TestIDsThatAreEmptyTakenOrMangledBecomeFreshOnes(t *testing.T) {
	s := serve(t,
		script.Say(script.Tool("call_0", "Bash", `{"n":1}`), script.Tool("call_0", "Bash", `{"n":2}`)),
		script.Say(script.Tool("call_0", "Bash", `{"n":3}`)),
		script.Say(script.Tool("", "Bash", `{"n":4}`), script.Tool("functions.Bash:0", "Bash", `{"n":5}`)),
		script.Say(script.Text("ok")),
	)
	tools := echoTools("Bash")
	h := converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if want := []string{`Bash{"n":1}`, `Bash{"n":2}`, `Bash{"n":3}`, `Bash{"n":4}`, `Bash{"n":5}`}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
	var from []string
	for _, m := range h.Messages() {
		for _, r := range m.Meta.Repairs {
			if r.What != "id" || r.To == "" || r.To == r.From {
				t.Errorf("repair %+v", r)
			}
			from = append(from, r.From)
		}
	}
	if want := []string{"call_0", "call_0", "", "functions.Bash:0"}; !slices.Equal(from, want) {
		t.Errorf("repaired %q", from)
	}
	for _, r := range s.Requests()[3].Results() {
		if !regexp.MustCompile(`^\{"n":[45]\}$`).MatchString(r.FullText()) {
			t.Errorf("a result says %q", r.FullText())
		}
	}
}

func TestNamesThatTheAPIRefusesAreRepairedAndNeverRun(t *testing.T) {
	long := strings.Repeat("x", 70)
	s := serve(t,
		script.Say(script.Tool("t1", "no_such_tool", `{}`), script.Tool("t2", "Bash", `{"a":1}`), script.Tool("t3", "Bash<|x|>json", `{}`),
			script.Tool("t4", "", `{}`), script.Tool("t5", long, `{}`), script.Tool("t6", "Ba.sh", `{}`)),
		script.Say(script.Text("ok")),
	)
	tools := echoTools("Bash", "Ba_sh", long[:64])
	h := converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if want := []string{`Bash{"a":1}`}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
	var names []string
	for _, c := range h.Messages()[1].ToolUses() {
		names = append(names, c.Name)
	}
	want := []string{"no_such_tool", "Bash", "Bash__x__json", "unnamed", long[:62] + "_2", "Ba_sh_2"}
	if !slices.Equal(names, want) {
		t.Errorf("names %q, want %q", names, want)
	}
	for _, id := range []string{"t1", "t3", "t4", "t5", "t6"} {
		if r, _ := s.Requests()[1].Result(id); !r.IsError || !strings.Contains(r.FullText(), "The tools are: Bash") {
			t.Errorf("%s is answered %q", id, r.FullText())
		}
	}
}

func TestInputThatIsNoObjectIsNeverRunAndGoesBackAsOne(t *testing.T) {
	cut := `{"command":"echo x > q","timeo`
	s := serve(t,
		script.Say(script.ToolPieces("t1", "Nullary", ""), script.ToolPieces("t2", "Nullary"), script.ToolPieces("t3", "Bash", cut),
			script.Tool("t4", "Bash", `[1]`), script.Tool("t5", "Bash", `null`), script.ToolPieces("t6", "Nullary", " \n")),
		script.Say(script.Text("ok")),
	)
	tools := echoTools("Bash", "Nullary")
	h := converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if want := []string{"Nullary{}", "Nullary{}", "Nullary{}"}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
	m := h.Messages()[1]
	if m.Stop != oneloop.StopToolUse {
		t.Errorf("stop %q", m.Stop)
	}
	calls := m.ToolUses()
	for i, wrote := range map[int]string{2: cut, 3: "[1]", 4: "null"} {
		var in map[string]string
		if err := json.Unmarshal(calls[i].Input, &in); err != nil || in["INVALID_JSON"] != wrote {
			t.Errorf("input %s, %v", calls[i].Input, err)
		}
		r, _ := s.Requests()[1].Result(calls[i].ID)
		if calls[i].Broken == "" || !r.IsError || !strings.Contains(r.FullText(), "was not run") {
			t.Errorf("broken %q, answered %q", calls[i].Broken, r.FullText())
		}
	}
	want := []oneloop.Repair{{Block: 2, What: "input", From: cut}, {Block: 3, What: "input", From: "[1]"}, {Block: 4, What: "input", From: "null"}}
	if d := cmp.Diff(want, m.Meta.Repairs); d != "" {
		t.Error(d)
	}
}

func TestInputThatComesWithTheStartIsTaken(t *testing.T) {
	start := json.RawMessage(`{"type":"tool_use","id":"t1","name":"Bash","input":{"command": "ls"}}`)
	bad := json.RawMessage(`{"type":"tool_use","id":"t2","name":"Bash","input":"ls"}`)
	none := json.RawMessage(`{"type":"tool_use","id":"t3","name":"Bash"}`)
	s := serve(t, script.Say(script.Raw(start), script.Raw(bad), script.Raw(none)), script.Say(script.Text("ok")))
	tools := echoTools("Bash")
	converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if want := []string{`Bash{"command": "ls"}`, `Bash{}`}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
}

func TestUnknownBlocksFieldsAndPartsAreKept(t *testing.T) {
	block := json.RawMessage(`{"type":"hologram", "depth" : 3.0,"data":{"b":1,"a":"é\u003c"}}`)
	whole := json.RawMessage(`{"type":"text","mood":[ 1 ],"text":"hi there","z":null}`)
	start := json.RawMessage(`{"type":"text","mood":[ 1 ],"text":"","z":null}`)
	s := serve(t,
		script.Say(script.Raw(block), script.Stream(whole, start,
			json.RawMessage(`{"type":"text_delta","text":"hi ","extra":1}`),
			json.RawMessage(`{"type":"mood_delta","mood":2}`),
			json.RawMessage(`{"type":"mood_delta","mood":3}`),
			json.RawMessage(`{"type":"text_delta","text":"there"}`))),
		script.Say(script.Text("ok")),
	)
	l := &log{}
	h := converse(t, newModel(t, s, nil), echoTools(), l, "one", "two")
	blocks := h.Messages()[1].Blocks
	if o, ok := blocks[0].(*oneloop.Opaque); !ok || o.Type != "hologram" || string(o.Raw) != string(block) {
		t.Errorf("the unknown block is %T %s", blocks[0], blocks[0].RawJSON())
	}
	if got := string(blocks[1].RawJSON()); got != string(whole) {
		t.Errorf("the text is %s", got)
	}
	if sent := s.Requests()[1].Body; !strings.Contains(string(sent), string(block)+","+string(whole)) {
		t.Errorf("sent %s", sent)
	}
	notices := of[oneloop.Notice](l)
	if len(notices) != 1 || !strings.Contains(notices[0].Text, "block 1 of the reply (text)") || !strings.Contains(notices[0].Text, "mood_delta") {
		t.Errorf("notices %+v", notices)
	}
	want := []oneloop.Repair{{Block: 1, What: "delta", From: `{"type":"mood_delta","mood":2}`}, {Block: 1, What: "delta", From: `{"type":"mood_delta","mood":3}`}}
	if d := cmp.Diff(want, h.Messages()[1].Meta.Repairs); d != "" {
		t.Error(d)
	}
}

func TestCharactersThatAreNoneAreReplacedOnce(t *testing.T) {
	s := serve(t,
		script.Say(script.Stream(json.RawMessage(`{"type":"text","text":"a\ufffdb😀\ud83d\ude00c"}`), json.RawMessage(`{"type":"text","text":""}`),
			json.RawMessage(`{"type":"text_delta","text":"a\ud800"}`),
			json.RawMessage(`{"type":"text_delta","text":"b😀\ud83d"}`), // half of a pair, as servers in JavaScript cut
			json.RawMessage(`{"type":"text_delta","text":"\ude00c"}`))),
		script.Say(script.Text("ok")),
	)
	l := &log{}
	h := converse(t, newModel(t, s, nil), echoTools(), l, "one", "two")
	want := "a\ufffdb😀😀c"
	if got := h.Messages()[1].Text(); got != want || l.text() != want+"ok" {
		t.Errorf("said %q, shown %q", got, l.text())
	}
	if d := cmp.Diff([]oneloop.Repair{{What: "unicode"}}, h.Messages()[1].Meta.Repairs); d != "" {
		t.Error(d)
	}
}

func TestACallWithHalfACharacterInItIsNotRun(t *testing.T) {
	s := serve(t,
		script.Say(script.ToolPieces("t1", "Bash", `{"command":"echo \ud800"}`), script.ToolPieces("t2", "Bash", `{"command":"echo \ud83d`, `\ude00"}`),
			script.ToolPieces("t3", "Bash", `{"command":"echo \ufffd"}`),
			script.Stream(json.RawMessage(`{"type":"tool_use","id":"t4","name":"Bash","input":{}}`), json.RawMessage(`{"type":"tool_use","id":"t4","name":"Bash","input":{}}`),
				json.RawMessage(`{"type":"input_json_delta","partial_json":"{\"command\":\"echo \ud800\"}"}`))),
		script.Say(script.Text("ok")),
	)
	tools := echoTools("Bash")
	h := converse(t, newModel(t, s, nil), tools, &log{}, "go")
	if want := []string{`Bash{"command":"echo \ud83d\ude00"}`, `Bash{"command":"echo \ufffd"}`}; !slices.Equal(tools.ran, want) {
		t.Errorf("ran %q", tools.ran)
	}
	for id, want := range map[string]string{"t1": `"command" has half of a surrogate pair (\ud800) in it, after "echo "`, "t4": "half of a surrogate pair"} {
		if r, _ := s.Requests()[1].Result(id); !r.IsError || !strings.Contains(r.FullText(), want) || !strings.Contains(r.FullText(), "The call was not run.") {
			t.Errorf("%s is answered %q", id, r.FullText())
		}
	}
	if d := cmp.Diff([]oneloop.Repair{{Block: 0, What: "unicode"}}, h.Messages()[1].Meta.Repairs); d != "" {
		t.Error(d)
	}
}

func TestAFinalAssistantMessageIsTrimmedOnTheWireOnly(t *testing.T) {
	s := serve(t,
		script.Reply{Blocks: []script.Block{script.Raw(json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}`)), script.Text("Done.\n\n  ")}, Stop: "pause_turn"},
		script.Say(script.Text("more")), script.Say(script.Text("ok")))
	m := newModel(t, s, func(c *anthropic.Config) { c.Model = "claude-opus-4-5" })
	l := &log{}
	req := hi()
	first, err := m.Generate(t.Context(), req, l.emit)
	if err != nil || first.Stop != oneloop.StopPause {
		t.Fatal(first, err)
	}
	req.Messages = append(req.Messages, first)
	second, err := m.Generate(t.Context(), req, l.emit)
	if err != nil {
		t.Fatal(err)
	}
	if got := first.Text(); got != "Done.\n\n  " {
		t.Errorf("the message itself became %q", got)
	}
	last := s.Requests()[1].Last()
	if got := last.Text(); got != "Done." || last.Content[1].Cache == nil {
		t.Errorf("sent %s", last.Raw)
	}
	req.Messages = append(req.Messages, second, oneloop.UserText("go on"))
	if _, err := m.Generate(t.Context(), req, l.emit); err != nil {
		t.Fatal(err)
	}
	if msgs := s.Requests()[2].Messages; len(msgs) != 3 || msgs[1].Text() != "Done.\n\n  more" {
		t.Errorf("sent %s", s.Requests()[2].Body)
	}
}

func TestAnotherAPIsMessagesAreProjected(t *testing.T) {
	foreign := &oneloop.Message{Role: oneloop.Assistant, Origin: oneloop.Origin{API: "openai", Model: "x"}, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{
		&oneloop.Thinking{Wire: oneloop.Wire{Raw: []byte(`{"r":1}`)}, Text: "secret"},
		&oneloop.Opaque{Wire: oneloop.Wire{Raw: []byte(`{"type":"reasoning"}`)}, Type: "reasoning"},
		&oneloop.Text{Wire: oneloop.Wire{Raw: []byte(`{"type":"output_text"}`)}, Text: "I call"},
		&oneloop.ToolUse{Wire: oneloop.Wire{Raw: []byte(`{"call":1}`)}, ID: "functions.Bash:0", Name: "Bash", Input: []byte(`{"a":1}`)},
		&oneloop.ToolUse{Wire: oneloop.Wire{Raw: []byte(`{"call":2}`)}, ID: "functions.Bash:1", Name: "Bash", Input: []byte(`{"a":`)},
	}}
	results := &oneloop.Message{Role: oneloop.User, Blocks: []oneloop.Block{
		&oneloop.ToolResult{ID: "functions.Bash:0", Content: []oneloop.Block{&oneloop.Text{Text: "one"}, &oneloop.Text{Text: " "}}},
		&oneloop.ToolResult{ID: "functions.Bash:1", IsError: true, Content: []oneloop.Block{&oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("x")}}},
	}}
	other := &oneloop.Message{Role: oneloop.Assistant, Origin: oneloop.Origin{API: anthropic.API, Model: "claude-opus-4-8"}, Blocks: []oneloop.Block{
		&oneloop.Thinking{Wire: oneloop.Wire{Raw: []byte(`{"type":"thinking","thinking":"x","signature":"s"}`)}, Text: "x", Signature: "s"},
		&oneloop.Opaque{Wire: oneloop.Wire{Raw: []byte(`{"type":"redacted_thinking","data":"x"}`)}, Type: "redacted_thinking"},
		&oneloop.Text{Wire: oneloop.Wire{Raw: []byte(`{"type":"text","text":"kept as it \u0069s"}`)}, Text: "kept as it is"},
	}}
	s := serve(t, script.Say(script.Text("ok")))
	req := &oneloop.Request{Tools: echoTools("Bash").box.Defs(), Messages: []*oneloop.Message{oneloop.UserText("go"), foreign, results, other, oneloop.UserText("more")}}
	if _, err := newModel(t, s, nil).Generate(t.Context(), req, (&log{}).emit); err != nil {
		t.Fatal(err)
	}
	body := strip(s.Requests()[0].Body)
	for _, want := range []string{
		`{"role":"assistant","content":[{"type":"text","text":"I call"},{"type":"tool_use","id":"functions_Bash_0_`,
		`"name":"Bash","input":{"INVALID_JSON":"{\"a\":"}}`,
		`"content":"one"}`, `"content":"(no output)","is_error":true}`,
		`{"role":"assistant","content":[{"type":"text","text":"kept as it \u0069s"}]}`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in\n%s", want, body)
		}
	}
	for _, no := range []string{"thinking", "reasoning", "secret", "call\":1"} {
		if strings.Contains(body, no) {
			t.Errorf("%s in\n%s", no, body)
		}
	}
}

func TestMessagesOfOneRoleInARowAreMerged(t *testing.T) {
	s := serve(t, script.Say(script.Tool("t1", "Bash", "{}")), script.Say(script.Text("ok")))
	m := newModel(t, s, nil)
	tools := echoTools("Bash")
	req := &oneloop.Request{Tools: tools.box.Defs(), Messages: []*oneloop.Message{oneloop.UserText("a"), oneloop.UserText("b")}}
	reply, err := m.Generate(t.Context(), req, (&log{}).emit)
	if err != nil {
		t.Fatal(err)
	}
	results := tools.box.Run(t.Context(), reply.ToolUses(), (&log{}).emit)
	empty := &oneloop.Message{Role: oneloop.Assistant}
	req.Messages = append(req.Messages, reply, results, empty, oneloop.UserText("c"))
	if _, err := m.Generate(t.Context(), req, (&log{}).emit); err != nil {
		t.Fatal(err)
	}
	msgs := s.Requests()[1].Messages
	if len(msgs) != 3 || msgs[0].Text() != "ab" || msgs[2].Content[0].Type != "tool_result" || msgs[2].Text() != "c" {
		t.Errorf("sent %s", s.Requests()[1].Body)
	}
}
