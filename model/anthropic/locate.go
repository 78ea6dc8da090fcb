package anthropic

import (
	"errors"
	"strconv"
	"strings"

	"oneloop"
)

// locate notes in an error of the API which part of msgs it is about, where
// its text names one, such as messages.3.content.0.tool_result.content.1. The
// numbers in it are those of what was sent, in which neighbours of one role
// are one message and some blocks are left out.
func locate(err error, msgs []*oneloop.Message, model string) {
	e, ok := errors.AsType[*oneloop.APIError](err)
	if !ok {
		return
	}
	path := numbers(e.Message)
	if len(path) == 0 {
		return
	}
	at := -1 // of the message as it was sent
	var role oneloop.Role
	block := 0 // in that message
	for _, m := range msgs {
		for i, b := range m.Blocks {
			if b = project(b, m.Origin, model); b == nil {
				continue
			}
			if at < 0 || m.Role != role {
				at, role, block = at+1, m.Role, 0
			}
			if at == path[0] && (len(path) == 1 || path[1] == block) {
				e.At = position(m, i, path)
				return
			}
			block++
		}
	}
}

func position(m *oneloop.Message, i int, path []int) *oneloop.Position {
	p := &oneloop.Position{Message: m, Block: i, Inner: -1}
	if len(path) == 1 {
		p.Block = -1
	}
	if len(path) < 3 {
		return p
	}
	r, ok := m.Blocks[i].(*oneloop.ToolResult)
	if !ok {
		return p
	}
	sent := 0
	for k, b := range r.Content {
		if r.Raw == nil && leftOut(b, r.IsError) {
			continue
		}
		if sent == path[2] {
			p.Inner = k
		}
		sent++
	}
	return p
}

// numbers are those of the message, its block and the part of that which text
// names, as many as it names.
func numbers(text string) (path []int) {
	for start := 0; ; {
		i := strings.Index(text[start:], "messages.")
		if i < 0 {
			return nil
		}
		start += i + len("messages.")
		words := strings.FieldsFunc(text[start:], func(r rune) bool { return r != '.' && r != '_' && !letter(r) })
		if len(words) == 0 {
			return nil
		}
		// As in 3.content.0.tool_result.content.1.image.source
		parts := strings.Split(words[0], ".")
		if n, err := strconv.Atoi(parts[0]); err == nil && strings.HasPrefix(text[start:], parts[0]) {
			path = append(path, n)
			for j := 1; j+1 < len(parts) && len(path) < 3; j++ {
				if n, err := strconv.Atoi(parts[j+1]); err == nil && parts[j] == "content" {
					path = append(path, n)
				}
			}
			return path
		}
	}
}

func letter(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}
