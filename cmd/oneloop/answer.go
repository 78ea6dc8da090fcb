package main

import (
	"fmt"
	"strings"

	"oneloop"
	"oneloop/internal/tui"
)

// answer listens to a turn and keeps what it comes down to.
type answer struct {
	said    strings.Builder
	nobody  int            // calls that were denied because nobody could be asked
	refused oneloop.Denied // the first of them
}

func (a *answer) hear(e oneloop.Event) {
	// A child's denial counts for the run as well; its words are its own.
	agent := true
	for {
		c, ok := e.(oneloop.Child)
		if !ok {
			break
		}
		agent, e = false, c.Event
	}
	switch e := e.(type) {
	case oneloop.Denied:
		if e.Nobody {
			if a.nobody++; a.nobody == 1 {
				a.refused = e
			}
		}
	case oneloop.TurnStart:
		if agent {
			a.said.Reset()
		}
	case oneloop.MessageAdded:
		if agent {
			a.message(e.Message)
		}
	}
}

// message keeps the text behind the last results. A reply that was cut and
// gone on with is one answer.
func (a *answer) message(m *oneloop.Message) {
	if m.Role == oneloop.Assistant {
		a.said.WriteString(m.Text())
		return
	}
	if m.Meta.Source != "driver" {
		a.said.Reset()
	}
}

func (a *answer) text() string { return strings.TrimRight(a.said.String(), "\n") }

// denied is an error when a call was denied because nobody could be asked.
func (a *answer) denied() error {
	if a.nobody == 0 {
		return nil
	}
	return &codeError{exitDenied, &deniedError{a.nobody, a.refused}}
}

// deniedError is that calls were denied because nobody could be asked.
type deniedError struct {
	calls int
	first oneloop.Denied
}

func (e *deniedError) Error() string { return e.in(tui.Messages("en")) }

// in is the error in the user's language.
func (e *deniedError) in(words *tui.Text) string {
	if e.calls == 1 {
		return fmt.Sprintf(words.DeniedOne, words.Reason(e.first.Reason, e.first.Why))
	}
	return fmt.Sprintf(words.DeniedMany, e.calls, words.Reason(e.first.Reason, e.first.Why))
}
