package anthropic

import (
	"fmt"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
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
//	Media        nothing                  all but type and data; an image for a model that is known to
//	                                      take none is named and not sent
//	Opaque       redacted reasoning, if   the block, unless it is ours
//	             another model was asked
//
// Blank text is left out wherever it comes from: the API refuses it.
//
// The same block gives the same bytes in every request to the same model, so
// that going back to a model finds its conversation as it was.
func project(b oneloop.Block, from oneloop.Origin, model string) oneloop.Block {
	ours := from.API == ""
	asIs := b.RawJSON() != nil && b.RawAPI() == "" && (ours || from.API == API)
	other := from.API == API && from.Model != model
	switch b := b.(type) {
	case *oneloop.Text:
		if wire.Blank(b.Text) {
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
		if !asIs || !wire.GoodID(b.ID) {
			return plainCall(b)
		}
	case *oneloop.ToolResult:
		if !asIs || !wire.GoodID(b.ID) { // one that was stored has JSON, with the id of another API's call
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

// unseen is a block for a model that takes no images: each is named and not
// sent. It is b itself where there is none.
func unseen(b oneloop.Block) oneloop.Block {
	switch b := b.(type) {
	case *oneloop.Media:
		if strings.HasPrefix(b.MIME, "image/") {
			return &oneloop.Text{Text: fmt.Sprintf("[an image (%s) stood here, which this model cannot be sent]", b.MIME)}
		}
	case *oneloop.ToolResult:
		image := func(b oneloop.Block) bool {
			m, ok := b.(*oneloop.Media)
			return ok && strings.HasPrefix(m.MIME, "image/")
		}
		if !slices.ContainsFunc(b.Content, image) {
			return b
		}
		out := plainResult(b)
		for i, inner := range out.Content {
			out.Content[i] = unseen(inner)
		}
		return out
	}
	return b
}

// plainCall returns a call in this API's own form. It is c itself when
// nothing has to change.
func plainCall(c *oneloop.ToolUse) *oneloop.ToolUse {
	out := &oneloop.ToolUse{ID: wireID(c.ID), Name: wire.Name(c.Name), Input: c.Input}
	if len(c.Input) == 0 {
		out.Input = []byte("{}")
	} else if !rawjson.Parse(c.Input).IsObject() {
		out.Input = wire.StandIn(string(c.Input))
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
	return ok && wire.Blank(t.Text) || !ok && isError
}

// wireID is an id in the letters that this API takes.
func wireID(id string) string { return wire.ID(id, wire.GoodID) }
