package tui

import (
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/session"
)

// partNames are the parts of a window as package session names them.
var partNames = [10]string{"system", "tools", "summary", "prompts", "replies", "thinking", "calls", "results", "media", "other"}

// Window says what fills the model's window, a line for each part.
func (x *Text) Window(f session.Fill) string {
	var b strings.Builder
	used := count(f.Used)
	if !f.Counted {
		used = fmt.Sprintf(x.WindowAbout, used)
	}
	whole := f.Window
	if whole > 0 {
		fmt.Fprintf(&b, x.WindowUsed+"\n", used, count(f.Window), percent(f.Used, whole))
	} else {
		fmt.Fprintf(&b, x.WindowUnknown+"\n", used)
		whole = max(f.Used, 1)
	}
	line := func(name string, n int64) {
		fmt.Fprintf(&b, "  %s%s %10s %4d%%\n", name, strings.Repeat(" ", max(0, 22-cellsOf(name))), count(n), percent(n, whole))
	}
	for _, p := range f.Parts {
		name := p.Name
		if i := slices.Index(partNames[:], p.Name); i >= 0 {
			name = x.WindowParts[i]
		}
		line(name, p.Tokens)
	}
	if f.Window > 0 {
		line(x.WindowFree, max(0, f.Window-f.Used))
	}
	if f.Limit > 0 {
		fmt.Fprintf(&b, x.WindowLimit, count(f.Limit))
	} else {
		b.WriteString(x.WindowRefused)
	}
	return b.String()
}

func percent(n, of int64) int64 { return (n*100 + of/2) / of }

// shownTurns is how many of the newest turns a bill lists.
const shownTurns = 8

// Bill says what was used: in this run, and in the conversation by model and by
// turn.
func (x *Text) Bill(run oneloop.Spend, b session.Bill) string {
	total := run
	if b.Total.Requests > run.Requests { // it was gone on with
		total = b.Total
	}
	lines := []string{x.Cost(total)}
	rest := b.Total
	for _, m := range b.Models {
		lines = append(lines, "  "+m.Model+" · "+x.turnCost(m, m))
		rest.Requests -= m.Requests
		rest.TotalCost -= m.TotalCost
		rest.TotalUsage.Input -= m.TotalUsage.Input
		rest.TotalUsage.CacheRead -= m.TotalUsage.CacheRead
		rest.TotalUsage.CacheWrite -= m.TotalUsage.CacheWrite
		rest.TotalUsage.Output -= m.TotalUsage.Output
	}
	if rest.Requests > 0 {
		lines = append(lines, "  "+x.BillSubtasks+" · "+x.turnCost(rest, rest))
	}
	from := max(0, len(b.Turns)-shownTurns)
	for i, t := range b.Turns[from:] {
		lines = append(lines, "  "+fmt.Sprintf(x.BillTurn, from+i+1)+" · "+x.turnCost(t, t))
	}
	return strings.Join(lines, "\n")
}
