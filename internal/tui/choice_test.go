//go:build unix

package tui

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/charmbracelet/x/vt"

	"oneloop"
)

// chooses puts q and returns its answer once it is shown.
func (p *person) chooses(q oneloop.Question) <-chan reply {
	got := make(chan reply, 1)
	go func() { // ends with the question, which the test answers or Close voids
		a, err := p.front.Ask(p.t.Context(), q)
		got <- reply{a, err}
	}()
	p.sees(q.Title)
	return got
}

var store = oneloop.Question{Kind: "choice", Title: "Which store?", Detail: "It stays.",
	Choices: []oneloop.Choice{{Label: "SQLite", Detail: "one file\nno server"}, {Label: "Post\u202egres \x1b[2J", Detail: "a \x1b]0;x\x07server"}}}

func TestAChoiceShowsWhatItIsBetweenAndNothingOfItIsObeyed(t *testing.T) {
	p := sit(t)
	got := p.chooses(store)
	p.cursor(2, "Which store?", "  It stays.", "1  SQLite", "   one file", "   no server", "2  Post<U+202E>gres ␛[2J", "   a ␛]0;x␇server", english.ChoiceOne, "?")
	p.types("2\r")
	if r := <-got; r.err != nil || !reflect.DeepEqual(r.answer, oneloop.Answer{Allow: true, Chosen: []string{store.Choices[1].Label}}) {
		t.Errorf("the answer is %+v", r)
	}
	p.sees("your answer: Post<U+202E>gres ␛[2J")
}

func TestAQuestionOfTheModelIsNotShownAsJSON(t *testing.T) {
	p := sit(t)
	p.front.Show(oneloop.ToolStart{Call: &oneloop.ToolUse{Name: "AskUserQuestion", Input: []byte(`{"questions":[{"question":"Which?"}]}`)}})
	p.front.Show(oneloop.ToolStart{Call: &oneloop.ToolUse{Name: "Other", Input: []byte(`{"a":1}`)}})
	p.cursor(2, "AskUserQuestion", `Other {"a":1}`, ">")
}

func TestWhatCommandsRunInIsShownWithWhatThatLacks(t *testing.T) {
	p := sit(t)
	p.front.Show(oneloop.Boundary{In: "no sandbox"}) // was said at the start
	p.front.Show(oneloop.Boundary{In: "ll, no network", Weaker: []string{"no loopback", "no limits"}})
	p.cursor(2, "commands run in: ll sandbox, no network", "  weaker here than it could be: no loopback; no limits", ">")
}

func TestAChoiceIsNumbersLabelsOrWords(t *testing.T) {
	several := store
	several.Several = true
	free := oneloop.Question{Kind: "choice", Title: "Why?"}
	first, both := []string{"SQLite"}, []string{"Post\u202egres \x1b[2J", "SQLite"}
	for _, c := range []struct {
		q    oneloop.Question
		line string
		want oneloop.Answer
		ok   bool
	}{
		{store, " 1 ", oneloop.Answer{Allow: true, Chosen: first}, true},
		{store, "１", oneloop.Answer{Allow: true, Chosen: first}, true},
		{store, "sqlite", oneloop.Answer{Allow: true, Chosen: first}, true},
		{store, "1 2", oneloop.Answer{}, false},
		{store, "3", oneloop.Answer{}, false},
		{store, "0", oneloop.Answer{}, false},
		{store, "", oneloop.Answer{}, false},
		{store, "y", oneloop.Answer{Allow: true, Text: "y"}, true},
		{store, "两个都不要", oneloop.Answer{Allow: true, Text: "两个都不要"}, true},
		{store, "1 but encrypted", oneloop.Answer{Allow: true, Text: "1 but encrypted"}, true},
		{store, "-", oneloop.Answer{}, true},
		{several, "2，1、2", oneloop.Answer{Allow: true, Chosen: both}, true},
		{several, "1 7", oneloop.Answer{}, false},
		{free, "42", oneloop.Answer{Allow: true, Text: "42"}, true},
		{free, " ", oneloop.Answer{}, false},
	} {
		if a, ok := english.parse(c.q, c.line); ok != c.ok || !reflect.DeepEqual(a, c.want) {
			t.Errorf("%q is %+v, %v", c.line, a, ok)
		}
	}
}

func TestAnAnswerThatIsNoneIsAskedForAgain(t *testing.T) {
	p := sit(t)
	got := p.chooses(store)
	for i, wrong := range []string{"3\r", "\r"} {
		p.types(wrong)
		p.waits("the hint", func(all string, _ *vt.Emulator) bool { return strings.Count(all, "from 1 to 2") == i+1 })
	}
	p.types(pasteBegin + "neither,\nreally" + pasteEnd + "\r")
	if r := <-got; r.answer.Text != "neither,\nreally" {
		t.Errorf("the answer is %+v", r)
	}
}

func TestEscLeavesAChoiceOpenAndCtrlCStopsTheTurn(t *testing.T) {
	p := sit(t)
	turn, end := p.front.Turn(t.Context())
	defer end()
	got := p.chooses(store)
	p.types("half an ans\x1b")
	if r := <-got; r.err != nil || !reflect.DeepEqual(r.answer, oneloop.Answer{}) {
		t.Errorf("after Esc the answer is %+v", r)
	}
	p.sees(english.ChoiceLeft)
	if turn.Err() != nil {
		t.Error("Esc at a choice stopped the turn")
	}
	second := store
	second.Title = "Which other?"
	got = p.chooses(second)
	p.types("\x03")
	if r := <-got; !errors.Is(r.err, oneloop.ErrInterrupted) || turn.Err() == nil {
		t.Errorf("after Ctrl-C the answer is %+v, the turn's end %v", r, turn.Err())
	}
}

func TestWhatWasTypedBeforeAChoiceChoosesNothing(t *testing.T) {
	p := sit(t)
	p.types("1")
	p.sees("> 1")
	got := p.chooses(store)
	p.types("2\r")
	if r := <-got; len(r.answer.Chosen) != 1 || r.answer.Chosen[0] == "SQLite" {
		t.Errorf("the answer is %+v", r)
	}
	p.types("\x7f2\r") // the same key once more is no prompt
	p.sees(english.AskOver)
}

func TestAPlanIsAcceptedWithWordsOrChangedWithWords(t *testing.T) {
	p := sitAt(t, 80, Options{Words: &chinese})
	plan := oneloop.Question{Kind: "plan", Title: "Carry out this plan?", Detail: "1. look\n2. \x1b[31mchange", Reason: "the mode is plan"}
	got := make(chan reply, 1)
	go func() { // ends with the answer below
		a, err := p.front.Ask(t.Context(), plan)
		got <- reply{a, err}
	}()
	p.cursor(2, "执行这个计划？", "  1. look", "  2. ␛[31mchange", chinese.PlanYes, chinese.PlanNo, "?")
	p.types("y 先跑测试\r")
	if r := <-got; !r.answer.Allow || r.answer.Text != "先跑测试" {
		t.Errorf("the answer is %+v", r)
	}
	if a, ok := english.parse(plan, "n fewer steps"); !ok || a.Allow || a.Reason != "fewer steps" {
		t.Errorf("a no is %+v", a)
	}
	if _, ok := english.parse(oneloop.Question{Kind: "tool"}, "y but slowly"); ok {
		t.Error("a permission takes words besides")
	}
}

func TestAPermissionSaysWhereItRunsAndWhereTheRuleGoes(t *testing.T) {
	p := sitAt(t, 100, Options{})
	got := p.chooses(oneloop.Question{Kind: "tool", Title: "Run this command?", Detail: "curl x", In: "ns, no network", Rule: "Bash(curl:*)", File: "/ada/settings.local.json"})
	p.cursor(2, "Run this command?", "  curl x", "runs in: ns sandbox, no network", english.AskYes, english.AskNo, "a  yes, and from now on: Bash(curl:*) (kept in /ada/settings.local.json)", "?")
	p.types("n\r")
	<-got
	for in, want := range map[string]string{"no sandbox": "没有沙箱（用你的权限）", "ll, read-only": "ll 沙箱，只读", "vm": "vm"} {
		if s := chinese.isolation(in); s != want {
			t.Errorf("%s is %s", in, s)
		}
	}
	if s := chinese.title(oneloop.Question{Kind: "choice", Title: "Read this?"}); s != "Read this?" {
		t.Errorf("what the model asks became %s", s)
	}
	call := &oneloop.ToolUse{Name: "Deploy"}
	for title, want := range map[string]string{"Run this command?": "运行这条命令？", "Run Deploy?": "运行 Deploy？", "other": "other"} {
		if s := chinese.title(oneloop.Question{Kind: "tool", Title: title, Call: call}); s != want {
			t.Errorf("%s is %s", title, s)
		}
	}
}

func TestAChoiceOnAPlainTerminal(t *testing.T) {
	d := sitDumb(t, Options{})
	for _, c := range []struct {
		lines string
		want  oneloop.Answer
	}{
		{"9\n2\n", oneloop.Answer{Allow: true, Chosen: []string{store.Choices[1].Label}}},
		{"neither\n", oneloop.Answer{Allow: true, Text: "neither"}},
		{"\x1b\n", oneloop.Answer{}},
	} {
		got := make(chan reply, 1)
		go func() { // ends with the answer below, or Close
			a, err := d.front.Ask(d.t.Context(), store)
			got <- reply{a, err}
		}()
		d.all = ""
		d.sees(english.ChoiceOne)
		d.sees("? ")
		d.types(c.lines)
		if r := <-got; r.err != nil || !reflect.DeepEqual(r.answer, c.want) {
			t.Errorf("%q: the answer is %+v", c.lines, r)
		}
	}
}
