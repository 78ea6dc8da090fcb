package main

import (
	"fmt"
	"strings"

	"oneloop"
)

// answer listens to a turn and keeps what it comes down to.
type answer struct {
	said    strings.Builder
	nobody  int    // calls that were denied because nobody could be asked
	refused string // the first of them
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
				a.refused = e.Reason
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
	if a.nobody == 1 {
		return &codeError{exitDenied, fmt.Errorf("a call was denied because nobody could be asked: %s", a.refused)}
	}
	return &codeError{exitDenied, fmt.Errorf("%d calls were denied because nobody could be asked, the first: %s", a.nobody, a.refused)}
}
