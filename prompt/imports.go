package prompt

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// mostImports is how many names of one text are looked at.
const mostImports = 50

// imports lists what a text names by @path: at the beginning of a word, and not
// in code. An address has its @ inside of a word.
func imports(text string) (names []string) {
	if !strings.Contains(text, "@") {
		return nil
	}
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSpace(line)
		if mark := fenced(bare); mark != "" && (fence == "" || strings.HasPrefix(mark, fence) && mark == bare) {
			if fence == "" {
				fence = mark
			} else {
				fence = ""
			}
			continue
		}
		if fence != "" {
			continue
		}
		for _, name := range named(withoutCode(line)) {
			if !slices.Contains(names, name) && len(names) < mostImports {
				names = append(names, name)
			}
		}
	}
	return names
}

// fenced is the mark that a line begins or ends a block of code with.
func fenced(line string) string {
	for _, mark := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, mark); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

// withoutCode is a line without what stands between backticks.
func withoutCode(line string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(line, "`")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		rest := strings.TrimLeft(after, "`")
		mark := strings.Repeat("`", 1+len(after)-len(rest))
		end := closes(rest, mark)
		if end < 0 {
			line = rest
			continue
		}
		b.WriteByte('`') // what follows begins no word
		line = rest[end:]
	}
}

// closes is where in text a run of exactly these backticks ends; -1: nowhere.
func closes(text, mark string) int {
	for at := 0; ; {
		i := strings.IndexByte(text[at:], '`')
		if i < 0 {
			return -1
		}
		at += i
		run := len(text[at:]) - len(strings.TrimLeft(text[at:], "`"))
		if at += run; run == len(mark) {
			return at
		}
	}
}

// named lists the names in a line without code.
func named(line string) (names []string) {
	for i := 0; ; {
		at := strings.IndexByte(line[i:], '@')
		if at < 0 {
			return names
		}
		at += i
		i = at + 1
		before, n := utf8.DecodeLastRuneInString(line[:at])
		if n > 0 && !unicode.IsSpace(before) && !strings.ContainsRune("([\"'（【《“，。、；：", before) {
			continue
		}
		name := line[i:]
		if end := strings.IndexFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune(")]\"'）】》”，。、；：", r)
		}); end >= 0 {
			name = name[:end]
		}
		i += len(name)
		if name = strings.TrimRight(name, ".,;:!?*_"); name != "" && name != "~" && !strings.HasPrefix(name, "@") {
			names = append(names, name)
		}
	}
}
