//go:build unix

package tui

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"oneloop"
)

// dumb is somebody at a terminal that can only print.
type dumb struct {
	t     *testing.T
	front Front
	pty   *os.File
	news  chan []byte
	all   string
}

func sitDumb(t *testing.T, o Options) *dumb {
	t.Helper()
	ptmx, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	o.In, o.Out, o.Err, o.Env = tty, tty, tty, func(k string) string { return map[string]string{"TERM": "dumb"}[k] }
	d := &dumb{t: t, pty: ptmx, news: make(chan []byte, 1000)}
	if d.front, err = Open(o); err != nil {
		t.Fatal(err)
	}
	if _, ok := d.front.(*Plain); !ok {
		t.Fatalf("a dumb terminal has a %T", d.front)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			n, err := ptmx.Read(buf)
			if err != nil {
				return
			}
			d.news <- bytes.Clone(buf[:n])
		}
	}()
	t.Cleanup(func() {
		if err := d.front.Close(); err != nil {
			t.Error(err)
		}
		tty.Close()
		ptmx.Close()
		<-done
		if strings.Contains(d.all, "\x1b") {
			t.Errorf("sequences in %q", d.all)
		}
	})
	return d
}

func (d *dumb) types(s string) {
	d.t.Helper()
	if _, err := d.pty.WriteString(s); err != nil {
		d.t.Fatal(err)
	}
}

func (d *dumb) sees(text string) {
	d.t.Helper()
	late := time.After(time.Minute)
	for !strings.Contains(d.all, text) {
		select {
		case b := <-d.news:
			d.all += string(b)
		case <-late:
			d.t.Fatalf("%q never came, but %q", text, d.all)
		}
	}
}

func (d *dumb) prompts(want string) {
	d.t.Helper()
	if got, err := d.front.Prompt(d.t.Context()); err != nil || got != want {
		d.t.Errorf("the prompt is %q, %v, want %q", got, err, want)
	}
}

func TestAPlainConversation(t *testing.T) {
	d := sitDumb(t, Options{})
	d.sees("") // nothing yet
	d.types("第一\n\n")
	d.prompts("第一")
	d.front.Show(oneloop.TextDelta{Text: "an \x1b[2Janswer"})
	d.sees("an ␛[2Janswer")
	d.types("second\n")
	d.prompts("second") // the blank line is none
	d.types("\x04")
	if got, err := d.front.Prompt(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the prompt is %q, %v", got, err)
	}
	if _, err := d.front.Ask(t.Context(), oneloop.Question{Title: "there?"}); !errors.Is(err, io.EOF) {
		t.Errorf("the question ends with %v", err)
	}
}

func TestPlainLinesTypedBeforeAQuestionArePromptsAndNoAnswers(t *testing.T) {
	d := sitDumb(t, Options{})
	d.types("one\ny\ny\ny")
	d.sees("one\r\ny\r\ny\r\ny")
	got := make(chan oneloop.Answer, 1)
	go func() { // ends with the answer below
		a, err := d.front.Ask(t.Context(), oneloop.Question{Title: "go?", Rule: "Bash(ls:*)"})
		if err == nil {
			got <- a
		}
	}()
	d.sees(english.AskYes)
	d.sees("? ")
	d.types("n because\n") // with the y before it would be none
	select {
	case a := <-got:
		if !reflect.DeepEqual(a, oneloop.Answer{Reason: "because"}) {
			t.Errorf("the answer is %+v", a)
		}
	case <-time.After(time.Minute):
		t.Fatal("the answer was none")
	}
	go func() { // ends with the answer below
		a, err := d.front.Ask(t.Context(), oneloop.Question{Title: "and?"})
		if err == nil {
			got <- a
		}
	}()
	d.sees("and?")
	d.types("what\n")
	d.sees(english.AskAgain + "\r\n? ")
	d.types("y\n")
	if a := <-got; !reflect.DeepEqual(a, oneloop.Answer{Allow: true}) {
		t.Errorf("the answer is %+v", a)
	}
	for _, want := range []string{"one", "y", "y"} {
		d.prompts(want)
	}
	d.types("next\n")
	d.prompts("next")
}

func TestAPlainBlankLineLeavesWhereItShould(t *testing.T) {
	d := sitDumb(t, Options{LeaveOnBlank: true})
	d.types("\n")
	if got, err := d.front.Prompt(t.Context()); !errors.Is(err, io.EOF) {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestATerminalThatCannotMoveItsCursorIsPlain(t *testing.T) {
	for name, c := range map[string]struct {
		term  string
		size  pty.Winsize
		plain bool
	}{
		"xterm": {"xterm", pty.Winsize{Rows: 24, Cols: 80}, false}, "no TERM": {"", pty.Winsize{Rows: 24, Cols: 80}, true},
		"dumb": {"dumb", pty.Winsize{Rows: 24, Cols: 80}, true}, "no size": {"xterm", pty.Winsize{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			ptmx, tty, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer ptmx.Close()
			defer tty.Close()
			if err := pty.Setsize(ptmx, &c.size); err != nil {
				t.Fatal(err)
			}
			f, err := Open(Options{In: tty, Out: tty, Err: tty, Env: func(k string) string { return map[string]string{"TERM": c.term}[k] }})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, plain := f.(*Plain); plain != c.plain {
				t.Errorf("it has a %T", f)
			}
			for no, want := range map[string]bool{"": !c.plain || c.size.Cols == 0, "1": false} {
				if got := Color(tty, func(k string) string { return map[string]string{"TERM": c.term, "NO_COLOR": no}[k] }); got != want {
					t.Errorf("NO_COLOR=%q: colours are %v", no, got)
				}
			}
		})
	}
}
