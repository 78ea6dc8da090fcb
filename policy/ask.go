package policy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"oneloop"
	"oneloop/internal/unseen"
	"oneloop/policy/shell"
)

// nobody says why nobody is asked.
func (g *gate) nobody() string {
	if g.mode() == DontAsk {
		return "the permission mode is dontAsk"
	}
	return "nobody is there to give it"
}

// ask puts a call to the user, after those that were first. What was answered
// meanwhile may decide it.
func (g *gate) ask(ctx context.Context, call *oneloop.ToolUse, list []oneloop.Touch, emit func(oneloop.Event)) *denial {
	select {
	case g.turn <- struct{}{}:
		defer func() { <-g.turn }()
	case <-ctx.Done():
		return ended(context.Cause(ctx))
	}
	if context.Cause(ctx) != nil {
		return ended(context.Cause(ctx))
	}
	found := lifted(hooked(ctx, g.judge(g.Rules).call(call, list)), g.mode(), g.isolation())
	switch found.tier {
	case shell.Allow:
		return nil
	case shell.Deny:
		return denied(found)
	}
	want := g.offer(call, list, found)
	q := g.question(call, list, found, want)
	emit(oneloop.Asked{Question: q})
	a, err := g.Ask(ctx, q)
	if err != nil {
		a = oneloop.Answer{Reason: err.Error()}
	}
	emit(oneloop.Answered{Question: q, Answer: a})
	switch {
	case err != nil && ctx.Err() != nil:
		return ended(err)
	case err != nil:
		d := g.unasked(call, found, fmt.Sprintf("no answer came (%v)", err))
		return d
	case !a.Allow:
		return refused(found.about(), a.Reason, "Not run: the user was asked and said no.")
	case a.Always && want != "":
		g.keep(want, emit)
	}
	return nil
}

func ended(err error) *denial {
	return &denial{
		reason: shell.Because("no-answer", "no answer came: %s", err.Error()),
		text:   "Not run: the turn was interrupted before the user answered whether it may run.",
	}
}

// refused is what the user said no to. text says so to the model.
func refused(about *shell.Reason, why, text string) *denial {
	if why = strings.TrimSpace(why); why != "" {
		return &denial{
			reason: shell.Because("said-no-because", "%s: the user said no (%s)", about, why),
			text:   text + " They say: " + why,
		}
	}
	return &denial{
		reason: shell.Because("said-no", "%s: the user said no", about),
		text:   text + " Do not try it in another way; go on without it, or ask what they want.",
	}
}

// offer is the rule that "always" would write: one that allows this call, and
// of which the user sees what else it allows. Empty: there is none.
func (g *gate) offer(call *oneloop.ToolUse, list []oneloop.Touch, f finding) string {
	if len(f.wants) != 1 || f.kind >= byGuard || !always(f.wants[0]) {
		return ""
	}
	rules, err := g.Rules.with(shell.Allow, f.wants[0], g.origin())
	if err != nil || g.judge(rules).call(call, list).tier != shell.Allow {
		return ""
	}
	return f.wants[0]
}

// origin is where rules of this session are from.
func (g *gate) origin() File {
	if g.Keep == nil {
		return File{Base: g.Dir}
	}
	return File{Path: g.Keep.File, Base: g.Keep.Base}
}

// keep adds a rule, now and for later sessions.
func (g *gate) keep(want string, emit func(oneloop.Event)) {
	if g.Keep != nil && g.Keep.Add != nil {
		if err := g.Keep.Add(want); err != nil {
			emit(oneloop.Notice{Text: fmt.Sprintf("The rule %s could not be written to %s (%v); it holds for this session only.", want, g.Keep.File, err)})
		}
	}
	if err := g.Rules.Add(shell.Allow, want, g.origin()); err != nil {
		emit(oneloop.Notice{Text: fmt.Sprintf("The rule %s does not hold: %v.", want, err)})
	}
}

// question shows everything the answer depends on.
func (g *gate) question(call *oneloop.ToolUse, list []oneloop.Touch, f finding, want string) oneloop.Question {
	q := oneloop.Question{Kind: "tool", Title: "Run " + call.Name + "?", Call: call}
	var lines []string
	for _, t := range list {
		switch t.Kind {
		case oneloop.TouchCommand:
			q.Title = "Run this command?"
			lines = append(lines, shell.Visible(t.Name))
		case oneloop.TouchRead:
			q.Title = "Read this?"
			lines = append(lines, unseen.Line(t.Name))
		case oneloop.TouchWrite:
			q.Title = "Change this file?"
			lines = append(lines, unseen.Line(t.Name))
		case oneloop.TouchHost:
			q.Title = "Connect to this host?"
			lines = append(lines, unseen.Line(t.Name))
		}
	}
	if len(list) == 0 || list[0].Kind != oneloop.TouchCommand {
		lines = append(lines, shell.Visible(call.Name+" "+readable(call.Input)))
	}
	q.Detail = strings.Join(lines, "\n")
	f.tell(&q, f.about())
	if onlyCommands(list) {
		q.In = g.isolation().String()
	}
	if want != "" {
		q.Rule = want
		if g.Keep != nil {
			q.File = g.Keep.File
		}
	}
	return q
}

// tell has a question say why it is asked.
func (f finding) tell(q *oneloop.Question, why *shell.Reason) {
	if f.rule != "" {
		why = shell.Because("by", "%s (%s)", why, f.source())
	}
	q.Reason, q.Why = why.String(), Told(why)
}

// readable is the input of a call in which letters stand for themselves. What
// cannot be read stays as it is.
func readable(input json.RawMessage) string {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var v any
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if d.Decode(&v) != nil || e.Encode(v) != nil {
		return string(input)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
