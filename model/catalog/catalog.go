// Package catalog says what is known of models: windows, limits, abilities
// and prices, as data with its date. It is a convenience and never a gate: an
// unknown model gets a safe default, and what an API says of itself wins.
package catalog

import (
	"slices"
	"strings"
)

// Date is the day the data was last compared with its sources.
const Date = "2026-11-30"

// Model is what is known of one model.
type Model struct {
	ID        string
	Provider  string // "anthropic"; empty for the safe default
	Context   int    // window in tokens, output included
	MaxOutput int    // tokens of one reply
	Price     Price

	Thinking  Thinking // what may be asked about reasoning
	Hidden    bool     // shows no reasoning, nor text between calls, unless asked to
	Preserved bool     // refuses a conversation whose earlier part was edited
	Efforts   []string // levels it takes; none: it has no such setting
	Effort    string   // the level it takes when none is asked for
	CacheMin  int      // tokens; a shorter prefix is silently not cached; 0: unknown
	Prefill   bool     // goes on from an assistant message at the end
	Retired   string   // day of its end on the first-party API, if known
}

// Thinking says how a model is asked to reason.
type Thinking string

const (
	NoThinking Thinking = ""         // it cannot, or it is not known
	Budget     Thinking = "enabled"  // only with a budget of tokens
	Adaptive   Thinking = "adaptive" // as much as it thinks right
)

// Price is in US dollars per million tokens. Of a price that is not Known all
// numbers are zero and mean nothing.
type Price struct {
	Known        bool
	Input        float64 // neither read from nor written to the cache
	Output       float64
	CacheRead    float64
	CacheWrite5m float64
	CacheWrite1h float64

	Search float64 // one search of the web by the API itself, in US dollars

	// When the prompt (input, cache reads and writes) has more than Above
	// tokens, every price of the request is multiplied by Times. Above is 0
	// where there is no such rule.
	Above int64
	Times float64
}

// Cost is the price of one request in US dollars.
func (p Price) Cost(input, cacheRead, write5m, write1h, output int64) float64 {
	cost := (float64(input)*p.Input + float64(cacheRead)*p.CacheRead +
		float64(write5m)*p.CacheWrite5m + float64(write1h)*p.CacheWrite1h +
		float64(output)*p.Output) / 1e6
	if p.Above > 0 && input+cacheRead+write5m+write1h > p.Above {
		cost *= p.Times
	}
	return cost
}

// Default is the model that is used when none is named: the newest Sonnet.
func Default() Model {
	m, _ := Find("claude-sonnet-5-5")
	return m
}

// All returns every known model, newest families first.
func All() []Model { return slices.Clone(models) }

// Find returns what is known of the model with this id. An id that contains a
// known one, such as "aws-claude-sonnet-4-6", "us.anthropic.claude-opus-4-6-v1"
// or "claude-opus-4-5@20251101", is taken for the longest one it contains; a
// later version of a known one ("claude-opus-5-9") is not. The second result
// is false for an unknown id; the model is then a safe default: a window of
// 200,000 tokens, replies of 8,192, no reasoning asked for, no price.
func Find(id string) (Model, bool) {
	for _, m := range models {
		if m.ID == id {
			return m, true
		}
	}
	name := plain(id)
	var best Model
	for _, m := range models {
		if len(m.ID) > len(best.ID) && contains(name, m.ID) {
			best = m
		}
	}
	if best.ID == "" {
		return Model{ID: id, Context: 200_000, MaxOutput: 8192}, false
	}
	return best, true
}

// plain is id in lower case, with the separators that some platforms write
// differently written as the first-party API does.
func plain(id string) string {
	b := []byte(strings.ToLower(id))
	for i, c := range b {
		between := i > 0 && i+1 < len(b) && digit(b[i-1]) && digit(b[i+1])
		if c == '@' || c == '.' && between {
			b[i] = '-'
		}
	}
	return string(b)
}

// contains reports whether name contains id as a whole: not as the beginning
// of a longer word and not followed by a further number of a version.
func contains(name, id string) bool {
	for from := 0; ; {
		i := strings.Index(name[from:], id)
		if i < 0 {
			return false
		}
		i += from
		if (i == 0 || !wordByte(name[i-1])) && ends(name[i+len(id):]) {
			return true
		}
		from = i + 1
	}
}

// ends reports whether rest, what follows an id, leaves the id's version as
// it is.
func ends(rest string) bool {
	if rest == "" {
		return true
	}
	if wordByte(rest[0]) {
		return false
	}
	n := 0
	for n+1 < len(rest) && digit(rest[n+1]) {
		n++
	}
	return rest[0] != '-' || n == 0 || n > 2 // a date has eight digits
}

func wordByte(c byte) bool { return digit(c) || c >= 'a' && c <= 'z' || c == '_' }
func digit(c byte) bool    { return c >= '0' && c <= '9' }
