package anthropic

import (
	"fmt"
	"hash/fnv"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
)

// project returns a block as it is sent in a request to model, nil when it is
// left out. from is the origin of its message. What is lost:
//
//	block        from this API            from another API or ours
//	Text         nothing                  all but the text
//	Thinking     the block, if another    the block, unless it is ours and signed
//	             model was asked
//	ToolUse      nothing                  all but id, name and input; an id or name that this
//	                                      API refuses is written in letters it takes, and input
//	                                      that is no object is wrapped in one
//	ToolResult   -                        details; media beside an error; an id as for ToolUse
//	Media        nothing                  all but type and data
//	Opaque       redacted reasoning, if   the block, unless it is ours
//	             another model was asked
//
// Blank text is left out wherever it comes from: the API refuses it.
//
// The same block gives the same bytes in every request to the same model, so
// that going back to a model finds its conversation as it was.
func project(b oneloop.Block, from oneloop.Origin, model string) oneloop.Block {
	ours := from.API == ""
	asIs := b.RawJSON() != nil && (ours || from.API == API)
	other := from.API == API && from.Model != model
	switch b := b.(type) {
	case *oneloop.Text:
		if blank(b.Text) {
			return nil
		}
		if !asIs && b.Raw != nil {
			return &oneloop.Text{Text: b.Text}
		}
	case *oneloop.Thinking:
		if other || !ours && from.API != API || !asIs && b.Signature == "" {
			return nil
		}
	case *oneloop.ToolUse:
		if !asIs {
			return plainCall(b)
		}
	case *oneloop.ToolResult:
		if !asIs {
			return plainResult(b)
		}
	case *oneloop.Media:
		if !asIs && b.Raw != nil {
			return &oneloop.Media{Type: b.Type, MIME: b.MIME, Data: b.Data}
		}
	case *oneloop.Opaque:
		if !asIs || other && b.Type == "redacted_thinking" {
			return nil
		}
	}
	return b
}

func blank(text string) bool { return strings.TrimSpace(text) == "" }

// plainCall returns a call in this API's own form. It is c itself when
// nothing has to change.
func plainCall(c *oneloop.ToolUse) *oneloop.ToolUse {
	out := &oneloop.ToolUse{ID: wireID(c.ID), Name: wireName(c.Name), Input: c.Input}
	if len(c.Input) == 0 {
		out.Input = []byte("{}")
	} else if !rawjson.Parse(c.Input).IsObject() {
		out.Input = standIn(string(c.Input))
	} else {
		out.Input = []byte(rawjson.Clean(rawjson.Value(c.Input)))
	}
	return out
}

// plainResult returns a result whose content the API takes: no blank text,
// only text beside an error, and never nothing.
func plainResult(r *oneloop.ToolResult) *oneloop.ToolResult {
	out := &oneloop.ToolResult{ID: wireID(r.ID), IsError: r.IsError}
	for _, b := range r.Content {
		if leftOut(b, r.IsError) {
			continue
		}
		out.Content = append(out.Content, b)
	}
	if len(out.Content) == 0 {
		out.Content = []oneloop.Block{&oneloop.Text{Text: oneloop.NoOutput}}
	}
	return out
}

// leftOut reports whether a part of a result is not sent.
func leftOut(b oneloop.Block, isError bool) bool {
	t, ok := b.(*oneloop.Text)
	return ok && blank(t.Text) || !ok && isError
}

// standIn is the object that takes the place of input that is none, in the
// form the API's documentation names.
func standIn(input string) []byte {
	out := rawjson.AppendString([]byte(`{"INVALID_JSON":`), input)
	return append(out, '}')
}

func idByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func goodID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return !idByte(r) })
}

// wireID is an id in the letters that this API takes. Different ids stay
// different, and a call and its result meet again.
func wireID(id string) string {
	if goodID(id) {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	return fmt.Sprintf("%s_%016x", letters(id), h.Sum64())
}

// maxName is the length of a tool name that every version of the API takes.
const maxName = 64

func goodName(name string) bool { return goodID(name) && len(name) <= maxName }

// wireName is a tool name in the letters and the length that this API takes.
func wireName(name string) string {
	if goodName(name) {
		return name
	}
	if name == "" {
		return "unnamed"
	}
	name = letters(name)
	return name[:min(len(name), maxName)]
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if idByte(r) {
			return r
		}
		return '_'
	}, s)
}
