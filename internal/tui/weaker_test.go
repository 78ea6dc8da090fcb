package tui

import "testing"

func TestADifferenceOfAReplayIsInOneLanguage(t *testing.T) {
	const want, got = `what is recorded: a reply (end_turn) {"text":"a reply"}`, "nothing more"
	for x, said := range map[*Text]string{
		&english: `turn 2, entry 7: expected what is recorded: a reply (end_turn) {"text":"a reply"}, came nothing more`,
		&chinese: `第 2 轮，第 7 条记录：应为 录制的内容：回复 (end_turn) {"text":"a reply"}，实为 没有更多内容`,
	} {
		if text := x.Difference(2, 7, want, got); text != said {
			t.Errorf("it is %s, want %s", text, said)
		}
	}
	if text := english.Difference(2, 0, "calls to be run", "results"); text != "turn 2, at its end: expected calls to be run, came results" {
		t.Error(text)
	}
}
