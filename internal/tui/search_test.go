package tui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"oneloop"
)

func TestSearchesOfTheAPIAreShownAndNotObeyed(t *testing.T) {
	block := func(kind, body string) oneloop.Block {
		return &oneloop.Opaque{Type: kind, Wire: oneloop.Wire{Raw: json.RawMessage(body)}}
	}
	hit := `{"type":"web_search_result","title":"Go \u001b]0;owned\u0007news","url":"https://go.example/\u202enews","encrypted_content":"x"}`
	message := oneloop.MessageAdded{Message: oneloop.NewMessage(oneloop.Assistant,
		block("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go \u001b[2J1.26"}}`),
		block("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[`+hit+strings.Repeat(","+hit, 7)+`]}`),
		block("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_2","name":"code_execution","input":{}}`),
		block("server_tool_use", `{"type":"server_tool_use","id":"srvtoolu_3","name":"web_search","input":"odd"}`),
		block("web_search_tool_result", `{"type":"web_search_tool_result","tool_use_id":"srvtoolu_3","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}`),
		block("web_search_tool_result", `7`),
		&oneloop.Text{Text: "It is out."})}
	for name, show := range map[string]func(*bytes.Buffer){
		"task":         func(b *bytes.Buffer) { NewProgress(b, ProgressOptions{}).Show(message) },
		"conversation": func(b *bytes.Buffer) { (&renderer{on: &paper{out: b}, words: &english}).event(message) },
		"subtask": func(b *bytes.Buffer) {
			NewProgress(b, ProgressOptions{}).Show(oneloop.Child{Agent: "a", Event: message})
		},
	} {
		var b bytes.Buffer
		show(&b)
		got := b.String()
		for _, want := range []string{"web search: go ", "1.26", "Go ", "https://go.example/", "… 3 more results", "the search failed: max_uses_exceeded"} {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in\n%s", name, want, got)
			}
		}
		if strings.ContainsAny(got, "\x1b\x07\u202e") || strings.Contains(got, "code_execution") {
			t.Errorf("%s: %q", name, got)
		}
	}
	var b bytes.Buffer
	NewProgress(&b, ProgressOptions{Quiet: true}).Show(message)
	if b.Len() > 0 {
		t.Errorf("quiet: %q", b.String())
	}
}
