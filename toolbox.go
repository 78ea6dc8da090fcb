package oneloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Toolbox answers calls with the tools in it. Calls run one after the other,
// or side by side when every one of them is for a tool marked Parallel. What
// goes wrong with a call becomes its answer and does not touch the others: an
// unknown name, input that [CheckObject] or Check refuses, an error, a panic,
// the end of ctx.
//
// Whatever wraps a tool or listens to events sees canonical
// calls: names and input after Aliases, checked. The message the call came in
// keeps the model's own words.
type Toolbox struct {
	Tools   []Tool
	Aliases map[string]Alias // by the name the model uses
}

// Alias is another name for a tool.
type Alias struct {
	Tool  string
	Input func(json.RawMessage) (json.RawMessage, error) // to the tool's own input; nil: it is the same
}

// Defs returns what a model is to be told of the tools. Aliases are not
// offered, only understood.
func (t *Toolbox) Defs() []ToolDef {
	defs := make([]ToolDef, len(t.Tools))
	for i, tool := range t.Tools {
		defs[i] = tool.ToolDef
	}
	return defs
}

// prepared is a call on its way to its answer.
type prepared struct {
	call   *ToolUse // canonical
	tool   *Tool
	refuse string // why it is not run, for the model
}

func (t *Toolbox) Run(ctx context.Context, calls []*ToolUse, emit func(Event)) *Message {
	emit = Sink(emit)
	work := make([]prepared, len(calls))
	beside := len(calls) > 1
	for i, c := range calls {
		work[i] = t.prepare(c)
		beside = beside && work[i].tool != nil && work[i].tool.Parallel
	}
	results := make([]*ToolResult, len(calls))
	var wg sync.WaitGroup
	for i := range work {
		run := func() { work[i].run(ctx, emit, &results[i]) }
		if beside {
			wg.Go(run)
		} else {
			run()
		}
	}
	wg.Wait()

	msg := &Message{Role: User}
	for _, r := range results {
		msg.Blocks = append(msg.Blocks, r)
		if r.EndTurn {
			msg.Stop = StopEndTurn
		}
	}
	return msg
}

// prepare finds the tool and the canonical call.
func (t *Toolbox) prepare(call *ToolUse) (p prepared) {
	p = prepared{call: &ToolUse{ID: call.ID, Name: call.Name, Input: call.Input}}
	defer func() {
		if v := recover(); v != nil { // of Check, or of an alias
			p.refuse = fmt.Sprintf("the check of the input of %s broke down: %v. The call was not run.", p.call.Name, v)
		}
	}()
	if call.Broken != "" {
		p.refuse = call.Broken
		return p
	}
	p.tool = t.find(p.call.Name)
	if a, ok := t.Aliases[call.Name]; ok && p.tool == nil {
		p.tool, p.call.Name = t.find(a.Tool), a.Tool
		if a.Input != nil {
			in, err := call.Input, CheckObject(call.Input) // an alias may write anew what it reads
			if err == nil {
				in, err = a.Input(call.Input)
			}
			if err != nil {
				p.refuse = fmt.Sprintf("the input of %s was refused: %v. The call was not run.", call.Name, err)
				return p
			}
			p.call.Input = in
		}
	}
	if p.tool == nil {
		p.refuse = fmt.Sprintf("there is no tool named %q, nothing was run. %s", call.Name, t.names())
		return p
	}
	err := CheckObject(p.call.Input)
	if err == nil && p.tool.Check != nil {
		err = p.tool.Check(p.call.Input)
	}
	if err != nil {
		p.refuse = fmt.Sprintf("the input of %s was refused: %v. The call was not run.", p.call.Name, err)
	}
	return p
}

func (t *Toolbox) find(name string) *Tool {
	for i := range t.Tools {
		if t.Tools[i].Name == name {
			return &t.Tools[i]
		}
	}
	return nil
}

// names says what there is instead.
func (t *Toolbox) names() string {
	if len(t.Tools) == 0 {
		return "There are no tools; answer without."
	}
	names := make([]string, len(t.Tools))
	for i := range t.Tools {
		names[i] = t.Tools[i].Name
	}
	return "The tools are: " + strings.Join(names, ", ") + "."
}

// run puts the answer into result. It does so also when the tool ends its own
// goroutine, as the Fatal of a test does.
func (p *prepared) run(ctx context.Context, emit func(Event), result **ToolResult) {
	emit(ToolStart{Call: p.call})
	began := time.Now()
	r := ErrorResult(fmt.Sprintf("the tool %s ended without an answer. It may have changed something; look before you call it again.", p.call.Name))
	defer func() {
		r.ID = p.call.ID
		*result = r
		emit(ToolEnd{Call: p.call, Result: r, Duration: time.Since(began)})
	}()
	r = p.answer(ctx, emit)
}

func (p *prepared) answer(ctx context.Context, emit func(Event)) (r *ToolResult) {
	if p.refuse != "" {
		return ErrorResult(p.refuse)
	}
	if ctx.Err() != nil {
		return ErrorResult("not started: the turn was interrupted before this call began, so it changed nothing.")
	}
	defer func() {
		if v := recover(); v != nil {
			r = ErrorResult(fmt.Sprintf("the tool %s broke down: %v. It may have changed something before; look before you call it again.", p.call.Name, v))
		}
	}()
	r, err := p.tool.Run(ctx, p.call, emit)
	if r == nil {
		r = &ToolResult{}
	}
	out := *r // the tool may keep its own
	if err == nil {
		tidy(&out)
		return &out
	}
	text := err.Error()
	if ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))) {
		text = "interrupted while it ran; it may have changed something."
	}
	out.IsError = true
	out.Content = append(out.Content[:len(out.Content):len(out.Content)], &Text{Text: text})
	tidy(&out)
	return &out
}

// tidy makes r something every API takes: no blank text, nothing that stands
// only outside of results, some content, and only text beside is_error.
func tidy(r *ToolResult) {
	var kept []Block
	for _, b := range r.Content {
		switch b := b.(type) {
		case nil, *Thinking, *ToolUse, *ToolResult:
			continue
		case *Text:
			if b == nil || strings.TrimSpace(b.Text) == "" {
				continue
			}
		case *Media:
			if b == nil || r.IsError {
				continue
			}
		case *Opaque:
			if b == nil || r.IsError {
				continue
			}
		default:
			if r.IsError {
				continue
			}
		}
		kept = append(kept, b)
	}
	if len(kept) == 0 {
		kept = []Block{&Text{Text: NoOutput}}
	}
	r.Content = kept
}
