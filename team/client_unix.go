//go:build unix

package team

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// helloWait bounds how long a client waits for the first sign of its agent,
// which answers at once when there is one.
const helloWait = 15 * time.Second

func inheritedUnnamed() bool { return isNamed && isLine(FD) }

func runClient(ctx context.Context, fd int, o ClientOptions) (int, error) {
	s, err := call(fd)
	if err != nil {
		return 3, err
	}
	defer s.Close()
	defer context.AfterFunc(ctx, func() { s.Close() })()

	if err := s.SetReadDeadline(time.Now().Add(helloWait)); err != nil {
		return 3, unreachable(err.Error())
	}
	if kind, _, err := s.receive(); err != nil || kind != frameHello {
		return 3, unreachable(fmt.Sprintf("nobody answers on descriptor %d", fd))
	}
	if err := s.SetReadDeadline(time.Time{}); err != nil {
		return 3, unreachable(err.Error())
	}
	code, err := sendTask(ctx, s, o)
	if err == nil || code == 0 {
		return follow(s, o)
	}
	return code, err
}

// call passes the agent a stream of our own and returns our end.
func call(fd int) (*stream, error) {
	if fd < 0 {
		return nil, unreachable(Env + " names no descriptor (a command in the background has none)")
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
		return nil, unreachable(fmt.Sprintf("%s names descriptor %d, which is closed", Env, fd))
	}
	if !isLine(fd) {
		return nil, unreachable(fmt.Sprintf("%s names descriptor %d, which is no socket of an agent", Env, fd))
	}
	mine, passed, err := streamPair()
	if err != nil {
		return nil, fmt.Errorf("make a socket to reach the agent: %w", err)
	}
	err = greet(fd, passed)
	passed.Close()
	if err != nil {
		mine.Close()
		return nil, unreachable(fmt.Sprintf("the agent at descriptor %d no longer listens (%v)", fd, err))
	}
	return &stream{Conn: mine}, nil
}

// sendTask hands the subtask over. The code is 0 beside an error when the
// agent has stopped reading, which it does after it said why.
func sendTask(ctx context.Context, s *stream, o ClientOptions) (int, error) {
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return 2, fmt.Errorf("find the current folder: %w", err)
	}
	head, err := json.Marshal(taskHead{Dir: []byte(dir), Stdout: stdoutMode(o.Stdout)})
	if err != nil {
		return 2, fmt.Errorf("encode the subtask: %w", err)
	}
	input, err := readInput(ctx, o, s.busy)
	if errors.Is(err, errVerdict) {
		return 0, err
	}
	if err != nil {
		return 2, err
	}
	if strings.TrimSpace(o.Prompt) == "" && len(input) == 0 {
		return 2, errNoPrompt
	}
	for _, f := range []struct {
		kind byte
		data []byte
	}{{frameTask, head}, {framePrompt, []byte(o.Prompt)}, {frameInput, input}, {frameEnd, nil}} {
		if f.kind == frameInput && len(input) == 0 {
			continue
		}
		if err := s.send(f.kind, f.data); err != nil {
			return 0, err
		}
	}
	return 0, nil
}

// errVerdict says that the agent has ended the subtask before it had it all.
var errVerdict = errors.New("the agent takes no more input")

// busy asks the agent whether other clients of this command are at work.
func (s *stream) busy() (bool, error) {
	if err := s.send(frameAsk, nil); err != nil {
		return false, errVerdict
	}
	kind, data, err := s.receive()
	if err != nil {
		return false, errVerdict // which follow will find to be missing
	}
	if kind != frameBusy {
		s.unread = &frame{kind, data}
		return false, errVerdict
	}
	return string(data) == "1", nil
}
