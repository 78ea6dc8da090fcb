package alive_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"oneloop/internal/alive"
)

// TestMain is also the process that is killed.
func TestMain(m *testing.M) {
	if path := os.Getenv("ALIVE_TEST_HOLD"); path != "" {
		hold := alive.Hold
		if os.Getenv("ALIVE_TEST_LOCK") != "" {
			hold = alive.HoldLocked
		}
		_, err := hold(path)
		fmt.Println("held", err)
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var ways = map[string]func(string) (*alive.Holder, error){"pipe": alive.Hold, "lock": alive.HoldLocked}

func TestWhoLetsGoIsGone(t *testing.T) {
	for name, hold := range ways {
		path := filepath.Join(t.TempDir(), "a")
		if gone, err := alive.Gone(path); !gone || err != nil {
			t.Errorf("%s: nobody was there: %v %v", name, gone, err)
		}
		h, err := hold(path)
		if err != nil {
			t.Fatal(name, err)
		}
		for range 3 {
			if gone, err := alive.Gone(path); gone || err != nil {
				t.Errorf("%s: held: %v %v", name, gone, err)
			}
		}
		if _, err := hold(path); err == nil {
			t.Errorf("%s: held twice", name)
		}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(5*time.Millisecond, func() { cancel(why) })
		if err := alive.Wait(ctx, path); !errors.Is(err, why) {
			t.Errorf("%s: waiting that was ended: %v", name, err)
		}
		var wg sync.WaitGroup
		for range 5 {
			wg.Go(func() {
				if err := alive.Wait(t.Context(), path); err != nil {
					t.Error(name, err)
				}
			})
		}
		for range 5 { // looking takes nothing from those who wait
			if gone, err := alive.Gone(path); gone || err != nil {
				t.Errorf("%s: held and waited for: %v %v", name, gone, err)
			}
		}
		if err := h.Release(); err != nil {
			t.Error(name, err)
		}
		wg.Wait()
		if gone, err := alive.Gone(path); !gone || err != nil {
			t.Errorf("%s: let go: %v %v", name, gone, err)
		}
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: it is there still: %v", name, err)
		}
	}
}

func TestWhoWasKilledIsGone(t *testing.T) {
	for name := range ways {
		path := filepath.Join(t.TempDir(), "a")
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "ALIVE_TEST_HOLD="+path)
		if name == "lock" {
			cmd.Env = append(cmd.Env, "ALIVE_TEST_LOCK=1")
		}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var said string
		if _, err := fmt.Fscanln(out, &said, new(string)); err != nil || said != "held" {
			t.Fatal(said, err)
		}
		if gone, err := alive.Gone(path); gone || err != nil {
			t.Errorf("%s: held: %v %v", name, gone, err)
		}
		told := make(chan error, 1)
		go func() { told <- alive.Wait(t.Context(), path) }()
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := <-told; err != nil {
			t.Error(name, err)
		}
		cmd.Wait()
		in.Close()
		if gone, err := alive.Gone(path); !gone || err != nil {
			t.Errorf("%s: killed: %v %v", name, gone, err)
		}
	}
}
