package openai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// Chat is one model behind one address that is asked by Chat Completions. It is
// safe for concurrent use.
type Chat struct {
	name    string
	dialect Dialect
	caller  *wire.Caller
	asCame  bool

	known   catalog.Model
	refused refused

	bare atomic.Bool // reasoning came without its opening tag

	effortNotice sync.Once
	idle         wire.Idle[*chatEncoder]
}

var _ oneloop.Model = (*Chat)(nil)

// NewChat returns the model that c describes. An error says which setting cannot
// be used and never holds a credential.
func NewChat(c Config) (*Chat, error) {
	if c.Model = strings.TrimSpace(c.Model); c.Model == "" {
		return nil, errors.New("openai: no model is named")
	}
	host := ""
	if u, err := url.Parse(strings.TrimSpace(c.BaseURL)); err == nil {
		host = strings.ToLower(u.Hostname())
	}
	if c.Dialect == "" && c.BaseURL == "" {
		c.Dialect = "openai"
	}
	d, ok := findDialect(c.Dialect, host)
	if !ok {
		var names []string
		for _, d := range Dialects() {
			names = append(names, d.Name)
		}
		return nil, fmt.Errorf("openai: there is no dialect named %q; known: %s", c.Dialect, strings.Join(names, ", "))
	}
	base := cmp.Or(strings.TrimSpace(c.BaseURL), d.BaseURL)
	if base == "" {
		return nil, fmt.Errorf("openai: the dialect %q has no address of its own: set a base URL", d.Name)
	}
	if strings.TrimSpace(c.Key) == "" && base == d.BaseURL && strings.HasPrefix(base, "https:") {
		return nil, errors.New("openai: no credentials: set a key")
	}
	call, err := caller(c, ChatAPI, base, "chat/completions")
	if err != nil {
		return nil, err
	}
	return &Chat{name: c.Model, dialect: d, known: c.corrected(d.known(c.Model)), caller: call, asCame: c.StreamEvents}, nil
}

// Generate implements [oneloop.Model]. emit may be nil.
func (m *Chat) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit = oneloop.Sink(emit)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	enc := m.idle.Take(req.Messages, func() *chatEncoder {
		return &chatEncoder{chatTarget: m.target(), taken: map[string]bool{}}
	})
	defer m.idle.Give(enc)
	for {
		optional := m.optional(req, emit)
		body, err := enc.body(m, req, optional)
		if err != nil {
			return nil, err
		}
		msg, err := m.caller.Ask(ctx, body, emit, func(a *wire.Answer) wire.Reply { return m.reply(a, enc.taken, req.Tools) })
		if err == nil || !m.refused.learn(err, optional, emit) {
			return msg, err
		}
	}
}

func (m *Chat) target() chatTarget {
	return chatTarget{model: m.name, host: m.caller.URL.Host, dialect: m.dialect, blind: m.known.Images == catalog.No}
}

// reply is an answer that takes in what comes. taken are the ids of the calls in
// the conversation.
func (m *Chat) reply(a *wire.Answer, taken map[string]bool, tools []oneloop.ToolDef) *chatReply {
	r := &chatReply{Answer: a, model: m.name, host: m.caller.URL.Host, dialect: m.dialect, asCame: m.asCame, calls: wire.Calls{Taken: taken, Tools: tools}}
	r.thoughts.bare = m.bare.Load()
	r.bare = func() {
		if !m.bare.Swap(true) {
			a.Emit(oneloop.Notice{Text: "the server sends reasoning without its opening tag, as text; it is told apart from the next reply on (or start the server with its reasoning parser)"})
		}
	}
	return r
}
