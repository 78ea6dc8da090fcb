package tui

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"oneloop"
)

// section is what the last output was, so that different things do not run
// into one line.
type section int

const (
	sectionNone section = iota
	sectionText
	sectionThinking
	sectionTool
	sectionNote
)

// renderer writes events on a sheet for somebody who reads along.
type renderer struct {
	on    sheet
	words *Text

	section section
	open    bool                        // deltas were shown that no message has confirmed yet
	answer  bool                        // text among them
	turn    oneloop.Spend               // the totals of what was used since the last TurnEnd
	session oneloop.Spend               // and since the beginning
	child   map[string]*strings.Builder // what a child has begun to say
	said    map[string]bool             // last words of children, shown as theirs
	told    map[string]toldOf           // calls whose results say to the model what the person knows
	kids    kids
}

// toldOf is how a person knows what became of a call.
type toldOf int

const (
	toldDenied   toldOf = iota + 1 // by a line that says why
	toldRefused                    // they said no
	toldAnswered                   // they answered what it asks
)

const (
	outputLines = 6   // of a tool's output that are shown
	outputChars = 600 // most of them
	headCells   = 100 // of a line that stands for something longer
)

func (r *renderer) event(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.TextDelta:
		r.delta(sectionText, normal, e.Text)
	case oneloop.ThinkingDelta:
		r.delta(sectionThinking, dim, e.Text)
	case oneloop.Discard:
		if r.open {
			r.note(dim, fmt.Sprintf(r.words.Discarded, e.Reason))
		}
		r.open, r.answer = false, false
	case oneloop.MessageAdded:
		r.message(e.Message)
	case oneloop.ToolStart:
		r.begin(sectionTool)
		r.command("", e.Call)
	case oneloop.ToolEnd:
		r.output("", e)
	case oneloop.Spend:
		r.spend(e)
	case oneloop.TurnEnd:
		r.cost()
	case oneloop.Child:
		agent, inner := path(e)
		r.childEvent(agent, inner)
	default:
		r.report("", e)
	}
}

// report writes what is said in the same words wherever it comes from.
func (r *renderer) report(prefix string, e oneloop.Event) {
	x := r.words
	switch e := e.(type) {
	case oneloop.Retry:
		r.note(yellow, prefix+fmt.Sprintf(x.Retrying, e.Error, span(e.Wait), e.Attempt+1, e.Of))
	case oneloop.Notice:
		r.note(yellow, prefix+e.Text)
	case oneloop.Compacted:
		r.note(yellow, prefix+x.compacted(e))
	case oneloop.Boundary:
		if e.In != isolations[0] { // that there is none is said before anything runs
			r.note(dim, prefix+strings.ReplaceAll(x.Boundary(e), "\n", "\n"+prefix))
		}
	case oneloop.Answered:
		r.answered(e)
	case oneloop.Denied:
		r.denied(prefix, e)
	case oneloop.Limited:
		r.note(red, prefix+fmt.Sprintf(x.LimitHit, x.limitName(e.What), e.Used, e.Limit))
	case oneloop.ChildStart:
		r.note(cyan, prefix+fmt.Sprintf(x.ChildBegins, e.Agent, x.childHead(e)))
	case oneloop.ChildEnd:
		name := e.Agent
		if one := r.kids.find(e.Agent); one != nil && one.calls+one.spent.Requests > 0 {
			name += " (" + one.summary(x, time.Now()) + ")"
		}
		if e.Error != "" {
			r.note(red, prefix+fmt.Sprintf(x.ChildFailed, name, e.Error))
		} else {
			r.note(cyan, prefix+fmt.Sprintf(x.ChildDone, name))
		}
	}
}

// begin opens a section on a line of its own.
func (r *renderer) begin(s section) {
	if r.section != s {
		r.on.fresh()
	}
	r.section = s
}

func (r *renderer) note(st style, text string) {
	r.on.fresh()
	r.section = sectionNote
	r.on.put(st, plainSight, strings.TrimRight(text, "\r\n"))
	r.on.fresh()
}

func (r *renderer) delta(s section, st style, text string) {
	if r.section != s {
		if text = strings.TrimLeft(text, "\r\n"); text == "" {
			return
		}
		r.begin(s)
		if s == sectionThinking {
			text = r.words.Thinking + text
		}
	}
	r.open = true
	r.answer = r.answer || s == sectionText
	r.on.put(st, plainSight, text)
}

// message closes what deltas have shown. A model that sends none is shown
// here.
func (r *renderer) message(m *oneloop.Message) {
	if m.Role != oneloop.Assistant {
		return
	}
	if text := m.Text(); !r.answer && strings.TrimSpace(text) != "" {
		r.delta(sectionText, normal, text)
	}
	r.on.fresh()
	r.section, r.open, r.answer = sectionNone, false, false
	r.searches("", m)
}

// command writes a call as a person would type it.
func (r *renderer) command(prefix string, call *oneloop.ToolUse) {
	r.on.fresh()
	r.on.put(bold, exactSight, prefix+strings.ReplaceAll(r.words.callLine(call), "\n", "\n"+prefix+"  "))
	r.on.fresh()
}

func bashCommand(call *oneloop.ToolUse) (string, bool) {
	var in struct {
		Command    *string `json:"command"`
		Background bool    `json:"run_in_background"`
	}
	if json.Unmarshal(call.Input, &in) != nil || in.Command == nil {
		return "", false
	}
	if in.Background {
		return *in.Command + " &", true
	}
	return *in.Command, true
}

func (r *renderer) output(prefix string, e oneloop.ToolEnd) {
	if r.known(e) {
		r.section = sectionTool
		return
	}
	st := dim
	if e.Result.IsError {
		st = red
	}
	r.on.fresh()
	text := r.unsaid(e.Call, strings.TrimRight(e.Result.Text(), "\n"))
	lines := strings.Split(text, "\n")
	shown, chars := 0, 0
	for _, l := range lines {
		if shown == outputLines || chars >= outputChars {
			break
		}
		l = short(l, outputChars-chars)
		chars += len(l)
		shown++
		r.on.put(st, plainSight, prefix+"  "+l)
		r.on.fresh()
	}
	if n := len(lines) - shown; n > 0 {
		r.on.put(dim, plainSight, prefix+"  "+r.words.MoreLines.of(n))
		r.on.fresh()
	}
	r.section = sectionTool
}

// short cuts s to so many bytes, not inside a character.
func short(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// answered notes what the person has said themselves.
func (r *renderer) answered(e oneloop.Answered) {
	call := e.Question.Call
	switch {
	case call == nil:
	case e.Question.Kind == "choice" || e.Question.Kind == "plan":
		r.tell(call, toldAnswered)
	case !e.Answer.Allow:
		r.tell(call, toldRefused)
	}
}

func (r *renderer) tell(call *oneloop.ToolUse, how toldOf) {
	if r.told == nil {
		r.told = map[string]toldOf{}
	}
	r.told[call.ID] = how
}

// known reports whether the result of a call says nothing that the person does
// not know. It is asked once for a call.
func (r *renderer) known(e oneloop.ToolEnd) bool {
	how := r.told[e.Call.ID]
	delete(r.told, e.Call.ID)
	if e.Call.Name == "TodoWrite" && !e.Result.IsError { // the call showed the list
		return true
	}
	return how == toldAnswered || how > 0 && e.Result.IsError && strings.HasPrefix(e.Result.Text(), "Not run")
}

func (r *renderer) denied(prefix string, e oneloop.Denied) {
	what, why := "", e.Why
	if e.Call != nil {
		if r.told[e.Call.ID] == toldRefused && why != nil && strings.HasPrefix(why.Code, "said-no") {
			return
		}
		r.tell(e.Call, toldDenied)
	}
	if e.Call != nil {
		what = e.Call.Name
		why = without(why, what)
		if c, ok := bashCommand(e.Call); ok {
			what = head(c, headCells)
			// A reason begins with the part it is about. Where that is the
			// whole command it is said once.
			why = without(why, strings.TrimSpace(c))
		}
	}
	text := prefix + fmt.Sprintf(r.words.DeniedCall, what, r.words.Reason(e.Reason, why))
	switch {
	case e.Rule != "" && e.Nobody:
		text += "\n" + prefix + "  " + fmt.Sprintf(r.words.DeniedAlone, e.Rule)
	case e.Rule != "":
		text += "\n" + prefix + "  " + fmt.Sprintf(r.words.DeniedRule, e.Rule)
	}
	r.note(red, text)
}

// cost closes a turn.
func (r *renderer) cost() {
	r.on.fresh()
	r.open, r.answer = false, false
	if r.turn.Requests > 0 {
		r.note(dim, r.words.turnCost(r.turn, r.session))
	}
	r.section, r.turn = sectionNone, oneloop.Spend{}
}

// spend takes account of a reply, the agent's own or a child's. The totals it
// comes with are those of the agent that had it.
func (r *renderer) spend(e oneloop.Spend) {
	for _, s := range []*oneloop.Spend{&r.turn, &r.session} {
		s.TotalKnown = e.Known && (s.TotalKnown || s.Requests == 0)
		s.TotalUsage = s.TotalUsage.Add(e.Usage)
		s.TotalCost += e.Cost
		s.Requests++
	}
}

// path unpacks an event of a child's child.
func path(c oneloop.Child) (string, oneloop.Event) {
	agent := c.Agent
	for {
		inner, ok := c.Event.(oneloop.Child)
		if !ok {
			return agent, c.Event
		}
		agent += "/" + inner.Agent
		c = inner
	}
}

// answers takes note of what a subagent says last: it comes again as the result
// of the call that started it.
func (r *renderer) answers(m *oneloop.Message) {
	if text := strings.TrimSpace(m.Text()); text != "" && len(m.ToolUses()) == 0 {
		if r.said == nil {
			r.said = map[string]bool{}
		}
		r.said[text] = true
	}
}

// unsaid is what of the result of a call was not shown as a subagent's words.
func (r *renderer) unsaid(c *oneloop.ToolUse, result string) string {
	at := strings.LastIndex(result, "\n[agent session ")
	if c.Name != "Agent" || at < 0 {
		return result
	}
	answer := strings.TrimSpace(result[:at])
	if !r.said[answer] {
		return result
	}
	delete(r.said, answer)
	return result[at+1:]
}

// childEvent writes an event of a subagent. What it says comes line by line,
// because several may talk at once.
func (r *renderer) childEvent(agent string, e oneloop.Event) {
	prefix := "[" + agent + "] "
	switch e := e.(type) {
	case oneloop.TextDelta:
		r.childText(agent, prefix, e.Text)
	case oneloop.Discard:
		delete(r.child, agent)
	case oneloop.MessageAdded:
		if e.Message.Role == oneloop.Assistant {
			r.childText(agent, prefix, "\n")
			r.answers(e.Message)
			r.searches(prefix, e.Message)
		}
	case oneloop.ToolStart:
		r.command(prefix, e.Call)
		r.section = sectionTool
	case oneloop.ToolEnd:
		r.output(prefix, e)
	case oneloop.ChildStart, oneloop.ChildEnd: // they name the whole path
		r.report("", e)
	case oneloop.Spend:
		r.spend(e)
	default:
		r.report(prefix, e)
	}
}

func (r *renderer) childText(agent, prefix, text string) {
	if r.child == nil {
		r.child = map[string]*strings.Builder{}
	}
	b := r.child[agent]
	if b == nil {
		b = &strings.Builder{}
		r.child[agent] = b
	}
	b.WriteString(text)
	if !strings.Contains(text, "\n") {
		return
	}
	said := b.String()
	i := strings.LastIndexByte(said, '\n')
	rest := said[i+1:]
	b.Reset()
	b.WriteString(rest)
	if rest == "" {
		delete(r.child, agent)
	}
	for l := range strings.SplitSeq(said[:i], "\n") {
		if strings.TrimSpace(l) != "" {
			r.note(dim, prefix+l)
		}
	}
}
