package tui

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
)

func TestTheLineBelowATurnIsAboutTheTurnAndNamesTheSession(t *testing.T) {
	spent := func(in, cached int64, cost float64) oneloop.Spend {
		return oneloop.Spend{
			Usage: oneloop.Usage{Input: in, CacheRead: cached, Output: 5}, Cost: cost, Known: cost > 0,
			TotalUsage: oneloop.Usage{Input: 999}, TotalCost: 999, TotalKnown: true, Requests: 999, // of whoever had it
		}
	}
	turns := [][]oneloop.Event{
		{spent(1000, 0, 0.01)},
		{oneloop.Child{Agent: "1", Event: spent(10, 0, 0.02)}, spent(0, 2000, 0.03)},
		{}, // refused before it was charged
		{spent(7, 0, 0)},
		{spent(7, 0, 0.5)},
	}
	for _, c := range []struct {
		words *Text
		want  string
	}{
		{&english, `tokens: 1,000 in, 5 out · 1 request · $0.010
tokens: 2,010 in (2,000 from the cache), 10 out · 2 requests · turn $0.050 · since the start $0.060
tokens: 7 in, 5 out · 1 request · turn price unknown · since the start price unknown
tokens: 7 in, 5 out · 1 request · turn $0.500 · since the start price unknown
`},
		{&chinese, `输入 1,000 词元，输出 5 词元 · 请求 1 次 · $0.010
输入 2,010 词元（其中缓存 2,000），输出 10 词元 · 请求 2 次 · 本轮 $0.050 · 启动以来 $0.060
输入 7 词元，输出 5 词元 · 请求 1 次 · 本轮 价格未知 · 启动以来 价格未知
输入 7 词元，输出 5 词元 · 请求 1 次 · 本轮 $0.500 · 启动以来 价格未知
`},
	} {
		var out bytes.Buffer
		r := renderer{on: &paper{out: &out}, words: c.words}
		for _, events := range turns {
			for _, e := range append(events, oneloop.TurnEnd{}) {
				r.event(e)
			}
		}
		if diff := cmp.Diff(c.want, out.String()); diff != "" {
			t.Error(diff)
		}
	}
}

func TestOneOfSomethingIsSingular(t *testing.T) {
	for n, want := range []string{"… 0 more lines", "… 1 more line", "… 2 more lines"} {
		if got := english.MoreLines.of(n); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestALongCommandIsCutInTheUsersLanguage(t *testing.T) {
	input, err := json.Marshal(map[string]string{"command": strings.Repeat("x", 4001)})
	if err != nil {
		t.Fatal(err)
	}
	for words, want := range map[*Text]string{&english: "x … (1 more byte)", &chinese: "x ……（还有 1 字节）"} {
		r := renderer{words: words}
		if got := r.words.callLine(&oneloop.ToolUse{Name: "Bash", Input: input}); !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got[len(got)-60:], want)
		}
	}
}
