package openai

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"oneloop"
)

// param is a field of a request without which it would be understood as well.
type param struct{ name, json string }

// Fields that are dealt with by name.
const (
	cacheKeyField   = "prompt_cache_key"
	maxField        = "max_tokens"
	completionField = "max_completion_tokens"
)

// optional are the fields of a request that a server may not know, without those
// that it is known to refuse.
func (m *Chat) optional(req *oneloop.Request, emit func(oneloop.Event)) []param {
	d, p := m.dialect, req.Params
	var all []param
	add := func(json string) {
		name, _, _ := strings.Cut(json[1:], `"`)
		all = append(all, param{name, json})
	}
	if d.Usage {
		add(`"stream_options":{"include_usage":true}`)
	}
	if p.MaxTokens > 0 {
		name := maxField
		if d.Completion != m.refused.has(otherMax(d.Completion)) {
			name = completionField
		}
		add(`"` + name + `":` + strconv.Itoa(p.MaxTokens))
	}
	if d.Tools != "" && len(req.Tools) > 0 {
		add(d.Tools)
	}
	fields, level := d.effort(m.name, m.known, p.Effort)
	for _, f := range fields {
		add(f)
	}
	if p.Effort != "" && !level {
		text := m.name + " is not known to take an effort, so none is asked for"
		if len(fields) > 0 {
			text = m.name + " is not known to take an effort, so it is asked to reason, and not how much"
		}
		m.effortNotice.Do(func() { emit(oneloop.Notice{Text: text}) })
	}
	if d.Cached != "" && strings.HasPrefix(m.name, d.Cached) && p.CacheTTL != "off" {
		ttl := ""
		if p.CacheTTL == "1h" {
			ttl = `,"ttl":"1h"`
		}
		add(`"cache_control":{"type":"ephemeral"` + ttl + `}`)
	}
	if d.CacheKey {
		add(`"` + cacheKeyField + `"`)
	}
	return slices.DeleteFunc(all, func(p param) bool { return m.refused.has(p.name) })
}

// otherMax is the name of the output limit that is tried first.
func otherMax(completion bool) string {
	if completion {
		return completionField
	}
	return maxField
}

// refused are the fields that a server said it does not know.
type refused struct {
	mu    sync.Mutex
	names []string
}

func (r *refused) has(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.names, name)
}

// learn takes note of a field that an error says is not known, and reports
// whether the request can be sent again without it.
func (r *refused) learn(err error, sent []param, emit func(oneloop.Event)) bool {
	e, ok := errors.AsType[*oneloop.APIError](err)
	if !ok || e.Class != oneloop.ErrInvalidRequest || e.Status != 400 && e.Status != 422 {
		return false
	}
	said := strings.ToLower(e.Message + " " + string(e.Body))
	if !slices.ContainsFunc(unknownWords, func(words string) bool { return strings.Contains(said, words) }) {
		return false
	}
	for _, p := range sent {
		if !named(said, p.name) {
			continue
		}
		other := map[string]string{maxField: completionField, completionField: maxField}[p.name]
		r.mu.Lock()
		fresh, again := !slices.Contains(r.names, p.name), other == "" || !slices.Contains(r.names, other)
		if fresh && again {
			r.names = append(r.names, p.name)
		}
		r.mu.Unlock()
		switch {
		case !again:
			return false
		case fresh && other != "":
			emit(oneloop.Notice{Text: fmt.Sprintf("the server does not know %s; the limit of a reply is sent as %s", p.name, other)})
		case fresh:
			emit(oneloop.Notice{Text: fmt.Sprintf("the server does not know %s; requests go without it", p.name)})
		}
		return true
	}
	return false
}

// unknownWords are how servers say that they do not know a field.
var unknownWords = []string{
	"unsupported parameter", "unknown parameter", "unknown field", "unknown name", "unrecognized", "not supported", "is unsupported", "does not support parameters",
	"extra inputs", "extra fields", "extra_forbidden", "unexpected keyword", "additional propert", "not permitted",
}

// named reports whether a text has a name in it that is no part of a longer one.
func named(text, name string) bool {
	for rest := text; ; {
		before, after, ok := strings.Cut(rest, name)
		if !ok {
			return false
		}
		letter := func(s string, last bool) bool {
			if s == "" {
				return false
			}
			b := s[0]
			if last {
				b = s[len(s)-1]
			}
			return b == '_' || b >= 'a' && b <= 'z'
		}
		if !letter(before, true) && !letter(after, false) {
			return true
		}
		rest = after
	}
}
