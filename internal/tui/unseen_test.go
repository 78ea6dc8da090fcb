package tui

import "testing"

func TestWhatCannotBeSeenIsShownInWhatAModelSays(t *testing.T) {
	for in, want := range map[string]string{
		"a\u200bb\ufeff\u2060": "a<U+200B>b<U+FEFF><U+2060>", "\U000e0041": "<U+E0041>",
		"👩\u200d💻 می\u200cخواهم ❤\ufe0f": "👩\u200d💻 می\u200cخواهم ❤\ufe0f",
	} {
		if got := Visible(in); got != want {
			t.Errorf("%+q is shown as %+q, want %+q", in, got, want)
		}
	}
}
