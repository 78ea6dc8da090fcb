package main

import (
	"slices"
	"unicode/utf8"

	"oneloop/internal/tui"
)

// reserved are the first words that are commands, now or in a later version.
var reserved = []string{"demo", "version", "help", "completion", "sessions", "fork", "replay", "view", "doctor", "policy",
	"models", "tasks", "team", "config", "mcp", "acp", "serve", "login", "update"}

// command is one of this version.
type command struct {
	name     string
	words    []string // one of which may follow it
	bare     bool     // nothing else may
	sessions []string // of it and these: behind which a session is named
	files    []string // and behind which a file is
}

// slashCommands are those of a conversation.
var slashCommands = []string{"/help", "/cost", "/context", "/diff", "/todo", "/agents", "/jobs", "/permissions", "/sandbox", "/clear", "/fork", "/rewind", "/init", "/skills",
	"/resume", "/compact", "/rename", "/memory", "/mode", "/model", "/queue", "/worktrees"}

// commandsHere are those of this version.
var commandsHere = []command{
	{name: "demo", words: tui.Chapters[:], bare: true},
	{name: "version", bare: true},
	{name: "help", words: []string{"demo", "doctor", "models", "completion", "policy", "sessions", "fork", "replay"}, bare: true},
	{name: "doctor", bare: true},
	{name: "models"},
	{name: "completion", words: shells},
	{name: "policy", words: []string{"explain", "lint", "test"}, files: []string{"test"}},
	{name: "sessions", words: []string{"list", "show", "rename", "rm", "export"}, sessions: []string{"show", "rename", "rm", "export"}},
	{name: "team", words: []string{"worktrees"}},
	{name: "fork", sessions: []string{"fork"}},
	{name: "replay", sessions: []string{"replay"}},
}

// takes reports whether a command may stand before these words. The command
// itself knows whether more must follow.
func takes(name string, words []string) bool {
	i := slices.IndexFunc(commandsHere, func(c command) bool { return c.name == name })
	switch {
	case i < 0 || len(words) == 0:
		return true
	case commandsHere[i].bare && len(words) > 1:
		return false
	case commandsHere[i].bare || len(commandsHere[i].words) > 0:
		return slices.Contains(commandsHere[i].words, words[0])
	}
	return true
}

// wordsBehind are the words of which one may follow a command.
func wordsBehind(name string) []string {
	i := slices.IndexFunc(commandsHere, func(c command) bool { return c.name == name })
	return commandsHere[i].words
}

// bare reports whether nothing may follow a command but words of ours.
func bare(name string) bool {
	return slices.ContainsFunc(commandsHere, func(c command) bool { return c.name == name && c.bare })
}

// here are the reserved words that this version has.
func here(word string) bool {
	return slices.ContainsFunc(commandsHere, func(c command) bool { return c.name == word })
}

// nearWord returns the reserved word that word is a misspelling of, empty when
// there is none or word is reserved itself. One or two letters are off then;
// but test is no team, log no login and review no view: a short word has one
// letter off at most, and who is two letters off begins with the right one.
func nearWord(word string) string {
	if slices.Contains(reserved, word) {
		return ""
	}
	best, at := "", 3
	for _, r := range reserved {
		d, most := distance(word, r), 0
		switch n := utf8.RuneCountInString(word); {
		case n > 5 && word[0] == r[0]:
			most = 2
		case n > 3:
			most = 1
		}
		if d <= most && d < at {
			best, at = r, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to make b of a.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(x); i++ {
		row := make([]int, len(y)+1)
		row[0] = i
		for j := 1; j <= len(y); j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(y)]
}
