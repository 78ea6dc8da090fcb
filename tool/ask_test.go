package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/tool"
)

// person answers questions in order and keeps them.
type person struct {
	answers []oneloop.Answer
	asked   []oneloop.Question
}

func (p *person) ask(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
	p.asked = append(p.asked, q)
	if len(p.answers) < len(p.asked) {
		return oneloop.Answer{}, errors.New("the user left")
	}
	return p.answers[len(p.asked)-1], nil
}

const twoQuestions = `{"questions":[{"question":"Which database?\nIt cannot be changed later.","header":"Store","options":[{"label":"SQLite","description":"one file"},{"label":"Postgres"}]},{"question":"Which systems?","options":[{"label":"Linux"},{"label":"macOS"}],"multiSelect":true}]}`

func TestAChoiceIsPutToTheUserAndTheAnswerToTheModel(t *testing.T) {
	p := &person{answers: []oneloop.Answer{{Chosen: []string{"SQLite"}}, {Chosen: []string{"Linux", "macOS"}, Text: "later also Windows"}}}
	r := call(t, t.Context(), tool.AskUserQuestion(p.ask), twoQuestions, nil)
	want := "Which database?\nIt cannot be changed later.\nThe user chose: SQLite.\nWhich systems?\nThe user chose: Linux; macOS.\nThe user says: later also Windows"
	if r.Text() != want || r.IsError {
		t.Errorf("got %q", r.Text())
	}
	if len(p.asked) != 2 {
		t.Fatalf("%d questions", len(p.asked))
	}
	p.asked[0].Call = nil
	if d := cmp.Diff(oneloop.Question{Kind: "choice", Title: "[1/2] Store: Which database?", Detail: "It cannot be changed later.",
		Choices: []oneloop.Choice{{Label: "SQLite", Detail: "one file"}, {Label: "Postgres"}}}, p.asked[0]); d != "" {
		t.Error(d)
	}
	if !p.asked[1].Several || p.asked[1].Call == nil {
		t.Errorf("the second is %+v", p.asked[1])
	}
}

func TestEveryKindOfAnswerIsToldAsWhatItIs(t *testing.T) {
	one := `{"questions":[{"question":"Go?","options":[{"label":"a"},{"label":"b"}]}]}`
	free := `{"questions":[{"question":"Go?"}]}`
	for _, c := range []struct {
		input  string
		answer oneloop.Answer
		want   string
	}{
		{one, oneloop.Answer{Text: "neither"}, "The user says: neither"},
		{one, oneloop.Answer{Reason: "neither"}, "The user says: neither"},
		{one, oneloop.Answer{Allow: true}, "The user agrees but chose none of the options."},
		{free, oneloop.Answer{Allow: true}, "The user says yes."},
		{one, oneloop.Answer{}, "The user does not want to answer. Decide by what you know, or do without."},
	} {
		p := &person{answers: []oneloop.Answer{c.answer}}
		if r := call(t, t.Context(), tool.AskUserQuestion(p.ask), c.input, nil); r.Text() != "Go?\n"+c.want {
			t.Errorf("%+v: got %q", c.answer, r.Text())
		}
	}
}

func TestWithoutAnAnswerTheModelHearsWhy(t *testing.T) {
	r := call(t, t.Context(), tool.AskUserQuestion(nil), twoQuestions, nil)
	if !strings.HasPrefix(r.Text(), "Nobody is there") || r.IsError {
		t.Errorf("nobody: %q", r.Text())
	}
	p := &person{answers: []oneloop.Answer{{Chosen: []string{"Postgres"}}}}
	stopped := func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{}, oneloop.ErrInterrupted
	}
	if r := call(t, t.Context(), tool.AskUserQuestion(stopped), twoQuestions, nil); !strings.Contains(r.Text(), "stopped the turn instead of answering. 2 of 2") {
		t.Errorf("stopped: %q", r.Text())
	}
	r = call(t, t.Context(), tool.AskUserQuestion(p.ask), twoQuestions, nil)
	if s := r.Text(); !strings.Contains(s, "Postgres") || !strings.Contains(s, "the user left") || !strings.Contains(s, "1 of 2 questions are open") {
		t.Errorf("left in between: %q", s)
	}
}

func TestQuestionsNobodyCouldAnswerAreNotPut(t *testing.T) {
	many, _ := json.Marshal(map[string]any{"questions": make([]map[string]string, 11)})
	for _, input := range []string{
		`{"questions":[]}`, `{"questions":[{"question":" "}]}`, strings.ReplaceAll(string(many), "null", `{"question":"x"}`),
		`{"questions":[{"question":"x","options":[{"label":"a"},{"label":"a"}]}]}`, `{"questions":[{"question":"x","options":[{"label":""}]}]}`,
		`{"questions":[{"question":"x"}],"answers":{"x":"yes"}}`, // an answer is never the model's own
	} {
		p := &person{}
		if r := call(t, t.Context(), tool.AskUserQuestion(p.ask), input, nil); !r.IsError || len(p.asked) > 0 {
			t.Errorf("%s: %q, %d asked", input, r.Text(), len(p.asked))
		}
	}
}

func TestAPlanIsCarriedOutOnlyAfterAYes(t *testing.T) {
	for _, c := range []struct {
		answers []oneloop.Answer
		left    int
		end     bool
		want    string
	}{
		{[]oneloop.Answer{{Allow: true}}, 1, false, "carry it out"},
		{[]oneloop.Answer{{Allow: true, Text: "but slowly"}}, 1, false, "The user says: but slowly"},
		{[]oneloop.Answer{{}}, 0, true, "does not approve"},
		{[]oneloop.Answer{{Reason: "too long"}}, 0, false, "The user says: too long"},
		{nil, 0, false, "the user left"},
	} {
		p, left := &person{answers: c.answers}, 0
		x := tool.ExitPlanMode(tool.PlanOptions{Ask: p.ask, Leave: func(context.Context) error { left++; return nil }})
		r := call(t, t.Context(), x, `{"plan":"1. look\n2. change"}`, nil)
		if left != c.left || r.EndTurn != c.end || !strings.Contains(r.Text(), c.want) {
			t.Errorf("%+v: left %d times, end %v, %q", c.answers, left, r.EndTurn, r.Text())
		}
		if len(p.asked) != 1 || p.asked[0].Kind != "plan" || p.asked[0].Detail != "1. look\n2. change" {
			t.Errorf("%+v: asked %+v", c.answers, p.asked)
		}
	}
}

func TestAPlanIsNotPutWhereItCannotBeApproved(t *testing.T) {
	p := &person{answers: []oneloop.Answer{{Allow: true}}}
	leave := func(context.Context) error { t.Error("the mode was left"); return nil }
	for _, c := range []struct {
		opts  tool.PlanOptions
		input string
		want  string
	}{
		{tool.PlanOptions{Leave: leave}, `{"plan":"x"}`, "Nobody is there"},
		{tool.PlanOptions{Ask: p.ask, Leave: leave, In: func() bool { return false }}, `{"plan":"x"}`, "not plan"},
		{tool.PlanOptions{Ask: p.ask, Leave: leave}, `{"plan":" "}`, "empty"},
	} {
		if r := call(t, t.Context(), tool.ExitPlanMode(c.opts), c.input, nil); !strings.Contains(r.Text(), c.want) {
			t.Errorf("%s: %q", c.input, r.Text())
		}
	}
	if len(p.asked) > 0 {
		t.Errorf("asked %+v", p.asked)
	}
	stuck := tool.ExitPlanMode(tool.PlanOptions{Ask: p.ask, Leave: func(context.Context) error { return errors.New("stuck") }})
	if r := call(t, t.Context(), stuck, `{"plan":"x"}`, nil); !r.IsError || !strings.Contains(r.Text(), "stuck") {
		t.Errorf("a mode that cannot be left: %q", r.Text())
	}
}
