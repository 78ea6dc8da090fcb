package tui

import (
	"errors"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// termOptional: the console does without TERM.
const termOptional = true

// source reads the console. A read of the console cannot be ended, so that
// the one that runs when the source is closed takes one more input with it.
type source struct {
	got   chan []byte
	err   chan error
	woken chan struct{}
	over  chan struct{}
	rest  []byte
}

func openSource(in *os.File) (*source, error) {
	s := &source{make(chan []byte), make(chan error, 1), make(chan struct{}, 1), make(chan struct{}), nil}
	go func() {
		for {
			b := make([]byte, 16<<10)
			n, err := in.Read(b)
			if err != nil {
				s.err <- err
				return
			}
			select {
			case s.got <- b[:n]:
			case <-s.over:
				return
			}
		}
	}()
	return s, nil
}

// read returns 0 and no error when it was woken or the time was over. A
// negative time means no end.
func (s *source) read(b []byte, limit time.Duration) (int, error) {
	if len(s.rest) == 0 {
		var late <-chan time.Time
		if limit >= 0 {
			late = time.After(limit)
		}
		select {
		case s.rest = <-s.got:
		case err := <-s.err:
			return 0, err
		case <-s.woken:
			return 0, nil
		case <-late:
			return 0, nil
		}
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

func (s *source) wake() {
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

func (s *source) close() error {
	close(s.over)
	return nil
}

// screenSignals: there are none here.
var screenSignals map[os.Signal]terminalSignal

func stopSelf() error     { return nil }
func suspendGroup() error { return nil }
func quitSelf() error     { return errors.ErrUnsupported }

// foreground: there is nothing else here.
func foreground(*os.File) bool { return true }

// prepareOutput makes the console understand escape sequences.
func prepareOutput(f *os.File) (func() error, error) {
	h := windows.Handle(f.Fd())
	var mode uint32
	if err := windows.GetConsoleMode(h, &mode); err != nil {
		return nil, err
	}
	want := mode | windows.ENABLE_PROCESSED_OUTPUT | windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
	if err := windows.SetConsoleMode(h, want); err != nil {
		return nil, errors.Join(errors.New("this console knows no escape sequences"), err)
	}
	return func() error { return windows.SetConsoleMode(h, mode) }, nil
}

func forget(*os.File) error { return nil }
