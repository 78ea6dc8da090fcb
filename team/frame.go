package team

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Both ends of a stream are programs of ours, but not always the same version:
// the link may lead to a newer one than the one that runs. Hello, standard
// error and exit keep their form in every version, so that a client of another
// one can be told.
const (
	version  = 1
	greeting = "oneloop-agent/" // followed by the version in decimal
)

// Kinds of frames.
const (
	frameTask   = 't'
	framePrompt = 'p'
	frameInput  = 'i'
	frameEnd    = 'e'
	frameAsk    = 'q' // answered by frameBusy; only before the prompt

	frameHello  = 'h'
	frameBusy   = 'b' // "1" while other clients of the command are at work, else "0"
	frameStdout = 'o'
	frameStderr = 's'
	frameExit   = 'x'
)

// MaxTask is the most a subtask may hold, prompt and piped input together, in
// bytes.
const MaxTask = 16 << 20

// maxFrame bounds one frame's payload; longer texts come in several.
const maxFrame = 256 << 10

// stream carries frames over one client's connection. Sending is safe for
// concurrent use, receiving is not.
type stream struct {
	net.Conn
	unread *frame // received, and to be received again

	mu  sync.Mutex
	buf []byte // one frame with its header, so that it goes out in one write
}

type frame struct {
	kind byte
	data []byte
}

// send sends data as frames of one kind, at least one.
func (s *stream) send(kind byte, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), maxFrame)
		s.buf = append(s.buf[:0], kind)
		s.buf = binary.BigEndian.AppendUint32(s.buf, uint32(n))
		s.buf = append(s.buf, data[:n]...)
		if _, err := s.Write(s.buf); err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

// receive returns the next frame. The payload is the caller's. io.EOF means
// that the other end has closed between two frames.
func (s *stream) receive() (kind byte, data []byte, err error) {
	if f := s.unread; f != nil {
		s.unread = nil
		return f.kind, f.data, nil
	}
	var head [5]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return 0, nil, err
	}
	n := binary.BigEndian.Uint32(head[1:])
	if n > maxFrame {
		return 0, nil, fmt.Errorf("a frame of %d bytes where at most %d are allowed", n, maxFrame)
	}
	data = make([]byte, n)
	if _, err := io.ReadFull(s, data); err != nil {
		return 0, nil, fmt.Errorf("inside a frame: %w", noEOF(err))
	}
	return head[0], data, nil
}

func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// hello is the first frame of an agent.
func (s *stream) hello() error { return s.send(frameHello, strconv.AppendInt(nil, version, 10)) }

// watch calls gone when the other end closes, or says what it must not: after
// its task a client has only to wait. So it does when it cannot watch any
// longer. The returned function ends the watch; nothing can be received
// afterwards.
func (s *stream) watch(gone func(why error)) (stop func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		if why := s.waited(); why != nil {
			gone(why)
		}
	}()
	return func() {
		// A connection that has no deadline is closed, and its read over.
		_ = s.SetReadDeadline(time.Unix(1, 0))
		<-done
	}
}

// waited says why a client does not wait any more; nil: the watch was ended.
func (s *stream) waited() (why error) {
	defer func() {
		if v := recover(); v != nil {
			why = fmt.Errorf("internal error: watch the command that asked for it: %v", v)
		}
	}()
	if _, err := s.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		return nil
	}
	return errClientGone
}

// verdict sends what a client prints as its last words and its exit code. The
// client may be gone; then there is nobody to tell.
func (s *stream) verdict(stdout, stderr string, exit int) {
	if stdout != "" {
		if !strings.HasSuffix(stdout, "\n") {
			stdout += "\n"
		}
		if s.send(frameStdout, []byte(stdout)) != nil {
			return
		}
	}
	if stderr != "" && s.send(frameStderr, []byte("oneloop: "+line1(stderr)+"\n")) != nil {
		return
	}
	_ = s.send(frameExit, []byte(strconv.Itoa(exit)))
}

// line1 puts text on one line.
func line1(text string) string { return strings.Join(strings.Fields(text), " ") }
