// Package prompt makes what a model is told before the first word of the user,
// and what it can look up: the instructions of a folder and of the user,
// skills and commands, and the memory that an agent keeps from one session to
// the next.
//
// It reads files and returns text. What of a folder may be read at all is
// decided elsewhere and comes in as functions; where the text goes is decided
// by whoever calls. A text that goes into a system prompt is made once, when
// a session begins, and stays as it is for all of it.
package prompt
