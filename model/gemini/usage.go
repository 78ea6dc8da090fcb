package gemini

import (
	"oneloop"
	"oneloop/internal/rawjson"
)

// maxTokens is more than any count can be; what exceeds it is an error of the
// server's.
const maxTokens = 1 << 40

// usage gathers what a stream says of its tokens. Every response may say it
// anew; the last one counts.
type usage struct {
	seen                                       bool
	odd                                        bool // a number was no count
	prompt, cached, tools, said, thoughts, all int64
}

// take overwrites what v gives; fields that are not there or null stay.
func (u *usage) take(v rawjson.Value) {
	if v.IsNull() {
		return
	}
	if !v.IsObject() {
		u.odd = true
		return
	}
	for key, val := range v.Fields() {
		var to *int64
		switch string(key) {
		case "promptTokenCount":
			to = &u.prompt
			u.seen = u.seen || !val.IsNull()
		case "cachedContentTokenCount":
			to = &u.cached
		case "toolUsePromptTokenCount":
			to = &u.tools
		case "candidatesTokenCount":
			to = &u.said
		case "thoughtsTokenCount":
			to = &u.thoughts
		case "totalTokenCount":
			to = &u.all
		}
		if to == nil || val.IsNull() {
			continue
		}
		n, whole := val.Int()
		if !whole || n < 0 || n > maxTokens {
			u.odd = true
			continue
		}
		*to = n
	}
}

// sum is the usage of the reply. It is not Reported when a number was no count
// or when the prompt is said to have had no tokens at all. Where the output was
// not counted by itself it is what the total has more.
func (u *usage) sum() oneloop.Usage {
	if u.odd || !u.seen || u.prompt <= 0 || u.cached > u.prompt {
		return oneloop.Usage{}
	}
	out := u.said + u.thoughts
	if u.said == 0 {
		out = max(out, u.all-u.prompt-u.tools)
	}
	return oneloop.Usage{
		Reported: true, Input: u.prompt - u.cached + u.tools, CacheRead: u.cached, Output: out, Thinking: u.thoughts,
	}
}
