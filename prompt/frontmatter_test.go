package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
	"pgregory.net/rapid"

	"oneloop/prompt"
)

func TestFieldsAndBodyOfAFileAreSeparated(t *testing.T) {
	for _, c := range []struct {
		name, file, body string
		fields           prompt.Fields
		wrong            string // part of the error
	}{
		{name: "no fields", file: "just text\n---\nmore\n", body: "just text\n---\nmore\n"},
		{name: "empty", file: "---\n---\nbody", body: "body", fields: prompt.Fields{}},
		{name: "no body", file: "---\nname: a\n---", fields: prompt.Fields{"name": "a"}},
		{name: "CRLF and BOM", file: "\ufeff---\r\nname: a\r\nlist:\r\n  - b\r\n---\r\nbody\r\n", body: "body\r\n",
			fields: prompt.Fields{"name": "a", "list": []any{"b"}}},
		{name: "never closed", file: "---\nname: a\n", body: "---\nname: a\n", wrong: "is missing"},
		{name: "several lines", file: "---\ndescription: >-\n  one\n  two\n\n  three\nname: x\n---\n",
			fields: prompt.Fields{"description": "one two\nthree", "name": "x"}},
		{name: "a colon in the text", file: "---\ndescription: Use when: a b # c\nname: x\n---\n",
			fields: prompt.Fields{"description": "Use when: a b # c", "name": "x"}, wrong: "line 2: description is taken as plain text"},
		{name: "no comment", file: "---\na: b#c # d\n---\n", fields: prompt.Fields{"a": "b#c"}},
		{name: "two hints in brackets", file: "---\nargument-hint: [file] [mode]\nname: x\n---\n",
			fields: prompt.Fields{"argument-hint": "[file] [mode]", "name": "x"}, wrong: "line 2: argument-hint"},
		{name: "a star", file: "---\ntools: *\n---\n", fields: prompt.Fields{"tools": "*"}, wrong: "cannot begin with *"},
		{name: "an anchor below", file: "---\nhooks:\n  a: &x 1\nname: x\n---\n",
			fields: prompt.Fields{"name": "x"}, wrong: "line 2: hooks is left out"},
		{name: "a list that does not end", file: "---\na: [b\nname: x\n---\n",
			fields: prompt.Fields{"a": "[b", "name": "x"}, wrong: "not closed"},
		{name: "twice", file: "---\nname: a\nname: b\n---\n", fields: prompt.Fields{"name": "a"}, wrong: "line 3: name is there twice"},
		{name: "no key", file: "---\nhello\nname: a\n---\n", fields: prompt.Fields{"name": "a"}, wrong: "line 2: it is no field"},
		{name: "tabs in brackets", file: "---\na: [b,\n\tc,\n \td]\nname: a\n---\n", fields: prompt.Fields{"a": []any{"b", "c", "d"}, "name": "a"}},
		{name: "a tab", file: "---\nm:\n\ta: b\nname: a\n---\n", fields: prompt.Fields{"name": "a"}, wrong: "a tab is no indentation"},
		{name: "too deep", file: "---\nm: " + strings.Repeat("[", 40) + strings.Repeat("]", 40) + "\nname: a\n---\n",
			fields: prompt.Fields{"m": strings.Repeat("[", 40) + strings.Repeat("]", 40), "name": "a"}, wrong: "32 levels"},
		{name: "too long", file: "---\na: " + strings.Repeat("x", prompt.MostFrontmatter) + "\n---\nbody", body: "body", wrong: "longer than 64 KiB"},
	} {
		t.Run(c.name, func(t *testing.T) {
			fields, body, err := prompt.Frontmatter([]byte(c.file))
			if diff := cmp.Diff(c.fields, fields); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if string(body) != c.body {
				t.Errorf("body %q, want %q", body, c.body)
			}
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("error %v, want one with %q", err, c.wrong)
			}
		})
	}
}

func TestFieldsAreTextListsAndTruth(t *testing.T) {
	fields, _, err := prompt.Frontmatter([]byte(`---
tools: Read, Grep Bash(git add:*), Bash(npm run *)
list: [a, "b c"]
more:
- d
-   e
hint: [file]
yes: "yes"
no: false
odd: perhaps
---
`))
	if err != nil {
		t.Fatal(err)
	}
	got := []any{fields.List("tools"), fields.List("list"), fields.List("more"), fields.List("none"), fields.Text("hint"), fields.Text("none"),
		fields.Bool("yes", false), fields.Bool("no", true), fields.Bool("odd", true), fields.Bool("none", false)}
	want := []any{[]string{"Read", "Grep", "Bash(git add:*)", "Bash(npm run *)"}, []string{"a", "b c"}, []string{"d", "e"}, []string(nil), "[file]", "",
		true, false, true, false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// plainly is what a library has read, with text for each scalar.
func plainly(n *yaml.Node) (any, bool) {
	if n.Anchor != "" || n.Kind == yaml.AliasNode || n.Style&yaml.TaggedStyle != 0 {
		return nil, false
	}
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return "", true
		}
		return n.Value, true
	case yaml.SequenceNode:
		list := []any{}
		for _, c := range n.Content {
			v, ok := plainly(c)
			if !ok {
				return nil, false
			}
			list = append(list, v)
		}
		return list, true
	}
	all := map[string]any{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		v, ok := plainly(n.Content[i+1])
		if _, twice := all[key.Value]; !ok || twice || key.Kind != yaml.ScalarNode || key.Value == "" || key.Anchor != "" || key.Style&yaml.TaggedStyle != 0 {
			return nil, false
		}
		all[key.Value] = v
	}
	return all, true
}

// keysOnly tells whether each line that is not indented begins with a field: a
// library lets quoted text go on there, and knows keys behind a question mark.
func keysOnly(text string, top *yaml.Node) bool {
	keys := map[int]bool{}
	for i := 0; i < len(top.Content); i += 2 {
		keys[top.Content[i].Line] = top.Content[i].Column == 1
	}
	for i, line := range strings.Split(text, "\n") {
		if line != "" && !strings.ContainsAny(line[:1], " \t#") && line != "-" && !strings.HasPrefix(line, "- ") && !keys[i+1] {
			return false
		}
	}
	for i, c := range text {
		if c == '#' && i > 0 && !strings.ContainsAny(text[i-1:i], " \t\n#") { // a library takes it for a comment behind quotes
			return false
		}
	}
	return !strings.Contains(text, "? ") && !strings.Contains(text, "?\n")
}

// agree fails when a library reads the text as a mapping and Frontmatter reads
// something else, or nothing.
func agree(t interface{ Fatalf(string, ...any) }, text string) (compared bool) {
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte(text+"\n"), &doc); err != nil || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode || doc.Content[0].Style&yaml.FlowStyle != 0 || doc.Content[0].Column != 1 {
		return false
	}
	want, ok := plainly(doc.Content[0])
	if !ok || !keysOnly(text, doc.Content[0]) {
		return false
	}
	got, _, err := prompt.Frontmatter([]byte("---\n" + text + "\n---\n"))
	if diff := cmp.Diff(want, map[string]any(got)); err != nil || diff != "" {
		t.Fatalf("of\n%s\nerror %v (-library +ours):\n%s", text, err, diff)
	}
	return true
}

func TestFieldsAreReadAsALibraryReadsThem(t *testing.T) {
	compared := 0
	rapid.Check(t, func(t *rapid.T) {
		pieces := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", "b: ", "c:", "\n", "\n  ", "\n    ", "\n- ", "\n  - ", " ", "x y", "'it''s", "'", `"q\tz`, `"`, `\n`, "\\\n", "|", ">", "-", "+", "2", "\n\n",
			"[", "]", "{", "}", ", ", ",", ": ", " # note", "#", "null", "~", "\nk: v\n", "\nd:\n", "é", "10", "? ", "-x", "::", "http://h/p",
		}), 1, 25).Draw(t, "pieces")
		if agree(t, "first: "+strings.Join(pieces, "")) {
			compared++
		}
	})
	if compared < 10 {
		t.Errorf("%d texts were compared", compared)
	}
}

func TestWhatALibraryHasWrittenIsReadBack(t *testing.T) {
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab :#'\"\n-[]{},|>\\é\t&*!%@`~01")))
	rapid.Check(t, func(t *rapid.T) {
		var value func(depth int) any
		value = func(depth int) any {
			switch kind := rapid.IntRange(0, 4).Draw(t, "kind"); {
			case kind == 0 && depth > 0:
				list := []any{}
				for range rapid.IntRange(0, 3).Draw(t, "items") {
					list = append(list, value(depth-1))
				}
				return list
			case kind == 1 && depth > 0:
				all := map[string]any{}
				for i := range rapid.IntRange(0, 3).Draw(t, "keys") {
					all[fmt.Sprint("k", i)] = value(depth - 1)
				}
				return all
			}
			return text.Draw(t, "text")
		}
		out, err := yaml.Marshal(map[string]any{"first": value(3), "second": value(3)})
		if err != nil {
			t.Skip(err)
		}
		agree(t, strings.TrimSuffix(string(out), "\n"))
	})
}

func FuzzFrontmatter(f *testing.F) {
	for _, seed := range []string{"a: b", "a:\n  - b: c\n    d: [e, {f: g}]", "a: |2-\n   b\n  c\n\n", "a: \"x\\u00e9\\\n  y\"", "a: 'b\n\n  c'", "a: \"b\\\n\n  c\""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// In brackets the library takes any ? for the mark of a key, which YAML
		// 1.2 does only with a space behind it.
		flow := strings.Join(strings.Fields(text), "")
		if strings.Contains(flow, "{?") || strings.Contains(flow, "[?") || strings.Contains(flow, ",?") {
			return
		}
		if !strings.Contains(text, `\'`) && !strings.Contains(text, "---") && !strings.Contains(text, "...") && !strings.Contains(text, ":}") && !strings.Contains(text, ":]") && !strings.Contains(text, ":,") && !strings.ContainsAny(text, "\r\x00%!&*") {
			agree(t, text)
		}
	})
}
