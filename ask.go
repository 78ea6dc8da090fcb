package oneloop

import "context"

// Ask puts a question to whoever watches the agent and waits for the answer.
// A nil Ask means that nobody is there. It returns an error only when no
// answer came, e.g. because ctx ended; whoever asked then takes it for no.
type Ask func(ctx context.Context, q Question) (Answer, error)

// Question is what is asked.
type Question struct {
	Kind   string   `json:"kind"`             // "tool", "trust", "host", "plan", "limit", "choice"
	Title  string   `json:"title"`            // one line
	Detail string   `json:"detail,omitempty"` // everything the answer depends on, e.g. the whole command
	Reason string   `json:"reason,omitempty"` // why it is asked
	Why    *Reason  `json:"why,omitempty"`    // the same for programs; nil: there are only words
	Rule   string   `json:"rule,omitempty"`   // what "always" would allow from now on; empty: not offered
	File   string   `json:"file,omitempty"`   // where that rule would be kept; empty: for the session only
	In     string   `json:"in,omitempty"`     // what confines the command it is about, e.g. "ns, no network", or "no sandbox"
	Call   *ToolUse `json:"call,omitempty"`   // the call it is about
	Agent  string   `json:"agent,omitempty"`  // the path of the child that asks, e.g. "/2/1"; empty: the first agent

	// Choices are what a "choice" is between. Its answer is some of them, or
	// the user's own words, and not yes or no.
	Choices []Choice `json:"choices,omitempty"`
	Several bool     `json:"several,omitempty"` // more than one may be chosen
}

// Reason is why something is asked or denied, for programs that tell it in words
// of their own.
type Reason struct {
	// Code is what it is, by a name that stays when the words change. Empty:
	// it is a name or a value, and Text is that.
	Code string `json:"code,omitempty"`
	// Text is what it is in English, with a verb of package fmt for each of
	// Args.
	Text string    `json:"text"`
	Args []*Reason `json:"args,omitempty"` // what it is about
}

// Choice is one of the answers that a question offers.
type Choice struct {
	Label  string `json:"label"`            // one line
	Detail string `json:"detail,omitempty"` // what it means
}

// Answer is what came back.
type Answer struct {
	Allow  bool   `json:"allow"`
	Always bool   `json:"always,omitempty"` // from now on, by Question.Rule
	Reason string `json:"reason,omitempty"` // told to the model when it is a no

	Chosen []string `json:"chosen,omitempty"` // labels of Question.Choices
	Text   string   `json:"text,omitempty"`   // the user's own words instead of or beside a choice
}
