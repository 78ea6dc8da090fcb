package main

import (
	"context"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/tui"
)

// complete says what a line that ends so may go on with: the name of a command
// at its begin, and paths behind an @.
func (c *conversation) complete(before string) tui.Completion {
	if strings.HasPrefix(before, "/") && !strings.ContainsFunc(before, unicode.IsSpace) {
		return c.completeCommand(before)
	}
	at, begun := lastMention(before)
	if at < 0 {
		return tui.Completion{}
	}
	return c.completePath(at, begun)
}

func (c *conversation) completeCommand(begun string) (found tui.Completion) {
	alone, withWords := c.commands(context.Background())
	names := slices.AppendSeq(slices.Collect(maps.Keys(alone)), maps.Keys(withWords))
	slices.Sort(names)
	for _, name := range names {
		if strings.HasPrefix(name, begun) {
			full := name
			if withWords[name] != nil {
				full += " "
			}
			found.Full, found.Show = append(found.Full, full), append(found.Show, name)
		}
	}
	list, _ := c.callable()
	for _, k := range list {
		if name := "/" + k.Name; k.ByUser && strings.HasPrefix(name, begun) && !slices.Contains(names, name) {
			found.Full, found.Show = append(found.Full, name+" "), append(found.Show, name)
		}
	}
	return found
}

// lastMention is where the mention begins that text ends in, and its path so
// far; -1: it ends in none.
func lastMention(text string) (at int, begun string) {
	for at = strings.LastIndexByte(text, '@'); at >= 0; at = strings.LastIndexByte(text[:at], '@') {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		if at > 0 && !opens(before) {
			continue
		}
		begun, quoted := strings.CutPrefix(text[at+1:], `"`)
		if strings.Contains(begun, "\n") || quoted && strings.Contains(begun, `"`) || !quoted && strings.ContainsFunc(begun, unicode.IsSpace) {
			return -1, ""
		}
		return at, begun
	}
	return -1, ""
}

// completePath lists the folder that begun is in. Hidden names are for those
// who begin with a dot.
func (c *conversation) completePath(at int, begun string) (found tui.Completion) {
	found.From = at
	dir, base := path.Split(begun)
	list, err := c.agent.ws.Files().ReadDir(c.homely(dir))
	if err != nil {
		return found
	}
	for _, e := range list {
		name := e.Name()
		if !strings.HasPrefix(name, base) || strings.HasPrefix(name, ".") && base == "" || !typable(name) {
			continue
		}
		if e.IsDir() || e.Type()&fs.ModeSymlink != 0 && c.isDir(filepath.Join(c.homely(dir), name)) {
			name += "/"
		}
		found.Full, found.Show = append(found.Full, asMention(dir+name)), append(found.Show, name)
	}
	return found
}

func (c *conversation) isDir(name string) bool {
	info, err := c.agent.ws.Files().Stat(name)
	return err == nil && info.IsDir()
}

// typable reports whether a mention can name it.
func typable(name string) bool {
	return utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return r == '"' || unicode.IsControl(r) })
}

// asMention is a mention of a path. That of a file is complete; a folder may go
// on.
func asMention(name string) string {
	folder := strings.HasSuffix(name, "/")
	switch quoted := strings.ContainsFunc(name, unicode.IsSpace); {
	case quoted && folder:
		return `@"` + name
	case quoted:
		return `@"` + name + `" `
	case folder:
		return "@" + name
	}
	return "@" + name + " "
}

// homely is a path as files are opened by it.
func (p *program) homely(name string) string {
	if rest, ok := strings.CutPrefix(name, "~/"); ok && p.home() != "" {
		return filepath.Join(p.home(), rest)
	}
	if name == "" {
		return "."
	}
	return name
}
