package oneloop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"oneloop"
)

func TestBlocksKeepTheBytesTheyCameIn(t *testing.T) {
	for _, raw := range []string{
		`{"type":"text","text":"a < b && c > d"}`,
		`{ "text" : "\u4f60\u597d" , "type":"text", "citations":null, "new_field": {"z":1,"a":2} }`,
		`{"type":"thinking","thinking":"","signature":"s=="}`,
		`{"type":"tool_use","id":"t","name":"n","input":{"b":1,"a":12345678901234567890,"f":1.10}}`,
		`{"type":"tool_result","tool_use_id":"t","content":"x"}`,
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"hologram","x":1}],"is_error":true}`,
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}`,
		`{"type":"image","source":{"type":"url","url":"http://localhost/x.png"}}`,
		`{"type":"hologram","depth":18446744073709551616}`,
		`{"type":"text","text":{"in":"another shape"}}`,
	} {
		b, err := oneloop.DecodeBlock([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		got, err := oneloop.AppendBlock([]byte("before "), b)
		if err != nil || string(got) != "before "+raw {
			t.Errorf("%s came back as %s, %v", raw, got, err)
		}
	}
}

func TestBlocksAreReadAsWhatTheyAre(t *testing.T) {
	for raw, want := range map[string]oneloop.Block{
		`{"type":"text","text":"é"}`:                                                   &oneloop.Text{Text: "é"},
		`{"type":"thinking","thinking":"x","signature":"s"}`:                           &oneloop.Thinking{Text: "x", Signature: "s"},
		`{"type":"tool_use","id":"t","name":"n","input":{"b":1}}`:                      &oneloop.ToolUse{ID: "t", Name: "n", Input: []byte(`{"b":1}`)},
		`{"type":"tool_result","tool_use_id":"t","content":"x","is_error":true}`:       &oneloop.ToolResult{ID: "t", Content: []oneloop.Block{&oneloop.Text{Text: "x"}}, IsError: true},
		`{"type":"tool_result","tool_use_id":"t"}`:                                     &oneloop.ToolResult{ID: "t"},
		`{"type":"image","source":{"type":"base64","media_type":"m","data":"AQID"}}`:   &oneloop.Media{Type: "image", MIME: "m", Data: []byte{1, 2, 3}},
		`{"type":"image","source":{"type":"base64","media_type":"m","data":"not 64"}}`: &oneloop.Opaque{Type: "image"},
		`{"type":"hologram"}`:      &oneloop.Opaque{Type: "hologram"},
		`{"type":"text","text":1}`: &oneloop.Opaque{Type: "text"},
	} {
		got, err := oneloop.DecodeBlock([]byte(raw))
		if err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if string(got.RawJSON()) != raw {
			t.Errorf("%s keeps %s", raw, got.RawJSON())
		}
		if diff := cmp.Diff(want, got, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Wire" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s:\n%s", raw, diff)
		}
	}
	for _, raw := range []string{``, `null`, `{}`, `[]`, `{"type":""}`, `{"type":1}`, `{"type":"text"`, `"text"`} {
		if b, err := oneloop.DecodeBlock([]byte(raw)); err == nil {
			t.Errorf("%s is read as %T", raw, b)
		}
	}
}

func TestBlocksOfOursHaveTheFormOfTheAPI(t *testing.T) {
	for want, b := range map[string]oneloop.Block{
		`{"type":"text","text":"<b> & \"q\" 你好 \ufffd"}`:                                                             &oneloop.Text{Text: "<b> & \"q\" 你好 \xff"},
		`{"type":"thinking","thinking":"x","signature":""}`:                                                          &oneloop.Thinking{Text: "x"},
		`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AQID"}}`:                         &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte{1, 2, 3}},
		`{"type":"tool_use","id":"t","name":"n","input":{}}`:                                                         &oneloop.ToolUse{ID: "t", Name: "n"},
		`{"type":"tool_use","id":"t","name":"n","input":{"b": 1}}`:                                                   &oneloop.ToolUse{ID: "t", Name: "n", Input: []byte(`{"b": 1}`)},
		`{"type":"tool_result","tool_use_id":"t","content":"x"}`:                                                     &oneloop.ToolResult{ID: "t", Content: []oneloop.Block{&oneloop.Text{Text: "x"}}, EndTurn: true, Details: 1},
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"x","n":1}]}`:                      &oneloop.ToolResult{ID: "t", Content: []oneloop.Block{&oneloop.Text{Text: "x", Wire: oneloop.Wire{Raw: []byte(`{"type":"text","text":"x","n":1}`)}}}},
		`{"type":"tool_result","tool_use_id":"t","content":[],"is_error":true}`:                                      &oneloop.ToolResult{ID: "t", IsError: true},
		`{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: &oneloop.ToolResult{ID: "t", Content: []oneloop.Block{&oneloop.Text{Text: "a"}, &oneloop.Text{Text: "b"}}},
	} {
		got, err := oneloop.AppendBlock(nil, b)
		if err != nil || string(got) != want {
			t.Errorf("%T\n got %s, %v\nwant %s", b, got, err, want)
		}
		if again, err := oneloop.AppendBlock(nil, b); err != nil || string(again) != string(got) {
			t.Errorf("%T gives other bytes the second time: %s", b, again)
		}
	}
	if got, err := oneloop.AppendBlock(nil, &oneloop.Opaque{Type: "x"}); err == nil {
		t.Errorf("a block that has no JSON became %s", got)
	}
}

func TestMessagesSurviveJSON(t *testing.T) {
	raw := `{"role":"assistant","content":[{"type":"text","text":"a<b"},{"type":"hologram","n":18446744073709551616}],` +
		`"stop_reason":"end_turn","origin":{"api":"anthropic","model":"m"},"usage":{"reported":true,"input":3},` +
		`"id":"msg_1","meta":{"request_id":"r","repairs":[{"block":1,"what":"id","from":"a","to":"b"}]}}`
	var m oneloop.Message
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatal(err)
	}
	got, err := m.AppendJSON(nil)
	if err != nil || string(got) != raw {
		t.Errorf("came back as\n%s, %v\nwant\n%s", got, err, raw)
	}
	if m.Usage.Input != 3 || m.Meta.Repairs[0].To != "b" || m.Origin.Model != "m" || m.ID != "msg_1" {
		t.Errorf("read as %+v", m)
	}
	got, err = oneloop.UserText("x").AppendJSON(nil)
	if want := `{"role":"user","content":[{"type":"text","text":"x"}]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	got, err = (&oneloop.Message{Role: oneloop.Assistant}).AppendJSON(nil)
	if want := `{"role":"assistant","content":[]}`; err != nil || string(got) != want {
		t.Errorf("got %s, %v", got, err)
	}
	if err := json.Unmarshal([]byte(`{"role":"user","content":"plain"}`), &m); err != nil || m.Text() != "plain" {
		t.Errorf("plain content: %v, %+v", err, m)
	}
	broken := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "x"},
		&oneloop.ToolUse{ID: "1", Name: "n"}, &oneloop.ToolUse{ID: "2", Name: "n", Broken: "it was cut off"})
	got, err = broken.AppendJSON(nil)
	if err != nil || !strings.HasSuffix(string(got), `],"broken":[{"block":2,"why":"it was cut off"}]}`) {
		t.Errorf("got %s, %v", got, err)
	}
	if err := json.Unmarshal(got, &m); err != nil || m.ToolUses()[0].Broken != "" || m.ToolUses()[1].Broken != "it was cut off" {
		t.Errorf("a broken call is read as %+v, %v", m.Blocks, err)
	}
	for _, bad := range []string{`{"role":"user","content":[{}]}`, `{"role":"assistant","content":"x","broken":[{"block":0,"why":"y"}]}`,
		`{"role":"assistant","content":[],"broken":[{"block":-1,"why":"y"}]}`, `{"role":"user","content":7}`, `{"role":1}`} {
		if err := json.Unmarshal([]byte(bad), &m); err == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestAnyTextSurvivesTheWayThroughJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		b, err := oneloop.AppendBlock(nil, &oneloop.Text{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		back, err := oneloop.DecodeBlock(b)
		if err != nil {
			t.Fatal(err)
		}
		if got := back.(*oneloop.Text).Text; got != strings.ToValidUTF8(text, "\ufffd") {
			t.Fatalf("%q became %q", text, got)
		}
		if strings.ContainsAny(string(b), "\n\r") {
			t.Fatalf("a line break in %s", b)
		}
	})
}

func TestCheckObjectTakesOneObjectWithoutDoubleKeys(t *testing.T) {
	for _, good := range []string{`{}`, ` {"a":[{"b":1},{"b":2}],"b":{"a":null}} `, `{"a":1e400}`, `{"a":"{\"a\":1,\"a\":2}"}`, `{"A":1,"a":2}`,
		`{"a":"\ud83d\ude00 \ufffd \\ud800 \" 😀"}`} {
		if err := oneloop.CheckObject([]byte(good)); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{``, ` `, `nul`, `null`, `1`, `"x"`, `[]`, `[{}]`, `{`, `{"a"}`, `{"a":1,}`, `{"a":1}}`, `{"a":1} x`,
		`{"a":1,"a":1}`, `{"a":[{"b":1,"b":1}]}`, `{"":1,"":2}`, `{a:1}`, `{"a":"` + "\n" + `"}`, strings.Repeat(`{"a":`, 20_000)} {
		if err := oneloop.CheckObject([]byte(bad)); err == nil {
			t.Errorf("%.40s is taken", bad)
		}
	}
	for bad, want := range map[string]string{
		`{"n":1, "command" : "echo \ud800x"}`:           `"command" has half of a surrogate pair (\ud800) in it, after "echo "`,
		`{"command":"\ude00\ud83d"}`:                    `(\ude00) in it, at its beginning`,
		`{"a":[{"b":["x","a \ud83d\ud83d"]}]}`:          `"b" has half of a surrogate pair (\ud83d) in it, after "a "`,
		`{"a\udfff":1}`:                                 `(\udfff)`,
		"{\"a\":\"" + "北京" + "\xff\"}":                  `a byte that is not UTF-8 (0xff) in it, after "北京"`,
		`{"a":"` + strings.Repeat("北", 20) + `\ud800"}`: `after "北北北北北北"`,
	} {
		if err := oneloop.CheckObject([]byte(bad)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", bad, err, want)
		}
	}
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + `}` }
	if err := oneloop.CheckObject([]byte(deep(10_000))); err != nil {
		t.Errorf("10,000 levels: %v", err)
	}
	if err := oneloop.CheckObject([]byte(deep(10_001))); err == nil || !strings.Contains(err.Error(), "deep") {
		t.Errorf("10,001 levels: %v", err)
	}
}

// FuzzDecodeBlock: what can be read is sent back byte for byte.
func FuzzDecodeBlock(f *testing.F) {
	f.Add([]byte(`{"type":"tool_use","id":"t","name":"n","input":{}}`))
	f.Add([]byte(`{"type":"tool_result","content":[{"type":"image","source":{"type":"base64","data":"AQ=="}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := oneloop.DecodeBlock(data)
		if err != nil {
			return
		}
		got, err := oneloop.AppendBlock(nil, b)
		if err != nil || string(got) != string(data) {
			t.Fatalf("%q came back as %q, %v", data, got, err)
		}
	})
}

// FuzzCheckObject: what is taken is an object that every reader reads alike.
func FuzzCheckObject(f *testing.F) {
	f.Add([]byte(`{"a":{"b":[1,{}]}}`))
	f.Add([]byte(`{"a":1,"\u0061":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		if oneloop.CheckObject(data) != nil {
			return
		}
		var m map[string]json.RawMessage
		if err := json.Unmarshal(data, &m); err != nil {
			t.Fatalf("%q was taken: %v", data, err)
		}
	})
}

// FuzzElements compares the elements of an array with those encoding/json sees.
func FuzzElements(f *testing.F) {
	for _, s := range []string{`[]`, ` [ ] `, `[1]`, `[ {"a":[1,2,{"b":"],}\\"}]} , "x,]\"[" ,null,[[],[]] ]`, `["\\",{"\\\"":1}]`} {
		f.Add([]byte(`{"role":"user","content":` + s + `}`))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var whole struct {
			Content json.RawMessage `json:"content"`
		}
		var list []json.RawMessage
		if json.Unmarshal(data, &whole) != nil || len(whole.Content) == 0 || whole.Content[0] != '[' || json.Unmarshal(whole.Content, &list) != nil {
			return
		}
		var got []json.RawMessage
		for e := range oneloop.Elements(whole.Content) {
			got = append(got, e)
		}
		if len(got) != len(list) {
			t.Fatalf("%d elements of %s, want %d", len(got), whole.Content, len(list))
		}
		for i := range list {
			if string(got[i]) != string(list[i]) {
				t.Fatalf("element %d is %s, want %s", i, got[i], list[i])
			}
		}
	})
}

// Most strings take a short way, which is to give the same.
func TestATextIsWrittenAsEncodingJSONWritesIt(t *testing.T) {
	for c := range 256 {
		s := string([]byte{'a', byte(c), 'b'})
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(s); err != nil {
			t.Fatal(err)
		}
		want := `{"type":"text","text":` + strings.TrimSuffix(b.String(), "\n") + `}`
		got, err := oneloop.AppendBlock(nil, &oneloop.Text{Text: s})
		if err != nil || string(got) != want {
			t.Errorf("%q is written as %s, %v; want %s", s, got, err, want)
		}
	}
}

// foreign is a reply as an adapter of another API makes it.
func foreign() *oneloop.Message {
	wire := func(raw string) oneloop.Wire { return oneloop.Wire{Raw: json.RawMessage(raw), API: "else"} }
	return &oneloop.Message{
		Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: "else", Model: "m"},
		Blocks: []oneloop.Block{
			&oneloop.Thinking{Wire: wire(`{ "reasoning" : "a<b" }`), Text: "a<b"},
			&oneloop.Text{Wire: wire(`"x\u00e9"`), Text: "xé"},
			&oneloop.Text{Text: "without"},
			&oneloop.Opaque{Wire: wire(`[{"z":1.0,"a":18446744073709551616}]`), Type: "details"},
			&oneloop.ToolUse{Wire: wire(`{"function":{"arguments":"{\"n\": 1}"}}`), ID: "functions.f:0", Name: "f", Input: json.RawMessage(`{"n": 1}`), Broken: "why"},
		},
	}
}

func TestAReplyOfAnotherAPIKeepsItsBytesBesideAFormThatAllCanRead(t *testing.T) {
	m := foreign()
	line, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	content := `"content":[{"type":"thinking","thinking":"a<b","signature":""},{"type":"text","text":"xé"},{"type":"text","text":"without"},` +
		`{"type":"details"},{"type":"tool_use","id":"functions.f:0","name":"f","input":{"n": 1}}]`
	if !bytes.Contains(line, []byte(content)) {
		t.Errorf("the content is not in the common form:\n%s", line)
	}
	var back oneloop.Message
	if err := json.Unmarshal(line, &back); err != nil {
		t.Fatal(err)
	}
	for i, b := range back.Blocks {
		want := m.Blocks[i]
		if string(b.RawJSON()) != string(want.RawJSON()) || b.RawAPI() != want.RawAPI() || fmt.Sprintf("%T", b) != fmt.Sprintf("%T", want) {
			t.Errorf("block %d is %T %s of %q, was %T %s of %q", i, b, b.RawJSON(), b.RawAPI(), want, want.RawJSON(), want.RawAPI())
		}
	}
	call := back.ToolUses()[0]
	if back.Text() != "xéwithout" || call.Broken != "why" || string(call.Input) != `{"n": 1}` {
		t.Errorf("read back as %q, %+v", back.Text(), call)
	}
	again, err := back.AppendJSON(nil)
	if err != nil || !bytes.Equal(line, again) {
		t.Errorf("written again (%v):\n%s\nwas\n%s", err, again, line)
	}
}

func TestJSONOfAnotherAPIThatCannotBeReadBackIsRefused(t *testing.T) {
	m := foreign()
	m.Origin.API = "third"
	if _, err := m.AppendJSON(nil); err == nil || !strings.Contains(err.Error(), "block 0") {
		t.Errorf("a block of one API in a message of another: %v", err)
	}
	for _, line := range []string{
		`{"role":"assistant","content":[{"type":"text","text":"a"}],"wire":[],"origin":{"api":"x"}}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"}],"wire":[1,2],"origin":{"api":"x"}}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"}],"wire":["a"]}`,
		`{"role":"assistant","content":[{"type":"text","text":"a"}],"wire":"a","origin":{"api":"x"}}`,
		`{"role":"assistant","content":[],"wire":["a"],"origin":{"api":"x"}}`,
	} {
		var back oneloop.Message
		if err := json.Unmarshal([]byte(line), &back); err == nil {
			t.Errorf("%s is read as %+v", line, back)
		}
	}
}
