package shell

import "fmt"

// Reason says why something is asked for or denied. Nil says nothing.
type Reason struct {
	// Code is what it is, by a name that stays when the words change. Empty:
	// it is a name or a value, and Text is that.
	Code string
	// Text is what it is in English, with a verb of package fmt for each of
	// Args.
	Text string
	Args []*Reason // what it is about
}

// Because makes a reason of a code, its text, and what it is about: strings
// and other reasons.
func Because(code, text string, about ...any) *Reason {
	r := &Reason{Code: code, Text: text}
	for _, a := range about {
		if s, is := a.(string); is {
			a = &Reason{Text: s}
		}
		r.Args = append(r.Args, a.(*Reason))
	}
	return r
}

// String is the reason in English.
func (r *Reason) String() string {
	if r == nil {
		return ""
	}
	if r.Code == "" {
		return r.Text
	}
	args := make([]any, len(r.Args))
	for i, a := range r.Args {
		args[i] = a
	}
	return fmt.Sprintf(r.Text, args...)
}
