package trace

import "testing"

func TestPiecesOfAStoppedReplyMayEndEarlierAndSayNothingElse(t *testing.T) {
	said := []spelled{{"thinking", "hm"}, {"text", "one two"}}
	for name, c := range map[string]struct {
		other []spelled
		want  bool
	}{
		"the same":       {said, true},
		"a word less":    {[]spelled{{"thinking", "hm"}, {"text", "one"}}, true},
		"a piece less":   {said[:1], true},
		"a piece more":   {append(said[:2:2], spelled{"text", "three"}), true},
		"nothing":        {nil, true},
		"another word":   {[]spelled{{"thinking", "hm"}, {"text", "one 2"}}, false},
		"another kind":   {[]spelled{{"text", "hm"}, {"text", "one two"}}, false},
		"another before": {said[1:], false},
	} {
		if got := piecesBegin(said, c.other); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
		if got := piecesBegin(c.other, said); got != c.want {
			t.Errorf("%s, the other way round: %t", name, got)
		}
	}
}
