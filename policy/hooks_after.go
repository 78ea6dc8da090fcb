package policy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"oneloop"
)

// behind looks for a no in what a hook printed after other text: a JSON object
// that begins a line. Whoever meant to guard and printed a line too much is
// heard all the same. What allows or changes something counts only where it is
// all that is printed: a hook that shows what it was given must not say yes in
// the words of the model.
func (r *hookResult) behind(data []byte) error {
	for rest := data; len(rest) > 0; {
		line, after, _ := bytes.Cut(rest, []byte("\n"))
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("{")) {
			rest = after
			continue
		}
		var raw json.RawMessage
		dec := json.NewDecoder(bytes.NewReader(rest))
		err := dec.Decode(&raw)
		if err == nil {
			after = rest[dec.InputOffset():]
		} else {
			raw = line
		}
		if rest = after; !answers(raw) {
			continue
		}
		if err != nil {
			return fmt.Errorf("after other text: %w", err)
		}
		if err := r.no(raw); err != nil {
			return fmt.Errorf("after other text: %w", err)
		}
	}
	return nil
}

// answers reports whether JSON, whole or not, names what decides.
func answers(raw []byte) bool {
	return slices.ContainsFunc(deciding, func(name string) bool { return bytes.Contains(raw, []byte(`"`+name+`"`)) })
}

// no takes an answer if it is stricter than what there is.
func (r *hookResult) no(raw json.RawMessage) error {
	if err := oneloop.CheckObject(raw); err != nil {
		return err
	}
	var o hookOutput
	if err := json.Unmarshal(raw, &o); err != nil {
		return err
	}
	if err := o.check(r.hook.Event); err != nil {
		return err
	}
	said, _ := o.says(r.hook.Event)
	had, _ := r.out.says(r.hook.Event)
	if said <= max(had, allows) && !o.stops() {
		if decide(raw) {
			return strange(raw, r.hook.Event)
		}
		return nil
	}
	if o.Specific != nil {
		o.Specific.UpdatedInput = nil
	}
	if r.out.Continue != nil && o.Continue == nil {
		o.Continue, o.StopReason = r.out.Continue, r.out.StopReason
	}
	if said < had { // it only ends the turn
		r.out.Continue, r.out.StopReason = o.Continue, o.StopReason
		return nil
	}
	r.out = o
	return nil
}
