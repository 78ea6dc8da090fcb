package board_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/team/board"
)

// model is one that has the tools of an owner.
type model struct {
	t   *testing.T
	box *oneloop.Toolbox
	n   int
}

func modelOf(t *testing.T, b *board.Board, owner string) *model {
	return &model{t: t, box: &oneloop.Toolbox{Tools: board.Tools(board.ToolOptions{Board: b, Owner: owner}), Aliases: board.Aliases()}}
}

// call is the text of the result, behind ERROR for one that is an error.
func (m *model) call(name, input string) string {
	m.t.Helper()
	m.n++
	r := m.box.Run(context.Background(), []*oneloop.ToolUse{{ID: fmt.Sprint("toolu_", m.n), Name: name, Input: json.RawMessage(input)}}, nil).Blocks[0].(*oneloop.ToolResult)
	if r.IsError {
		return "ERROR " + r.Text()
	}
	return r.Text()
}

type said struct{ who, name, input, want string }

func talk(t *testing.T, models map[string]*model, lines []said) {
	t.Helper()
	for _, l := range lines {
		if got := models[l.who].call(l.name, l.input); got != l.want {
			t.Errorf("%s: %s%s\n got %q\nwant %q", l.who, l.name, l.input, got, l.want)
		}
	}
}

func TestWhatModelsSeeOfTheBoard(t *testing.T) {
	a, b, _ := two(t, board.Options{})
	talk(t, map[string]*model{"ann": modelOf(t, a, "s1/ann"), "bob": modelOf(t, b, "s1/bob"), "eve": modelOf(t, b, "s2/eve")}, []said{
		{"ann", "TaskList", `{}`, "There are no tasks."},
		{"ann", "TaskCreate", `{"subject":"Build it","description":"With make.","activeForm":"Building","metadata":{"area":"ci"}}`, "#1 [pending] Build it"},
		{"ann", "TaskCreate", `{"subject":"Test it","description":""}`, "#2 [pending] Test it"},
		{"ann", "TaskUpdate", `{"taskId":"2","addBlockedBy":["1"]}`, "#2 [pending] Test it (blocked by #1)"},
		{"ann", "TaskUpdate", `{"taskId":1,"status":"in_progress","owner":"ann"}`, "#1 [in_progress] Build it @ann\nWith make.\nBlocks: #2\nMetadata: {\"area\":\"ci\"}"},
		{"bob", "TaskList", `{}`, "#1 [in_progress] Build it @ann\n#2 [pending] Test it (blocked by #1)"},
		{"eve", "TaskList", `{}`, "#1 [in_progress] Build it @s1/ann\n#2 [pending] Test it (blocked by #1)"},
		{"bob", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "ERROR #1 was not changed: #1 is in progress: s1/ann has it, for 2m0s more unless it is renewed. Take another one, or ask ann."},
		{"bob", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "ERROR #2 was not changed: #2 cannot be started before #1. Do these first, or take another one."},
		{"ann", "TaskUpdate", `{"taskId":"1","addBlockedBy":["#2"]}`, "ERROR #1 was not changed: none of these could ever be started: #1 waits for #2, which waits for #1, and so on."},
		{"ann", "TaskUpdate", `{"taskId":"#1","status":"completed"}`, "#1 [completed] Build it @ann\nReady now: #2."},
		{"ann", "TaskUpdate", `{"taskId":"2","owner":"bob"}`, "#2 [pending] Test it @bob"},
		{"ann", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "ERROR #2 was not changed: #2 is given to s1/bob, who has 10m0s left to begin with it. Take another one, or ask bob."},
		{"bob", "TaskUpdate", `{"taskId":"2","status":"in_progress"}`, "#2 [in_progress] Test it @bob"},
		{"bob", "TaskUpdate", `{"taskId":"2","status":"deleted"}`, "#2 was deleted."},
		{"bob", "TaskGet", `{"taskId":"2"}`, "ERROR there is no such task: #2 was deleted. TaskList shows those there are."},
		{"bob", "TaskGet", `{"taskId":"1"}`, "#1 [completed] Build it @ann\nWith make.\nMetadata: {\"area\":\"ci\"}"},
		{"bob", "TaskUpdate", `{"taskId":"1","status":"done"}`, `ERROR #1 was not changed: "done" is no status: it is pending, in_progress, completed or deleted.`},
		{"bob", "TaskUpdate", `{"taskId":"1","owner":"a b"}`, `ERROR "a b" is no name of an owner: it has no spaces and none of @,(). #1 was not changed.`},
		{"bob", "TaskUpdate", `{"taskId":"9","status":"completed"}`, "ERROR #9 was not changed: there is no such task: the newest is #2, there is no #9. TaskList shows those there are."},
		{"bob", "TaskCreate", `{"subject":" "}`, "ERROR no task was made: a task has a subject, this one is blank."},
	})
}

func TestTheToolsOfTheLessonsAreUnderstood(t *testing.T) {
	a, _, _ := two(t, board.Options{})
	talk(t, map[string]*model{"ann": modelOf(t, a, "s1/ann")}, []said{
		{"ann", "task_create", `{"subject":"a"}`, "#1 [pending] a"},
		{"ann", "create_task", `{"subject":"b","description":"d","blockedBy":["1"]}`, "#2 [pending] b (blocked by #1)"},
		{"ann", "task_create", `{"subject":"c"}`, "#3 [pending] c"},
		{"ann", "task_update", `{"task_id":3,"addBlockedBy":[2]}`, "#3 [pending] c (blocked by #2)"},
		{"ann", "task_update", `{"task_id":1,"add_blocks":[3],"status":"pending"}`, "#1 [pending] a"},
		{"ann", "task_update", `{"task_id":3,"add_blocked_by":[1],"addBlockedBy":[2]}`, "ERROR the input of task_update was refused: it has both add_blocked_by and addBlockedBy. The call was not run."},
		{"ann", "task_get", `{"task_id":3}`, "#3 [pending] c (blocked by #1, #2)"},
		{"ann", "claim_task", `{"task_id":"1"}`, "#1 [in_progress] a @ann\nBlocks: #2, #3"},
		{"ann", "complete_task", `{"task_id":"1"}`, "#1 [completed] a @ann\nReady now: #2."},
		{"ann", "task_update", `{"task_id":3,"status":"deleted"}`, "#3 was deleted."},
		{"ann", "task_list", `{}`, "#1 [completed] a @ann\n#2 [pending] b"},
		{"ann", "get_task", `{"task_id":"x"}`, `ERROR the input of TaskGet was refused: taskId: "x" is no id of a task: ids are numbers, TaskList shows them. The call was not run.`},
	})
}

func TestAModelThatWasOvertakenIsTold(t *testing.T) {
	a, b, c := two(t, board.Options{})
	ann, bob := modelOf(t, a, "s1/ann"), modelOf(t, b, "s1/bob")
	ann.call("TaskCreate", `{"subject":"x"}`)
	ann.call("TaskUpdate", `{"taskId":"1","status":"in_progress"}`)
	c.add(board.DefaultLease)
	talk(t, map[string]*model{"ann": ann, "bob": bob}, []said{
		{"bob", "TaskList", `{}`, "#1 [in_progress] x @ann (its owner is gone)"},
		{"bob", "TaskUpdate", `{"taskId":"1","status":"in_progress"}`, "#1 [in_progress] x @bob"},
		{"ann", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "ERROR #1 was not changed: the claim on #1 (token 1) is over, and nothing was changed: s1/bob has the task now (token 2). What you did on it may be done twice: look at the task before you go on."},
		{"ann", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "ERROR #1 was not changed: #1 is in progress: s1/bob has it, for 2m0s more unless it is renewed. Take another one, or ask bob."},
		{"bob", "TaskUpdate", `{"taskId":"1","status":"completed"}`, "#1 [completed] x @bob"},
	})
}

func TestALongListIsCut(t *testing.T) {
	a, _, _ := two(t, board.Options{})
	ann := modelOf(t, a, "s1/ann")
	for range 310 {
		create(t, a, strings.Repeat("x", 150))
	}
	for _, id := range []string{"1", "2", "3"} {
		ann.call("complete_task", `{"task_id":`+id+`}`)
	}
	got := strings.Split(ann.call("TaskList", `{}`), "\n")
	if len(got) != 302 || !strings.HasPrefix(got[0], "#4 ") || got[300] != "(7 more are open)" || got[301] != "(3 are completed and not shown)" {
		t.Errorf("%d lines, %q to %q", len(got), got[0], got[len(got)-2:])
	}
}

func TestTheToolsAreSmallAndSayWhatTheyDo(t *testing.T) {
	size := 0
	a, _, _ := two(t, board.Options{})
	effects := map[string]oneloop.Effect{"TaskCreate": oneloop.Once, "TaskGet": oneloop.ReadOnly, "TaskList": oneloop.ReadOnly, "TaskUpdate": oneloop.Idempotent}
	for _, one := range board.Tools(board.ToolOptions{Board: a, Owner: "s/a"}) {
		size += len(one.Name) + len(one.Description) + len(one.Schema)
		if !json.Valid(one.Schema) || one.Effect(nil) != effects[one.Name] || one.Parallel != (effects[one.Name] == oneloop.ReadOnly) {
			t.Errorf("%s: %s", one.Name, one.Schema)
		}
		// What is offered is understood.
		var s struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(one.Schema, &s); err != nil {
			t.Fatal(err)
		}
		for name, p := range s.Properties {
			value := map[string]string{"string": `"7"`, "array": `["7"]`, "object": `{"a":1}`, "": `"pending"`}[p.Type]
			err := one.Check(json.RawMessage(`{"taskId":"1","subject":"x","` + name + `":` + value + `}`))
			if name == "taskId" || name == "subject" || one.Name == "TaskGet" || one.Name == "TaskCreate" {
				err = one.Check(json.RawMessage(`{"` + name + `":` + value + `,"subject2":1}`))
				if err == nil || strings.Contains(err.Error(), `"`+name+`"`) {
					t.Errorf("%s %s: %v", one.Name, name, err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s %s: %v", one.Name, name, err)
			}
		}
	}
	if size > 1200 {
		t.Errorf("the tools take %d bytes of every request", size)
	}
	t.Logf("%d bytes", size)
}

// TestThereIsNobodyOfThatName has a driver that knows who there is.
func TestThereIsNobodyOfThatName(t *testing.T) {
	a, _, _ := two(t, board.Options{})
	create(t, a, "x")
	box := &oneloop.Toolbox{Tools: board.Tools(board.ToolOptions{Board: a, Owner: "s/lead", Resolve: func(name string) (string, error) {
		if name != "bob" {
			return "", errors.New("there is no teammate " + name + ", only bob")
		}
		return "s/bob", nil
	}})}
	m := &model{t: t, box: box}
	talk(t, map[string]*model{"lead": m}, []said{
		{"lead", "TaskUpdate", `{"taskId":"1","owner":"eve"}`, "ERROR there is no teammate eve, only bob. #1 was not changed."},
		{"lead", "TaskUpdate", `{"taskId":"1","owner":"@bob"}`, "#1 [pending] x @bob"},
		{"lead", "TaskUpdate", `{"taskId":"1","owner":""}`, "#1 [pending] x"},
		{"lead", "TaskUpdate", `{"taskId":"1","owner":"lead"}`, "#1 [pending] x @lead"},
	})
}
