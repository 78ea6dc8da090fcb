// Package ollama speaks the chat API of Ollama's own, always streaming, on plain
// net/http.
//
// An Ollama server cuts what does not fit into the model's context off the front
// of the conversation, tells nobody, and by default gives a model room for a few
// thousand tokens only. This adapter asks for the room it needs (num_ctx), never
// for more than the model was made for, tells the server not to cut, and turns
// what does not fit into an [oneloop.ErrContextOverflow]: before it is sent when
// it is plain that it cannot fit, and afterwards when the count of the prompt
// shows that a server did cut it all the same.
//
// What the model can do is asked of the server with the first request: its
// context, and whether it thinks and sees.
//
// A server of version 0.14 or later also speaks the Messages API; see [Server].
package ollama

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"oneloop"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// API is the name of this API in [oneloop.Origin] and [oneloop.APIError].
const API = "ollama"

// DefaultBaseURL is where a server on this machine listens.
const DefaultBaseURL = "http://127.0.0.1:11434"

// DefaultContext is the context that is asked for, in tokens, when nobody says
// another one. Memory grows with it; agents need it.
const DefaultContext = 32_768

// Config says whom to ask and how. Only Model is needed.
type Config struct {
	BaseURL string // a URL, or what OLLAMA_HOST holds; empty: DefaultBaseURL
	Key     string // sent as Authorization: Bearer, for servers that want one
	Model   string
	Context int // tokens of prompt and reply together; 0: DefaultContext. Never more than the model has

	// Known corrects what the catalogue says of the model: what it can do, its
	// limits. Nil: the catalogue is right.
	Known func(catalog.Model) catalog.Model

	Header http.Header // further headers; they do not replace the credential
	Client *http.Client

	// StreamEvents emits every line of the stream as it came, as a
	// [oneloop.Stream].
	StreamEvents bool
	// MaxEvent bounds the bytes of one line of the stream; 0: 64 MiB.
	MaxEvent int
}

// Model is one model behind one address. It is safe for concurrent use.
type Model struct {
	name         string
	want         int // context; 0: nobody asked for one
	server       *Server
	caller       *wire.Caller
	streamEvents bool
	images       catalog.Ability // as who made it said; the server knows as well

	mu     sync.Mutex
	learnt bool
	info   Info
	tries  int  // how often it was asked in vain
	window int  // tokens that fit
	looked bool // what the server really holds was looked up
	sent   bool // a reply came, so that the model is loaded
	last   size // of the request that was counted last
	notice sync.Once
	idle   wire.Idle[*encoder]
}

var _ oneloop.Model = (*Model)(nil)

// New returns the model that c describes. An error says which setting cannot
// be used and never holds a credential.
func New(c Config) (*Model, error) {
	if c.Model = strings.TrimSpace(c.Model); c.Model == "" {
		return nil, errors.New("ollama: no model is named")
	}
	base := Address(c.BaseURL)
	u, err := wire.Endpoint(base, "api/chat")
	if err != nil {
		return nil, fmt.Errorf("ollama: %w", err)
	}
	h, err := header(c)
	if err != nil {
		return nil, fmt.Errorf("ollama: %w", err)
	}
	m := &Model{name: c.Model, want: max(c.Context, 0), streamEvents: c.StreamEvents}
	m.window = m.want
	if m.want == 0 {
		m.window = DefaultContext
	}
	m.caller = wire.NewCaller(wire.Caller{
		API: API, URL: u, Header: h, Client: c.Client, MaxEvent: c.MaxEvent, Read: fillError, Lines: true,
		Secrets: []string{strings.TrimSpace(c.Key)},
	})
	if c.Known != nil {
		m.images = c.Known(catalog.Model{}).Images
	}
	m.server = &Server{base: base, header: h, client: m.caller.Client}
	return m, nil
}

// header is what every request carries.
func header(c Config) (http.Header, error) {
	h := http.Header{}
	for name, values := range c.Header {
		h[http.CanonicalHeaderKey(name)] = values
	}
	if key := strings.TrimSpace(c.Key); key != "" {
		if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return nil, errors.New("the key has a character in it that no key has, such as a space or a line end")
		}
		h.Set("Authorization", "Bearer "+key)
	}
	h.Set("Content-Type", "application/json")
	h.Set("Accept", "application/x-ndjson, application/json")
	h.Set("Accept-Encoding", "identity") // a compressed stream comes late
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "oneloop")
	}
	return h, nil
}

// Window is how many tokens of prompt and reply fit. It asks the server for what
// it does not know yet.
func (m *Model) Window(ctx context.Context) int {
	m.learn(ctx, func(oneloop.Event) {})
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.window
}

// Generate implements [oneloop.Model]. emit may be nil.
func (m *Model) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit = oneloop.Sink(emit)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	info := m.learn(ctx, emit)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	enc := m.idle.Take(req.Messages, func() *encoder {
		return newEncoder(m.name, m.images == catalog.Yes || m.images == catalog.Unknown && (!info.Known || info.Vision))
	})
	defer m.idle.Give(enc)
	body, fit, err := m.encode(enc, req, info, emit)
	if err != nil {
		return nil, err
	}
	if err := fit.check(); err != nil {
		return nil, m.overflow(err)
	}
	msg, err := m.caller.Ask(ctx, body, emit, func(a *wire.Answer) wire.Reply {
		return m.reply(a, enc.taken, req.Tools, fit)
	})
	if err == nil {
		m.count(fit)
	}
	return msg, err
}

// reply is an answer that takes in what comes. taken are the ids of the calls in
// the conversation.
func (m *Model) reply(a *wire.Answer, taken map[string]bool, tools []oneloop.ToolDef, fit *fit) *reply {
	return &reply{Answer: a, model: m.name, asCame: m.streamEvents, fit: fit, calls: wire.Calls{Taken: taken, Tools: tools}}
}

// learn asks the server what the model is, until it said so.
func (m *Model) learn(ctx context.Context, emit func(oneloop.Event)) Info {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.learnt {
		info, err := m.server.Show(ctx, m.name)
		if m.tries++; err != nil {
			m.learnt = m.tries == maxTries
			return m.info // the request itself will tell
		}
		m.learnt, m.info = true, info
		m.window = window(m.name, m.want, info)
		if m.window < m.want {
			emit(oneloop.Notice{Text: fmt.Sprintf("%s has a context of %d tokens, fewer than the %d that were asked for", m.name, m.window, m.want)})
		}
	}
	return m.info
}

// window is the context to ask for. What was not asked for is what the model was
// made to run with, at least the default; in the cloud, where memory is no
// matter, all that it has.
func window(name string, want int, info Info) int {
	if want == 0 {
		want = max(DefaultContext, info.NumCtx)
		if strings.HasSuffix(name, "cloud") {
			want = max(want, info.Context)
		}
	}
	if info.Context > 0 {
		want = min(want, info.Context)
	}
	return want
}

// maxTries is how often a server is asked what a model is that does not say.
const maxTries = 3

// count takes note of how many tokens a request had.
func (m *Model) count(f *fit) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.rate() > 0 {
		m.last = f.size
	}
}

// overflow is the error for a conversation that was not sent.
func (m *Model) overflow(err error) error {
	return &oneloop.APIError{Class: oneloop.ErrContextOverflow, API: API, URL: m.caller.Shown(), Message: err.Error(), Retry: oneloop.RetryNo}
}
