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
	url          *url.URL
	shown        string // url without secrets
	header       http.Header
	masked       http.Header // header as it may be shown
	secrets      []string
	client       *http.Client
	streamEvents bool
	maxEvent     int

	effortNotice sync.Once
	mu           sync.Mutex
	idle         []*encoder // of past conversations, the last used at the end
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
	m := &Model{
		name: c.Model, url: u, shown: wire.SafeURL(u),
		client: wire.Client(c.Client), streamEvents: c.StreamEvents, maxEvent: c.MaxEvent,
	}
	if m.maxEvent <= 0 {
		m.maxEvent = 64 << 20
	}
	m.known, m.isKnown = catalog.Find(c.Model)
	if m.header, err = header(c, u); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	m.masked = wire.MaskHeader(m.header)
	m.secrets = []string{strings.TrimSpace(c.Key), strings.TrimSpace(c.Token)}
	for name, values := range m.header {
		for _, v := range values {
			if wire.Secret(name) {
				m.secrets = append(m.secrets, strings.TrimPrefix(v, "Bearer "))
			}
		}
	}
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
	enc := m.take(req.Messages)
	defer m.give(enc)
	body, err := m.encode(enc, req, emit)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	resp, err := m.send(ctx, body, emit)
	if err != nil {
		locate(err, req.Messages, m.name)
		return nil, err
	}
	defer resp.Body.Close()
	r := &reply{emit: emit, model: m.name, taken: enc.ids, tools: req.Tools}
	return m.receive(ctx, cancel, resp, r)
}

// encoders is how many conversations are remembered. One that is not among
// them is rendered from its beginning.
const encoders = 4

// take returns the idle encoder that knows most of msgs, or a new one; never
// one that would have to forget more than half of what it knows. It is the
// caller's alone until it is given back.
func (m *Model) take(msgs []*oneloop.Message) *encoder {
	m.mu.Lock()
	defer m.mu.Unlock()
	best, most := -1, 0
	for i, e := range m.idle {
		if n := e.common(msgs); n > most && 2*n >= len(e.msgs) {
			best, most = i, n
		}
	}
	if best < 0 {
		return &encoder{model: m.name}
	}
	e := m.idle[best]
	m.idle = append(m.idle[:best], m.idle[best+1:]...)
	return e
}

func (m *Model) give(e *encoder) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.idle) == encoders {
		m.idle = append(m.idle[:0], m.idle[1:]...)
	}
	m.idle = append(m.idle, e)
}
