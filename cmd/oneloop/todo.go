package main

import (
	"context"

	"oneloop"
	"oneloop/session"
)

// keptTodos is the name under which a summary carries the open items.
const keptTodos = "todos"

// planned are the agent's tools with its list followed, where it has one. The
// list is that of the conversation s goes on with.
func (a *agent) planned(tools oneloop.Tools) oneloop.Tools {
	if a.todos == nil {
		return tools
	}
	return a.todos.Follow(tools)
}

// recall has the list be that of the conversation as it is now, which may not
// have been told of instructions either.
func (a *agent) recall() {
	if a.nested != nil {
		a.nested.Forget()
	}
	if a.todos == nil {
		return
	}
	req, err := a.log.Load().Request(context.Background())
	if err != nil { // only when its context has ended
		return
	}
	a.todos.Recall(req.Messages, session.Kept(req.Messages, keptTodos))
}

// carried has summaries carry what recall is about.
func (a *agent) carried(s *session.Session) {
	if a.todos != nil {
		s.Keep(keptTodos, a.todos.Open)
	}
	if a.nested != nil {
		s.Keep("instructions", a.nested.Told)
	}
}

// todo shows the list of the agent.
func (c *conversation) todo() {
	text := ""
	if c.agent.todos != nil {
		text = c.agent.todos.Text()
	}
	if text == "" {
		text = c.words.TodoNone
	}
	c.front.Say(text)
}
