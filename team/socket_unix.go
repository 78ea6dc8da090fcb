//go:build unix

package team

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"oneloop"
)

// maxClients is how many clients of one command are listened to at the same
// time, those included that will be refused.
const maxClients = 64

// line is one command's socket pair with all that hangs on it.
type line struct {
	job
	cancel context.CancelCauseFunc
	ours   *net.UnixConn
	wg     sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	streams map[*stream]struct{}
}

// connect makes a command's line and listens on it until release, which
// cancels the children of the command and waits for them.
func (b *Broker) connect(ctx context.Context, emit func(oneloop.Event), c clock) (theirs *os.File, release func(), err error) {
	ours, theirs, err := pair()
	if err != nil {
		return nil, nil, fmt.Errorf("make a socket for subtasks: %w", err)
	}
	l := &line{ours: ours, streams: map[*stream]struct{}{}}
	ctx, l.cancel = context.WithCancelCause(ctx)
	l.job = job{broker: b, ctx: ctx, emit: emit, clock: c}
	l.wg.Go(l.listen)
	return theirs, sync.OnceFunc(func() {
		l.close()
		theirs.Close()
	}), nil
}

func (l *line) close() {
	l.cancel(errCommandOver)
	l.mu.Lock()
	l.closed = true
	for s := range l.streams {
		s.Close()
	}
	l.mu.Unlock()
	l.ours.Close()
	l.wg.Wait()
}

func (l *line) listen() {
	defer func() {
		if v := recover(); v != nil { // who comes later finds that nobody listens
			l.cancel(fmt.Errorf("internal error: listen for subtasks: %v", v))
			l.ours.Close()
		}
	}()
	for {
		conn, theirs, err := accept(l.ours)
		if err != nil {
			return // the line is closed
		}
		if conn == nil {
			continue // not a client of ours
		}
		s := &stream{Conn: conn}
		if !l.keep(s) {
			// Nobody closes s but us, so it must not hold us up.
			_ = s.SetWriteDeadline(time.Now().Add(time.Second))
			_ = s.hello()
			s.verdict("", fmt.Sprintf("the subtask was refused: this command has %d clients at once already; start fewer side by side", maxClients), 5)
			s.Close()
			continue
		}
		l.wg.Go(func() {
			defer l.drop(s)
			defer func() {
				if v := recover(); v != nil { // what is told of a subtask goes to others' code
					s.verdict("", fmt.Sprintf("the subtask broke down: %v", v), 1)
				}
			}()
			l.serve(s, theirs)
		})
	}
}

// keep takes note of a stream, so that close can end it.
func (l *line) keep(s *stream) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(l.streams) >= maxClients {
		return false
	}
	l.streams[s] = struct{}{}
	return true
}

func (l *line) drop(s *stream) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.streams, s)
	s.Close()
}

// accept waits for the next packet. A packet that carries anything but a
// greeting and one descriptor of a stream is passed over with a nil conn.
func accept(c *net.UnixConn) (net.Conn, string, error) {
	var packet [64]byte
	oob := make([]byte, syscall.CmsgSpace(4))
	n, oobn, _, _, err := c.ReadMsgUnix(packet[:], oob)
	if err != nil {
		return nil, "", err
	}
	fds := received(oob[:oobn])
	defer func() {
		for _, fd := range fds {
			syscall.Close(fd)
		}
	}()
	theirs := string(packet[:n])
	if len(fds) != 1 || len(theirs) <= len(greeting) || theirs[:len(greeting)] != greeting {
		return nil, "", nil
	}
	conn, err := fileConn(fds[0])
	fds = nil // it closed the descriptor
	if err != nil {
		return nil, "", nil
	}
	return conn, theirs, nil
}

// received returns the descriptors that came with a packet.
func received(oob []byte) []int {
	msgs, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	var all []int
	for i := range msgs {
		fds, err := syscall.ParseUnixRights(&msgs[i])
		if err == nil {
			all = append(all, fds...)
		}
	}
	return all
}

// fileConn makes a connection of a socket's descriptor, which it closes.
func fileConn(fd int) (net.Conn, error) {
	f := os.NewFile(uintptr(fd), "socket")
	defer f.Close()
	return net.FileConn(f)
}

// socketOf reports whether fd is a unix socket of the given type.
func socketOf(fd, kind int) bool {
	got, err := syscall.GetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_TYPE)
	if err != nil || got != kind {
		return false
	}
	sa, err := syscall.Getsockname(fd)
	_, unix := sa.(*syscall.SockaddrUnix)
	return err == nil && unix
}

// streamPair makes the two ends of a client's stream.
func streamPair() (mine net.Conn, passed *os.File, err error) {
	fds, err := socketpair(syscall.SOCK_STREAM)
	if err != nil {
		return nil, nil, err
	}
	passed = os.NewFile(uintptr(fds[1]), "stream")
	if mine, err = fileConn(fds[0]); err != nil {
		passed.Close()
		return nil, nil, err
	}
	return mine, passed, nil
}

// greet passes a stream to the agent at the other end of fd. The descriptor is
// used as it is: its blocking mode belongs to everybody who inherited it.
func greet(fd int, passed *os.File) error {
	raw, err := passed.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(f uintptr) {
		for {
			sent = syscall.Sendmsg(fd, fmt.Append(nil, greeting, version), syscall.UnixRights(int(f)), nil, 0)
			if sent != syscall.EINTR {
				return
			}
		}
	})
	return errors.Join(err, sent)
}
