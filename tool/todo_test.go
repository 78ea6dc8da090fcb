package tool_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"oneloop"
	"oneloop/tool"
)

// plan is an agent with a list and one other tool.
type plan struct {
	todos *tool.Todos
	tools oneloop.Tools
	msgs  []*oneloop.Message
	calls int
}

func newPlan() *plan {
	p := &plan{todos: new(tool.Todos)}
	p.tools = p.todos.Follow(p.box())
	return p
}

func (p *plan) box() *oneloop.Toolbox {
	look := tool.New("Look", "Look.", func(context.Context, struct{}) (string, error) { return "seen", nil })
	return &oneloop.Toolbox{Tools: []oneloop.Tool{p.todos.Tool(), look}, Aliases: tool.Aliases()}
}

// round makes one round of calls, each a name and its input, and returns what
// is sent back.
func (p *plan) round(calls ...string) *oneloop.Message {
	m := oneloop.NewMessage(oneloop.Assistant)
	m.Stop = oneloop.StopToolUse
	for i := 0; i < len(calls); i += 2 {
		p.calls++
		m.Blocks = append(m.Blocks, &oneloop.ToolUse{ID: fmt.Sprintf("t%d", p.calls), Name: calls[i], Input: json.RawMessage(calls[i+1])})
	}
	results := p.tools.Run(context.Background(), m.ToolUses(), nil)
	p.msgs = append(p.msgs, m, results)
	return results
}

// reminds reports whether results end in the reminder, which stands behind
// every result and nowhere else.
func reminds(t rapid.TB, m *oneloop.Message) bool {
	t.Helper()
	at := slices.IndexFunc(m.Blocks, func(b oneloop.Block) bool { _, is := b.(*oneloop.Text); return is })
	if at >= 0 && (at != len(m.Blocks)-1 || at == 0 || m.Meta.Source != tool.TodoSource || !strings.Contains(m.Text(), "<reminder>")) {
		t.Fatalf("the reminder is block %d of %d, source %q: %s", at+1, len(m.Blocks), m.Meta.Source, m.Text())
	}
	return at >= 0
}

const (
	oneOpen = `{"todos":[{"content":"read","status":"completed"},{"content":"write","status":"in_progress"},{"content":"test","status":"pending"}]}`
	allDone = `{"todos":[{"content":"read","status":"completed"}]}`
)

func TestTodoWriteTakesTheWholeListAndAnswersWithIt(t *testing.T) {
	p := newPlan()
	got := p.round("TodoWrite", oneOpen).Blocks[0].(*oneloop.ToolResult).Text()
	want := "[x] read\n[>] write\n[ ] test\n(1/3 completed)"
	if got != want {
		t.Errorf("the answer is\n%s\nwant\n%s", got, want)
	}
	if got := p.todos.Text(); got != strings.TrimSuffix(want, "\n(1/3 completed)") || p.todos.Open() != got {
		t.Errorf("the list is\n%s", got)
	}
	p.round("TodoWrite", allDone)
	if p.todos.Text() != "[x] read" || p.todos.Open() != "" {
		t.Errorf("the list is\n%s\nopen: %s", p.todos.Text(), p.todos.Open())
	}
	p.round("TodoWrite", `{"todos":[]}`)
	if got := p.todos.Text(); got != "" {
		t.Errorf("an empty list is\n%s", got)
	}
}

func TestAListThatIsRefusedLeavesTheOneBefore(t *testing.T) {
	item := func(content, status string) string {
		text, err := json.Marshal(map[string]string{"content": content, "status": status})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	list := func(items ...string) string { return `{"todos":[` + strings.Join(items, ",") + `]}` }
	for input, says := range map[string]string{
		list(item("a", "in_progress"), item("b", "in_progress")):    "2 items are in_progress",
		list(item("a", "pending"), item(" \n\t", "pending")):        "item 2 is empty",
		list(item("a", "done")):                                     `item 1 has the status "done"`,
		list(item(strings.Repeat("长", 301), "pending")):             "301 characters",
		list(slices.Repeat([]string{item("a", "pending")}, 51)...):  "51 items",
		`{"todos":"all of it"}`:                                     "array",
		`{"items":[]}`:                                              "todos",
		list(`{"content":"a"}`):                                     "status",
		`{"todos":[{"content":"a","status":"pending","Status":1}]}`: "Status",
	} {
		p := newPlan()
		p.round("TodoWrite", oneOpen)
		r := p.round("TodoWrite", input).Blocks[0].(*oneloop.ToolResult)
		if !r.IsError || !strings.Contains(r.Text(), says) {
			t.Errorf("%.80s: %t %s", input, r.IsError, r.Text())
		}
		if got := p.todos.Text(); got != "[x] read\n[>] write\n[ ] test" {
			t.Errorf("%.80s: the list is\n%s", input, got)
		}
	}
}

func TestTheListIsUnderstoodInTheFormsThatModelsKnow(t *testing.T) {
	for call, input := range map[string]string{
		"TodoWrite": `{"todos":[{"content":"a  b\nc","status":"pending","activeForm":"doing","id":"1","priority":"high"}]}`,
		"todo":      `{"items":[{"id":1,"text":"a b c","status":"pending"}]}`,
		"todo_write": `{"todos":"[{\"content\":\"a b c\",\"status\":\"pending\"}]"}
`,
	} {
		p := newPlan()
		if r := p.round(call, input).Blocks[0].(*oneloop.ToolResult); r.IsError {
			t.Errorf("%s: %s", call, r.Text())
		}
		if got := p.todos.Text(); got != "[ ] a b c" {
			t.Errorf("%s: the list is %q", call, got)
		}
	}
	p := newPlan()
	for _, input := range []string{`{"todos":"no list"}`, `{"todos":7}`, `{"items":[7]}`, `{"items":[{"text":"a","content":"b","status":"pending"}]}`, `{"items":[],"todos":[]}`} {
		if r := p.round("todo", input).Blocks[0].(*oneloop.ToolResult); !r.IsError {
			t.Errorf("%s: %s", input, r.Text())
		}
	}
}

// The lessons' own agent is reminded whether it has a list or not, in every
// round, and in front of the results, which the API refuses.
func TestTheReminderComesOnlyWithOpenItemsAndEveryThirdRound(t *testing.T) {
	p := newPlan()
	for i := range 8 {
		if reminds(t, p.round("Look", `{}`)) {
			t.Fatalf("round %d reminds of a list that is not there", i+1)
		}
	}
	p.round("TodoWrite", oneOpen)
	var rounds []int
	for i := range 10 {
		if reminds(t, p.round("Look", `{}`, "Look", `{}`)) {
			rounds = append(rounds, i+1)
		}
	}
	if !slices.Equal(rounds, []int{3, 6, 9}) {
		t.Errorf("rounds %v remind", rounds)
	}
	p.round("TodoWrite", oneOpen)
	p.round("Look", `{}`)
	p.round("Look", `{}`)
	if reminds(t, p.round("Look", `{}`, "TodoWrite", oneOpen)) {
		t.Error("a round that writes the list reminds")
	}
	p.round("TodoWrite", allDone)
	for range 8 {
		if reminds(t, p.round("Look", `{}`)) {
			t.Fatal("a list that is done is reminded of")
		}
	}
}

func TestNothingIsAddedToResultsThatEndATurn(t *testing.T) {
	p := newPlan()
	end := oneloop.Tool{ToolDef: oneloop.ToolDef{Name: "End"}, Run: func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
		return &oneloop.ToolResult{EndTurn: true}, nil
	}}
	box := p.box()
	box.Tools = append(box.Tools, end)
	p.tools = p.todos.Follow(box)
	p.round("TodoWrite", oneOpen)
	for range 4 {
		if reminds(t, p.round("End", `{}`)) {
			t.Fatal("the end of a turn reminds")
		}
	}
	if !reminds(t, p.round("Look", `{}`)) {
		t.Error("the next round does not remind")
	}
}

// However a conversation came about, what is recalled of its messages is what
// the agent had that made them: the list, and when it is reminded.
func TestWhatIsRecalledIsWhatWas(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		p := newPlan()
		for range rapid.IntRange(0, 12).Draw(r, "rounds") {
			var calls []string
			for range rapid.IntRange(1, 2).Draw(r, "calls") {
				calls = append(calls, rapid.SampledFrom([][]string{
					{"Look", `{}`}, {"Look", `{}`}, {"Look", `{}`}, {"TodoWrite", oneOpen}, {"TodoWrite", allDone}, {"TodoWrite", `{"todos":[]}`},
					{"todo", `{"items":[{"text":"[x] not done\n[ ] one line","status":"pending"}]}`}, {"TodoWrite", `{"todos":7}`}, {"Nothing", `{}`},
				}).Draw(r, "call")...)
			}
			p.round(calls...)
			if rapid.Bool().Draw(r, "said") {
				p.msgs = append(p.msgs, oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "[ ] is no list"}), oneloop.UserText("[x] nor is this"))
			}
		}
		again := newPlan()
		again.todos.Recall(p.msgs, "[ ] kept")
		want := p.todos.Text()
		if written := slices.ContainsFunc(p.msgs, func(m *oneloop.Message) bool { return strings.Contains(wrote(m), "t") }); !written {
			want = "[ ] kept"
		}
		if got := again.todos.Text(); got != want {
			r.Fatalf("recalled:\n%s\nwas:\n%s", got, want)
		}
		if want == "[ ] kept" {
			return
		}
		for i := range 7 {
			was, is := reminds(r, p.round("Look", `{}`)), reminds(r, again.round("Look", `{}`))
			if was != is {
				r.Fatalf("round %d after: reminded %t, recalled %t", i+1, was, is)
			}
		}
	})
}

// wrote is which calls in m were answered by TodoWrite.
func wrote(m *oneloop.Message) string {
	for _, b := range m.Blocks {
		if r, ok := b.(*oneloop.ToolResult); ok && !r.IsError && r.Text() != "seen" {
			return r.ID
		}
	}
	return ""
}

func TestTodoWriteIsSmallInThePrompt(t *testing.T) {
	def := new(tool.Todos).Tool().ToolDef
	text, err := json.Marshal(map[string]any{"name": def.Name, "description": def.Description, "input_schema": def.Schema})
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 330 {
		t.Errorf("%d bytes: %s", len(text), text)
	} else {
		t.Logf("%d bytes", len(text))
	}
}
