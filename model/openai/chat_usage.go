package openai

import (
	"oneloop"
	"oneloop/internal/rawjson"
)

// maxTokens is more than any count can be; what exceeds it is an error of the
// server's.
const maxTokens = 1 << 40

// chatUsage is what a reply says of its tokens. A count that was not given is -1.
type chatUsage struct {
	seen, odd                             bool
	prompt, output, read, write, thinking int64
}

// take overwrites what v gives; the last one holds.
func (u *chatUsage) take(v rawjson.Value) {
	*u = chatUsage{seen: true, odd: !v.IsObject(), prompt: -1, output: -1, read: -1, write: -1, thinking: -1}
	in, out := v.Field("prompt_tokens_details"), v.Field("completion_tokens_details")
	for _, f := range []struct {
		to  *int64
		val rawjson.Value
	}{
		{&u.prompt, v.Field("prompt_tokens")},
		{&u.output, v.Field("completion_tokens")},
		{&u.read, v.Field("cached_tokens")}, // Kimi
		{&u.read, v.Field("prompt_cache_hit_tokens")},
		{&u.read, in.Field("cached_tokens")},
		{&u.write, in.Field("cache_write_tokens")}, // OpenRouter
		{&u.thinking, out.Field("reasoning_tokens")},
	} {
		u.count(f.to, f.val)
	}
}

// sum is the usage of the reply. It is not Reported when a number was no count,
// when one of the two was never told, or when the parts are more than the whole.
func (u *chatUsage) sum() oneloop.Usage {
	read, write := max(u.read, 0), max(u.write, 0)
	if !u.seen || u.odd || u.prompt <= 0 || u.output < 0 || read+write > u.prompt {
		return oneloop.Usage{}
	}
	return oneloop.Usage{
		Reported: true, Input: u.prompt - read - write, CacheRead: read, CacheWrite: write, Output: u.output, Thinking: min(max(u.thinking, 0), u.output),
	}
}

// takeResponses is take for the names that the Responses API has.
func (u *chatUsage) takeResponses(v rawjson.Value) {
	*u = chatUsage{seen: true, odd: !v.IsObject(), prompt: -1, output: -1, read: -1, write: -1, thinking: -1}
	in, out := v.Field("input_tokens_details"), v.Field("output_tokens_details")
	u.count(&u.prompt, v.Field("input_tokens"))
	u.count(&u.output, v.Field("output_tokens"))
	u.count(&u.read, in.Field("cached_tokens"))
	u.count(&u.write, in.Field("cache_write_tokens"))
	u.count(&u.thinking, out.Field("reasoning_tokens"))
}

func (u *chatUsage) count(to *int64, v rawjson.Value) {
	if v.IsNull() {
		return
	}
	n, ok := v.Int()
	if !ok || n < 0 || n > maxTokens {
		u.odd = true
		return
	}
	*to = max(*to, n)
}
