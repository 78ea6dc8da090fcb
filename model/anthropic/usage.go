package anthropic

import (
	"oneloop"
	"oneloop/internal/rawjson"
)

// maxTokens is more than any count can be; what exceeds it is an error of the
// server's.
const maxTokens = 1 << 40

// bytesPerToken is what the encrypted results of the server's own search come
// to, measured over ten of them (240 KB, 77,000 tokens).
const bytesPerToken = 3

// usage gathers what a stream says of its tokens.
type usage struct {
	counts
	iterations []iteration
	first      int64 // tokens of the prompt as the reply began
	seen       bool
	final      bool // the output was counted at the end and not only at the start
	odd        bool // a number was no count
}

// counts are token counts; a count that was not given is -1.
type counts struct{ input, read, write, write1h, output, thinking, searches int64 }

type iteration struct {
	counts
	kind string
}

var unsaid = counts{-1, -1, -1, -1, -1, -1, -1}

// take overwrites what v gives; fields that are not there or null stay.
func (u *usage) take(v rawjson.Value, final bool) {
	if v.IsNull() {
		return
	}
	if !v.IsObject() {
		u.odd = true
		return
	}
	if !u.seen {
		u.counts, u.seen = unsaid, true
	}
	u.odd = !u.counts.take(v) || u.odd
	u.final = u.final || final && !v.Field("output_tokens").IsNull()
	if !final {
		u.first = u.prompt()
	}
	if list := v.Field("iterations"); len(list) > 2 {
		u.iterations = nil
		for item := range list.Items() {
			it := iteration{unsaid, item.Field("type").Text()}
			u.odd = !it.take(item) || u.odd
			u.iterations = append(u.iterations, it)
		}
	}
}

// take reports whether all numbers that v gives are counts.
func (c *counts) take(v rawjson.Value) bool {
	ok := true
	for _, f := range []struct {
		to  *int64
		val rawjson.Value
	}{
		{&c.input, v.Field("input_tokens")},
		{&c.read, v.Field("cache_read_input_tokens")},
		{&c.write, v.Field("cache_creation_input_tokens")},
		{&c.write1h, v.Field("cache_creation").Field("ephemeral_1h_input_tokens")},
		{&c.output, v.Field("output_tokens")},
		{&c.thinking, v.Field("output_tokens_details").Field("thinking_tokens")},
		{&c.searches, v.Field("server_tool_use").Field("web_search_requests")},
	} {
		if f.val.IsNull() {
			continue
		}
		n, whole := f.val.Int()
		if !whole || n < 0 || n > maxTokens {
			ok = false
			continue
		}
		*f.to = n
	}
	return ok
}

func (c counts) prompt() int64 { return max(c.input, 0) + max(c.read, 0) + max(c.write, 0) }

// soFar is the usage of a reply that did not come to its end: what was said
// up to there. The prompt is counted at the start; the output only as far as
// it was told.
func (u *usage) soFar() oneloop.Usage {
	began := *u
	began.final, began.output = true, max(u.output, 0)
	return began.sum(0)
}

// sum is the usage of the reply. It is not Reported when a number was no
// count, when input or output was never told, or when the prompt is said to
// have had no tokens at all.
//
// Where the server went round several times by itself, its total is the bill,
// and the last round that was a message tells what is in the window: the
// total counts the same tokens once a round. Without a list of rounds what
// the server's tools brought is estimated from results, their bytes.
func (u *usage) sum(results int) oneloop.Usage {
	if u.odd || !u.final || u.input < 0 || u.output < 0 {
		return oneloop.Usage{}
	}
	c, context := u.counts, int64(0)
	if u.first > 0 && u.first < c.prompt() && results > 0 {
		context = min(u.first+int64(results)/bytesPerToken, c.prompt()) + c.output
	}
	if len(u.iterations) > 0 {
		var all counts
		for _, it := range u.iterations {
			all.input += max(it.input, 0)
			all.read += max(it.read, 0)
			all.write += max(it.write, 0)
			all.write1h += max(it.write1h, 0)
			all.output += max(it.output, 0)
			if it.kind == "message" {
				context = it.prompt() + max(it.output, 0)
			}
		}
		all.thinking, all.searches = c.thinking, c.searches
		all.write1h = max(all.write1h, c.write1h)
		c = all
	}
	if c.prompt() == 0 {
		return oneloop.Usage{}
	}
	return oneloop.Usage{
		Reported: true, Input: c.input, CacheRead: max(c.read, 0), CacheWrite: max(c.write, 0),
		CacheWrite1h: max(c.write1h, 0), Output: c.output, Thinking: max(c.thinking, 0), Searches: max(c.searches, 0), Context: context,
	}
}
