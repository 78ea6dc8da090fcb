//go:build !unix

package team

import (
	"context"
	"errors"
	"os"
	"runtime"

	"oneloop"
)

// connect leaves a command without a socket; it is told by [Env].
func (b *Broker) connect(context.Context, func(oneloop.Event), clock) (theirs *os.File, release func(), err error) {
	return nil, func() {}, nil
}

func inheritedUnnamed() bool { return false }

func runClient(context.Context, int, ClientOptions) (int, error) {
	return 3, errors.New("subtasks are not supported on " + runtime.GOOS + "; do the work without one")
}
