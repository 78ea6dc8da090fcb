//go:build unix

package tui

import (
	"context"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"oneloop"
)

// asks puts a question and gives its answer on the channel.
func (p *person) asks(ctx context.Context, title string) <-chan oneloop.Answer {
	got := make(chan oneloop.Answer, 1)
	go func() { // ends with the question, which the test answers or Close voids
		a, err := p.front.Ask(ctx, oneloop.Question{Title: title})
		if err != nil {
			a.Reason = "error: " + err.Error()
		}
		got <- a
	}()
	return got
}

func TestAKeyPressedTwiceAtOneQuestionDoesNotAnswerTheNext(t *testing.T) {
	for name, twice := range map[string][]string{"in one piece": {"y\ry\r"}, "in two": {"y\r", "y\r"}} {
		t.Run(name, func(t *testing.T) {
			p := sit(t)
			a := p.asks(t.Context(), "touch a?")
			p.sees("touch a?")
			b := p.asks(t.Context(), "touch b?")
			for _, s := range twice {
				p.types(s)
			}
			if got := <-a; !got.Allow {
				t.Fatalf("the first answer is %+v", got)
			}
			p.sees("touch b?")
			select {
			case got := <-b:
				t.Fatalf("the second question was answered unseen: %+v", got)
			default:
			}
			p.types("n too dangerous\r")
			if got := <-b; got.Allow || got.Reason != "too dangerous" {
				t.Errorf("the second answer is %+v", got)
			}
			p.sees(english.AskOver) // the second y stays in the line, unsent
			p.cursor(3, "> y")
			p.types("\x7fnext prompt")
			p.sees("next prompt")
			p.types("\r")
			if got, err := p.front.Prompt(t.Context()); err != nil || got != "next prompt" {
				t.Errorf("the next prompt is %q, %v", got, err)
			}
		})
	}
}

func TestALineThatLooksLikeAnAnswerIsSentWithASecondEnter(t *testing.T) {
	p := sit(t)
	a := p.asks(t.Context(), "go?")
	p.sees("go?")
	p.types("y\r")
	<-a
	p.types("n\r")
	p.sees(english.AskOver)
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "n" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestWhatWasTypedBeforeAQuestionIsNoAnswerAndIsKept(t *testing.T) {
	p := sit(t)
	p.types("y")
	p.sees("> y")
	a := p.asks(t.Context(), "sudo rm?")
	p.sees("sudo rm?")
	p.types("n\r")
	if got := <-a; got.Allow {
		t.Errorf("the answer is %+v", got)
	}
	p.types("es indeed")
	p.sees("es indeed")
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "yes indeed" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestCtrlCAtAQuestionStopsTheTurnAndIsNoAnswer(t *testing.T) {
	p := sit(t)
	turn, end := p.front.Turn(t.Context())
	defer end()
	a := p.asks(turn, "go?")
	p.sees("go?")
	p.types("\x03")
	if got := <-a; got.Allow || !strings.Contains(got.Reason, "interrupted") {
		t.Errorf("the answer is %+v", got)
	}
	if got := context.Cause(turn); got != oneloop.ErrInterrupted {
		t.Errorf("the turn ended with %v", got)
	}
}

func TestAPasteThatRunsWhenAQuestionComesIsKept(t *testing.T) {
	p := sit(t)
	p.types("\x1b[200~first half, ")
	a := p.asks(t.Context(), "go?")
	p.woken()
	p.types("y\rsecond half\x1b[201~")
	p.sees("go?")
	p.types("n\r")
	if got := <-a; got.Allow {
		t.Errorf("the answer is %+v", got)
	}
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "first half, y\nsecond half" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestAPasteWhoseEndIsLostEndsByItself(t *testing.T) {
	p := sit(t)
	p.types("\x1b[200~lost end")
	p.sees("lost end")
	p.types("\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "lost end" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestQuestionsThatComeTogetherAreAnsweredOneByOne(t *testing.T) {
	p := sit(t)
	var asked []<-chan oneloop.Answer
	for _, what := range []string{"touch a?", "touch b?", "touch c?"} {
		asked = append(asked, p.asks(t.Context(), what))
		if len(asked) == 1 {
			p.sees(what)
		}
	}
	got := map[string]oneloop.Answer{}
	open := map[string]<-chan oneloop.Answer{"touch a?": asked[0], "touch b?": asked[1], "touch c?": asked[2]}
	for i, answer := range []string{"y\r", "n not this one\r", "y\r"} {
		title := ""
		p.waits("a question", func(all string, _ *vt.Emulator) bool { // the two that wait come in any order
			for what := range open {
				if strings.Contains(all, what) {
					title = what
				}
			}
			return title != ""
		})
		p.types(answer)
		got[title] = <-open[title]
		delete(open, title)
		if want := i != 1; got[title].Allow != want || !want && got[title].Reason != "not this one" {
			t.Errorf("%s was answered %+v", title, got[title])
		}
	}
}

func TestAnAnswerIsYesNoOrAlwaysAndNothingElse(t *testing.T) {
	p := sit(t)
	ask := func(q oneloop.Question) <-chan oneloop.Answer {
		got := make(chan oneloop.Answer, 1)
		go func() { // ends with the question, which is answered below
			if a, err := p.front.Ask(t.Context(), q); err == nil {
				got <- a
			}
		}()
		p.sees(q.Title)
		return got
	}
	a := ask(oneloop.Question{Title: "first?", Detail: "rm \x1b[2J\u200b 目录"})
	p.sees("rm ␛[2J<U+200B> 目录")
	for i, wrong := range []string{"maybe\r", "\r", "a\r", "yes please\r", pasteBegin + "y" + pasteEnd + "\r"} {
		p.types(wrong)
		p.waits("the hint", func(all string, _ *vt.Emulator) bool { return strings.Count(all, english.AskAgain) == i+1 })
	}
	p.types("yn\x7f\r") // edited
	if got := <-a; !reflect.DeepEqual(got, oneloop.Answer{Allow: true}) {
		t.Errorf("the answer is %+v", got)
	}
	a = ask(oneloop.Question{Title: "second?", Rule: "Bash(ls:*)"})
	p.sees("Bash(ls:*)")
	p.types("A\r")
	if got := <-a; !reflect.DeepEqual(got, oneloop.Answer{Allow: true, Always: true}) {
		t.Errorf("the answer is %+v", got)
	}
}

func TestAQuestionWhoseTurnEndsIsTakenBack(t *testing.T) {
	p := sit(t)
	ctx, cancel := context.WithCancel(t.Context())
	a := p.asks(ctx, "go?")
	p.sees("go?")
	cancel()
	if got := <-a; got.Allow || !strings.Contains(got.Reason, "canceled") {
		t.Errorf("the answer is %+v", got)
	}
	p.sees(english.AskGone)
	p.types("prompt")
	p.cursor(8, "> prompt")
}
