//go:build unix

package team_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oneloop"
	"oneloop/team"
	"oneloop/tool"
)

func TestTheEndOfACommandEndsItsChildrenAndLeavesNothing(t *testing.T) {
	started := make(chan struct{}, 3)
	var running atomic.Int64
	c := newCrew(t, team.Options{Run: func(ctx context.Context, _ team.Task, emit func(oneloop.Event)) (string, error) {
		running.Add(1)
		defer running.Add(-1)
		started <- struct{}{}
		<-ctx.Done()
		for range 1000 { // it takes a moment to end
			runtime.Gosched()
			emit(oneloop.Notice{Text: "tidying up"})
		}
		return "", ctx.Err()
	}})
	c.bash(t, `true`)
	routines, fds := runtime.NumGoroutine(), descriptors(t)

	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	var clients sync.WaitGroup
	for range 3 {
		clients.Go(func() {
			code, err := team.RunClient(t.Context(), int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: c.Root})
			if err == nil && code != 130 || err != nil && code != 1 { // told, or cut off
				t.Errorf("a client ended with %d, %v", code, err)
			}
		})
		<-started
	}
	release()
	if n := running.Load(); n != 0 {
		t.Errorf("%d children run after release", n)
	}
	release() // twice does nothing
	clients.Wait()
	for _, e := range c.events {
		if end, ok := e.(oneloop.ChildEnd); ok && end.Error != "the command that asked for the subtask is over: interrupted" {
			t.Errorf("a child ended with %q", end.Error)
		}
	}
	if stopped, stops := c.clock.now(); stopped != 0 || stops != 3 {
		t.Errorf("the clock is %d times stopped after %d children", stopped, stops)
	}
	settle(t, "goroutines", routines, runtime.NumGoroutine)
	settle(t, "descriptors", fds, func() int { return descriptors(t) })
}

func TestNonsenseOnTheLineDisturbsNobody(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	fd := int(theirs.Fd())
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	fds := descriptors(t)

	packet := []byte(team.Greeting + "1")
	send := func(data []byte, fds ...int) {
		t.Helper()
		var rights []byte
		if len(fds) > 0 {
			rights = syscall.UnixRights(fds...)
		}
		if err := syscall.Sendmsg(fd, data, rights, nil, 0); err != nil {
			t.Fatal(err)
		}
	}
	send(packet)
	send([]byte("hello"), int(null.Fd()))
	send(packet, int(null.Fd()))
	send(packet, slices.Repeat([]int{int(null.Fd())}, 40)...)
	const tooLong = "p\xff\xff\xff\xff"
	for _, frames := range []string{
		"", "garbage that is no frame at all", "t\x00\x00\x00\x02{}", "t\x00\x00\x00\x01{", tooLong,
		"q\x00\x00\x00\x00", "e\x00\x00\x00\x00", "t\x00\x00\x00\x0b{\"dir\":\"a\"}p\x00\x00\x00\x01xe\x00\x00\x00\x00",
	} {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		send(packet, pair[1])
		syscall.Close(pair[1])
		f := os.NewFile(uintptr(pair[0]), "stream")
		if _, err := f.WriteString(frames); err != nil {
			t.Fatal(err)
		}
		if frames != tooLong { // that one is refused before more has come
			if err := syscall.Shutdown(pair[0], syscall.SHUT_WR); err != nil {
				t.Fatal(err)
			}
		}
		if said, err := io.ReadAll(f); err != nil && !errors.Is(err, syscall.ECONNRESET) || !bytes.HasPrefix(said, []byte("h\x00\x00\x00\x011")) {
			t.Errorf("after %q the agent said %q, %v", frames, said, err)
		}
		f.Close()
	}
	var out strings.Builder
	code, err := team.RunClient(t.Context(), fd, team.ClientOptions{Prompt: "still there?", Dir: c.Root, Stdout: &out})
	if code != 0 || err != nil || out.String() != "/1 \"still there?\" \"\"\n" {
		t.Errorf("a client after that got %q, %d, %v", &out, code, err)
	}
	settle(t, "descriptors", fds, func() int { return descriptors(t) })
}

func TestTheClientsOfOneCommandAreBounded(t *testing.T) {
	const most = 64
	c := newCrew(t, team.Options{Run: echo, Tree: &team.Tree{MaxLive: 1000, MaxTotal: 1000}})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for range most {
		pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Sendmsg(int(theirs.Fd()), []byte(team.Greeting+"1"), syscall.UnixRights(pair[1]), nil, 0); err != nil {
			t.Fatal(err)
		}
		syscall.Close(pair[1])
		mute := os.NewFile(uintptr(pair[0]), "stream")
		defer mute.Close()
		if _, err := mute.Read(make([]byte, 1)); err != nil { // it was taken up
			t.Fatal(err)
		}
	}
	var log strings.Builder
	code, err := team.RunClient(t.Context(), int(theirs.Fd()), team.ClientOptions{Prompt: "x", Dir: c.Root, Stderr: &log})
	if code != 5 || err != nil || !strings.Contains(log.String(), "64 clients at once already") {
		t.Errorf("one more ended with %d, %v and %q", code, err, &log)
	}
}

func TestAClientOfAnotherVersionIsToldSo(t *testing.T) {
	c := newCrew(t, team.Options{Run: echo})
	theirs, _, release, err := c.Connect(t.Context(), c.emit, &c.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Sendmsg(int(theirs.Fd()), []byte(team.Greeting+"2"), syscall.UnixRights(pair[1]), nil, 0); err != nil {
		t.Fatal(err)
	}
	syscall.Close(pair[1])
	f := os.NewFile(uintptr(pair[0]), "stream")
	defer f.Close()
	said, err := io.ReadAll(f)
	if err != nil || !bytes.Contains(said, []byte("different versions")) || !bytes.HasSuffix(said, []byte("x\x00\x00\x00\x013")) {
		t.Errorf("the agent said %q, %v", said, err)
	}
}

func TestAClientLeftInTheBackgroundEndsWithItsCommand(t *testing.T) {
	started := make(chan struct{})
	ended := make(chan error, 1)
	c := newCrew(t, team.Options{Run: func(ctx context.Context, _ team.Task, _ func(oneloop.Event)) (string, error) {
		close(started)
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return "", ctx.Err()
	}})
	go func() { <-started; os.WriteFile(filepath.Join(c.Root, "started"), nil, 0o600) }()
	r := c.call(t, tool.BashOptions{}, "oneloop x & until [ -e started ]; do read -t 0.01 <> <(:); done")
	if r.IsError || !strings.Contains(r.Text(), "ended what it left running: oneloop") {
		t.Errorf("the result is %q, error %v", r.Text(), r.IsError)
	}
	select {
	case err := <-ended:
		if !errors.Is(err, oneloop.ErrInterrupted) {
			t.Errorf("the child's context ended with %v", err)
		}
	default:
		t.Error("the command has its result while the child still runs")
	}
}

// brokenConn cannot be read from.
type brokenConn struct{ net.Conn }

func (brokenConn) Read([]byte) (int, error)        { panic("the connection is broken") }
func (brokenConn) SetReadDeadline(time.Time) error { return nil }

func TestAFaultWhileAClientIsWatchedEndsItsSubtask(t *testing.T) {
	why := make(chan error, 1)
	stop := team.Watch(brokenConn{}, func(err error) { why <- err })
	if err := <-why; !strings.HasSuffix(err.Error(), "internal error: watch the command that asked for it: the connection is broken") {
		t.Errorf("it ends with %v", err)
	}
	stop()
}
