// Package wires lets a scripted server speak the other APIs that models are
// reached by, as strictly as their servers do: Chat Completions in the ways of
// many providers, Responses, Gemini's generateContent, and Ollama's own.
//
//	s := script.New(script.Say(script.Text("hello")))
//	s.Wire = wires.Chat(wires.DeepSeek)
//
// The same replies can be played over each. What an API cannot say is left
// out; see [script.Traits]. What its gate finds is listed as breaches, as it
// is for the Messages API.
package wires

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"time"

	"oneloop/looptest/script"
)

// gate collects what is wrong with a request.
type gate struct {
	req   *script.Request
	found []script.Breach
}

func (g *gate) breach(rule, format string, args ...any) {
	g.found = append(g.found, script.Breach{Request: g.req.N, Rule: rule, Text: fmt.Sprintf(format, args...)})
}

// only finds keys of an object that are not among those allowed.
func (g *gate) only(where string, raw json.RawMessage, allowed ...string) {
	known := strings.Fields(strings.Join(allowed, " "))
	for key := range keys(raw) {
		if !slices.Contains(known, key) {
			g.breach(script.RuleFields, "%s: Unknown parameter: '%s'", where, key)
		}
	}
}

// json finds a body that is not said to be JSON.
func (g *gate) json() {
	kind, _, _ := strings.Cut(g.req.Header.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/json" {
		g.breach(script.RuleHeader, "content-type: %q is not application/json", g.req.Header.Get("Content-Type"))
	}
}

// bearer finds a request without exactly one bearer token, or, where none is
// needed, with more than one.
func (g *gate) bearer(optional bool) {
	h := g.req.Header
	tokens := h.Values("Authorization")
	switch {
	case len(tokens) == 0 && !optional:
		g.breach(script.RuleHeader, "authorization: a bearer token is required")
	case len(tokens) > 1:
		g.breach(script.RuleHeader, "authorization: %d are sent", len(tokens))
	case len(tokens) == 1 && !(strings.HasPrefix(tokens[0], "Bearer ") && len(tokens[0]) > len("Bearer ")):
		g.breach(script.RuleHeader, "authorization is no bearer token")
	}
	for _, other := range []string{"X-Api-Key", "X-Goog-Api-Key", "Anthropic-Version"} {
		if h.Get(other) != "" {
			g.breach(script.RuleHeader, "%s belongs to another API", strings.ToLower(other))
		}
	}
	g.json()
}

// goodName reports whether a tool of this name can be offered.
func goodName(name string) bool {
	return name != "" && len(name) <= 64 && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-')
	})
}

// keys returns the members of a JSON object, none of anything else.
func keys(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// list returns the elements of a JSON array, none of anything else.
func list(raw json.RawMessage) []json.RawMessage {
	var l []json.RawMessage
	if json.Unmarshal(raw, &l) != nil {
		return nil
	}
	return l
}

// str is a JSON string, empty for anything else.
func str(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// kind is "string", "array", "object", "null" or "" for what is not there and
// for everything else.
func kind(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch raw[0] {
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	case 'n':
		return "null"
	}
	return ""
}

func isObject(s string) bool { return json.Valid([]byte(s)) && kind(json.RawMessage(s)) == "object" }

// same reports whether two JSON texts are the same but for white space. The
// order of keys counts, and so does how numbers are written.
func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// equal reports whether two JSON texts mean the same, whatever the order of
// their keys.
func equal(a, b json.RawMessage) bool {
	read := func(raw json.RawMessage) (v any, err error) {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		err = dec.Decode(&v)
		return v, err
	}
	x, errX := read(a)
	y, errY := read(b)
	return errX == nil && errY == nil && reflect.DeepEqual(x, y)
}

func texts(raw ...string) []json.RawMessage {
	var out []json.RawMessage
	for _, s := range raw {
		out = append(out, json.RawMessage(s))
	}
	return out
}

func join(list []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, raw := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, raw...)
	}
	return append(b, ']')
}

// turn makes one list of what every block streams: one block after the other,
// or one piece of each in turn.
func turn[T any](blocks [][]T, interleave bool) []T {
	if !interleave {
		return slices.Concat(blocks...)
	}
	var out []T
	for n := 0; ; n++ {
		more := false
		for _, pieces := range blocks {
			if n < len(pieces) {
				out = append(out, pieces[n])
				more = true
			}
		}
		if !more {
			return out
		}
	}
}

// again is what the APIs that have no field for it say about when to come
// back.
func again(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return " Please try again in " + d.String() + "."
}

// path is the path of a request without its query.
func path(r *script.Request) string {
	p, _, _ := strings.Cut(r.Path, "?")
	return p
}

func text(s string) script.Content {
	return script.Content{Type: "text", Text: s, Raw: script.Object("type", "text", "text", s)}
}

// view gathers the messages of a request in the form of the Messages API.
type view struct{ messages []script.Message }

// add puts content behind the last message when it is of the same role and
// the two are one message to the Messages API: parts of one reply, results,
// and what the user says right after them.
func (v *view) add(role string, raw json.RawMessage, content ...script.Content) {
	if n := len(v.messages); n > 0 && v.messages[n-1].Role == role {
		last := &v.messages[n-1]
		if role == "assistant" || len(last.Content) > 0 && last.Content[0].Type == "tool_result" {
			last.Content = append(last.Content, content...)
			return
		}
	}
	v.messages = append(v.messages, script.Message{Role: role, Content: content, Raw: raw})
}

// models is a list of models as OpenAI's API has it, for requests that ask for
// it.
func models(r *script.Request) (script.Reply, bool) {
	if r.Method != http.MethodGet || !strings.HasSuffix(path(r), "/models") {
		return script.Reply{}, false
	}
	model := script.Object("id", "scripted-model", "object", "model", "created", 1700000000, "owned_by", "script")
	return script.Reply{Body: script.Object("object", "list", "data", join([]json.RawMessage{model}))}, true
}

// prompt is the number of tokens that went in.
func prompt(u *script.Usage) int64 { return u.Input + u.CacheRead + u.CacheWrite }
