package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"oneloop"
)

// choiceInput is the input of AskUserQuestion.
type choiceInput struct {
	Questions []choiceQuestion `json:"questions"`
}

type choiceQuestion struct {
	Question    string         `json:"question"`
	Header      string         `json:"header,omitempty"`
	Options     []choiceOption `json:"options,omitempty"`
	MultiSelect bool           `json:"multiSelect,omitempty"`
}

type choiceOption struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

const choiceSchema = `{"type":"object","properties":{"questions":{"type":"array","items":{"type":"object","properties":{` +
	`"question":{"type":"string"},"header":{"type":"string"},"options":{"type":"array","items":{"type":"object","properties":{` +
	`"label":{"type":"string"},"description":{"type":"string"}},"required":["label"]}},"multiSelect":{"type":"boolean"}},` +
	`"required":["question"]}}},"required":["questions"]}`

// most is how many questions a call may ask, and how many options one of them
// may have: more than that nobody reads.
const most = 10

// AskUserQuestion lets the model ask the user to choose. Each question is put
// by ask, one after the other, as one of kind "choice"; the user may pick from
// what is offered or say something else. When ask is nil the answer is that
// nobody is there, which is no error: the model decides and says so.
func AskUserQuestion(ask oneloop.Ask) oneloop.Tool {
	t := build("AskUserQuestion", "Ask the user when only they can decide. They may answer in their own words.",
		json.RawMessage(choiceSchema), func(ctx context.Context, call *oneloop.ToolUse, _ func(oneloop.Event), in choiceInput) (*oneloop.ToolResult, error) {
			if err := in.check(); err != nil {
				return nil, err
			}
			if ask == nil {
				return oneloop.TextResult(nobody), nil
			}
			return in.put(ctx, ask, call), nil
		})
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	return t
}

const nobody = "Nobody is there to answer. Decide by what you know, take what is easiest to undo, and say in your answer what you assumed."

func (in choiceInput) check() error {
	if n := len(in.Questions); n == 0 || n > most {
		return fmt.Errorf("a call asks 1 to %d questions, this one has %d. Nothing was asked.", most, n)
	}
	for i, q := range in.Questions {
		if strings.TrimSpace(q.Question) == "" {
			return fmt.Errorf("question %d is empty. Nothing was asked.", i+1)
		}
		if len(q.Options) > most {
			return fmt.Errorf("question %d has %d options, the most is %d. Nothing was asked.", i+1, len(q.Options), most)
		}
		seen := map[string]bool{}
		for _, o := range q.Options {
			if strings.TrimSpace(o.Label) == "" || seen[o.Label] {
				return fmt.Errorf("question %d has an option whose label is empty or there twice. Nothing was asked.", i+1)
			}
			seen[o.Label] = true
		}
	}
	return nil
}

// put asks one question after the other. What was answered before one that
// was not is told too.
func (in choiceInput) put(ctx context.Context, ask oneloop.Ask, call *oneloop.ToolUse) *oneloop.ToolResult {
	var b strings.Builder
	for i, q := range in.Questions {
		one := q.question(call)
		if n := len(in.Questions); n > 1 {
			one.Title = fmt.Sprintf("[%d/%d] %s", i+1, n, one.Title)
		}
		a, err := ask(ctx, one)
		if err != nil {
			why := fmt.Sprintf("No answer came (%v).", err)
			if errors.Is(err, oneloop.ErrInterrupted) {
				why = "The user stopped the turn instead of answering."
			}
			fmt.Fprintf(&b, "%s\n%s %d of %d questions are open; do not ask them again in this turn.", q.Question, why, len(in.Questions)-i, len(in.Questions))
			break
		}
		fmt.Fprintf(&b, "%s\n%s\n", q.Question, answered(q, a))
	}
	return oneloop.TextResult(strings.TrimRight(b.String(), "\n"))
}

func (q choiceQuestion) question(call *oneloop.ToolUse) oneloop.Question {
	title, detail, _ := strings.Cut(strings.TrimSpace(q.Question), "\n")
	out := oneloop.Question{Kind: "choice", Title: title, Detail: strings.TrimSpace(detail), Call: call, Several: q.MultiSelect}
	if h := oneLine(q.Header); h != "" {
		out.Title = h + ": " + title
	}
	for _, o := range q.Options {
		out.Choices = append(out.Choices, oneloop.Choice{Label: oneLine(o.Label), Detail: o.Description})
	}
	return out
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// answered puts an answer into words.
func answered(q choiceQuestion, a oneloop.Answer) string {
	var parts []string
	if len(a.Chosen) > 0 {
		parts = append(parts, "The user chose: "+strings.Join(a.Chosen, "; ")+".")
	}
	for _, words := range []string{a.Text, a.Reason} {
		if strings.TrimSpace(words) != "" {
			parts = append(parts, "The user says: "+words)
		}
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, "\n")
	case a.Allow && len(q.Options) == 0:
		return "The user says yes."
	case a.Allow:
		return "The user agrees but chose none of the options."
	}
	return "The user does not want to answer. Decide by what you know, or do without."
}

// PlanOptions are the settings of [ExitPlanMode].
type PlanOptions struct {
	Ask   oneloop.Ask                 // nil: nobody is there to approve
	In    func() bool                 // whether the mode is plan; nil: it is
	Leave func(context.Context) error // switches the mode; called once the user has said yes
}

type planInput struct {
	Plan string `json:"plan"`
}

const planSchema = `{"type":"object","properties":{"plan":{"type":"string","description":"Markdown"}},"required":["plan"],"additionalProperties":false}`

// ExitPlanMode is the way out of the mode in which nothing may be changed: it
// shows the plan to the user as a question of kind "plan". After a yes the
// mode is switched by Leave. After a no with a reason the model is told the
// reason and goes on planning; after one without, the turn ends and the user
// speaks next.
//
// Its effect is ReadOnly, so that it can be called in the mode it leaves.
func ExitPlanMode(opts PlanOptions) oneloop.Tool {
	t := build("ExitPlanMode", "In plan mode, show the finished plan to the user, who decides whether you carry it out.",
		json.RawMessage(planSchema), func(ctx context.Context, call *oneloop.ToolUse, _ func(oneloop.Event), in planInput) (*oneloop.ToolResult, error) {
			return opts.run(ctx, call, in.Plan)
		})
	t.Effect = func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }
	return t
}

func (o PlanOptions) run(ctx context.Context, call *oneloop.ToolUse, plan string) (*oneloop.ToolResult, error) {
	switch {
	case o.In != nil && !o.In():
		return oneloop.TextResult("The mode is not plan: nothing was asked. Go on with the work."), nil
	case strings.TrimSpace(plan) == "":
		return nil, errors.New("the plan is empty, so the user was not asked. Call again with the whole plan.")
	case o.Ask == nil:
		return oneloop.TextResult("Nobody is there to approve the plan, so the mode stays plan. Give the plan as your final answer."), nil
	}
	a, err := o.Ask(ctx, oneloop.Question{Kind: "plan", Title: "Carry out this plan?", Detail: plan, Reason: "the mode is plan, in which nothing is changed", Call: call})
	if err != nil {
		return nil, fmt.Errorf("no answer came (%w), so the mode stays plan. Give the plan as your final answer.", err)
	}
	said := strings.TrimSpace(strings.Join([]string{a.Text, a.Reason}, "\n"))
	if !a.Allow {
		r := oneloop.TextResult("The user does not approve the plan; the mode stays plan.")
		if said != "" {
			return oneloop.TextResult("The user does not approve the plan; the mode stays plan. The user says: " + said), nil
		}
		r.EndTurn = true
		return r, nil
	}
	if o.Leave != nil {
		if err := o.Leave(ctx); err != nil {
			return nil, fmt.Errorf("the user approves the plan, but the mode could not be left: %w. Tell the user.", err)
		}
	}
	text := "The user approves the plan. The mode is no longer plan: carry it out."
	if said != "" {
		text += " The user says: " + said
	}
	return oneloop.TextResult(text), nil
}
