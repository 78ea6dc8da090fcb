package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"oneloop"
)

// kids are the children of a turn that run, and what became of those that
// have ended. The zero value has none.
type kids struct {
	list []*kid // in the order they began
}

// kid is one child.
type kid struct {
	path  string // from the first agent, such as "/2/1"
	title string
	began time.Time
	ended bool
	calls int
	spent oneloop.Spend // totals
}

func (k *kids) hear(e oneloop.Event) {
	agent := ""
	if c, ok := e.(oneloop.Child); ok {
		agent, e = path(c)
		agent = "/" + agent
	}
	switch e := e.(type) {
	case oneloop.TurnStart, oneloop.TurnEnd:
		if agent == "" {
			k.list = nil
		}
	case oneloop.ChildStart:
		k.list = append(k.list, &kid{path: e.Agent, title: cmp.Or(e.Title, e.Prompt), began: time.Now()})
	case oneloop.ChildEnd:
		if one := k.find(e.Agent); one != nil {
			one.ended = true
		}
	case oneloop.ToolStart:
		if one := k.find(agent); one != nil {
			one.calls++
		}
	case oneloop.Spend:
		if one := k.find(agent); one != nil {
			one.spent.TotalKnown = e.Known && (one.spent.TotalKnown || one.spent.Requests == 0)
			one.spent.TotalCost += e.Cost
			one.spent.Requests++
		}
	}
}

func (k *kids) find(path string) *kid {
	for _, one := range slices.Backward(k.list) { // a later one may have the name of an earlier one
		if one.path == path {
			return one
		}
	}
	return nil
}

// childHead is what a child is to do, as one line.
func (x *Text) childHead(e oneloop.ChildStart) string {
	line := head(cmp.Or(e.Title, e.Prompt), headCells)
	if e.Type != "" {
		line = e.Type + ": " + line
	}
	if e.Call != "" && e.Session != "" { // by which it can be gone on with
		line += " [" + e.Session + "]"
	}
	return line
}

// mostKids is how many children have a line of their own while they run.
const mostKids = 8

// lines says of each child that runs what it does and how long already.
func (k *kids) lines(x *Text, now time.Time) []string {
	var lines []string
	more := 0
	for _, one := range k.list {
		if one.ended {
			continue
		}
		if len(lines) == mostKids {
			more++
			continue
		}
		title, _, _ := strings.Cut(strings.TrimSpace(one.title), "\n")
		lines = append(lines, fmt.Sprintf("%s %s · %s", one.path, Visible(head(title, headCells/2)), one.summary(x, now)))
	}
	if more > 0 {
		lines[len(lines)-1] += fmt.Sprintf(" · +%d", more)
	}
	return lines
}

// summary is what a child has done so far.
func (k *kid) summary(x *Text, now time.Time) string {
	s := x.ChildCalls.of(k.calls) + " · " + now.Sub(k.began).Truncate(time.Second).String()
	if k.spent.TotalKnown && k.spent.TotalCost > 0 {
		s += " · " + Money(k.spent.TotalCost)
	}
	return s
}
