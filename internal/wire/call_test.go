package wire_test

import (
	"strings"
	"testing"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"

	"pgregory.net/rapid"
)

func TestNoTwoCallsOfAConversationHaveOneID(t *testing.T) {
	n := 0
	c := wire.Calls{
		Taken: map[string]bool{"a": true, "new1": true},
		NewID: func() string { n++; return "new" + string(rune('0'+n)) },
	}
	for _, x := range []struct{ said, want string }{
		{"b", "b"}, {"a", "new2"}, {"b", "new3"}, {"", "new4"}, {"new5", "new5"}, {"functions.f:0", "new6"},
	} {
		if got := c.ID(x.said, wire.GoodID); got != x.want {
			t.Errorf("%q became %q, want %q", x.said, got, x.want)
		}
	}
	if c.NewID = nil; c.ID("", wire.GoodID) == c.ID("", wire.GoodID) {
		t.Error("two fresh ids are one")
	}
}

func TestARepairedNameIsNotThatOfATool(t *testing.T) {
	long := strings.Repeat("x", 64)
	c := wire.Calls{Tools: []oneloop.ToolDef{{Name: "read_file"}, {Name: "read_file_2"}, {Name: long}}}
	for said, want := range map[string]string{
		"Bash": "Bash", "read file": "read_file_3", "": "unnamed", "a.b": "a_b", long + "y": long[:62] + "_2",
	} {
		if got := c.Name(said); got != want {
			t.Errorf("%q became %q, want %q", said, got, want)
		}
	}
}

func TestAnIDIsWrittenDifferentlyOnlyWhereItIsRefusedAndStaysItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		short := func(id string) bool { return len(id) <= 40 }
		for _, good := range []func(string) bool{wire.GoodID, short} {
			x, y := wire.ID(a, good), wire.ID(b, good)
			if a != b && x == y {
				t.Fatalf("%q and %q are both %q", a, b, x)
			}
			if !good(x) || a != "" && good(a) && x != a || !good(a) && len(x) > 40 {
				t.Fatalf("%q became %q", a, x)
			}
		}
	})
}

func TestInputIsAnObjectWhateverCame(t *testing.T) {
	for _, x := range []struct{ wrote, input, broken string }{
		{`{"b": 1.10,"a":12345678901234567890}`, `{"b": 1.10,"a":12345678901234567890}`, ""},
		{" \n", `{}`, ""},
		{`{"a":`, `{"INVALID_JSON":"{\"a\":"}`, "perhaps because it was cut off"},
		{`[1]`, `{"INVALID_JSON":"[1]"}`, "valid JSON but not an object"},
		{`{"a":"\ud83d"}`, `{"a":"\ufffd"}`, "half of a surrogate pair"},
	} {
		input, broken := wire.Input([]byte(x.wrote), false)
		if string(input) != x.input || (broken == "") != (x.broken == "") || !strings.Contains(broken, x.broken) {
			t.Errorf("%s became %s, %q", x.wrote, input, broken)
		}
		if !rawjson.Parse(input).IsObject() {
			t.Errorf("%s is no object", input)
		}
	}
	if _, broken := wire.Input([]byte(`{"a":"x"}`), true); broken == "" {
		t.Error("input of which a part was lost is to be run")
	}
}
