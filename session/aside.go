package session

import "oneloop"

// fromAside is the source of messages that are no prompt and belong to the
// one that follows.
const fromAside = "aside"

// Aside is a message for the model to read with the next prompt, such as what
// the user did in between. Appended to a transcript between two turns it is
// kept at once; it begins no turn and is no place to go back to.
func Aside(blocks ...oneloop.Block) *oneloop.Message {
	m := oneloop.NewMessage(oneloop.User, blocks...)
	m.Meta.Source = fromAside
	return m
}
