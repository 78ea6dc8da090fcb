package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"oneloop"
)

// Gate is [Gate] with hooks around it: PreToolUse hooks see a call first and
// may deny it, change its input, or say whether it is to be asked for; then
// the rules judge the call as it is now; PostToolUse hooks see what came out.
//
// A hook that denies is final. One that wants the user to be asked is obeyed
// where the rules would have let the call run. One that allows keeps the user
// from being asked about what no rule decides; what a rule or the danger list
// denies or asks for stays so. The Ask of o is to be one that [Hooks.Ask] gave.
func (h *Hooks) Gate(o GateOptions) func(oneloop.Tool) oneloop.Tool {
	gate := Gate(o)
	if h == nil || len(h.List) == 0 {
		return gate
	}
	return func(t oneloop.Tool) oneloop.Tool { return h.wrap(gate(t)) }
}

func (h *Hooks) wrap(t oneloop.Tool) oneloop.Tool {
	run, check, touches := t.Run, t.Check, touchesFunc(touchesOf(t))
	t.Run = func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		before, err := h.before(ctx, call, touches, emit)
		if err != nil {
			return notStarted(err), nil
		}
		if before.refusal != nil {
			return before.refusal, nil
		}
		used := call
		if before.input != nil {
			used = &oneloop.ToolUse{ID: call.ID, Name: call.Name, Input: before.input}
			if err := checked(used.Input, check); err != nil {
				return deniedBy(call, emit, fmt.Sprintf("a hook changed the input to one that is refused: %v", err)), nil
			}
		}
		began := time.Now()
		inside := context.WithValue(withTouches(ctx, touches), hookKey{}, hookAnswer{before.answer, before.reason()})
		result, err := run(inside, used, emit)
		if err != nil || result == nil {
			return before.note(result), err
		}
		return h.after(ctx, occasion{call: used, touches: touches}, before.note(result), time.Since(began), emit)
	}
	return t
}

// preparedCall is what the hooks before a call came to.
type preparedCall struct {
	*verdict
	refusal *oneloop.ToolResult // the call does not run
}

func (h *Hooks) before(ctx context.Context, call *oneloop.ToolUse, touches touchesFunc, emit func(oneloop.Event)) (*preparedCall, error) {
	v, err := h.fire(ctx, occasion{event: PreToolUse, subject: call.Name, call: call, touches: touches})
	if err != nil {
		return nil, err
	}
	v.tell(emit)
	p := &preparedCall{verdict: v}
	switch {
	case v.stop:
		p.refusal = deniedBy(call, emit, "a hook ended the turn: "+orReason(v.ended, v))
		p.refusal.EndTurn = true
	case v.answer == denies:
		p.refusal = deniedBy(call, emit, "a hook denies it: "+v.reason())
	}
	if p.refusal != nil {
		p.refusal = v.tellModel(p.refusal)
	}
	return p, nil
}

func orReason(text string, v *verdict) string {
	if text != "" {
		return text
	}
	return v.reason()
}

// note tells the model what hooks did to the call and wanted it to know.
func (p *preparedCall) note(r *oneloop.ToolResult) *oneloop.ToolResult {
	if r == nil {
		r = &oneloop.ToolResult{}
	}
	if p.input != nil {
		r = appended(r, "A hook of the user's changed the input of this call before it was judged and run. It ran as: "+string(p.input))
	}
	return p.tellModel(r)
}

// tellModel adds the context hooks gave to a result.
func (v *verdict) tellModel(r *oneloop.ToolResult) *oneloop.ToolResult {
	for _, c := range v.context {
		r = appended(r, "From a hook of the user's: "+c)
	}
	return r
}

// after runs the hooks that see a result.
func (h *Hooks) after(ctx context.Context, o occasion, r *oneloop.ToolResult, took time.Duration, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
	if r.IsError {
		return r, nil
	}
	o.event, o.subject = PostToolUse, o.call.Name
	o.input = map[string]any{"tool_response": map[string]any{"text": r.Text()}, "duration_ms": took.Milliseconds()}
	v, err := h.fire(ctx, o)
	if err != nil {
		return appended(r, "The hooks that were to see this result were interrupted."), nil
	}
	v.tell(emit)
	if v.output != nil {
		r = replaced(r, *v.output)
	}
	if v.answer == denies {
		r = appended(r, "A hook of the user's objects to what this call did: "+v.reason())
	}
	r = v.tellModel(r)
	if v.stop {
		emit(oneloop.Notice{Text: "a hook ended the turn: " + orReason(v.ended, v)})
		out := *r
		out.EndTurn = true
		r = &out
	}
	return r, nil
}

// appended is r with a text behind it; r stays as it is.
func appended(r *oneloop.ToolResult, text string) *oneloop.ToolResult {
	out := *r
	out.Content = append(slices.Clip(r.Content), &oneloop.Text{Text: "\n" + text})
	return &out
}

// replaced is r with another text; media stay.
func replaced(r *oneloop.ToolResult, text string) *oneloop.ToolResult {
	out := *r
	out.Content = []oneloop.Block{&oneloop.Text{Text: text}}
	for _, b := range r.Content {
		if _, isText := b.(*oneloop.Text); !isText {
			out.Content = append(out.Content, b)
		}
	}
	return &out
}

// deniedBy answers a call that hooks keep from running.
func deniedBy(call *oneloop.ToolUse, emit func(oneloop.Event), reason string) *oneloop.ToolResult {
	emit(oneloop.Denied{Call: call, Reason: oneLine(reason)})
	return oneloop.ErrorResult("Not run: " + reason + "\nDo not try it in another way; do what the hook asks for, or tell the user.")
}

func notStarted(err error) *oneloop.ToolResult {
	return oneloop.ErrorResult(fmt.Sprintf("not started: the turn was interrupted while hooks looked at this call, so it changed nothing (%v).", err))
}

// checked holds input that a hook wrote to what a model's is held to.
func checked(input json.RawMessage, check func(json.RawMessage) error) error {
	err := oneloop.CheckObject(input)
	if err == nil && check != nil {
		err = check(input)
	}
	return err
}

var errNobody = errors.New("nobody is there to answer")

// Ask is ask with PermissionRequest hooks before it: one that allows or denies
// answers in the user's place. Notification hooks run while the user is asked.
// A nil ask stays nil when there is no PermissionRequest hook; else its
// questions end with an error if no hook answers them.
func (h *Hooks) Ask(ask oneloop.Ask) oneloop.Ask {
	if !h.has(PermissionRequest) && (ask == nil || !h.has(Notification)) {
		return ask
	}
	return func(ctx context.Context, q oneloop.Question) (oneloop.Answer, error) {
		if q.Kind == "tool" && q.Call != nil {
			a, done, err := h.request(ctx, q)
			if done || err != nil {
				return a, err
			}
		}
		if ask == nil {
			return oneloop.Answer{}, errNobody
		}
		aside, end := context.WithCancel(ctx)
		defer end()
		notified := make(chan error, 1)
		go func() { notified <- h.waits(aside, q.Title) }()
		a, err := ask(ctx, q)
		end() // the answer is there; a hook that still runs has no purpose any more
		if fault := <-notified; fault != nil {
			h.emit(oneloop.Notice{Text: fault.Error()})
		}
		return a, err
	}
}

// waits tells hooks that a question waits for its answer, until ctx ends. Its
// error is a fault of ours, which leaves the question as it is.
func (h *Hooks) waits(ctx context.Context, title string) (fault error) {
	defer func() {
		if v := recover(); v != nil {
			fault = fmt.Errorf("internal error: tell hooks of %s: %v", Notification, v)
		}
	}()
	_ = h.Notify(ctx, Notice{Title: title, Message: strings.TrimSpace("The agent waits for an answer. " + title), Type: "permission_prompt"}) // ctx ended
	return nil
}

// request asks the hooks about a call the user would be asked about.
func (h *Hooks) request(ctx context.Context, q oneloop.Question) (a oneloop.Answer, done bool, err error) {
	touches, _ := ctx.Value(touchesKey{}).(touchesFunc)
	v, err := h.fire(ctx, occasion{
		event: PermissionRequest, subject: q.Call.Name, call: q.Call, touches: touches,
		input: map[string]any{"permission_suggestions": []any{}}, // rules are the user's to choose
	})
	if err != nil {
		return a, false, err
	}
	v.tell(h.emit)
	switch {
	case v.answer == denies || v.stop:
		return oneloop.Answer{Reason: "a hook denies it: " + orReason(v.ended, v)}, true, nil
	case v.answer == allows:
		return oneloop.Answer{Allow: true}, true, nil
	}
	return a, false, nil
}
