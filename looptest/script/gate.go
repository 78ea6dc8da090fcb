package script

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Breach is a request the gate refused, and why.
type Breach struct {
	Request int    // its number, from 1
	Rule    string // one of the Rule constants
	Text    string
}

func (b Breach) Error() string {
	return fmt.Sprintf("request %d breaks the rule %q: %s", b.Request, b.Rule, b.Text)
}

// The rules of the gate.
const (
	RuleHeader   = "header"   // one credential, a known version, JSON
	RuleSize     = "size"     // at most 32 MB
	RuleEncoding = "encoding" // valid UTF-8 and JSON without lone surrogates
	RuleFields   = "fields"   // no key the API does not know, right types
	RuleLimit    = "limit"    // max_tokens present and at least 1
	RuleTools    = "tools"    // names, schemas, present with a history of calls
	RuleRoles    = "roles"    // the first message is the user's, known roles
	RuleContent  = "content"  // no message without content, blocks where they belong
	RuleBlank    = "blank"    // no empty or blank text anywhere
	RuleCalls    = "calls"    // ids, names and input of calls
	RuleResults  = "results"  // every call answered once, at once, results first
	RuleErrors   = "errors"   // only text in a result that is an error
	RuleTail     = "tail"     // what a request may end with
	RuleThinking = "thinking" // reasoning comes back as it was sent
	RuleCache    = "cache"    // number, places and order of cache marks
	RuleParams   = "params"   // thinking, effort and sampling
)

// Rules returns the names of all rules.
func Rules() []string {
	return []string{RuleHeader, RuleSize, RuleEncoding, RuleFields, RuleLimit, RuleTools, RuleRoles, RuleContent,
		RuleBlank, RuleCalls, RuleResults, RuleErrors, RuleTail, RuleThinking, RuleCache, RuleParams}
}

const (
	maxBody   = 32 << 20 // bytes
	maxMarks  = 4
	olderAPI  = "2023-06-01"
	newerAPI  = "2026-10-21"
	minBudget = 1024 // tokens
)

var (
	// Patterns are compiled when the first request comes: programs that only
	// carry this package pay nothing for it.
	idPattern   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]+$`) })
	namePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) })
)

const (
	topFields words = `model max_tokens messages system tools tool_choice stream stop_sequences thinking
		output_config metadata cache_control container diagnostics service_tier speed inference_geo
		temperature top_p top_k context_management compaction thread fallbacks fallback_credit_token
		mcp_servers billing_policy output_format`
	toolFields words = `type name description input_schema cache_control strict eager_input_streaming
		defer_loading input_examples allowed_callers`
	efforts words = `low medium high xhigh max`
)

// words is a set of words.
type words string

func (w words) has(word string) bool {
	for x := range strings.FieldsSeq(string(w)) {
		if x == word {
			return true
		}
	}
	return false
}

// inspect puts a request through the gate. What every API wants comes first;
// parsed is what was wrong with its form.
func inspect(wire *Wire, req *Request, parsed error) []Breach {
	g := &gate{req: req}
	g.found = append(g.found, wire.Headers(req)...)
	if len(req.Body) > maxBody {
		g.breach(RuleSize, "the body is larger than %d bytes", maxBody)
		return g.found
	}
	if !g.encoding() {
		return g.found
	}
	if parsed != nil {
		g.breach(RuleFields, "%v", parsed)
		return g.found
	}
	return append(g.found, wire.Check(req)...)
}

// check puts a request through the gate of the Messages API. The lock of s is
// held.
func (s *Server) check(req *Request) []Breach {
	g := &gate{req: req}
	sent := s.index()
	g.fields()
	g.tools()
	g.roles()
	g.content(sent)
	g.pairs()
	g.tail(sent)
	g.cache()
	g.params()
	g.thinking(sent, s.Unbound)
	return g.found
}

// refuse is the API's answer to a breach.
func refuse(found []Breach) Reply {
	if found[0].Rule == RuleSize {
		return Fail(http.StatusRequestEntityTooLarge, "request_too_large", found[0].Text)
	}
	return Fail(http.StatusBadRequest, "invalid_request_error", found[0].Text)
}

type gate struct {
	req   *Request
	found []Breach
}

func (g *gate) breach(rule, format string, args ...any) {
	g.found = append(g.found, Breach{g.req.N, rule, fmt.Sprintf(format, args...)})
}

func (g *gate) headers() {
	h := g.req.Header
	key, token := h.Values("X-Api-Key"), h.Values("Authorization")
	switch {
	case len(key)+len(token) != 1:
		g.breach(RuleHeader, "exactly one of x-api-key and authorization is to be sent, here are %d", len(key)+len(token))
	case len(key) == 1 && key[0] == "":
		g.breach(RuleHeader, "x-api-key is empty")
	case len(token) == 1 && !(strings.HasPrefix(token[0], "Bearer ") && len(token[0]) > len("Bearer ")):
		g.breach(RuleHeader, "authorization is no bearer token")
	}
	if v := h.Get("Anthropic-Version"); v != olderAPI && v != newerAPI {
		g.breach(RuleHeader, "anthropic-version: %q is not a version", v)
	}
	kind, _, _ := strings.Cut(h.Get("Content-Type"), ";")
	if strings.TrimSpace(kind) != "application/json" {
		g.breach(RuleHeader, "content-type: %q is not application/json", h.Get("Content-Type"))
	}
}

func (g *gate) encoding() bool {
	body := g.req.Body
	switch {
	case !utf8.Valid(body):
		g.breach(RuleEncoding, "the body is not valid UTF-8")
	case !json.Valid(body):
		g.breach(RuleEncoding, "the body is not valid JSON")
	default:
		at := loneSurrogate(body)
		if at < 0 {
			return true
		}
		g.breach(RuleEncoding, "lone surrogate at byte %d", at)
	}
	return false
}

// loneSurrogate returns the place of a \u escape for half a character, or -1.
// The text is valid JSON, so a backslash stands only in strings.
func loneSurrogate(b []byte) int {
	unit := func(i int) int {
		if i+6 > len(b) || b[i] != '\\' || b[i+1] != 'u' {
			return 0
		}
		n := 0
		if _, err := fmt.Sscanf(string(b[i+2:i+6]), "%04x", &n); err != nil {
			return 0
		}
		return n
	}
	for i := 0; i < len(b); i++ {
		if b[i] != '\\' {
			continue
		}
		switch n := unit(i); {
		case n >= 0xDC00 && n < 0xE000:
			return i
		case n >= 0xD800 && n < 0xDC00:
			if low := unit(i + 6); low < 0xDC00 || low >= 0xE000 {
				return i
			}
			i += 11
		default:
			i++
		}
	}
	return -1
}

func (g *gate) fields() {
	for key := range g.req.Fields {
		if !topFields.has(key) {
			g.breach(RuleFields, "%s: Extra inputs are not permitted", key)
		}
	}
	if g.req.Model == "" {
		g.breach(RuleFields, "model: Field required")
	}
	if _, ok := g.req.Fields["max_tokens"]; !ok || g.req.MaxTokens < 1 {
		g.breach(RuleLimit, "max_tokens: an integer of at least 1 is required")
	}
}

func (g *gate) tools() {
	seen := map[string]bool{}
	for i, t := range g.req.Tools {
		if !namePattern().MatchString(t.Name) {
			g.breach(RuleTools, "tools.%d.name: %q does not match %s", i, t.Name, namePattern())
		}
		if seen[t.Name] {
			g.breach(RuleTools, "tools: Tool names must be unique: %q", t.Name)
		}
		seen[t.Name] = true
		if t.Type != "" && t.Type != "custom" {
			continue // a tool of the API's own
		}
		for key := range keys(t.Raw) {
			if !toolFields.has(key) {
				g.breach(RuleFields, "tools.%d.%s: Extra inputs are not permitted", i, key)
			}
		}
		schema := keys(t.Schema)
		if string(schema["type"]) != `"object"` {
			g.breach(RuleTools, "tools.%d.input_schema.type: must be \"object\"", i)
		}
		for _, key := range []string{"oneOf", "anyOf", "allOf"} {
			if _, ok := schema[key]; ok {
				g.breach(RuleTools, "tools.%d.input_schema: %s is not supported at the top level", i, key)
			}
		}
	}
	if len(g.req.Tools) > 0 {
		return
	}
	for _, m := range g.req.Messages {
		if slices.ContainsFunc(m.Content, func(c Content) bool { return c.Type == "tool_use" || c.Type == "tool_result" }) {
			g.breach(RuleTools, "tools: required when the conversation holds calls")
			return
		}
	}
}

func (g *gate) params() {
	var p struct {
		Thinking struct {
			Type   string `json:"type"`
			Budget int    `json:"budget_tokens"`
		} `json:"thinking"`
		Output struct {
			Effort *string `json:"effort"`
		} `json:"output_config"`
	}
	if err := json.Unmarshal(g.req.Body, &p); err != nil {
		g.breach(RuleParams, "%v", err)
		return
	}
	switch t := p.Thinking; t.Type {
	case "", "adaptive", "disabled", "between_tools":
		if _, ok := g.req.Fields["thinking"]; ok && t.Type == "" {
			g.breach(RuleParams, "thinking.type: Field required")
		}
	case "enabled":
		if t.Budget < minBudget || t.Budget >= g.req.MaxTokens {
			g.breach(RuleParams, "thinking.budget_tokens: at least %d and less than max_tokens", minBudget)
		}
	default:
		g.breach(RuleParams, "thinking.type: %q is not known", t.Type)
	}
	if e := p.Output.Effort; e != nil && !efforts.has(*e) {
		g.breach(RuleParams, "output_config.effort: %q is not known", *e)
	}
	if g.req.Header.Get("Anthropic-Version") != newerAPI {
		return
	}
	for _, key := range []string{"temperature", "top_p", "top_k"} {
		if _, ok := g.req.Fields[key]; ok {
			g.breach(RuleParams, "%s: not supported by this version of the API", key)
		}
	}
}

// keys returns the members of a JSON object, none of anything else.
func keys(raw json.RawMessage) map[string]json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}
