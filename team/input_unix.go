//go:build unix

package team

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// readInput reads standard input to its end when it is piped, or a byte more
// than a task may hold, which the agent will refuse. The end of ctx ends it.
func readInput(ctx context.Context, o ClientOptions, busy func() (bool, error)) ([]byte, error) {
	f := o.Stdin
	if f == nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !info.Mode().IsRegular() {
		return nil, nil // closed, a terminal, /dev/null
	}
	p := &patient{ctx: ctx, f: f, busy: busy, wait: cmp.Or(o.Wait, stdinWait)}
	if strings.TrimSpace(o.Prompt) == "" {
		p.wait = -1 // the input is all there is
	}
	input, err := io.ReadAll(io.LimitReader(p, MaxTask+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.Is(err, errSilent):
		if o.Stderr != nil {
			fmt.Fprintf(o.Stderr, "oneloop: nothing came on standard input for %v; going on without it\n", p.wait)
		}
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return input, nil
}

var errSilent = errors.New("nothing comes")

// patient reads a file that may be in blocking mode, which deadlines do not
// work on and which must stay so: the mode is shared with other programs. It
// waits for the first byte as long as it is told, -1 for ever, and fails with
// errSilent when none came.
type patient struct {
	ctx  context.Context
	f    *os.File
	busy func() (bool, error)
	wait time.Duration
	came bool // something, or the end
}

func (p *patient) Read(buf []byte) (int, error) {
	wait := p.wait / 2
	if p.came || p.wait < 0 {
		wait = -1
	}
	// Busy is asked twice: in a row of clients, one that has just got its
	// input may not have passed it on when the next one asks.
	for idle := 0; ; {
		ready, err := p.ready(wait)
		if err != nil {
			return 0, err
		}
		if ready {
			p.came = true
			return p.f.Read(buf)
		}
		busy, err := p.busy()
		if err != nil {
			return 0, err
		}
		if idle++; busy {
			idle = 0
		}
		if idle == 2 {
			return 0, errSilent
		}
	}
}

// ready waits until there is something to read, at most so long.
func (p *patient) ready(wait time.Duration) (bool, error) {
	ended, wake, err := os.Pipe()
	if err != nil {
		return false, err
	}
	defer ended.Close()
	defer wake.Close()
	// Closing the one end makes the other readable.
	woken := make(chan struct{})
	stop := context.AfterFunc(p.ctx, func() { wake.Close(); close(woken) })
	defer func() {
		if !stop() {
			<-woken
		}
	}()
	var n int
	err = control(p.f, func(fd int) error {
		return control(ended, func(end int) (err error) {
			n, err = poll(fd, end, wait)
			return err
		})
	})
	if err == nil {
		err = context.Cause(p.ctx)
	}
	return n > 0, err
}

// poll waits until one of two descriptors is readable, closed or wrong.
func poll(a, b int, wait time.Duration) (int, error) {
	fds := []unix.PollFd{{Fd: int32(a), Events: unix.POLLIN}, {Fd: int32(b), Events: unix.POLLIN}}
	until := time.Now().Add(wait)
	for {
		ms := -1
		if wait >= 0 {
			ms = int(max(0, time.Until(until)).Milliseconds())
		}
		n, err := unix.Poll(fds, ms)
		if err != unix.EINTR {
			return n, err
		}
	}
}

// control calls do with the descriptor of f, which stays open meanwhile.
func control(f *os.File, do func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var done error
	if err := raw.Control(func(fd uintptr) { done = do(int(fd)) }); err != nil {
		return err
	}
	return done
}
