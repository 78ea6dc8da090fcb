package openai

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"

	"oneloop"
	"oneloop/internal/wire"
	"oneloop/model/catalog"
)

// ResponsesAPI is the name of this API in [oneloop.Origin] and
// [oneloop.APIError].
const ResponsesAPI = "openai-responses"

// Responses is one model behind one address that is asked by the Responses API,
// without the memory that the API offers: a request holds the whole
// conversation, and nothing is stored. It is safe for concurrent use.
type Responses struct {
	name      string
	known     catalog.Model
	corrected bool // who made it said what is known
	vendor    bool // at OpenAI's, where models that do not reason refuse what has to do with it
	caller    *wire.Caller
	asCame    bool

	unsummed     atomic.Bool // summaries of reasoning are refused here
	unsealed     atomic.Bool // so is sealed reasoning
	effortNotice sync.Once
	idle         wire.Idle[*responsesEncoder]
}

var _ oneloop.Model = (*Responses)(nil)

// NewResponses returns the model that c describes; its dialect is of no meaning
// here. An error says which setting cannot be used and never holds a credential.
func NewResponses(c Config) (*Responses, error) {
	if c.Model = strings.TrimSpace(c.Model); c.Model == "" {
		return nil, errors.New("openai: no model is named")
	}
	base := cmp.Or(strings.TrimSpace(c.BaseURL), DefaultBaseURL)
	if strings.TrimSpace(c.Key) == "" && base == DefaultBaseURL {
		return nil, errors.New("openai: no credentials: set a key")
	}
	call, err := caller(c, ResponsesAPI, base, "responses")
	if err != nil {
		return nil, err
	}
	vendor := false
	if u, err := url.Parse(base); err == nil {
		d, _ := findDialect("", strings.ToLower(u.Hostname()))
		vendor = d.Name == "openai"
	}
	known, _ := catalog.Find(c.Model)
	return &Responses{name: c.Model, known: c.corrected(known), corrected: c.Known != nil, vendor: vendor, caller: call, asCame: c.StreamEvents}, nil
}

// Generate implements [oneloop.Model]. emit may be nil.
func (m *Responses) Generate(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit = oneloop.Sink(emit)
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	enc := m.idle.Take(req.Messages, func() *responsesEncoder {
		return newResponsesEncoder(responsesTarget{model: m.name, host: m.caller.URL.Host, blind: m.known.Images == catalog.No})
	})
	defer m.idle.Give(enc)
	for {
		msg, err := m.ask(ctx, enc, req, emit)
		without := m.without(err, enc, len(req.Messages))
		if without == "" {
			return msg, err
		}
		emit(oneloop.Notice{Text: without + " refused by the API; asked again without"})
	}
}

func (m *Responses) ask(ctx context.Context, enc *responsesEncoder, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	body, err := enc.body(m, req, emit)
	if err != nil {
		return nil, err
	}
	return m.caller.Ask(ctx, body, emit, func(a *wire.Answer) wire.Reply { return m.reply(a, enc.taken, req.Tools) })
}

// reply is an answer that takes in what comes. taken are the ids of the calls in
// the conversation.
func (m *Responses) reply(a *wire.Answer, taken map[string]bool, tools []oneloop.ToolDef) *responsesReply {
	return &responsesReply{Answer: a, model: m.name, host: m.caller.URL.Host, asCame: m.asCame, calls: wire.Calls{Taken: taken, Tools: tools}}
}

// without leaves out what the API refused and can be done without, and says what
// that is; empty: nothing. It leaves out each thing once. The reasoning of n
// messages cannot be read by another account, and is no good when a part of the
// reply that it led to is gone.
func (m *Responses) without(err error, enc *responsesEncoder, n int) string {
	api, ok := errors.AsType[*oneloop.APIError](err)
	if !ok || api.Status != 400 {
		return ""
	}
	text := strings.ToLower(api.Code + " " + api.Message)
	has := func(words string) bool { return strings.Contains(text, words) }
	switch {
	case has("summar") && (has("verified") || has("reasoning.summary")) && m.unsummed.CompareAndSwap(false, true):
		return "summaries of reasoning are"
	case has("encrypted content is not supported") && m.unsealed.CompareAndSwap(false, true):
		return "sealed reasoning is"
	case (has("invalid_encrypted_content") || has("encrypted content for item") || has("without its required") || has("items are not persisted")) && enc.bare < n:
		enc.forget(n)
		return "the reasoning in this conversation is"
	}
	return ""
}

// reasonsHere reports whether the model is known to reason. Some servers put a
// vendor before its name.
func (m *Responses) reasonsHere() bool {
	if m.corrected && m.known.Reasoning != catalog.Unknown {
		return m.known.Reasoning == catalog.Yes
	}
	return reasons(m.name[strings.LastIndexByte(m.name, '/')+1:])
}
