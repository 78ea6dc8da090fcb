package main

import (
	"fmt"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/session"
	"oneloop/tool"
)

// chapter is one of the series: an agent that has the mechanisms of that
// chapter and no others. The loop is the same for all of them.
type chapter struct {
	name   string
	tools  string // as --tools has them
	system string // behind the line that says where it works
	window int    // tokens at most, so that the chapter can be watched; 0: the model's
	wakes  bool   // commands run in the background, and their end makes an agent go on
}

// chapters are the series, in order. What one adds to the one before is written
// on its page in docs/series.
var chapters = []chapter{
	{name: "s01", tools: "bash"},
	{name: "s02", tools: filesToo},
	{name: "s03", tools: filesToo + ",TodoWrite", system: " Plan work of several steps with TodoWrite, and keep the list up to date."},
	{name: "s04", tools: filesToo + ",Agent"},
	{name: "s05", tools: filesToo + ",Skill"},
	{name: "s06", tools: filesToo, window: 58_000}, // 50,000 and room for a reply
	{name: "s08", tools: filesToo + ",TaskStop,TaskOutput", wakes: true},
}

const filesToo = "Bash,Read,Write,Edit"

// chapterNames are what --series takes.
func chapterNames() (names []string) {
	for _, c := range chapters {
		names = append(names, c.name)
	}
	return names
}

func chapterList() string { return strings.Join(chapterNames(), ", ") }

// findChapter is the chapter of that name, the zero one when there is none.
func findChapter(name string) chapter {
	for _, c := range chapters {
		if c.name == name {
			return c
		}
	}
	return chapter{}
}

// profile is what the model of a chapter is told: one line, as in the seeds.
func (c chapter) profile(root string) profile {
	return profile{
		system:    fmt.Sprintf("You are a coding agent at %s. Use the tools to solve tasks. Act, don't explain.%s", root, c.system),
		defs:      (*oneloop.Toolbox).Defs,
		aliases:   tool.Aliases(),
		maxTokens: seedTokens,
		leaveOn:   true,
	}
}

// inChapter holds the run to a chapter.
func (o *options) inChapter(name string) {
	if c := findChapter(name); c.name != "" {
		o.series, o.tools = c.name, c.tools
	}
}

// held has the run be held to the chapter of a session that is gone on with. A
// session stays in its chapter: what the model was told it has, it has.
func (p *program) held(l session.Listed) error {
	switch {
	case l.Series == p.opts.series:
	case p.opts.series != "" || p.opts.tools != "":
		return usagef(p.words.SeriesOther, l.ID, chapterOf(p.words, l.Series))
	case findChapter(l.Series).name == "":
		return usagef(p.words.FlagValue, "--series", l.Series, chapterList())
	default:
		p.opts.inChapter(l.Series)
	}
	return nil
}

func chapterOf(x *tui.Text, name string) string {
	if name == "" {
		return x.SeriesNone
	}
	return "--series " + name
}
