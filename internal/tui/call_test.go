package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

// putIn is how a question is put, in words without colours.
func putIn(x *Text, q oneloop.Question) string {
	var b bytes.Buffer
	p := paper{out: &b}
	for _, l := range x.question(q) {
		p.fresh()
		p.put(l.style, exactSight, l.text)
	}
	return b.String()
}

func TestAQuestionAboutAFileShowsTheChange(t *testing.T) {
	var long strings.Builder
	for i := range 50 {
		fmt.Fprintf(&long, "line %d\n", i)
	}
	content, err := json.Marshal(long.String())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ tool, input, want string }{
		"an edit": {"Edit", `{"file_path":"a.go","old_string":"a\nb\nc\nold\nd\n","new_string":"a\nb\nc\n\u4e2d\u200b\u202e\nd\n"}`,
			"    b\n    c\n  - old\n  + 中<U+200B><U+202E>\n    d\n"},
		"an edit everywhere": {"Edit", `{"file_path":"a.go","old_string":"x","new_string":"","replace_all":true}`,
			"  everywhere in the file\n  - x\n"},
		"a newline at the end": {"Edit", `{"file_path":"a.go","old_string":"x","new_string":"x\n"}`, "    x\n  + \n"},
		"two edits": {"Edit", `{"file_path":"a.go","edits":[{"old_string":"x","new_string":"y"},{"old_string":"1","new_string":"2"}]}`,
			"  edit 1 of 2\n  - x\n  + y\n  edit 2 of 2\n  - 1\n  + 2\n"},
		"a short file": {"Write", `{"file_path":"a.go","content":"package a\n\t\u001b[2J\n"}`,
			"  the whole file, 2 lines:\n  + package a\n  + \t␛[2J\n"},
		"a long file": {"Write", `{"file_path":"a.go","content":` + string(content) + `}`,
			"  the whole file, 50 lines:\n  + " + strings.Join(strings.Split(long.String(), "\n")[:20], "\n  + ") + "\n  … 30 more lines\n"},
		"what is not known": {"Edit", `{"file_path":"a.go","old_string":"x","new_string":"y","more":1}`,
			`  Edit {"file_path":"a.go","old_string":"x","new_string":"y","more":1}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			call := &oneloop.ToolUse{Name: c.tool, Input: json.RawMessage(c.input)}
			got := putIn(&english, oneloop.Question{Kind: "tool", Title: "Change this file?", Call: call, Detail: "/w/a.go\n" + c.tool + " " + c.input})
			want := "Change this file?\n  /w/a.go\n" + c.want + english.AskYes + "\n" + english.AskNo
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAVeryLongEditSaysHowMuchIsNotShown(t *testing.T) {
	var edits []change
	for i := range 200 {
		edits = append(edits, change{Old: fmt.Sprint(i), New: strings.Repeat("x", 5000)})
	}
	input, err := json.Marshal(map[string]any{"file_path": "a", "edits": edits})
	if err != nil {
		t.Fatal(err)
	}
	got := putIn(&english, oneloop.Question{Kind: "tool", Call: &oneloop.ToolUse{Name: "Edit", Input: input}, Detail: "a\nEdit " + string(input)})
	if len(got) > detailBytes+2000 || !strings.Contains(got, "… (4000 more bytes)") || !strings.Contains(got, "bytes are not shown; answer n") {
		t.Errorf("%d bytes: %.3000s", len(got), got)
	}
}

func TestACallIsShownByWhatItIsAbout(t *testing.T) {
	for _, c := range []struct{ tool, input, want string }{
		{"Bash", `{"command":"echo \u4e2d\n"}`, "$ echo 中"},
		{"Edit", `{"file_path":"\u4e2d.go","old_string":"a\nb","new_string":"c"}`, "Edit 中.go"},
		{"Write", `{"file_path":"a\nb","content":"c"}`, "Write a␊b"},
		{"Grep", `{"pattern":"x+","path":"src","-i":true}`, "Grep x+ (src)"},
		{"WebFetch", `{"url":"https://example.org/","prompt":"p"}`, "WebFetch https://example.org/"},
		{"AskUserQuestion", `{"questions":[]}`, "AskUserQuestion"},
		{"weather", `{"city":"\u5317\u4eac <&>"}`, `weather {"city":"北京 <&>"}`},
		{"now", `{}`, "now"},
		{"broken", `{"a`, `broken {"a`},
	} {
		if got := english.callLine(&oneloop.ToolUse{Name: c.tool, Input: json.RawMessage(c.input)}); got != c.want {
			t.Errorf("%s %s is shown as %q, want %q", c.tool, c.input, got, c.want)
		}
	}
}

func TestATodoListIsShownOnceAndARefusedOneWithTheReason(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, ProgressOptions{})
	call := &oneloop.ToolUse{ID: "1", Name: "TodoWrite", Input: json.RawMessage(`{"todos":[{"content":"read","status":"completed"},` +
		`{"content":"write\u001b[2J","status":"in_progress"},{"content":"test\nit","status":"pending"}]}`)}
	p.Show(oneloop.ToolStart{Call: call})
	p.Show(oneloop.ToolEnd{Call: call, Result: oneloop.TextResult("[x] read")})
	p.Show(oneloop.ToolEnd{Call: call, Result: oneloop.ErrorResult("item 2 is wrong")})
	odd := &oneloop.ToolUse{ID: "2", Name: "TodoWrite", Input: json.RawMessage(`{"list":1}`)}
	p.Show(oneloop.ToolStart{Call: odd})
	want := "todo (1 of 3 done)\n  [x] read\n  [>] write␛[2J\n  [ ] test it\nitem 2 is wrong\nTodoWrite {\"list\":1}\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
