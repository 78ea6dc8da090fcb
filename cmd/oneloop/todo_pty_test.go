//go:build linux

package main

import (
	"strings"
	"testing"

	"oneloop/looptest/script"
)

// todos is a call of TodoWrite: each item is its status's first letter and its
// content.
func todos(id string, items ...string) script.Block {
	var list []string
	for _, item := range items {
		status := map[byte]string{'p': "pending", 'i': "in_progress", 'c': "completed"}[item[0]]
		list = append(list, `{"content":"`+item[1:]+`","status":"`+status+`"}`)
	}
	return script.Tool(id, "TodoWrite", `{"todos":[`+strings.Join(list, ",")+`]}`)
}

func TestTheTodoListIsShownAndIsWhereTheConversationIs(t *testing.T) {
	p := newProduct(t,
		script.Say(todos("t1", "iread the code", "pwrite it")), say("one done"),
		script.Say(todos("t2", "cread the code", "iwrite it", "ptest it")), script.Say(shell("t3", "seq 3000")), say("two done"),
		say("SUM"), say("three done"), say("four done"))
	c := p.converse()
	c.types("/todo\r")
	c.sees("the agent has no todo list")
	c.turns("the first prompt", "todo (0 of 2 done)", "[>] read the code", "[ ] write it", "one done")
	c.turns("the second prompt", "todo (1 of 3 done)", "[x] read the code", "[>] write it", "two done")
	c.types("/compact\r")
	c.sees("made shorter")
	c.types("/todo\r")
	c.sees("[>] write it")
	c.turns("the third prompt", "three done")
	c.types("\x04")
	c.ends()
	contains(t, string(p.request(7).Body), `<kept name=\"todos\">\n[x] read the code\n[>] write it\n[ ] test it\n</kept>`)

	// In another process, where the call itself is behind the summary.
	c = p.sit(wide, "TERM=xterm", "-c")
	c.sees("three done", "[x] read the code", "[>] write it", "[ ] test it", "Ctrl-D")
	c.types("/fork\r")
	c.sees("goes on as")
	c.types("/todo\r")
	c.sees("[>] write it")
	c.types("/rewind\r")
	c.sees("the second prompt", "the first prompt", "a number")
	c.types("2\r")
	c.sees("Back to before: the second prompt", "a number")
	c.types("1\r")
	c.sees("the conversation is back")
	c.types("/todo\r")
	c.sees("[>] read the code", "[ ] write it")
	c.types("/clear\r")
	c.sees("a new conversation begins")
	c.types("/todo\r")
	c.sees("the agent has no todo list")
	c.types("\x04")
	c.ends()
	p.census()
}

func TestAConversationDoesNotGoOnWithASessionOfAnotherChapter(t *testing.T) {
	p := newProduct(t, say("of s03"), say("of none"), say("more"))
	p.done("--series", "s03", "the first task")
	p.done("the second task")
	c := p.converse("--series", "s03")
	c.types("/resume\r")
	c.sees("the second task", "the first task", "a number")
	c.types("1\r")
	c.sees("has other tools (no --series)", "oneloop -r")
	c.types("/resume\r")
	c.sees("the first task", "a number")
	c.types("2\r")
	c.sees("going on with: the first task")
	c.turns("and more", "more")
	c.types("\r") // an empty line leaves, as in the lessons
	c.ends()
	contains(t, string(p.request(3).Body), "the first task", `"name":"TodoWrite"`)
	lacks(t, string(p.request(3).Body), "Glob")
}
