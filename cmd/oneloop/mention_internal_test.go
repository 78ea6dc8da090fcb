package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAMentionBeginsWhereAWordDoes(t *testing.T) {
	for text, want := range map[string]string{
		"explain @main.go":        "main.go",
		"@main.go":                "main.go",
		"look (@a/b.go) there":    "a/b.go),a/b.go",
		"@a.go,@b.go":             "a.go,@b.go,a.go|b.go",
		"@\"a b.txt\" and @'c":    "a b.txt|'c",
		"@\"open":                 "",
		"看看@文件.go里有什么":            "文件.go里有什么,文件.go里有什,文件.go里有,文件.go里,文件.go,文",
		"看看 @资料/，再说":              "资料/，再说,资料/，再,资料/，,资料/,资",
		"@源码/缺失.go":               "源码/缺失.go,源码/缺,源",
		"see @a.go.":              "a.go.,a.go",
		"@a.go:10":                "a.go:10,a.go",
		"mail me@example.com":     "",
		"git@github.com:a/b":      "",
		"über@x.de, a+@b.c, a_@b": "",
		"https://x.org/@user":     "",
		"@@ -1,3 +1,4 @@":         "",
		"a lone @ and @":          "",
		"@param x, @Override":     "param|Override",
		"\"@a.go\"":               `a.go",a.go`,
	} {
		var got []string
		for _, m := range mentions(text) {
			got = append(got, strings.Join(m.names, ","))
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s: %q, want %q", text, strings.Join(got, "|"), want)
		}
	}
}

func TestOnlyWhatLooksLikeAPathIsMissed(t *testing.T) {
	for text, want := range map[string]bool{
		"@src/a": true, "@a.go": true, "@a.go,": true, "@\"a b\"": true, "@param": false, "@param.": false, "@alice,": false, "@所有人": false, "@缺失.go在哪": true,
	} {
		if m := mentions(text); len(m) != 1 || m[0].path != want {
			t.Errorf("%s: %+v, want %v", text, m, want)
		}
	}
}

func TestMentionsAreBoundedAndPiecesOfTheText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune(`@"' a文.,/:（）`+"\n\xff")), 0, 200, -1).Draw(t, "text")
		for _, m := range mentions(text) {
			if len(m.names) == 0 || len(m.names) > mostNames || slices.Contains(m.names, "") {
				t.Fatalf("%q: %q", text, m.names)
			}
			for _, n := range m.names {
				if !strings.Contains(text, n) {
					t.Fatalf("%q is not in %q", n, text)
				}
			}
		}
	})
}

func TestALongTextIsLookedThroughWithinBounds(t *testing.T) {
	long := strings.Repeat("@"+strings.Repeat("文a", 200)+" me@example.com @Override ", 200)
	began := time.Now()
	if n := len(mentions(long)); n != 2 {
		t.Errorf("%d places", n)
	}
	var many strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&many, "@no/such/%d ", i)
	}
	if n := len(mentions(many.String())); n != mostMentions {
		t.Errorf("%d places", n)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
