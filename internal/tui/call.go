package tui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"oneloop"
)

const (
	callBytes    = 4000 // of a command that are shown on its line; a longer one is a file in disguise
	inputBytes   = 300  // of the input of a tool whose arguments are not known
	writtenLines = 20   // of a file that is to be written
	editedLines  = 60   // of the old and of the new text of an edit, each
	aroundLines  = 2    // that stay, before and behind what an edit changes
	lineBytes    = 1000 // of a line of a file
)

// callLine is a call as a person would type it: `$ command`, else the tool and
// what it is about. It may have several lines.
func (x *Text) callLine(call *oneloop.ToolUse) string {
	if c, ok := bashCommand(call); ok {
		return "$ " + x.cut(strings.TrimRight(strings.ReplaceAll(c, "\r\n", "\n"), "\n"), callBytes)
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(call.Input, &in) != nil {
		return call.Name + " " + x.cut(string(call.Input), inputBytes)
	}
	word := func(key string) string {
		var s string
		if json.Unmarshal(in[key], &s) != nil {
			return ""
		}
		return x.cut(strings.ReplaceAll(s, "\n", "␊"), callBytes)
	}
	switch call.Name {
	case "TodoWrite":
		if list, ok := x.todos(call); ok {
			return list
		}
	case "AskUserQuestion", "ExitPlanMode": // what is asked is shown as the question
		return call.Name
	case "Memory":
		return strings.TrimSpace(call.Name + " " + word("action") + " " + word("name"))
	}
	for _, key := range [...]string{"file_path", "pattern", "url", "task_id", "description"} {
		if about := word(key); about != "" {
			if in := word("path"); in != "" && key == "pattern" {
				about += " (" + in + ")"
			}
			return call.Name + " " + about
		}
	}
	if len(in) == 0 {
		return call.Name
	}
	return call.Name + " " + x.cut(decoded(call.Input), inputBytes)
}

// todos is the list that a call of TodoWrite writes, a line for each item.
func (x *Text) todos(call *oneloop.ToolUse) (text string, ok bool) {
	var in struct {
		Todos []struct{ Content, Status string }
	}
	if json.Unmarshal(call.Input, &in) != nil || in.Todos == nil {
		return "", false
	}
	done, lines := 0, ""
	for _, item := range in.Todos {
		mark := "[ ] "
		switch item.Status {
		case "in_progress":
			mark = "[>] "
		case "completed":
			mark = "[x] "
			done++
		}
		lines += "\n" + mark + x.cut(strings.Join(strings.Fields(item.Content), " "), lineBytes)
	}
	return fmt.Sprintf(x.TodoHead, done, len(in.Todos)) + lines, true
}

// cut is the beginning of s, and how much more there is.
func (x *Text) cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	head := strings.ToValidUTF8(s[:most], "")
	return head + " " + x.MoreBytes.of(len(s)-len(head))
}

// decoded is JSON on one line in which letters stand for themselves.
func decoded(input []byte) string {
	d := json.NewDecoder(bytes.NewReader(input))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return string(input)
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(v) != nil {
		return string(input)
	}
	return strings.TrimRight(b.String(), "\n")
}

// change is one piece of text that takes the place of another.
type change struct {
	Old string `json:"old_string"`
	New string `json:"new_string"`
	All bool   `json:"replace_all"`
}

// changes is what a call of Edit or Write does to its file, line by line. Input
// that says anything else than this shows is not ok: it is shown as it is.
func (x *Text) changes(call *oneloop.ToolUse) (lines []styled, ok bool) {
	d := json.NewDecoder(bytes.NewReader(call.Input))
	d.DisallowUnknownFields()
	switch call.Name {
	case "Write":
		var in struct {
			File    string  `json:"file_path"`
			Content *string `json:"content"`
		}
		if d.Decode(&in) != nil || in.Content == nil {
			return nil, false
		}
		return x.written(*in.Content), true
	case "Edit":
		var in struct {
			File  string   `json:"file_path"`
			Old   *string  `json:"old_string"`
			New   *string  `json:"new_string"`
			All   bool     `json:"replace_all"`
			Edits []change `json:"edits"`
		}
		if d.Decode(&in) != nil || (in.Old == nil) != (in.New == nil) || (in.Old == nil) == (len(in.Edits) == 0) {
			return nil, false
		}
		if in.Old != nil {
			in.Edits = []change{{*in.Old, *in.New, in.All}}
		}
		for i, c := range in.Edits {
			if len(in.Edits) > 1 {
				lines = append(lines, styled{dim, indent.text + fmt.Sprintf(x.EditOf, i+1, len(in.Edits))})
			}
			lines = append(lines, x.edited(c)...)
		}
		return bounded(x, lines), true
	}
	return nil, false
}

// written is the beginning of a file that is to be written.
func (x *Text) written(content string) []styled {
	all := textLines(content)
	lines := []styled{{dim, indent.text + x.WriteLines.of(len(all))}}
	return append(lines, x.some(green, "+ ", all, writtenLines)...)
}

// edited is an edit: the lines that go, those that come, and a few of those
// around them that stay.
func (x *Text) edited(c change) (lines []styled) {
	if c.All {
		lines = append(lines, styled{dim, indent.text + x.EditAll})
	}
	was, is := textLines(c.Old), textLines(c.New)
	if c.Old != "" && c.New != "" && strings.HasSuffix(c.Old, "\n") != strings.HasSuffix(c.New, "\n") {
		was, is = strings.Split(c.Old, "\n"), strings.Split(c.New, "\n") // the newline at the end is what changes, perhaps
	}
	head, tail := 0, 0
	for head < min(len(was), len(is)) && was[head] == is[head] {
		head++
	}
	for tail < min(len(was), len(is))-head && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	before, behind := was[max(0, head-aroundLines):head], was[len(was)-tail:]
	lines = append(lines, x.some(dim, "  ", before, aroundLines)...)
	lines = append(lines, x.some(red, "- ", was[head:len(was)-tail], editedLines)...)
	lines = append(lines, x.some(green, "+ ", is[head:len(is)-tail], editedLines)...)
	return append(lines, x.some(dim, "  ", behind[:min(aroundLines, tail)], aroundLines)...)
}

// some is the first lines of a text, each behind sign, and how many more there
// are.
func (x *Text) some(st style, sign string, all []string, most int) (lines []styled) {
	for i, l := range all {
		if i == most {
			return append(lines, styled{yellow, indent.text + x.MoreLines.of(len(all)-most)})
		}
		lines = append(lines, styled{st, indent.text + sign + x.cut(l, lineBytes)})
	}
	return lines
}

// textLines are the lines of a text. The newline at its end is that of the last.
func textLines(s string) []string {
	if s == "" {
		return nil
	}
	if whole, ok := strings.CutSuffix(s, "\n"); ok {
		return strings.Split(whole, "\n")
	}
	return strings.Split(s, "\n")
}

// bounded is as many of lines as a question may have, and how many bytes of
// text are left out.
func bounded(x *Text, lines []styled) []styled {
	left := detailBytes
	for i, l := range lines {
		if left -= len(l.text); left < 0 {
			hidden := 0
			for _, l := range lines[i:] {
				hidden += len(l.text)
			}
			return append(lines[:i:i], styled{yellow, x.AskHidden.of(hidden)})
		}
	}
	return lines
}
