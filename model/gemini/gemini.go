// Package gemini speaks the generateContent API of Gemini, always streaming, on
// plain net/http: to the first-party service and to platforms and gateways that
// offer the same API.
//
// What a model said goes back to it byte for byte and in its place, part by
// part: the signatures of its reasoning are on the parts, and newer models
// refuse a conversation in which the one of a call is missing. Requests grow by
// appending, so that the prefix the service caches by itself stays the same;
// there is no cache to be asked for, and CacheTTL in the parameters says
// nothing here.
//
// Schemas of tools go out as JSON Schema, reasoning is asked to be shown, and
// its signatures go back. A server that refuses one of these is asked again
// without it, once, and from then on.
//
// A [Model] sends every request once and waits for its answer as long as ctx
// lets it. Programs that are to stand a busy or a silent API put two wrappers
// of package oneloop/model around it, the limit on silence inside.
package gemini

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// API is the name of this API in [oneloop.Origin] and [oneloop.APIError].
const API = "gemini"

// DefaultBaseURL is the first-party service.
const DefaultBaseURL = "https://generativelanguage.googleapis.com"

// Config says whom to ask and how. Model and one of Key and Token are needed.
type Config struct {
	// BaseURL may have a path prefix and a final slash. The version of the API
	// is put behind it ("/v1beta") unless it names one, as
	// https://host/v1/publishers/google does. Empty: DefaultBaseURL.
	BaseURL string
	Key     string // sent as x-goog-api-key; wins when Token is set too
	Token   string // sent as Authorization: Bearer
	Model   string // "gemini-…", or with a collection: "tunedModels/…"

	// Known corrects what the catalogue says of the model: what it can do, its
	// limits. Nil: the catalogue is right.
	Known func(catalog.Model) catalog.Model

	Header http.Header // further headers; they do not replace the credentials
	Client *http.Client

	// StreamEvents emits every event of the stream as it came, as a
	// [oneloop.Stream].
	StreamEvents bool
	// MaxEvent bounds the bytes of one event of the stream and of an answer
	// that is no stream; 0: 64 MiB.
	MaxEvent int
}

// Model is one model behind one address. It is safe for concurrent use.
type Model struct {
	name         string
	known        catalog.Model
	isKnown      bool
	generation   float64 // of the model, by its name; 0: it has none
	caller       *wire.Caller
	streamEvents bool

	plainSchema atomic.Bool // schemas as JSON Schema were refused
	noThoughts  atomic.Bool // the settings of reasoning were refused
	unsealed    atomic.Bool // signatures were refused
	notice      sync.Once
	idle        wire.Idle[*encoder]
}

var _ oneloop.Model = (*Model)(nil)

// New returns the model that c describes. An error says which setting cannot
// be used and never holds a credential.
func New(c Config) (*Model, error) {
	name := strings.TrimPrefix(strings.TrimSpace(c.Model), "models/")
	if name == "" {
		return nil, errors.New("gemini: no model is named")
	}
	u, err := endpoint(c.BaseURL, name)
	if err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	h, err := header(c)
	if err != nil {
		return nil, fmt.Errorf("gemini: %w", err)
	}
	m := &Model{name: name, streamEvents: c.StreamEvents, generation: generation(name)}
	m.known, m.isKnown = catalog.Find(name)
	m.isKnown = m.isKnown && m.known.Provider == catalog.Gemini
	if c.Known != nil {
		m.known, m.isKnown = c.Known(m.known), true
	}
	m.caller = wire.NewCaller(wire.Caller{
		API: API, URL: u, Header: h, Client: c.Client, MaxEvent: c.MaxEvent, Read: fillError,
		Secrets: []string{strings.TrimSpace(c.Key), strings.TrimSpace(c.Token)},
	})
	return m, nil
}

// endpoint is the address of a model's streaming method.
func endpoint(base, name string) (*url.URL, error) {
	if base = strings.TrimSpace(base); base == "" {
		base = DefaultBaseURL
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`?#%\`, r) }) ||
		strings.Contains(name, "..") {
		return nil, fmt.Errorf("%q is no name of a model", wire.Printable([]byte(name), 80))
	}
	if !strings.Contains(name, "/") {
		name = "models/" + name
	}
	path := "v1beta"
	u, err := wire.Endpoint(base, path)
	if err != nil {
		return nil, err
	}
	if at := strings.TrimSuffix(u.Path, "/"+path); versioned(at) {
		u.Path, u.RawPath = at, ""
		u.Path = strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/models")
	}
	u = u.JoinPath(name + ":streamGenerateContent")
	q := u.Query()
	q.Set("alt", "sse")
	u.RawQuery = q.Encode()
	return u, nil
}

// versioned reports whether a path names a version of the API, such as v1 or
// v1beta1.
func versioned(path string) bool {
	for _, segment := range strings.Split(path, "/") {
		rest, ok := strings.CutPrefix(segment, "v")
		rest = strings.TrimRight(strings.NewReplacer("alpha", "", "beta", "").Replace(rest), "0123456789")
		if ok && rest == "" && len(segment) > 1 && segment[1] >= '0' && segment[1] <= '9' {
			return true
		}
	}
	return false
}

// header is what every request carries, with exactly one credential.
func header(c Config) (http.Header, error) {
	h := http.Header{}
	for name, values := range c.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	key, token := strings.TrimSpace(c.Key), strings.TrimSpace(c.Token)
	switch {
	case key != "":
		h.Del("Authorization")
		h.Set("X-Goog-Api-Key", key)
	case token != "":
		h.Del("X-Goog-Api-Key")
		h.Set("Authorization", "Bearer "+token)
	case h.Get("X-Goog-Api-Key") == "" && h.Get("Authorization") == "":
		return nil, errors.New("no credentials: set a key or a token")
	}
	for _, s := range []string{key, token} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, errors.New("the key or token has a character in it that no key has, such as a space or a line end")
		}
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "text/event-stream, application/json")
	h.Set("Accept-Encoding", "identity") // a compressed stream comes late
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "oneloop")
	}
	return h, nil
}

// Generate implements [oneloop.Model]. emit may be nil.
func (m *Model) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit = oneloop.Sink(emit)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	enc := m.idle.Take(req.Messages, m.encoder)
	defer func() { m.idle.Give(enc) }()
	for {
		if enc.unsealed != m.unsealed.Load() {
			enc = m.encoder()
		}
		body, err := m.encode(enc, req, emit)
		if err != nil {
			return nil, err
		}
		msg, err := m.caller.Ask(ctx, body, emit, func(a *wire.Answer) wire.Reply {
			return m.reply(a, enc.taken, req.Tools)
		})
		if err == nil || !m.adapt(err, req, emit) {
			return msg, err
		}
	}
}

func (m *Model) encoder() *encoder {
	e := newEncoder(m.name, m.caller.URL.Host)
	e.blind = m.known.Images == catalog.No
	e.unsealed = m.unsealed.Load()
	return e
}

// adapt takes note of what a server does not know, and reports whether the
// request can be sent again without it.
func (m *Model) adapt(err error, req *oneloop.Request, emit func(oneloop.Event)) bool {
	var e *oneloop.APIError
	if !errors.As(err, &e) || e.Class != oneloop.ErrInvalidRequest || e.Status != http.StatusBadRequest {
		return false
	}
	said := strings.ToLower(e.Message)
	switch {
	case strings.Contains(said, "parametersjsonschema") || strings.Contains(said, "parameters_json_schema"):
		if m.plainSchema.Swap(true) {
			return false
		}
		emit(oneloop.Notice{Text: "the server takes no JSON Schema for tools; they are described in the older form, which says less"})
	case strings.Contains(said, "thinking") && req.Params.Effort == "":
		if m.noThoughts.Swap(true) {
			return false
		}
		emit(oneloop.Notice{Text: m.name + " cannot show its reasoning, so it is not asked to"})
	case strings.Contains(said, "thought signature") || strings.Contains(said, "thought_signature"):
		if m.unsealed.Swap(true) {
			return false
		}
		emit(oneloop.Notice{Text: "the server refuses the signatures of earlier reasoning, perhaps because another one made them; the conversation goes on without that reasoning"})
	default:
		return false
	}
	return true
}

// reply is an answer that takes in what comes. taken are the ids of the calls in
// the conversation.
func (m *Model) reply(a *wire.Answer, taken map[string]bool, tools []oneloop.ToolDef) *reply {
	return &reply{Answer: a, model: m.name, host: m.caller.URL.Host, asCame: m.streamEvents, calls: wire.Calls{Taken: taken, Tools: tools}}
}
