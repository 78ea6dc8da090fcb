package board

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"oneloop"
	"oneloop/tool"
)

// ToolOptions are for the tools of one agent.
type ToolOptions struct {
	Board *Board
	// Owner is the agent, as its driver names it: the model cannot say that it is
	// somebody else.
	Owner string
	// Resolve makes the owner of a name that the model gives a task to, or says
	// why there is nobody of it. nil: a name is one of the agent's own session.
	Resolve func(name string) (owner string, err error)
}

// Tools are TaskCreate, TaskGet, TaskList and TaskUpdate. Whoever runs the agent
// keeps its claims, see [Board.Keep].
func Tools(o ToolOptions) []oneloop.Tool {
	if o.Resolve == nil {
		o.Resolve = o.ofSession
	}
	list := made("TaskList", "List the tasks that all agents share.", `{"type":"object","properties":{}}`, oneloop.ReadOnly, o.list)
	read := made("TaskGet", "Read a task.", `{"type":"object","properties":{"taskId":{"type":"string"}},"required":["taskId"]}`, oneloop.ReadOnly, o.get)
	list.Parallel, read.Parallel = true, true
	return []oneloop.Tool{
		made("TaskCreate", "Add a task for any agent.", createSchema, oneloop.Once, o.create), read, list,
		made("TaskUpdate", "Change a task. in_progress claims it for you: nobody else can take it then.", updateSchema, oneloop.Idempotent, o.update),
	}
}

// What is offered; more is understood.
const (
	createSchema = `{"type":"object","properties":{"subject":{"type":"string"},"description":{"type":"string"},"activeForm":{"type":"string"},` +
		`"metadata":{"type":"object"}},"required":["subject","description"]}`
	updateSchema = `{"type":"object","properties":{"taskId":{"type":"string"},"status":{"enum":["pending","in_progress","completed","deleted"]},` +
		`"subject":{"type":"string"},"description":{"type":"string"},"activeForm":{"type":"string"},"owner":{"type":"string"},` +
		`"addBlocks":{"type":"array","items":{"type":"string"}},"addBlockedBy":{"type":"array","items":{"type":"string"}},` +
		`"metadata":{"type":"object"}},"required":["taskId"]}`
)

// made makes a tool whose input is looked at when it is first called: no start
// pays for it.
func made[In any](name, doc, schema string, effect oneloop.Effect, run func(context.Context, In) (string, error)) oneloop.Tool {
	full := sync.OnceValue(func() oneloop.Tool { return tool.New(name, doc, run) })
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{Name: name, Description: doc, Schema: json.RawMessage(schema)},
		Effect:  func(*oneloop.ToolUse) oneloop.Effect { return effect },
		Check:   func(input json.RawMessage) error { return full().Check(input) },
		Run: func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return full().Run(ctx, call, emit)
		},
	}
}

// taskID is an id as models write it: "3", 3 or "#3".
type taskID int

func (id *taskID) UnmarshalJSON(b []byte) error {
	s := strings.TrimPrefix(strings.Trim(string(b), `"`), "#")
	n, err := strconv.Atoi(s)
	if err != nil || n <= 0 {
		return fmt.Errorf("%.40s is no id of a task: ids are numbers, TaskList shows them", b)
	}
	*id = taskID(n)
	return nil
}

func (id taskID) String() string { return strconv.Itoa(int(id)) }

func idTexts(ids []taskID) (out []string) {
	for _, id := range ids {
		out = append(out, id.String())
	}
	return out
}

type createInput struct {
	Subject     string          `json:"subject"`
	Description string          `json:"description,omitempty"`
	ActiveForm  string          `json:"activeForm,omitempty"`
	Metadata    json.RawMessage `json:"metadata,omitempty"`
	BlockedBy   []taskID        `json:"addBlockedBy,omitempty"`
	Blocks      []taskID        `json:"addBlocks,omitempty"`
	Owner       string          `json:"owner,omitempty"`
}

func (o ToolOptions) create(ctx context.Context, in createInput) (string, error) {
	owner, err := o.resolved(in.Owner)
	if err != nil {
		return "", fmt.Errorf("%w. No task was made.", err)
	}
	t, err := o.Board.Create(ctx, New{By: o.Owner, Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm,
		Metadata: object(in.Metadata), BlockedBy: idTexts(in.BlockedBy), Blocks: idTexts(in.Blocks), Owner: owner})
	if err != nil {
		return "", fmt.Errorf("no task was made: %w.", err)
	}
	return o.line(t), nil
}

type getInput struct {
	ID taskID `json:"taskId"`
}

func (o ToolOptions) get(_ context.Context, in getInput) (string, error) {
	t, err := o.Board.Task(in.ID.String())
	if err != nil {
		return "", fmt.Errorf("%w. TaskList shows those there are.", err)
	}
	return o.whole(t), nil
}

// A longer list is cut: completed tasks first.
const (
	mostDone   = 100
	mostListed = 300
)

func (o ToolOptions) list(context.Context, struct{}) (string, error) {
	tasks, err := o.Board.Tasks()
	if err != nil {
		return "", err
	}
	if len(tasks) == 0 {
		return "There are no tasks.", nil
	}
	var lines []string
	done, open := 0, 0
	for _, t := range tasks {
		switch {
		case t.Status == Completed && len(tasks) > mostDone:
			done++
		case len(lines) == mostListed:
			open++
		default:
			lines = append(lines, o.line(t))
		}
	}
	if open > 0 {
		lines = append(lines, fmt.Sprintf("(%d more are open)", open))
	}
	if done > 0 {
		lines = append(lines, fmt.Sprintf("(%d are completed and not shown)", done))
	}
	return strings.Join(lines, "\n"), nil
}

type updateInput struct {
	ID            taskID          `json:"taskId"`
	Status        Status          `json:"status,omitempty"`
	Subject       *string         `json:"subject,omitempty"`
	Description   *string         `json:"description,omitempty"`
	ActiveForm    *string         `json:"activeForm,omitempty"`
	Owner         *string         `json:"owner,omitempty"`
	AddBlocks     []taskID        `json:"addBlocks,omitempty"`
	AddBlockedBy  []taskID        `json:"addBlockedBy,omitempty"`
	DropBlocks    []taskID        `json:"removeBlocks,omitempty"`
	DropBlockedBy []taskID        `json:"removeBlockedBy,omitempty"`
	Metadata      json.RawMessage `json:"metadata,omitempty"`
	Result        *string         `json:"result,omitempty"`
}

func (o ToolOptions) update(ctx context.Context, in updateInput) (string, error) {
	c := Change{By: o.Owner, Status: in.Status, Subject: in.Subject, Description: in.Description, ActiveForm: in.ActiveForm,
		AddBlocks: idTexts(in.AddBlocks), AddBlockedBy: idTexts(in.AddBlockedBy), DropBlocks: idTexts(in.DropBlocks), DropBlockedBy: idTexts(in.DropBlockedBy),
		Metadata: object(in.Metadata), Result: in.Result}
	if in.Owner != nil {
		owner, err := o.resolved(*in.Owner)
		if err != nil {
			return "", fmt.Errorf("%w. #%s was not changed.", err, in.ID)
		}
		if c.Owner = &owner; owner == o.Owner && (in.Status == InProgress || in.Status == Completed) {
			c.Owner = nil // that is what the status says
		}
	}
	out, err := o.Board.Change(ctx, in.ID.String(), c)
	if err != nil {
		return "", o.refused(in.ID, err)
	}
	text := ""
	switch {
	case out.Task.Status == Deleted:
		text = fmt.Sprintf("#%s was deleted.", in.ID)
	case in.Status == InProgress:
		text = o.whole(out.Task) // what it is to do
	default:
		text = o.line(out.Task)
	}
	if len(out.Ready) > 0 {
		text += fmt.Sprintf("\nReady now: %s.", sharps(out.Ready))
	}
	return text, nil
}

// refused says what to do next where that helps.
func (o ToolOptions) refused(id taskID, err error) error {
	next := ""
	switch held, lost, blocked := new(HeldError), new(LostError), new(BlockedError); {
	case errors.As(err, &held):
		next = " Take another one, or ask " + o.name(held.Owner) + "."
	case errors.As(err, &blocked):
		next = " Do these first, or take another one."
	case errors.As(err, &lost):
		next = " What you did on it may be done twice: look at the task before you go on."
		if t := lost.Task; t.Status == Pending {
			next = " Set it to in_progress to have it again."
		}
	case errors.Is(err, ErrNoTask):
		next = " TaskList shows those there are."
	}
	return fmt.Errorf("#%s was not changed: %w.%s", id, err, next)
}

// object is nothing for a null.
func object(raw json.RawMessage) json.RawMessage {
	if string(raw) == "null" {
		return nil
	}
	return raw
}

func (o ToolOptions) resolved(name string) (string, error) {
	if name = strings.TrimPrefix(strings.TrimSpace(name), "@"); name == "" || name == o.Owner || name == o.name(o.Owner) {
		if name != "" {
			name = o.Owner
		}
		return name, nil
	}
	return o.Resolve(name)
}

func (o ToolOptions) ofSession(name string) (string, error) {
	session, _, in := strings.Cut(o.Owner, "/")
	if !in || strings.Contains(name, "/") {
		return name, checkOwner(name)
	}
	return session + "/" + name, checkOwner(name)
}

// name is an owner as the agent knows him: without the session, if it is its own.
func (o ToolOptions) name(owner string) string {
	session, _, in := strings.Cut(o.Owner, "/")
	if name, mine := strings.CutPrefix(owner, session+"/"); in && mine {
		return name
	}
	return owner
}

// line is a task in one line: #3 [in_progress] subject @owner (blocked by #1, #2).
func (o ToolOptions) line(t Task) string {
	s := fmt.Sprintf("#%s [%s] %s", t.ID, t.Status, t.Subject)
	if t.Owner != "" {
		s += " @" + o.name(t.Owner)
	}
	var notes []string
	if t.Lapsed {
		notes = append(notes, "its owner is gone")
	}
	if t.Failed != "" {
		notes = append(notes, "failed: "+t.Failed)
	}
	if len(t.Waits) > 0 && t.Status != Completed {
		notes = append(notes, "blocked by "+sharps(t.Waits))
	}
	if len(notes) > 0 {
		s += " (" + strings.Join(notes, "; ") + ")"
	}
	return s
}

func (o ToolOptions) whole(t Task) string {
	lines := []string{o.line(t)}
	for _, f := range []struct{ name, value string }{
		{"", t.Description}, {"Blocks: ", none(t.Blocks)}, {"Worktree: ", t.Worktree}, {"Metadata: ", string(t.Metadata)}, {"Result: ", t.Result},
	} {
		if f.value != "" {
			lines = append(lines, f.name+f.value)
		}
	}
	return strings.Join(lines, "\n")
}

func none(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return sharps(ids)
}

// Aliases are the names of the lessons and their inputs: task_create{subject,
// description}, create_task, with blockedBy, task_get{task_id}, task_list,
// task_update{task_id, status, add_blocked_by, add_blocks}, claim_task and
// complete_task{task_id}.
func Aliases() map[string]oneloop.Alias {
	as := func(name string, set ...string) oneloop.Alias {
		return oneloop.Alias{Tool: name, Input: func(input json.RawMessage) (json.RawMessage, error) { return translated(input, set) }}
	}
	list := oneloop.Alias{Tool: "TaskList"}
	return map[string]oneloop.Alias{
		"task_create": as("TaskCreate"), "create_task": as("TaskCreate"),
		"task_get": as("TaskGet"), "get_task": as("TaskGet"),
		"task_list": list, "list_tasks": list,
		"task_update": as("TaskUpdate"), "update_task": as("TaskUpdate"),
		"claim_task": as("TaskUpdate", "status", string(InProgress)), "complete_task": as("TaskUpdate", "status", string(Completed)),
	}
}

// translated gives fields the names of the tools, and sets others.
func translated(input json.RawMessage, set []string) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(input, &fields); err != nil {
		return nil, err
	}
	for was, is := range map[string]string{
		"task_id": "taskId", "add_blocked_by": "addBlockedBy", "blockedBy": "addBlockedBy", "blocked_by": "addBlockedBy",
		"add_blocks": "addBlocks", "blocks": "addBlocks", "active_form": "activeForm",
	} {
		value, there := fields[was]
		if !there {
			continue
		}
		if _, twice := fields[is]; twice {
			return nil, fmt.Errorf("it has both %s and %s", was, is)
		}
		delete(fields, was)
		fields[is] = value
	}
	for i := 0; i < len(set); i += 2 {
		fields[set[i]] = json.RawMessage(strconv.Quote(set[i+1]))
	}
	return json.Marshal(fields)
}
