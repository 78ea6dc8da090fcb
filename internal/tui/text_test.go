package tui

import (
	"reflect"
	"regexp"
	"strings"
	"testing"
)

var verb = regexp.MustCompile(`%(\[\d+\])?[-+# 0-9.]*[a-zA-Z%]`)

// verbs are the arguments a format takes, by position: the languages may
// order them differently.
func verbs(format string) map[string]int {
	found := map[string]int{}
	next := 1
	for _, m := range verb.FindAllStringSubmatch(format, -1) {
		if m[0] == "%%" {
			continue
		}
		index := m[1]
		if index == "" {
			index = "[" + string(rune('0'+next)) + "]"
		}
		next = int(index[1]-'0') + 1
		found[index+m[0][len(m[0])-1:]]++
	}
	for k := range found {
		found[k] = 1 // how often it is written does not matter
	}
	return found
}

func TestAllLanguagesSayEverythingWithTheSameArguments(t *testing.T) {
	en, zh := reflect.ValueOf(english), reflect.ValueOf(chinese)
	for i := range en.NumField() {
		name := en.Type().Field(i).Name
		pairs := [][2]string{}
		if f := en.Field(i); f.Kind() == reflect.Array {
			for j := range f.Len() {
				pairs = append(pairs, [2]string{f.Index(j).String(), zh.Field(i).Index(j).String()})
			}
		} else {
			pairs = append(pairs, [2]string{f.String(), zh.Field(i).String()})
		}
		for _, p := range pairs {
			if p[0] == "" || p[1] == "" {
				t.Errorf("%s is empty: %q, %q", name, p[0], p[1])
			}
			if a, b := verbs(p[0]), verbs(p[1]); !reflect.DeepEqual(a, b) {
				t.Errorf("%s takes %v in English and %v in Chinese", name, a, b)
			}
			if p[0] == p[1] && strings.ContainsAny(p[0], "abcdefghijklmnopqrstuvwxyz") && !strings.HasPrefix(p[0], "oneloop %s") {
				t.Errorf("%s is not translated: %q", name, p[0])
			}
		}
	}
}

func TestBothHelpScreensListTheSameFlags(t *testing.T) {
	flags := regexp.MustCompile(`(?m)(?:^|[ ,])--?[a-zA-Z][-a-z]*`)
	list := func(s string) string {
		seen := map[string]bool{}
		var all []string
		for _, f := range flags.FindAllString(s, -1) {
			if !seen[f] {
				seen[f] = true
				all = append(all, f)
			}
		}
		return strings.Join(all, " ")
	}
	for _, screens := range [][2]string{{english.Usage, chinese.Usage}, {english.ReplayHelp, chinese.ReplayHelp}} {
		if en, zh := list(screens[0]), list(screens[1]); en != zh {
			t.Errorf("English:\n%s\nChinese:\n%s", en, zh)
		}
	}
}

func TestHelpFitsAnOrdinaryTerminal(t *testing.T) {
	for _, x := range []*Text{&english, &chinese} {
		for _, screen := range []string{x.Usage, x.ReplayHelp, x.Help, x.DemoNext, x.NoKey} {
			for l := range strings.SplitSeq(screen, "\n") {
				if n := cellsOf(l); n > 80 {
					t.Errorf("%d cells: %s", n, l)
				}
			}
		}
	}
}

func TestAColumnIsAsWideAsItsWidestCellInAnyScript(t *testing.T) {
	got := Table([][]string{{"", "原来", "x"}, {"模型", "a", "b"}, {"turns", "12345", "6"}, {"", "", ""}})
	want := "       原来   x\n模型   a      b\nturns  12345  6\n\n"
	if got != want {
		t.Errorf("%q", got)
	}
}
