package team

import (
	"context"
	"os"

	"oneloop"
)

// Greeting is what a client says in its packet, without the version.
const Greeting = greeting

// Connect is Attach without a workspace.
func (b *Broker) Connect(ctx context.Context, emit func(oneloop.Event), c interface {
	Stop()
	Start()
}) (theirs *os.File, env []string, release func(), err error) {
	theirs, release, err = b.connect(ctx, emit, c)
	return theirs, b.environment(nil, theirs), release, err
}
