package prompt

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MostFrontmatter is how long the fields in front of a file may be, in bytes.
const MostFrontmatter = 64 << 10

// Fields are the fields in front of a file. A value is a string, a []any or a
// map[string]any of such: what counts as a number or as true is for whoever
// uses it. Nothing and null are the empty string.
type Fields map[string]any

// Frontmatter separates the fields in front of a file from its body. The
// fields are YAML between a first line "---" and the next such line; a file
// that begins with anything else has none and is all body.
//
// It is meant for files that were written for more lenient readers. A field
// that is no YAML but fits on its line, as `description: use it for: this`, is
// taken as the text that it is, one that makes no sense at all is left out, and
// err says so, line by line: fields and body are good whatever err is. Anchors,
// tags and keys that are no text are not read.
func Frontmatter(data []byte) (fields Fields, body []byte, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, data, nil
	}
	front := rest
	for at := rest; ; {
		line, next, more := bytes.Cut(at, []byte("\n"))
		if mark := string(bytes.TrimRight(line, " \t\r")); mark == "---" || mark == "..." {
			front, body = rest[:len(rest)-len(at)], next
			break
		}
		if !more {
			return nil, data, errors.New(`the line "---" behind the fields is missing`)
		}
		at = next
	}
	if len(front) > MostFrontmatter {
		return nil, body, fmt.Errorf("the fields are longer than %d KiB", MostFrontmatter>>10)
	}
	fields, err = readFields(strings.ReplaceAll(string(front), "\r\n", "\n"))
	return fields, body, err
}

// Text is a field that is meant to be text. A list is written as one, because
// `[file]` is what a hint may look like.
func (f Fields) Text(name string) string {
	switch v := f[name].(type) {
	case string:
		return strings.TrimSpace(v)
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, fmt.Sprint(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return ""
}

// List is a field that is meant to be a list: one, or text with commas or
// spaces between the items. What is in parentheses stays together:
// `Read, Bash(git add:*)` has two items.
func (f Fields) List(name string) []string {
	var items []string
	switch v := f[name].(type) {
	case string:
		depth := 0
		items = strings.FieldsFunc(v, func(r rune) bool {
			switch r {
			case '(':
				depth++
			case ')':
				depth--
			case ',', ' ', '\n', '\t':
				return depth <= 0
			}
			return false
		})
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok && strings.TrimSpace(s) != "" {
				items = append(items, strings.TrimSpace(s))
			}
		}
	}
	return items
}

// Bool is a field that is meant to be true or false; without it, or when it is
// neither, it is what otherwise says.
func (f Fields) Bool(name string, otherwise bool) bool {
	switch s := strings.ToLower(f.Text(name)); {
	case slices.Contains([]string{"true", "yes", "on", "1"}, s):
		return true
	case slices.Contains([]string{"false", "no", "off", "0"}, s):
		return false
	}
	return otherwise
}
