package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop/internal/tui"
)

// page is a page on the series, by its name without the ending for a language.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/series", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// quotes are the blocks of Go in a page, by the file that the line before them
// links to.
func quotes(text string) (list [][2]string) {
	blocks := regexp.MustCompile("(?s)\\(\\.\\./\\.\\./([a-z_/]+\\.go)\\)[^\n]*\n\n```go\n(.*?)```")
	for _, m := range blocks.FindAllStringSubmatch(text, -1) {
		list = append(list, [2]string{m[1], m[2]})
	}
	return list
}

func TestCodeOnThePagesOfTheSeriesIsThatOfTheProgram(t *testing.T) {
	for _, c := range chapters {
		text := page(t, c.name+".md")
		found := quotes(text)
		if len(found) == 0 || len(found) != strings.Count(text, "```go") {
			t.Errorf("%s: %d of %d blocks say which file they are from", c.name, len(found), strings.Count(text, "```go"))
		}
		for _, q := range found {
			source, err := os.ReadFile(filepath.Join("../..", q[0]))
			if err != nil {
				t.Fatal(err)
			}
			rest := string(source)
			for part := range strings.SplitSeq(q[1], "…\n") { // in order, each of them in one piece
				_, after, is := strings.Cut(rest, part)
				if !is {
					t.Errorf("%s: this is not in %s, or not there:\n%s", c.name, q[0], part)
				}
				rest = after
			}
		}
		if diff := cmp.Diff(found, quotes(page(t, c.name+".zh-CN.md"))); diff != "" {
			t.Errorf("%s: the Chinese page shows other code:\n%s", c.name, diff)
		}
	}
}

// Every page has the same parts in both languages, its chapter can be tried as
// it says, and what it links to is there.
func TestThePagesOfTheSeriesBelongTogether(t *testing.T) {
	links := regexp.MustCompile(`\]\(([^)#]+)\)`)
	names := []string{"README"}
	for _, c := range chapters {
		names = append(names, c.name)
	}
	for _, name := range names {
		en, zh := page(t, name+".md"), page(t, name+".zh-CN.md")
		for _, part := range []string{"\n## ", "\n|", "```"} {
			if a, b := strings.Count(en, part), strings.Count(zh, part); a != b {
				t.Errorf("%s: %q is there %d times in English, %d in Chinese", name, part, a, b)
			}
		}
		for _, text := range []string{en, zh} {
			for _, m := range links.FindAllStringSubmatch(text, -1) {
				if _, err := os.Stat(filepath.Join("../../docs/series", m[1])); err != nil {
					t.Errorf("%s links to %s: %v", name, m[1], err)
				}
			}
			if name != "README" && (!strings.Contains(text, "oneloop demo "+name+"\n") || !strings.Contains(text, "oneloop --series "+name+" ")) {
				t.Errorf("%s does not say how it is tried", name)
			}
		}
	}
	for _, c := range chapters {
		if c.tools != "bash" && !strings.Contains(page(t, "README.md"), "]("+c.name+".md)") {
			t.Errorf("the index lacks %s", c.name)
		}
	}
}

func TestChaptersAreNamedOnce(t *testing.T) {
	if diff := cmp.Diff(tui.Chapters[:], chapterNames()); diff != "" {
		t.Error(diff)
	}
	for _, c := range chapters {
		if !slices.Contains(strings.Split(c.tools, ","), "Bash") && c.tools != "bash" {
			t.Errorf("%s has no shell", c.name)
		}
	}
}

// There is one place where the program calls the loop, so that what all
// chapters run on is the same.
func TestTheProgramCallsTheLoopInOnePlace(t *testing.T) {
	var places []string
	for _, dir := range []string{"../../session", "../../team", "../../tool", "../../prompt", "../../policy", "../../model", "../../trace", "."} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") && strings.Contains(string(text), "oneloop.Run(") {
				places = append(places, filepath.Base(name))
			}
		}
	}
	if !slices.Equal(places, []string{"session.go"}) {
		t.Errorf("the loop is called in %v", places)
	}
}
