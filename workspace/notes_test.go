package workspace

import (
	"strings"
	"testing"
)

func TestNotesHideNothingAndStayShort(t *testing.T) {
	long := strings.Repeat("文", noteMost)
	got := tidy([]string{"a\u3164b\u202ec\ufe0f\nd\x1b[31m\xff", long})
	if want := `a\u3164b\u202ec\ufe0f\nd\x1b[31m\xff`; got[0] != want {
		t.Errorf("the note is %q, want %q", got[0], want)
	}
	if len(got[1]) > noteMost || !strings.HasSuffix(got[1], "文…") {
		t.Errorf("a long note ends in %q, at %d bytes", got[1][len(got[1])-9:], len(got[1]))
	}
	if got := tidy(strings.SplitAfter(strings.Repeat(strings.Repeat("x", 600)+"\n", 20), "\n")); len(got) > 8 || !strings.Contains(got[len(got)-1], "more notes like these are left out") {
		t.Errorf("of many notes there are %d, the last is %q", len(got), got[len(got)-1])
	}
}
