//go:build unix

package tui

import (
	"strings"
	"testing"
)

// names completes the last word of a text from these.
func names(list ...string) func(string) Completion {
	return func(before string) (c Completion) {
		c.From = strings.LastIndexByte(before, ' ') + 1
		for _, n := range list {
			if strings.HasPrefix(n, before[c.From:]) {
				c.Full, c.Show = append(c.Full, n), append(c.Show, strings.ToUpper(n))
			}
		}
		return c
	}
}

// tabs types text and, when the cursor is so far behind the mark in this row, Tab.
func (p *person) tabs(text string, at int, row string) {
	p.t.Helper()
	p.types(text)
	p.cursor(2+at, row)
	p.types("\t")
}

func TestTabCompletesWhatIsCertainAndListsWhatIsPossible(t *testing.T) {
	p := sitAt(t, 40, Options{Complete: names("main.go ", "main_test.go ", "资料一", "资料二", "alone ", "👨‍👩‍👧", "👨‍👩‍👦")})
	p.tabs("see ma", 6, "> see ma")
	p.cursor(2+8, "> see main")
	p.types("\t")
	p.cursor(2+8, "MAIN.GO   MAIN_TEST.GO", "> see main")
	p.tabs(".", 9, "> see main.")
	p.cursor(2+12, "> see main.go")
	p.tabs("资", 14, "> see main.go 资")
	p.cursor(2+16, "> see main.go 资料")
	p.tabs("二 al", 21, "> see main.go 资料二 al")
	p.cursor(2+25, "> see main.go 资料二 alone")
	p.tabs("👨", 27, "> see main.go 资料二 alone 👨") // no piece of a character is put in
	p.cursor(2+27, "👨‍👩‍👧  👨‍👩‍👦", "> see main.go 资料二 alone 👨")
	p.tabs("\x7f\x17x", 20, "> see main.go 资料二 x") // nothing begins so
	p.types("y\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "see main.go 资料二 x\ty" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}

func TestATabInAPieceOfTextIsATab(t *testing.T) {
	p := sitAt(t, 40, Options{Complete: names("alone")})
	p.types("al\tx\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "al\tx" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
	p.types("al\rline\tal\t")
	p.sees("line")
	p.types("z\r")
	if got, err := p.front.Prompt(t.Context()); err != nil || got != "al\nline\tal\tz" {
		t.Errorf("the prompt is %q, %v", got, err)
	}
}
