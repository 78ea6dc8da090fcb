package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"oneloop"
)

// hookOutput is the JSON a hook answers with.
type hookOutput struct {
	Continue      *bool           `json:"continue"`
	StopReason    string          `json:"stopReason"`
	SystemMessage string          `json:"systemMessage"`
	Decision      string          `json:"decision"` // approve or block
	Reason        string          `json:"reason"`
	Specific      *specificOutput `json:"hookSpecificOutput"`
}

type specificOutput struct {
	Event             string          `json:"hookEventName"`
	Permission        string          `json:"permissionDecision"` // allow, ask or deny
	PermissionReason  string          `json:"permissionDecisionReason"`
	UpdatedInput      json.RawMessage `json:"updatedInput"`
	AdditionalContext string          `json:"additionalContext"`
	UpdatedToolOutput json.RawMessage `json:"updatedToolOutput"`
	Decision          *struct {
		Behavior     string          `json:"behavior"` // allow or deny
		UpdatedInput json.RawMessage `json:"updatedInput"`
		Message      string          `json:"message"`
	} `json:"decision"`
}

// answer is what a hook says about what it was asked. A larger one wins.
type answer int

const (
	silent answer = iota
	allows
	asks
	denies
)

var (
	permissions = map[string]answer{"": silent, "allow": allows, "ask": asks, "deny": denies}
	behaviors   = map[string]answer{"": silent, "allow": allows, "deny": denies}
	decisions   = map[string]answer{"": silent, "approve": allows, "block": denies}
)

// check refuses an answer that says what we would not do.
func (o *hookOutput) check(event HookEvent) error {
	if _, ok := decisions[o.Decision]; !ok {
		return fmt.Errorf("decision is %q; it can be approve or block", shown(o.Decision))
	}
	s := o.Specific
	if s == nil {
		return nil
	}
	if s.Event != "" && s.Event != string(event) {
		return fmt.Errorf("hookEventName is %q, and the event is %s", shown(s.Event), event)
	}
	if _, ok := permissions[s.Permission]; !ok {
		return fmt.Errorf("permissionDecision is %q; it can be allow, ask or deny", shown(s.Permission))
	}
	if s.Decision == nil {
		return nil
	}
	if _, ok := behaviors[s.Decision.Behavior]; !ok {
		return fmt.Errorf("decision.behavior is %q; it can be allow or deny", shown(s.Decision.Behavior))
	}
	if given(s.Decision.UpdatedInput) {
		return errors.New("decision.updatedInput cannot be given here: the user is asked about the call as it is; let a PreToolUse hook change it")
	}
	return nil
}

// given reports whether a value is there and not null.
func given(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// says is the answer with its reason. Of two that contradict each other the
// strictest counts.
func (o *hookOutput) says(event HookEvent) (answer, string) {
	a, reason := decisions[o.Decision], o.Reason
	also := func(b answer, why string) {
		if b > a || b == a && why != "" {
			a, reason = b, why
		}
	}
	if s := o.Specific; s != nil {
		if event == PreToolUse && s.Permission != "" {
			also(permissions[s.Permission], s.PermissionReason)
		}
		if event == PermissionRequest && s.Decision != nil && s.Decision.Behavior != "" {
			also(behaviors[s.Decision.Behavior], s.Decision.Message)
		}
	}
	return a, reason
}

// stops reports whether it ends the turn.
func (o *hookOutput) stops() bool { return o.Continue != nil && !*o.Continue }

// verdict is what all hooks of an event come down to.
type verdict struct {
	event   HookEvent
	answer  answer
	reasons []string        // for the answer
	input   json.RawMessage // instead of the call's; nil: none
	output  *string         // instead of the result's text
	context []string        // for the model
	stop    bool            // end the turn
	ended   string          // why, for the user
	notices []string        // for the user
}

// add takes the result of one hook.
func (v *verdict) add(r hookResult) {
	if r.failed != "" {
		v.failed(r)
		return
	}
	if r.code == 2 {
		reason := r.text
		if reason == "" {
			reason = r.hook.String() + " ended with exit code 2 and gave no reason"
		}
		v.take(denies, reason)
		return
	}
	if r.text != "" && (v.event == UserPromptSubmit || v.event == SessionStart) {
		v.context = append(v.context, limited(r.text))
	}
	o := r.out
	if o.SystemMessage != "" {
		v.notices = append(v.notices, limited(o.SystemMessage))
	}
	if o.stops() && !v.stop {
		v.stop, v.ended = true, limited(o.StopReason)
	}
	a, reason := o.says(v.event)
	v.take(a, reason)
	if o.Specific != nil {
		v.specific(r.hook, o.Specific)
	}
}

func (v *verdict) specific(hook HookCommand, s *specificOutput) {
	if s.AdditionalContext != "" {
		v.context = append(v.context, limited(s.AdditionalContext))
	}
	if v.event == PostToolUse && given(s.UpdatedToolOutput) {
		text := string(s.UpdatedToolOutput)
		var plain string
		if json.Unmarshal(s.UpdatedToolOutput, &plain) == nil {
			text = plain
		}
		v.output = &text
	}
	if v.event != PreToolUse || !given(s.UpdatedInput) {
		return
	}
	if v.input != nil && !bytes.Equal(compact(v.input), compact(s.UpdatedInput)) {
		v.take(denies, "two hooks want to change the input, each in another way; the last is "+hook.String())
		return
	}
	v.input = s.UpdatedInput
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// failed takes a hook that did not do its work.
func (v *verdict) failed(r hookResult) {
	text := fmt.Sprintf("%s %s", r.hook, limited(r.failed))
	if !r.hook.closed() {
		v.notices = append(v.notices, text)
		return
	}
	v.take(denies, text+`. Until it works, or its settings have "onFailure": "ignore", this is a no`)
}

// take keeps the strictest answer with all reasons for it.
func (v *verdict) take(a answer, reason string) {
	if a > v.answer {
		v.answer, v.reasons = a, nil
	}
	if a == v.answer && a != silent && strings.TrimSpace(reason) != "" {
		v.reasons = append(v.reasons, limited(reason))
	}
}

func (v *verdict) reason() string {
	if len(v.reasons) == 0 {
		return "no reason was given"
	}
	return strings.Join(v.reasons, "\n")
}

// tell says what the user should know.
func (v *verdict) tell(emit func(oneloop.Event)) {
	for _, n := range v.notices {
		emit(oneloop.Notice{Text: n})
	}
}

// limited is text without its ends' white space, cut to a length that a
// message can bear.
func limited(text string) string {
	text = strings.TrimSpace(text)
	if r := []rune(text); len(r) > mostReason {
		return string(r[:mostReason]) + "\n[cut here]"
	}
	return text
}
