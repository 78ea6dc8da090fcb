package team

import (
	"context"
	"net"
	"os"

	"oneloop"
)

// Greeting is what a client says in its packet, without the version.
const Greeting = greeting

// Watch watches a client's connection.
func Watch(c net.Conn, gone func(why error)) (stop func()) { return (&stream{Conn: c}).watch(gone) }

// Connect is Attach without a workspace.
func (b *Broker) Connect(ctx context.Context, emit func(oneloop.Event), c interface {
	Stop()
	Start()
}) (theirs *os.File, env []string, release func(), err error) {
	theirs, release, err = b.connect(ctx, emit, c)
	return theirs, b.environment(nil, theirs), release, err
}

// Take has a child take its seat.
func (t *Tree) Take(depth int) (leave func(), err error) {
	s, err := t.take(depth)
	if err != nil {
		return nil, err
	}
	s.used = true
	return s.leave, nil
}
