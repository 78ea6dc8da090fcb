package policy

import (
	"cmp"
	"context"
	"fmt"

	"oneloop"
)

// BlockedError says that a hook kept something from happening.
type BlockedError struct {
	Event  HookEvent
	Reason string
}

func (e *BlockedError) Error() string {
	return fmt.Sprintf("a hook of %s says no: %s", e.Event, e.Reason)
}

func (h *Hooks) emit(e oneloop.Event) {
	if h.Emit != nil {
		h.Emit(e)
	}
}

// lifecycle fires an event outside of calls and tells the user what hooks had
// to say. An event that nothing can keep from happening has a no as a notice.
func (h *Hooks) lifecycle(ctx context.Context, event HookEvent, subject string, input map[string]any) (*verdict, error) {
	v, err := h.fire(ctx, occasion{event: event, subject: subject, input: input})
	if err != nil {
		return nil, err
	}
	switch event {
	case SessionStart, SessionEnd, SubagentStart, Notification:
		if v.answer == denies {
			v.notices = append(v.notices, v.reasons...)
			v.answer = silent
		}
	}
	if h != nil {
		v.tell(h.emit)
	}
	return v, nil
}

// blocked is an error for a verdict that is a no.
func (v *verdict) blocked() error {
	if v.stop || v.answer == denies {
		return &BlockedError{v.event, orReason(v.ended, v)}
	}
	return nil
}

// AtStart is Start with what Source says.
func (h *Hooks) AtStart(ctx context.Context) error {
	if h == nil {
		return nil
	}
	return h.Start(ctx, cmp.Or(h.Source, "startup"))
}

// Start runs the SessionStart hooks. source is why the session starts:
// "startup", "resume", "clear". What they have for the model goes with the
// next prompt. One that says "continue": false is a [*BlockedError].
func (h *Hooks) Start(ctx context.Context, source string) error {
	if h == nil {
		return nil
	}
	v, err := h.lifecycle(ctx, SessionStart, source, map[string]any{"source": source, "model": h.Model})
	if err != nil {
		return err
	}
	if err := v.blocked(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.context = append(h.context, v.context...)
	return nil
}

// BeforePrompt runs the UserPromptSubmit hooks. What they have for the model
// is added to the prompt; one that says no is a [*BlockedError].
func (h *Hooks) BeforePrompt(ctx context.Context, prompt *oneloop.Message) error {
	if h == nil {
		return nil
	}
	v, err := h.lifecycle(ctx, UserPromptSubmit, "", map[string]any{"prompt": prompt.Text()})
	if err != nil {
		return err
	}
	if err := v.blocked(); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range append(h.context, v.context...) {
		prompt.Blocks = append(prompt.Blocks, &oneloop.Text{Text: "From a hook of the user's: " + c})
	}
	h.context, h.urged = nil, false
	return nil
}

// AtStop runs the Stop hooks. What it returns, if anything, makes the turn go
// on: the reason of a hook that says no.
func (h *Hooks) AtStop(ctx context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
	if h == nil {
		return nil, nil
	}
	h.mu.Lock()
	urged := h.urged
	h.mu.Unlock()
	v, err := h.lifecycle(ctx, Stop, "", map[string]any{"stop_hook_active": urged, "last_assistant_message": last.Text()})
	if err != nil {
		return nil, err
	}
	blocks := v.goOn()
	h.mu.Lock()
	defer h.mu.Unlock()
	h.urged = len(blocks) > 0
	return blocks, nil
}

// goOn is what keeps an agent at work.
func (v *verdict) goOn() []oneloop.Block {
	if v.stop || v.answer != denies {
		return nil
	}
	blocks := []oneloop.Block{&oneloop.Text{Text: "A hook of the user's says that you are not done: " + v.reason()}}
	for _, c := range v.context {
		blocks = append(blocks, &oneloop.Text{Text: "From a hook of the user's: " + c})
	}
	return blocks
}

// AtEnd is End for no reason that is known.
func (h *Hooks) AtEnd(ctx context.Context) error { return h.End(ctx, "other") }

// End runs the SessionEnd hooks. reason is why the session ends: "clear",
// "prompt_input_exit" when the user leaves, "other". Those that set no time
// limit have [EndHookTime].
func (h *Hooks) End(ctx context.Context, reason string) error {
	_, err := h.lifecycle(ctx, SessionEnd, reason, map[string]any{"reason": reason})
	return err
}

// Compaction is about to make a conversation shorter.
type Compaction struct {
	Trigger      string // "manual" or "auto"
	Instructions string // what the user wants to be kept
}

// BeforeCompact runs the PreCompact hooks; one that says no is a
// [*BlockedError].
func (h *Hooks) BeforeCompact(ctx context.Context, c Compaction) error {
	v, err := h.lifecycle(ctx, PreCompact, c.Trigger, map[string]any{"trigger": c.Trigger, "custom_instructions": c.Instructions})
	if err != nil {
		return err
	}
	return v.blocked()
}

// AtChildStart runs the SubagentStart hooks. What it returns is for the child,
// behind its prompt.
func (h *Hooks) AtChildStart(ctx context.Context, child Subagent) ([]oneloop.Block, error) {
	v, err := h.lifecycle(ctx, SubagentStart, child.Type, map[string]any{"agent_id": child.ID, "agent_type": child.Type})
	if err != nil {
		return nil, err
	}
	if v.stop {
		return nil, v.blocked()
	}
	var blocks []oneloop.Block
	for _, c := range v.context {
		blocks = append(blocks, &oneloop.Text{Text: "From a hook of the user's: " + c})
	}
	return blocks, nil
}

// ChildEnd is how a child agent ended.
type ChildEnd struct {
	Subagent
	Last  string // what it said last
	Urged bool   // it went on once because of a hook
}

// AtChildEnd runs the SubagentStop hooks. What it returns, if anything, makes
// the child go on.
func (h *Hooks) AtChildEnd(ctx context.Context, child ChildEnd) ([]oneloop.Block, error) {
	v, err := h.lifecycle(ctx, SubagentStop, child.Type, map[string]any{
		"agent_id": child.ID, "agent_type": child.Type, "stop_hook_active": child.Urged, "last_assistant_message": child.Last,
	})
	if err != nil {
		return nil, err
	}
	return v.goOn(), nil
}

// Notice is something the user is told of.
type Notice struct{ Title, Message, Type string }

// Notify runs the Notification hooks.
func (h *Hooks) Notify(ctx context.Context, n Notice) error {
	_, err := h.lifecycle(ctx, Notification, n.Type, map[string]any{"title": n.Title, "message": n.Message, "notification_type": n.Type})
	return err
}
