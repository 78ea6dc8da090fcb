package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/model/catalog"
	"oneloop/model/gemini"
	"oneloop/model/ollama"
	"oneloop/model/openai"
)

// asked is the model of an agent, and the one that goes on when it stays
// overloaded. Read from the bottom: every layer wraps the one before it.
func (p *program) asked(a *agent) (oneloop.Model, error) {
	m, err := p.layered(a, a.model.ID)
	if err != nil {
		return nil, err
	}
	if next := p.settings.Fallback.Full(); next != "" && next != a.model.ID && !p.offline {
		other, err := p.layered(a, next)
		if err != nil {
			return nil, err
		}
		m = model.Fallback(m, p.suited(other, next), model.FallbackOptions{Notice: func(err error) string {
			return fmt.Sprintf(p.words.FallsBack, next, err)
		}})
	}
	if a.agents != nil {
		m = a.agents.Model(m)
	}
	return m, nil
}

func (p *program) layered(a *agent, name string) (oneloop.Model, error) {
	m, err := p.adapter(a, name)
	if err != nil {
		return nil, err
	}
	m = a.watched(a.prepared(m))
	m = model.Stall(m, model.StallOptions{Idle: p.settings.IdleTimeout, Progress: p.settings.ProgressTimeout})
	m = model.Pause(m, model.PauseOptions{})
	m = model.Retry(m, p.retries())
	return model.Budget(m, a.ledger, name), nil
}

// suited asks a model no more than it has: requests are made for another.
func (p *program) suited(m oneloop.Model, name string) oneloop.Model {
	known := p.lookup(name)
	return oneloop.ModelFunc(func(ctx context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
		r := *req
		r.Params.MaxTokens = min(r.Params.MaxTokens, known.MaxOutput)
		if !slices.Contains(known.Efforts, r.Params.Effort) {
			r.Params.Effort = ""
		}
		return m.Generate(ctx, &r, emit)
	})
}

// speak is the adapter to the API of the model with this name, "provider/name"
// or one of Anthropic's.
func (p *program) speak(name string, client *http.Client) (oneloop.Model, error) {
	m, a, err := p.reach(name)
	if err != nil {
		return nil, err
	}
	key, err := a.Credential(context.Background()) // a command has been run before
	if err != nil {
		return nil, err
	}
	if !a.Configured() {
		return nil, p.unkeyed(a)
	}
	if a.Through != "" {
		if client, err = p.cloud(a, client); err != nil {
			return nil, err
		}
	}
	known := p.settings.Book.Over(m.Provider, m.Name)
	switch a.API {
	case catalog.Anthropic:
		c := anthropic.Config{
			BaseURL: a.BaseURL, Key: key.Reveal(), Token: a.Token.Reveal(), Model: m.Name, Known: known, Header: a.Header, Client: client, StreamEvents: p.opts.partial,
		}
		if a.Name == "anthropic" {
			c.Version = p.settings.APIVersion
		} else if c.Key == "" && a.Header == nil {
			c.Key = "none" // a server that wants none
		}
		return anthropic.New(c)
	case catalog.Gemini:
		return gemini.New(gemini.Config{
			BaseURL: a.BaseURL, Key: key.Reveal(), Model: m.Name, Known: known, Header: a.Header, Client: client, StreamEvents: p.opts.partial,
		})
	case catalog.Ollama:
		return ollama.New(ollama.Config{
			BaseURL: a.BaseURL, Key: key.Reveal(), Model: m.Name, Context: p.wanted(m), Known: known, Header: a.Header, Client: client, StreamEvents: p.opts.partial,
		})
	}
	c := openai.Config{
		BaseURL: a.BaseURL, Key: key.Reveal(), Model: m.Name, Dialect: a.Dialect, Known: known, Header: a.Header, Client: client, StreamEvents: p.opts.partial,
	}
	if a.API == catalog.Responses {
		return openai.NewResponses(c)
	}
	return openai.NewChat(c)
}

// reach is how the model with this name is reached.
func (p *program) reach(name string) (config.Model, config.Access, error) {
	m, err := p.settings.ParseModel(name)
	if err != nil {
		return m, config.Access{}, err
	}
	a, ok := p.settings.Access(m.Provider)
	if !ok {
		return m, a, fmt.Errorf("there is no provider named %q", m.Provider)
	}
	return m, a, nil
}

// unkeyed is the error of a provider that there is no key for.
func (p *program) unkeyed(a config.Access) error {
	return &codeError{exitConfig, fmt.Errorf(p.words.NoKeyFor, a.Name, strings.Join(a.Variables(), ", "))}
}

// keyFrom is where the key in use came from; empty: there is none.
func (p *program) keyFrom() string {
	a, _ := p.settings.Access(p.settings.Model.Provider)
	if a.Name == "anthropic" {
		return p.settings.From["key"]
	}
	return a.From
}

// undecided is why no model is asked, and what to write.
func (p *program) undecided(e *config.UndecidedError) string {
	if only := e.Provider(); only != "" {
		return fmt.Sprintf(p.words.NoUsualModel, only)
	}
	return fmt.Sprintf(p.words.SeveralToAsk, strings.Join(e.Names, ", "))
}

// lookup is what is known of the model with this name; its ID is the name that
// says all.
func (p *program) lookup(name string) catalog.Model {
	m, known, ok := p.catalogued(name)
	switch a, _ := p.settings.Access(m.Provider); {
	case a.API == catalog.Ollama:
		known.Context = p.window(context.Background(), a, m)
		if !ok {
			known.MaxOutput = known.Context / 4
		}
		known.MaxOutput = min(known.MaxOutput, known.Context)
	case a.Local && !ok: // a reply has to fit beside the prompt
		if n := cmp.Or(int(p.settings.ContextWindow), p.window(context.Background(), a, m)); n > 0 {
			known.Context, known.MaxOutput = n, min(known.MaxOutput, n/4)
		}
	}
	known.ID = cmp.Or(m.Full(), name)
	return known
}

// catalogued is what is known of a model without asking anybody; ok: it is in the
// catalogue or in the user's file. A name that is none is of no provider.
func (p *program) catalogued(name string) (m config.Model, known catalog.Model, ok bool) {
	m, err := p.settings.ParseModel(name)
	if err != nil {
		known, ok = catalog.Find(name)
		return config.Model{}, known, ok
	}
	known, ok = p.settings.Book.FindIn(m.Provider, m.Name)
	return m, known, ok
}

// wanted is the context that an Ollama is asked for; 0: as it is usual.
func (p *program) wanted(m config.Model) int {
	if n := int(p.settings.ContextWindow); n > 0 {
		return n
	}
	if known, ok := p.settings.Book.FindIn(m.Provider, m.Name); ok {
		return known.Context
	}
	return 0
}

// windows are the contexts that models of servers on the user's machine have, as
// each server was asked once.
type windows struct {
	mu  sync.Mutex
	all map[string]int
}

// window is the context that a model on the user's machine has. That of an Ollama
// is what is asked for, but no more than the model has; one that does not say is
// taken to give it. Of other servers it is what they were started with; 0: they do
// not say.
func (p *program) window(ctx context.Context, a config.Access, m config.Model) int {
	p.windows.mu.Lock()
	n, asked := p.windows.all[m.String()]
	p.windows.mu.Unlock()
	if asked {
		return n
	}
	n = p.askWindow(ctx, a, m)
	p.windows.mu.Lock()
	defer p.windows.mu.Unlock()
	if p.windows.all == nil {
		p.windows.all = map[string]int{}
	}
	p.windows.all[m.String()] = n
	return n
}

func (p *program) askWindow(ctx context.Context, a config.Access, m config.Model) int {
	ctx, cancel := context.WithTimeout(ctx, listTime)
	defer cancel()
	if a.API != catalog.Ollama {
		if p.offline {
			return 0
		}
		given := p.given(ctx, a)
		return cmp.Or(given[m.Name], given[""])
	}
	want := p.wanted(m)
	usual := cmp.Or(want, ollama.DefaultContext)
	key, err := a.Credential(ctx)
	if err != nil || p.offline { // the request will say so
		return usual
	}
	server, err := ollama.New(ollama.Config{BaseURL: a.BaseURL, Key: key.Reveal(), Model: m.Name, Context: want, Header: a.Header})
	if err != nil {
		return usual
	}
	return server.Window(ctx)
}

// price is what the ledger takes of the model with this name.
func (p *program) price(name string) catalog.Price {
	_, known, _ := p.catalogued(name)
	return known.Price.On(time.Now().UTC().Format(time.DateOnly))
}

// askable sees that there is somebody to ask: a provider with a key, or an
// Ollama on this machine where nothing at all is set up.
func (p *program) askable(ctx context.Context) error {
	s := p.settings
	if s.Undecided != nil {
		return &codeError{exitConfig, errors.New(p.undecided(s.Undecided))}
	}
	if s.HasCredential() {
		return s.Unlock(ctx)
	}
	if s.Model.Name == "" && p.localOllama(ctx) {
		return nil
	}
	if a, ok := s.Access(s.Model.Provider); ok && a.Name != "anthropic" {
		return p.unkeyed(a)
	}
	return errNobody
}

var errNobody = errors.New("no API key is set")

// localTime is how long an Ollama on this machine is waited for.
const localTime = 300 * time.Millisecond

// localOllama takes the newest model of an Ollama on this machine, and says so.
func (p *program) localOllama(ctx context.Context) bool {
	a, ok := p.settings.Access("ollama")
	if !ok || !loopback(a.BaseURL) {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, localTime)
	defer cancel()
	server, err := ollama.Probe(ctx, a.BaseURL)
	if err != nil || len(server.Models) == 0 {
		return false
	}
	p.settings.Model = config.Model{Provider: "ollama", Name: server.Models[0].Name}
	p.settings.From["model"] = server.Base()
	p.settings.Notices = append(p.settings.Notices, fmt.Sprintf(p.words.OllamaFound, server.Base(), p.settings.Model))
	return true
}

// loopback reports whether a server is on this machine.
func loopback(base string) bool {
	u, err := url.Parse(ollama.Address(base))
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && (ip.IsLoopback() || ip.IsUnspecified())
}

// address is where the model that is asked is, for people.
func (p *program) address() string {
	a, _ := p.settings.Access(p.settings.Model.Provider)
	if a.API == catalog.Ollama {
		return ollama.Address(a.BaseURL)
	}
	return cmp.Or(a.BaseURL, anthropic.DefaultBaseURL)
}
