//go:build unix

package team

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readInput reads f to its end when it is piped, at most so many bytes. It
// waits for the first byte no longer than wait, -1 for ever. The end of ctx
// ends it.
func readInput(ctx context.Context, f *os.File, wait time.Duration, most int) ([]byte, error) {
	if most < 0 {
		return nil, errors.New(tooLarge)
	}
	if f == nil {
		return nil, nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 && !info.Mode().IsRegular() {
		return nil, nil // closed, a terminal, /dev/null
	}
	p := &patient{ctx: ctx, f: f, wait: wait}
	input, err := io.ReadAll(io.LimitReader(p, int64(most)+1))
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, fmt.Errorf("read standard input: %w", err)
	case len(input) > most:
		return nil, errors.New(tooLarge)
	}
	return input, nil
}

// patient reads a file that may be in blocking mode, which deadlines do not
// work on and which must stay so: the mode is shared with other programs. It
// waits for the first byte as long as it is told, -1 for ever, and returns
// io.EOF when none came.
type patient struct {
	ctx  context.Context
	f    *os.File
	wait time.Duration
}

func (p *patient) Read(buf []byte) (int, error) {
	ready, err := p.ready()
	if err != nil {
		return 0, err
	}
	if !ready {
		return 0, io.EOF
	}
	p.wait = -1
	return p.f.Read(buf)
}

// ready waits until there is something to read.
func (p *patient) ready() (bool, error) {
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
			n, err = poll(fd, end, p.wait)
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
