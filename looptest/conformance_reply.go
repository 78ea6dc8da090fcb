package looptest

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
)

// dot is a PNG of one pixel.
var dot = []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89" +
	"\x00\x00\x00\rIDATx\x9cc\xf8\xcf\xc0\xf0\x1f\x00\x05\x00\x01\xff\x89\x99=\x1d\x00\x00\x00\x00IEND\xaeB`\x82")

func image() *oneloop.Media { return &oneloop.Media{Type: "image", MIME: "image/png", Data: dot} }

func aText(t *testing.T, b bench) {
	msg := b.ask(t, script.Say(script.Text("hello\n你好 <b> \u2028 \"\\ ")))
	if msg.Text() != "hello\n你好 <b> \u2028 \"\\ " || msg.Stop != oneloop.StopEndTurn || msg.Role != oneloop.Assistant {
		t.Errorf("stop %q, role %q, text %q", msg.Stop, msg.Role, msg.Text())
	}
	if msg.Origin.API == "" || msg.Origin.Model == "" {
		t.Errorf("origin %+v", msg.Origin)
	}
	if empty := b.ask(t, script.Say()); empty.Stop != oneloop.StopEndTurn || len(empty.Blocks) != 0 {
		t.Errorf("a reply without content: stop %q, %d blocks", empty.Stop, len(empty.Blocks))
	}
	blank := b.ask(t, script.Say(script.TextPieces(" ", "\n")))
	if len(blank.Blocks) != 0 {
		t.Errorf("a reply that is blank: %d blocks", len(blank.Blocks))
	}
	if strange := b.ask(t, script.Reply{Blocks: []script.Block{script.Text("x")}, Stop: "zebra"}); strange.Stop == oneloop.StopToolUse || strange.Stop == "" {
		t.Errorf("an unknown reason to stop became %q", strange.Stop)
	}
	long := b.ask(t, script.Reply{Blocks: []script.Block{script.Text("x")}, Stop: "max_tokens"})
	if long.Stop != oneloop.StopMaxTokens {
		t.Errorf("at the limit the stop is %q", long.Stop)
	}
}

func deltasAddUp(t *testing.T, b bench) {
	traits := b.speaks().Traits
	reply := script.Say(script.Thinking("let me 想", "c2ln"), script.TextPieces("你好，", "世界🌍", " e\u0301"),
		script.Tool("t1", "Bash", `{"command":"ls 北京🌤"}`), script.Tool("t2", "Bash", ""))
	reply.Chunk = 1
	_, m := b.serve(t, reply)
	events, msg, err := generate(t.Context(), m, asking())
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if sent, ok := e.(oneloop.RequestSent); ok {
			for name, values := range sent.Header {
				if strings.Contains(strings.Join(values, " "), Key) {
					t.Errorf("an event shows the credential in %s", name)
				}
			}
			if strings.Contains(sent.URL, Key) {
				t.Errorf("an event shows the credential in %s", sent.URL)
			}
		}
	}
	got := sum(events)
	if got.text != msg.Text() || got.text != "你好，世界🌍 e\u0301" {
		t.Errorf("text %q, message %q", got.text, msg.Text())
	}
	if thought := thoughts(msg); got.thinking != thought || (thought != "let me 想") != traits.Hidden {
		t.Errorf("thinking %q, message %q", got.thinking, thought)
	}
	uses := msg.ToolUses()
	if msg.Stop != oneloop.StopToolUse || len(uses) != 2 || string(uses[0].Input) != `{"command":"ls 北京🌤"}` || string(uses[1].Input) != `{}` {
		t.Fatalf("stop %q, calls %+v", msg.Stop, uses)
	}
	if in := strings.TrimSuffix(got.input, "{}"); in != string(uses[0].Input) && !(traits.NoPieces && in == "") {
		t.Errorf("input %q", got.input)
	}
}

func aRefusal(t *testing.T, b bench) {
	if b.speaks().Traits.NoRefusal {
		t.Skip("this API cannot say that a reply is a refusal")
	}
	msg := b.ask(t, script.Reply{Blocks: []script.Block{script.Text("I cannot")}, Stop: "refusal"})
	if msg.Stop != oneloop.StopRefusal || msg.Sendable() {
		t.Errorf("stop %q", msg.Stop)
	}
	if msg := b.ask(t, script.Reply{Stop: "refusal"}); msg.Stop != oneloop.StopRefusal {
		t.Errorf("without a word: stop %q", msg.Stop)
	}
}

func goesBack(t *testing.T, b bench) {
	own := b.speaks().Traits.Own
	blocks := []script.Block{script.Thinking("", "c2ln")}
	if own != nil {
		blocks = append(blocks, script.Raw(own))
	}
	const input = `{"b":1.10,"a":2,"n":18446744073709551616,"s":"a<b\u00e9é\/"}`
	blocks = append(blocks, script.Text("a < b"), script.Tool("t1", "Bash", input))
	s, m := b.serve(t, script.Say(blocks...), script.Say(script.Text("ok")), script.Say(script.Text("ok")))
	_, msg, err := generate(t.Context(), m, asking())
	if err != nil {
		t.Fatal(err)
	}
	stored, err := msg.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again oneloop.Message
	if err := again.UnmarshalJSON(stored); err != nil {
		t.Fatal(err)
	}
	for i, back := range []*oneloop.Message{msg, &again} {
		if _, _, err := generate(t.Context(), m, asking(back, results(back))); err != nil {
			t.Fatalf("back for the %d. time: %v", i+1, err)
		}
		req := s.Requests()[i+1]
		if own != nil && !strings.Contains(string(req.Body), string(own)) {
			t.Errorf("the request lacks %s:\n%s", own, req.Body)
		}
		said, input2 := "", ""
		for _, c := range req.Messages[1].Content {
			said += c.Text
			if c.Type == "tool_use" {
				input2 += string(c.Input)
			}
		}
		if said != "a < b" || input2 != input {
			t.Errorf("text %q came back, and input\n%s\nwant\n%s", said, input2, input)
		}
	}
}

// reasoning goes back where the API wants it; the server's gate knows.
func reasoning(t *testing.T, b bench) {
	hidden := b.speaks().Traits.Hidden
	s, m := b.serve(t, script.Say(script.Thinking("first I look", "c2ln/A+="), script.Tool("t1", "Bash", `{"command":"ls"}`)),
		script.Say(script.Thinking("then I look again", "c2ln/B+="), script.Text("again"), script.Tool("t2", "Bash", `{}`), script.Tool("t3", "Bash", `{}`)),
		script.Say(script.Thinking("done", "c2ln/C+="), script.Text("ok")), script.Say(script.Text("bye")))
	var msgs []*oneloop.Message
	for i, want := range []string{"first I look", "then I look again", "done"} {
		_, msg, err := generate(t.Context(), m, asking(msgs...))
		if err != nil {
			t.Fatal(err)
		}
		if got := thoughts(msg); got != want && !hidden {
			t.Errorf("reply %d: reasoning %q", i, got)
		}
		msgs = append(msgs, msg)
		if msg.Stop == oneloop.StopToolUse {
			msgs = append(msgs, results(msg))
		}
	}
	if _, _, err := generate(t.Context(), m, asking(append(msgs, oneloop.UserText("bye"))...)); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

func imageResult(t *testing.T, b bench) {
	s, m := b.serve(t, script.Say(script.Tool("t1", "Bash", `{}`), script.Tool("t2", "Bash", `{}`)), script.Say(script.Text("ok")), script.Say(script.Text("ok")))
	_, msg, err := generate(t.Context(), m, asking())
	if err != nil {
		t.Fatal(err)
	}
	answered := results(msg, &oneloop.Text{Text: "see"}, image())
	if _, _, err := generate(t.Context(), m, asking(msg, answered)); err != nil {
		t.Fatal(err)
	}
	only := results(msg, image())
	only.Blocks = append(only.Blocks, &oneloop.Text{Text: "and this"})
	if _, _, err := generate(t.Context(), m, asking(msg, only)); err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"see", "and this"} {
		said, images := heard(s.Requests()[i+1].Last())
		if images != 1 || !strings.Contains(said, text) || !strings.Contains(said, "result 1") {
			t.Errorf("request %d: %d images, text %q", i+1, images, said)
		}
		if !bytes.Contains(s.Requests()[i+1].Body, []byte("iVBORw0KGgo")) {
			t.Errorf("request %d lacks the bytes of the image", i+1)
		}
	}
}

// heard is all text of a message, with that in results, and how many images
// are in it.
func heard(m script.Message) (said string, images int) {
	count := func(c script.Content) {
		switch c.Type {
		case "text":
			said += c.Text + "\n"
		case "image":
			images++
		}
	}
	for _, c := range m.Content {
		count(c)
		for _, inner := range c.Content {
			count(inner)
		}
	}
	return said, images
}

func wholeRequest(t *testing.T, b bench) {
	s, m := b.serve(t, script.Say(script.Text("ok")), script.Say(script.Text("ok")))
	req := asking()
	req.Params.MaxTokens = 4321
	req.System = append(req.System, &oneloop.Text{Text: "and kind"})
	req.Messages = []*oneloop.Message{oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: "a <&> b"}, image(), &oneloop.Text{Text: "c"})}
	for range 2 {
		if _, _, err := generate(t.Context(), m, req); err != nil {
			t.Fatal(err)
		}
	}
	got := s.Requests()
	said, images := heard(got[0].Last())
	switch system := got[0].SystemText(); {
	case !strings.Contains(system, "be brief") || !strings.Contains(system, "and kind"):
		t.Errorf("the system prompt is %q", system)
	case !strings.Contains(said, "a <&> b") || !strings.Contains(said, "c\n") || images != 1:
		t.Errorf("the user says %q with %d images", said, images)
	case len(got[0].Tools) != 1 || got[0].Tools[0].Name != "Bash" || got[0].Tools[0].Description != "runs a command" || len(got[0].Tools[0].Schema) == 0:
		t.Errorf("tools %+v", got[0].Tools)
	case got[0].MaxTokens != 4321:
		t.Errorf("the limit on output is %d", got[0].MaxTokens)
	case got[0].Model == "" || !got[0].Stream:
		t.Errorf("model %q, stream %v", got[0].Model, got[0].Stream)
	case !bytes.Equal(got[0].Body, got[1].Body):
		t.Errorf("the same request has another body:\n%s\n%s", got[0].Body, got[1].Body)
	}
	bare := &oneloop.Request{Messages: req.Messages}
	s2, m2 := b.serve(t, script.Say(script.Text("ok")))
	if _, _, err := generate(t.Context(), m2, bare); err != nil {
		t.Fatalf("without a system prompt and tools: %v", err)
	}
	if r := s2.Requests()[0]; len(r.Tools) != 0 || r.SystemText() != "" {
		t.Errorf("tools %v, system %q", r.Tools, r.SystemText())
	}
}

// onlyGrows is what caches of prefixes live on, and what models need that
// seal their reasoning with all that went before.
func onlyGrows(t *testing.T, b bench) {
	s, m := b.serve(t, ample(), ample(), script.Say(script.Text("ok")), script.Say(script.Text("bye")))
	var msgs []*oneloop.Message
	for i := range 4 {
		_, msg, err := generate(t.Context(), m, asking(msgs...))
		if err != nil {
			t.Fatal(err)
		}
		msgs = append(msgs, msg)
		if msg.Stop == oneloop.StopToolUse {
			msgs = append(msgs, results(msg, &oneloop.Text{Text: "see"}, image()))
		} else {
			msgs = append(msgs, oneloop.UserText("go on"))
		}
		if i == 0 {
			continue
		}
		before, now := s.Requests()[i-1], s.Requests()[i]
		for key, was := range before.Fields {
			is := now.Fields[key]
			switch key {
			case "messages", "input", "contents":
				was = bytes.TrimSuffix(unmarked(was), []byte("]"))
				if is = unmarked(is); !bytes.HasPrefix(is, was) {
					t.Errorf("request %d does not begin with the conversation of the one before:\n%s\n%s", i+1, is, was)
				}
			default:
				if !bytes.Equal(unmarked(is), unmarked(was)) {
					t.Errorf("in request %d, %s is %s, it was %s", i+1, key, is, was)
				}
			}
		}
	}
}

// unmarked is JSON without marks for the cache, which move on.
func unmarked(raw json.RawMessage) []byte {
	return bytes.ReplaceAll(raw, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
}

func usage(t *testing.T, b bench) {
	traits := b.speaks().Traits
	u := script.Usage{Input: 120, CacheRead: 30, Output: 55, Thinking: 40}
	want := oneloop.Usage{Reported: true, Input: 120, CacheRead: 30, Output: 55, Thinking: 40}
	if traits.NoCache {
		want.Input, want.CacheRead = 150, 0
	}
	if traits.NoThought {
		want.Thinking = 0
	}
	for _, oneShot := range []bool{false, true} {
		got := b.ask(t, script.Reply{Blocks: []script.Block{script.Text("x")}, Usage: &u, OneShot: oneShot}).Usage
		if got.Window() != want.Window() {
			t.Errorf("in the window are %d tokens, want %d", got.Window(), want.Window())
		}
		if got.Context = 0; got != want {
			t.Errorf("one piece %v: got %+v\nwant %+v", oneShot, got, want)
		}
	}
}

func oddUsage(t *testing.T, b bench) {
	odd := append(b.speaks().Traits.Usages, json.RawMessage{}, json.RawMessage(`null`), json.RawMessage(`{}`), json.RawMessage(`[]`), json.RawMessage(`"x"`))
	for i, raw := range odd {
		msg := b.ask(t, script.Reply{Blocks: []script.Block{script.Text("x"), script.Tool("t1", "Bash", "{}")}, RawUsage: raw})
		u := msg.Usage
		if msg.Text() != "x" || len(msg.ToolUses()) != 1 || msg.Stop != oneloop.StopToolUse {
			t.Errorf("usage %s: stop %q, text %q", raw, msg.Stop, msg.Text())
		}
		if min(u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thinking, u.Context) < 0 {
			t.Errorf("usage %s became %+v", raw, u)
		}
		if missing := i >= len(odd)-5; missing && u != (oneloop.Usage{}) {
			t.Errorf("usage %q says nothing and became %+v", raw, u)
		}
	}
}
