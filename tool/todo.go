package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"oneloop"
)

// Bounds of a list: more than that nobody follows.
const (
	mostTodos = 50  // items
	longTodo  = 300 // characters of one
)

// TodoRounds is how many rounds of calls an agent with open items makes without
// TodoWrite before it is reminded of its list, and again after as many more.
const TodoRounds = 3

// TodoSource is the source of results that carry the reminder.
const TodoSource = "reminder"

const todoReminder = "<reminder>Your todo list has open items and was not updated for a while. If it is no longer right, bring it up to date with TodoWrite. The user did not say this.</reminder>"

// Todos are the plan of one agent: the list its model wrote last. They are
// worked out from the messages of the conversation alone, so that they are
// where the conversation is: after a resume, a rewind, a fork, and behind a
// summary.
//
//	var todos tool.Todos
//	box := &oneloop.Toolbox{Tools: []oneloop.Tool{todos.Tool()}}
//	s := &session.Session{Model: m, Tools: todos.Follow(box), Transcript: log}
//	s.Keep("todos", todos.Open)
//
// The zero value is an empty list. They are safe for concurrent use.
type Todos struct {
	mu     sync.Mutex
	items  []todo
	rounds int // of calls, since the list was written or the model reminded of it
}

type todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
	// What models add that know the tool from elsewhere.
	ActiveForm string `json:"activeForm,omitempty"`
	ID         any    `json:"id,omitempty"`
	Priority   any    `json:"priority,omitempty"`
}

type todoInput struct {
	Todos []todo `json:"todos"`
}

const todoSchema = `{"type":"object","properties":{"todos":{"type":"array","items":{"type":"object","properties":{"content":{"type":"string"},` +
	`"status":{"enum":["pending","in_progress","completed"]}},"required":["content","status"]}}},"required":["todos"]}`

// Tool is TodoWrite, which takes the whole list each time and answers with it.
// It changes nothing outside of the conversation.
func (t *Todos) Tool() oneloop.Tool {
	made := build("TodoWrite", "Plan longer work; send the whole list.", json.RawMessage(todoSchema),
		func(_ context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in todoInput) (*oneloop.ToolResult, error) {
			list, err := in.list()
			if err != nil {
				return nil, err
			}
			if len(list) == 0 {
				return oneloop.TextResult("The list is empty."), nil
			}
			return oneloop.TextResult(fmt.Sprintf("%s\n(%d/%d completed)", todoLines(list), len(list)-open(list), len(list))), nil
		})
	made.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	return made
}

// list checks what the schema cannot say.
func (in todoInput) list() ([]todo, error) {
	const unchanged = " The list is as it was; send the whole list again."
	if n := len(in.Todos); n > mostTodos {
		return nil, fmt.Errorf("the list has %d items, the most is %d: put small ones together.%s", n, mostTodos, unchanged)
	}
	running := 0
	for i := range in.Todos {
		item := &in.Todos[i]
		item.Content = oneLine(item.Content)
		switch n := utf8.RuneCountInString(item.Content); {
		case n == 0:
			return nil, fmt.Errorf("item %d is empty.%s", i+1, unchanged)
		case n > longTodo:
			return nil, fmt.Errorf("item %d has %d characters, the most is %d.%s", i+1, n, longTodo, unchanged)
		case todoMark(item.Status) == "":
			return nil, fmt.Errorf("item %d has the status %.40q; it must be pending, in_progress or completed.%s", i+1, item.Status, unchanged)
		}
		if item.Status == todoRunning {
			running++
		}
	}
	if running > 1 {
		return nil, fmt.Errorf("%d items are in_progress; one at most may be.%s", running, unchanged)
	}
	return in.Todos, nil
}

const (
	todoOpen    = "pending"
	todoRunning = "in_progress"
	todoDone    = "completed"
)

func todoMark(status string) string {
	switch status {
	case todoOpen:
		return "[ ] "
	case todoRunning:
		return "[>] "
	case todoDone:
		return "[x] "
	}
	return ""
}

func todoLines(list []todo) string {
	lines := make([]string, len(list))
	for i, item := range list {
		lines[i] = todoMark(item.Status) + item.Content
	}
	return strings.Join(lines, "\n")
}

// parseTodos reads what todoLines wrote. Other lines are none of the list.
func parseTodos(text string) (list []todo) {
	for line := range strings.SplitSeq(text, "\n") {
		for _, status := range [...]string{todoOpen, todoRunning, todoDone} {
			if content, ok := strings.CutPrefix(line, todoMark(status)); ok && len(list) < mostTodos {
				list = append(list, todo{Content: content, Status: status})
			}
		}
	}
	return list
}

// open is how many items are not completed.
func open(list []todo) (n int) {
	for _, item := range list {
		if item.Status != todoDone {
			n++
		}
	}
	return n
}

// Text is the list, a line for each item: `[ ] ` is open, `[>] ` under way,
// `[x] ` done. Empty: there is none.
func (t *Todos) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return todoLines(t.items)
}

// Open is Text as long as something is open, else empty: what a summary of the
// conversation is to carry.
func (t *Todos) Open() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if open(t.items) == 0 {
		return ""
	}
	return todoLines(t.items)
}

// Follow are tools whose calls of TodoWrite are followed. While items are open,
// the model is reminded of them behind the results of every [TodoRounds] rounds
// without TodoWrite: in the newest message, so that nothing moves that was sent
// before.
func (t *Todos) Follow(tools oneloop.Tools) oneloop.Tools { return &todoFollower{tools, t} }

type todoFollower struct {
	oneloop.Tools
	todos *Todos
}

func (f *todoFollower) Run(ctx context.Context, calls []*oneloop.ToolUse, emit func(oneloop.Event)) *oneloop.Message {
	m := f.Tools.Run(ctx, calls, emit)
	ends := ctx.Err() != nil || m.Stop == oneloop.StopEndTurn
	if !f.todos.round(calls, m) || ends {
		return m
	}
	f.todos.reminded()
	more := *m
	more.Blocks = append(slices.Clone(m.Blocks), &oneloop.Text{Text: todoReminder})
	more.Meta.Source = TodoSource
	return &more
}

// round takes account of one round of calls. It reports whether the model is to
// be reminded.
func (t *Todos) round(calls []*oneloop.ToolUse, results *oneloop.Message) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if list, ok := todosWritten(calls, results); ok {
		t.items, t.rounds = list, 0
		return false
	}
	t.rounds++
	return t.rounds >= TodoRounds && open(t.items) > 0
}

func (t *Todos) reminded() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounds = 0
}

// todosWritten is the list that a round of calls came to; not ok when it wrote
// none. It is read from the result: a hook may have changed what the model
// wanted.
func todosWritten(calls []*oneloop.ToolUse, results *oneloop.Message) (list []todo, ok bool) {
	for _, c := range calls {
		if !slices.Contains([]string{"TodoWrite", "todo", "todo_write"}, c.Name) {
			continue
		}
		for _, b := range results.Blocks {
			if r, is := b.(*oneloop.ToolResult); is && r.ID == c.ID && !r.IsError {
				list, ok = parseTodos(r.Text()), true
			}
		}
	}
	return list, ok
}

// Recall has the list be that of a conversation: what was written in it last.
// Where nothing was, it is what a summary kept of it, of which kept is the
// text.
func (t *Todos) Recall(msgs []*oneloop.Message, kept string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rounds = 0
	reminded := false
	for i := len(msgs) - 1; i > 0; i-- {
		if msgs[i].Role != oneloop.User {
			continue
		}
		calls := msgs[i-1].ToolUses()
		if len(calls) == 0 {
			continue
		}
		if list, ok := todosWritten(calls, msgs[i]); ok {
			t.items = list
			return
		}
		if reminded = reminded || msgs[i].Meta.Source == TodoSource; !reminded {
			t.rounds++
		}
	}
	t.items = parseTodos(kept)
}

// todoAlias turns the inputs of the lessons' tools, todo{items:[{id, text,
// status}]} and todo_write{todos}, whose list may be a string with JSON in it,
// into that of TodoWrite.
func todoAlias(input json.RawMessage) (json.RawMessage, error) {
	input, err := renamed("items", "todos")(input)
	if err != nil {
		return nil, err
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(input, &in); err != nil {
		return nil, err
	}
	var text string
	if json.Unmarshal(in["todos"], &text) == nil && text != "" {
		if !json.Valid([]byte(text)) {
			return nil, errors.New("todos is a string that is no JSON; send a list")
		}
		in["todos"] = json.RawMessage(text)
	}
	var items []json.RawMessage
	if json.Unmarshal(in["todos"], &items) != nil {
		return json.Marshal(in) // its check says what is wrong
	}
	for i, item := range items {
		if oneloop.CheckObject(item) == nil {
			if items[i], err = renamed("text", "content")(item); err != nil {
				return nil, fmt.Errorf("item %d: %w", i+1, err)
			}
		}
	}
	if in["todos"], err = json.Marshal(items); err != nil {
		return nil, err
	}
	return json.Marshal(in)
}
