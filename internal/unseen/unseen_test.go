package unseen_test

import (
	"strings"
	"testing"
	"unicode"

	"oneloop/internal/unseen"
)

// ignorable is Default_Ignorable_Code_Point as the Unicode standard derives it.
func ignorable(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) &&
		!unicode.In(r, unicode.White_Space, unicode.Prepended_Concatenation_Mark) && (r < 0xfff9 || r > 0xfffb) && (r < 0x13430 || r > 0x1343f)
}

func TestEveryCharacterThatIsNotSeenIsShown(t *testing.T) {
	hidden := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xd800 && r <= 0xdfff {
			continue // no characters
		}
		blank := unicode.IsSpace(r) && r != ' '
		if ignorable(r) || unicode.In(r, unicode.Bidi_Control, unicode.Join_Control) || r == 0x2028 || r == 0x2029 {
			if hidden++; !unseen.Hidden(r) {
				t.Errorf("%U takes no room or directs text, and is not hidden", r)
			}
		}
		odd := ignorable(r) || blank || unicode.In(r, unicode.Bidi_Control, unicode.Cc, unicode.Cf, unicode.Co)
		if unseen.Is(r) != odd && !unicode.IsControl(r) && r != 0x2800 {
			t.Errorf("%U is taken for unseen: %t", r, unseen.Is(r))
		}
		if !odd || unicode.Is(unicode.Co, r) && r%256 > 0 { // of private ones, some
			continue
		}
		if got := unseen.Line("a" + string(r) + "b"); !strings.HasPrefix(got, `a\`) || strings.ContainsRune(got, r) {
			t.Errorf("%U is not seen, and stands as %+q", r, got)
		}
	}
	if hidden < 4000 {
		t.Errorf("only %d characters were looked at", hidden)
	}
}

func TestWhatIsSeenStaysAsItIs(t *testing.T) {
	for in, want := range map[string]string{
		"行 a\n\tb �":      "行 a\n\tb �",
		"a\u202eb\u3164c": `a\u202eb\u3164c`,
		"\U000e0041\x1b[": `\U000e0041\x1b[`,
		"\xff\r":          `\xff\r`,
	} {
		if got := unseen.Visible(in); got != want {
			t.Errorf("%+q stands as %q, want %q", in, got, want)
		}
		line := strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(want)
		if got := unseen.Line(in); got != line {
			t.Errorf("%+q stands on one line as %q, want %q", in, got, line)
		}
	}
}
