// Package anthropic speaks the Anthropic Messages API, always streaming, on
// plain net/http: to the first-party service, to platforms and gateways that
// offer the same API, and to local servers that do.
//
// What a model said goes back byte for byte. Requests grow by appending: a
// turn renders its new messages and nothing else, and no earlier byte of a
// conversation changes unless its messages were replaced.
//
// Cache marks are placed for the caller, at most four: at the end of the
// tools, of the system prompt, of the previous request and of this one. They
// are no part of what is kept. A caller who puts a cache_control of its own
// into a block or a tool places all of them.
//
// A [Model] sends every request once and waits for its answer as long as ctx
// lets it. Programs that are to stand a busy or a silent API put two wrappers
// of package oneloop/model around it, the limit on silence inside, so that
// each try has its own:
//
//	m := model.Retry(model.Stall(adapter, model.StallOptions{}), model.RetryOptions{})
package anthropic

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"oneloop"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// API is the name of this API in [oneloop.Origin] and [oneloop.APIError].
const API = "anthropic"

// DefaultBaseURL is the first-party service.
const DefaultBaseURL = "https://api.anthropic.com"

// The versions of the API. The first-party service is spoken to in the newer
// one, every other host in the one that platforms and gateways have known
// from the start, unless [Config.Version] says otherwise.
const (
	Version2023 = "2023-06-01"
	Version2026 = "2026-10-21"
)

// Config says whom to ask and how. Model and one of Key and Token are needed.
type Config struct {
	BaseURL string // with or without a path prefix, a final slash or /v1; empty: DefaultBaseURL
	Key     string // sent as x-api-key; wins when Token is set too
	Token   string // sent as Authorization: Bearer
	Version string // anthropic-version; empty: by host
	Model   string

	// Known corrects what the catalogue says of the model: what it can do, its
	// limits. Nil: the catalogue is right.
	Known func(catalog.Model) catalog.Model

	Betas  []string    // sent as one anthropic-beta header
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
	caller       *wire.Caller
	streamEvents bool

	effortNotice sync.Once
	idle         wire.Idle[*encoder]
}

var _ oneloop.Model = (*Model)(nil)

// New returns the model that c describes. An error says which setting cannot
// be used and never holds a credential.
func New(c Config) (*Model, error) {
	if c.Model = strings.TrimSpace(c.Model); c.Model == "" {
		return nil, errors.New("anthropic: no model is named")
	}
	base := strings.TrimSpace(c.BaseURL)
	if base == "" {
		base = DefaultBaseURL
	}
	u, err := wire.Endpoint(base, "v1/messages")
	if err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	m := &Model{name: c.Model, streamEvents: c.StreamEvents}
	m.known, m.isKnown = catalog.Find(c.Model)
	if c.Known != nil {
		m.known, m.isKnown = c.Known(m.known), true
	}
	h, err := header(c, u)
	if err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	m.caller = wire.NewCaller(wire.Caller{
		API: API, URL: u, Header: h, Client: c.Client, MaxEvent: c.MaxEvent, Read: fillError,
		Secrets: []string{strings.TrimSpace(c.Key), strings.TrimSpace(c.Token)},
	})
	return m, nil
}

// header is what every request carries, with exactly one credential.
func header(c Config, u *url.URL) (http.Header, error) {
	h := http.Header{}
	for name, values := range c.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	key, token := strings.TrimSpace(c.Key), strings.TrimSpace(c.Token)
	switch {
	case key != "":
		h.Del("Authorization")
		h.Set("X-Api-Key", key)
	case token != "":
		h.Del("X-Api-Key")
		h.Set("Authorization", "Bearer "+token)
	case h.Get("X-Api-Key") == "" && h.Get("Authorization") == "":
		return nil, errors.New("no credentials: set a key or a token")
	}
	for _, s := range []string{key, token} {
		if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, errors.New("the key or token has a character in it that no key has, such as a space or a line end")
		}
	}
	version := strings.TrimSpace(c.Version)
	if version == "" {
		version = Version2023
		if strings.EqualFold(u.Hostname(), "api.anthropic.com") {
			version = Version2026
		}
	}
	h.Set("Anthropic-Version", version)
	if betas := slices.Concat(h.Values("Anthropic-Beta"), c.Betas); len(betas) > 0 {
		h.Set("Anthropic-Beta", strings.Join(betas, ","))
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
	enc := m.idle.Take(req.Messages, func() *encoder { return &encoder{model: m.name, blind: m.known.Images == catalog.No} })
	defer m.idle.Give(enc)
	body, err := m.encode(enc, req, emit)
	if err != nil {
		return nil, err
	}
	msg, err := m.caller.Ask(ctx, body, emit, func(a *wire.Answer) wire.Reply {
		return m.reply(a, enc.ids, req.Tools)
	})
	if err != nil {
		locate(err, req.Messages, m.name)
	}
	return msg, err
}

// reply is an answer that takes in what comes. taken are the ids of the calls in
// the conversation.
func (m *Model) reply(a *wire.Answer, taken map[string]bool, tools []oneloop.ToolDef) *reply {
	return &reply{Answer: a, model: m.name, asCame: m.streamEvents, calls: wire.Calls{Taken: taken, Tools: tools}}
}
