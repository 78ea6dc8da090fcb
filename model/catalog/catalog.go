// Package catalog says what is known of models: windows, limits, abilities
// and prices, as data with its date. It is a convenience and never a gate: an
// unknown model gets a safe default, and what an API says of itself wins.
package catalog

import (
	"slices"
	"strings"
)

// Date is how the data stood on that day. Each file says what its sources are,
// and that not all of it was compared with them then.
const Date = "2026-11-30"

// Model is what is known of one model.
type Model struct {
	ID        string
	Provider  string // as [Provider] has it; empty for the safe default
	Context   int    // window in tokens, output included
	MaxOutput int    // tokens of one reply
	Price     Price

	Images    Ability  // it reads images
	Reasoning Ability  // it reasons before it answers
	Thinking  Thinking // what may be asked about reasoning, of Anthropic's and Google's
	Hidden    bool     // shows no reasoning, nor text between calls, unless asked to
	Preserved bool     // refuses a conversation whose earlier part was edited
	Efforts   []string // levels it takes; none: it has no such setting
	Effort    string   // the level it takes when none is asked for
	CacheMin  int      // tokens; a shorter prefix is silently not cached; 0: unknown
	Prefill   bool     // goes on from an assistant message at the end
	Retired   string   // day of its end on the first-party API, if known
}

// Ability says whether a model can do something.
type Ability int

const (
	Unknown Ability = iota
	Yes
	No
)

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
	// TimesOutput is instead of Times for the output; 0: the same.
	TimesOutput float64

	// Most says that the price depends on the hour, and that this is the highest.
	Most bool
	// Until is the last day of this price, as in 2026-12-31; empty: none is named.
	Until string
}

// On is the price on a day, written as Until is: unknown when it has ended.
func (p Price) On(day string) Price {
	if p.Until != "" && day > p.Until {
		return Price{}
	}
	return p
}

// Cost is the price of one request in US dollars.
func (p Price) Cost(input, cacheRead, write5m, write1h, output int64) float64 {
	in := float64(input)*p.Input + float64(cacheRead)*p.CacheRead +
		float64(write5m)*p.CacheWrite5m + float64(write1h)*p.CacheWrite1h
	out := float64(output) * p.Output
	if p.Above > 0 && input+cacheRead+write5m+write1h > p.Above {
		in *= p.Times
		if p.TimesOutput > 0 {
			out *= p.TimesOutput
		} else {
			out *= p.Times
		}
	}
	return (in + out) / 1e6
}

// Default is the model that is used when none is named: the newest Sonnet.
func Default() Model {
	m, _ := Find("claude-sonnet-5-5")
	return m
}

// All returns every known model, provider by provider, newest families first.
func All() []Model { return slices.Concat(tables()...) }

// tables are the models of each provider.
func tables() [][]Model {
	return [][]Model{claudes[:], gpts[:], geminis[:], deepseeks[:], qwens[:], kimis[:], glms[:], groqs[:]}
}

// Find returns what is known of a model by its name: "provider/id", or an id
// alone. An id that contains a known one of Anthropic's, such as
// "aws-claude-sonnet-4-6", "us.anthropic.claude-opus-4-6-v1"
// or "claude-opus-4-5@20251101", is taken for the longest one it contains; a
// later version of a known one ("claude-opus-5-9") is not. Of others only a
// date may follow. The second result
// is false for an unknown id; the model is then a safe default: a window of
// 200,000 tokens, replies of 8,192, no reasoning asked for, no price.
func Find(id string) (Model, bool) {
	if provider, name, ok := strings.Cut(id, "/"); ok {
		if _, known := FindProvider(provider); known {
			m, found := FindIn(provider, name)
			if !found {
				m.ID = id
			}
			return m, found
		}
	}
	if m, ok := dated("", id); ok {
		return m, true
	}
	if m, ok := claude(id); ok {
		return m, true
	}
	return unknown("", id), false
}

// FindIn is Find for a model of one provider. A provider that serves the
// models of others has their windows and abilities; what it charges for them
// is its own affair, and unknown.
func FindIn(provider, id string) (Model, bool) {
	switch provider {
	case "anthropic":
		if m, ok := claude(id); ok {
			return m, true
		}
		return unknown(provider, id), false
	case "bedrock", "vertex":
		m, ok := claude(id)
		if !ok {
			return unknown(provider, id), false
		}
		m.ID, m.Provider = id, provider
		return m, true
	case "openai-chat", "openai-responses":
		provider = "openai"
	case "openrouter":
		_, name, _ := strings.Cut(id, "/")
		name, _, _ = strings.Cut(name, ":")
		m, ok := dated("", name)
		if !ok {
			m, ok = claude(name)
		}
		if ok {
			m.ID, m.Provider, m.Price = id, provider, Price{}
			return m, true
		}
	}
	if m, ok := dated(provider, id); ok {
		return m, true
	}
	return unknown(provider, id), false
}

// Providing are the providers whose models include one of this name.
func Providing(id string) []string {
	var names []string
	if _, ok := claude(id); ok {
		names = append(names, "anthropic")
	}
	for _, t := range tables()[1:] {
		if _, ok := dated(t[0].Provider, id); ok {
			names = append(names, t[0].Provider)
		}
	}
	return names
}

func unknown(provider, id string) Model {
	return Model{ID: id, Provider: provider, Context: 200_000, MaxOutput: 8192}
}

// dated is the model of this id, not one of Anthropic's, or the one of which the id names the version
// of a day. An empty provider is any.
func dated(provider, id string) (Model, bool) {
	for _, t := range tables()[1:] {
		if provider != "" && t[0].Provider != provider {
			continue
		}
		for i := range t {
			if rest, ok := strings.CutPrefix(id, t[i].ID); ok && (rest == "" || isDate(rest)) {
				return t[i], true
			}
		}
	}
	return Model{}, false
}

// isDate reports whether s is a day behind the id of a model: -20260929 or
// -2026-09-29.
func isDate(s string) bool {
	if digits := strings.ReplaceAll(s, "-", ""); len(digits) != 8 || len(s) != 9 && len(s) != 11 {
		return false
	}
	for i := range len(s) {
		if dash := s[i] == '-'; dash != (i == 0 || len(s) == 11 && (i == 5 || i == 8)) || !dash && !digit(s[i]) {
			return false
		}
	}
	return true
}

// claude is the longest id of Anthropic's that this one contains.
func claude(id string) (best Model, ok bool) {
	for i := range claudes {
		if claudes[i].ID == id {
			return claudes[i], true
		}
	}
	name := plain(id)
	for i := range claudes {
		if m := &claudes[i]; len(m.ID) > len(best.ID) && contains(name, m.ID) {
			best = *m
		}
	}
	return best, best.ID != ""
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
