// Package ignore reads ignore files and matches paths by their patterns, as
// git does (gitignore(5)): the last pattern that matches decides, "!" takes
// back, "/" at the end means folders, "/" elsewhere ties a pattern to the
// folder of its file.
//
// Paths have "/" between their parts and none at either end. Matching takes
// time in the order of path times pattern, whatever the pattern.
package ignore

import (
	"bytes"
	"strings"
)

// List are the patterns of one ignore file. The nil list matches nothing.
type List struct {
	patterns []pattern // the last first
}

// Verdict is what patterns say of a path.
type Verdict byte

const (
	Silent  Verdict = iota // none matches
	Ignored                // left out
	Kept                   // taken back by "!"
)

type pattern struct {
	Glob
	keep bool // it began with "!"
	dirs bool // for folders only
	base bool // it has no slash: the last part of a path is matched
}

// Parse reads an ignore file. A line that is no pattern is passed over. It
// returns nil when there is none.
func Parse(data []byte) *List {
	var l List
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	for line := range bytes.Lines(data) {
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		if p, ok := parse(string(line)); ok {
			l.patterns = append(l.patterns, p)
		}
	}
	if len(l.patterns) == 0 {
		return nil
	}
	for i, j := 0, len(l.patterns)-1; i < j; i, j = i+1, j-1 {
		l.patterns[i], l.patterns[j] = l.patterns[j], l.patterns[i]
	}
	return &l
}

func parse(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line = trim(line)
	if line, p.keep = strings.CutPrefix(line, "!"); line == "" {
		return p, false
	}
	line, p.dirs = strings.CutSuffix(line, "/")
	if line == "" {
		return p, false
	}
	if rest, ok := strings.CutPrefix(line, "**/"); ok && rest != "" && !strings.Contains(rest, "/") {
		line = rest // the same, and quicker
	}
	p.base = !strings.Contains(line, "/")
	p.Glob, ok = compile(strings.TrimPrefix(line, "/"), true)
	return p, ok
}

// trim removes blanks at the end that no backslash protects.
func trim(line string) string {
	end := 0
	for i := 0; i < len(line); i++ {
		switch line[i] {
		case ' ':
			continue
		case '\\':
			i++
		}
		end = min(i+1, len(line))
	}
	return line[:end]
}

// Match says what the list says of a path from the folder of its file. What
// lies in an ignored folder is ignored too: that is for the caller, who does
// not go there.
func (l *List) Match(path string, dir bool) Verdict {
	if l == nil {
		return Silent
	}
	name := path[strings.LastIndexByte(path, '/')+1:]
	for i := range l.patterns {
		p := &l.patterns[i]
		if p.dirs && !dir {
			continue
		}
		text := path
		if p.base {
			text = name
		}
		if !p.Glob.Match(text) {
			continue
		}
		if p.keep {
			return Kept
		}
		return Ignored
	}
	return Silent
}
