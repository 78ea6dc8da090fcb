package prompt

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAnImportBeginsAWordAndIsNoCode(t *testing.T) {
	for text, want := range map[string][]string{
		"@a.md":                              {"a.md"},
		"see @docs/a.md, @b.md. And (@c.md)": {"docs/a.md", "b.md", "c.md"},
		"mail me@example.com @@x @ y":        nil,
		"**@a.md** @a.md":                    {"a.md"},
		"`@a.md` ``x ` @b.md`` @c.md":        {"c.md"},
		"a ` alone @d.md":                    {"d.md"},
		"```go\n@a.md\n```\n@b.md":           {"b.md"},
		"~~~\n```\n@a.md\n~~~\n@b.md":        {"b.md"},
		"````\n```\n@a.md\n````\n@b.md":      {"b.md"},
		"- @list.md\n  - @deeper.md":         {"list.md", "deeper.md"},
		"参见@a.md，（@b.md）":                    {"b.md"},
		"@~/x.md @/abs.md @../up.md":         {"~/x.md", "/abs.md", "../up.md"},
	} {
		if diff := cmp.Diff(want, imports(text)); diff != "" {
			t.Errorf("%q: %s", text, diff)
		}
	}
}
