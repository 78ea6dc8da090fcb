// Package openai speaks the two APIs that OpenAI made, always streaming, on plain
// net/http: Chat Completions, which most providers and local servers offer too,
// each in its own way (a [Dialect]), and Responses, which hands reasoning back.
//
// What a model said goes back byte for byte where the provider takes it back, by
// that provider's rule. Requests grow by appending: a turn renders its new
// messages and nothing else.
package openai

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// ChatAPI is the name of this API in [oneloop.Origin] and [oneloop.APIError].
const ChatAPI = "openai-chat"

// DefaultBaseURL is OpenAI's own service.
const DefaultBaseURL = "https://api.openai.com/v1"

// Config says whom to ask and how. Only Model is needed; OpenAI's own service
// needs a Key, too.
type Config struct {
	// BaseURL is what clients of OpenAI's take: /chat/completions or /responses is
	// added to it. One without a path gets /v1 first; one that has the whole path
	// is taken as it is. Empty: that of the dialect.
	BaseURL string
	Key     string // sent as Authorization: Bearer; empty: none, for servers on this machine
	Model   string
	Dialect string // of Chat Completions, by name, see [Dialects]; empty: that of the host, else "compatible"

	// Known corrects what the catalogue says of the model: what it can do, its
	// limits. Nil: the catalogue is right.
	Known func(catalog.Model) catalog.Model

	Header http.Header // further headers; they do not replace the key
	Client *http.Client

	// StreamEvents emits every event of the stream as it came, as a
	// [oneloop.Stream].
	StreamEvents bool
	// MaxEvent bounds the bytes of one event of the stream and of an answer
	// that is no stream; 0: 64 MiB.
	MaxEvent int
}

// corrected is what is known of the model, as c has it.
func (c Config) corrected(m catalog.Model) catalog.Model {
	if c.Known == nil {
		return m
	}
	return c.Known(m)
}

// caller is who asks path at the address of c.
func caller(c Config, api, base, path string) (*wire.Caller, error) {
	u, err := endpoint(base, path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api, err)
	}
	h, err := header(c)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api, err)
	}
	return wire.NewCaller(wire.Caller{
		API: api, URL: u, Header: h, Client: c.Client, MaxEvent: c.MaxEvent, Read: fillError, Ending: ending,
		Secrets: []string{strings.TrimSpace(c.Key)},
	}), nil
}

// endpoint is the address of path below a base URL.
func endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, errors.New("the base URL cannot be read: it should look like https://host/v1")
	}
	full := strings.TrimRight(u.Path, "/")
	whole := strings.HasSuffix(full, "/"+path)
	for _, known := range []string{"/chat/completions", "/responses", "/" + path} {
		full = strings.TrimSuffix(full, known)
	}
	if full == "" && !whole {
		path = "v1/" + path
	}
	u.Path, u.RawPath = full, ""
	return wire.Endpoint(u.String(), path)
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
	h.Set("Accept", "text/event-stream, application/json")
	h.Set("Accept-Encoding", "identity") // a compressed stream comes late
	if h.Get("User-Agent") == "" {
		h.Set("User-Agent", "oneloop")
	}
	return h, nil
}
