package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/internal/wire"
	"oneloop/model/anthropic"
	"oneloop/model/catalog"
	"oneloop/model/ollama"
)

// listed is a provider as `oneloop models` tells of it. The JSON is English.
type listed struct {
	Name       string        `json:"name"`
	API        string        `json:"api"`
	BaseURL    string        `json:"base_url"`
	Configured bool          `json:"configured"`
	From       string        `json:"key_from,omitempty"`
	Variables  []string      `json:"key_variables"`
	Reachable  bool          `json:"reachable"`
	Error      string        `json:"error,omitempty"`
	Models     []listedModel `json:"models"`

	through bool
	unnamed int // models of the provider that are not in Models
}

type listedModel struct {
	ID        string       `json:"id"`
	Context   int          `json:"context,omitempty"`    // 0: unknown
	MaxOutput int          `json:"max_output,omitempty"` // 0: unknown
	Price     *listedPrice `json:"price"`                // null: unknown
	Images    *bool        `json:"images"`               // null: unknown
	Reasoning *bool        `json:"reasoning"`
	Efforts   []string     `json:"efforts,omitempty"`
	Served    bool         `json:"served"` // the provider's own list has it
}

// listedPrice is in US dollars per million tokens.
type listedPrice struct {
	Input     float64 `json:"input"`
	Output    float64 `json:"output"`
	CacheRead float64 `json:"cache_read"`
	Most      bool    `json:"at_most,omitempty"`
}

// models lists the providers, and the models of those that can be asked.
func (p *program) models(ctx context.Context) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	if err := p.loadSettings(ctx, dir, nil); err != nil {
		return err
	}
	only := strings.Join(p.opts.words, " ")
	var all []config.Access
	for _, a := range p.settings.Reachable() {
		if again := a.Name == "openai-chat" || a.Name == "openai-responses"; only == a.Name || only == "" && !again {
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		var names []string
		for _, a := range p.settings.Reachable() {
			names = append(names, a.Name)
		}
		return usagef(p.words.FlagValue, "models", only, strings.Join(names, ", "))
	}
	found := make([]listed, len(all))
	var asking sync.WaitGroup
	for i, a := range all {
		asking.Go(func() { found[i] = p.list(ctx, a, only != "") })
	}
	asking.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if p.opts.json {
		return p.printJSON(struct {
			Date      string   `json:"catalogue"`
			Model     string   `json:"model"`
			Providers []listed `json:"providers"`
		}{catalog.Date, p.chosenModel(), found})
	}
	p.sayNotices()
	return p.printModels(found)
}

// listTime is how long a provider is waited for.
const listTime = 2 * time.Second

// list asks one provider for its models.
func (p *program) list(ctx context.Context, a config.Access, whole bool) listed {
	l := listed{Name: a.Name, API: a.API, BaseURL: cmp.Or(a.BaseURL, anthropic.DefaultBaseURL), Configured: a.Configured(), From: a.From,
		Variables: a.Variables(), Models: []listedModel{}, through: a.Through != ""}
	if a.API == catalog.Ollama {
		l.BaseURL = ollama.Address(a.BaseURL)
	}
	if u, err := url.Parse(l.BaseURL); err == nil {
		l.BaseURL = wire.SafeURL(u)
	} else { // what is in it cannot be told apart
		l.BaseURL = wire.Mask
	}
	var served []serving
	if a.Through != "" {
		l.Error = fmt.Sprintf(p.words.ModelsThrough, a.Through)
		if self, err := os.Executable(); err == nil {
			if path, there := cloudPath(self, a.Through); !there {
				l.Error = p.cloudMissing(a, path).Error()
			}
		}
	} else if l.Configured {
		ctx, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("no answer within %v", listTime))
		defer cancel()
		var err error
		if served, err = p.served(ctx, a); err != nil {
			if cause := context.Cause(ctx); cause != nil {
				err = cause
			}
			l.Error = wire.Redact(oneLine(err.Error()), p.settings.Secrets()...)
		}
		l.Reachable = err == nil
	}
	for _, m := range p.settings.Book.All() {
		if m.Provider == a.Name && (whole || l.Configured) {
			i := slices.IndexFunc(served, func(s serving) bool { return s.id == m.ID })
			if i >= 0 && a.API == catalog.Ollama {
				m.Context = served[i].window
			}
			l.Models = append(l.Models, describe(m, true, i >= 0))
		}
	}
	for _, s := range served {
		if slices.ContainsFunc(l.Models, func(m listedModel) bool { return m.ID == s.id }) {
			continue
		}
		m, known := p.settings.Book.FindIn(a.Name, s.id)
		if m.ID = s.id; !known {
			m = catalog.Model{ID: s.id, Context: s.window}
		}
		if !whole && !known && !a.Local && !a.Custom {
			l.unnamed++ // what a vendor has besides: speech, images, other versions
			continue
		}
		l.Models = append(l.Models, describe(m, known, true))
	}
	for _, id := range a.Models {
		if !slices.ContainsFunc(l.Models, func(m listedModel) bool { return m.ID == id }) {
			m, known := p.settings.Book.FindIn(a.Name, id)
			l.Models = append(l.Models, describe(m, known, false))
		}
	}
	return l
}

func describe(m catalog.Model, known, served bool) listedModel {
	says := func(a catalog.Ability) *bool {
		if a == catalog.Unknown {
			return nil
		}
		yes := a == catalog.Yes
		return &yes
	}
	d := listedModel{ID: m.ID, Context: m.Context, MaxOutput: m.MaxOutput, Images: says(m.Images), Reasoning: says(m.Reasoning), Efforts: m.Efforts, Served: served}
	if !known && !served {
		d.Context, d.MaxOutput = 0, 0
	}
	if price := m.Price.On(time.Now().UTC().Format(time.DateOnly)); price.Known {
		d.Price = &listedPrice{price.Input, price.Output, price.CacheRead, price.Most}
	}
	return d
}

// serving is a model in a provider's own list.
type serving struct {
	id     string
	window int // tokens; 0: it does not say
}

// served asks a provider for its own list.
func (p *program) served(ctx context.Context, a config.Access) ([]serving, error) {
	key, err := a.Credential(ctx)
	if err != nil {
		return nil, err
	}
	if a.API == catalog.Ollama {
		server, err := ollama.Probe(ctx, a.BaseURL)
		if err != nil {
			return nil, err
		}
		list := make([]serving, len(server.Models))
		var asking sync.WaitGroup
		for i, m := range server.Models {
			asking.Go(func() { list[i] = serving{m.Name, p.window(ctx, a, config.Model{Provider: a.Name, Name: m.Name})} })
		}
		asking.Wait()
		return list, nil
	}
	data, err := p.fetch(ctx, a, key, listAddress(a))
	if err != nil {
		return nil, err
	}
	list, err := readList(bytes.NewReader(data))
	if err == nil && (a.Dialect == "llamacpp" || a.Dialect == "lmstudio") && a.Local {
		windows := p.given(ctx, a)
		for i, m := range list {
			list[i].window = cmp.Or(windows[m.id], windows[""])
		}
	}
	return list, err
}

// fetch gets what a provider tells at an address, in one piece.
func (p *program) fetch(ctx context.Context, a config.Access, key config.Secret, address string) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, errors.New("the base URL cannot be read")
	}
	for h, v := range a.Header {
		req.Header[h] = v
	}
	req.Header.Set("User-Agent", "oneloop")
	switch {
	case a.API == catalog.Anthropic && a.Token.Set():
		req.Header.Set("Authorization", "Bearer "+a.Token.Reveal())
	case a.API == catalog.Anthropic && key.Set():
		req.Header.Set("X-Api-Key", key.Reveal())
	case a.API == catalog.Gemini && key.Set():
		req.Header.Set("X-Goog-Api-Key", key.Reveal())
	case key.Set():
		req.Header.Set("Authorization", "Bearer "+key.Reveal())
	}
	if a.API == catalog.Anthropic {
		req.Header.Set("Anthropic-Version", cmp.Or(p.settings.APIVersion, anthropic.Version2023))
	}
	// A redirect would take the key elsewhere.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		if u, ok := errors.AsType[*url.Error](err); ok {
			err = u.Err
		}
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("HTTP status %s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, 16<<20))
}

// given are the windows of the models that a server on this machine was started
// with, by name; one without a name is that of all. What it does not say is not
// in it: llama.cpp and LM Studio tell it beside the API that they share.
func (p *program) given(ctx context.Context, a config.Access) map[string]int {
	key, err := a.Credential(ctx)
	if err != nil {
		return nil
	}
	root := strings.TrimSuffix(strings.TrimSuffix(listAddress(a), "/models"), "/v1")
	found := map[string]int{}
	switch a.Dialect {
	case "vllm":
		list, err := p.served(ctx, a)
		if err != nil {
			return nil
		}
		for _, m := range list {
			found[m.id] = m.window
		}
	case "llamacpp":
		var said struct {
			Settings struct {
				Context int `json:"n_ctx"`
			} `json:"default_generation_settings"`
		}
		if data, err := p.fetch(ctx, a, key, root+"/props"); err == nil && json.Unmarshal(data, &said) == nil {
			found[""] = said.Settings.Context
		}
	case "lmstudio":
		var said struct {
			Data []struct {
				ID      string
				Context int `json:"loaded_context_length"`
			}
		}
		if data, err := p.fetch(ctx, a, key, root+"/api/v0/models"); err == nil && json.Unmarshal(data, &said) == nil {
			for _, m := range said.Data {
				found[m.ID] = m.Context
			}
		}
	}
	return found
}

// listAddress is where a provider tells of its models.
func listAddress(a config.Access) string {
	base := strings.TrimRight(cmp.Or(a.BaseURL, anthropic.DefaultBaseURL), "/")
	query := ""
	if at := strings.IndexByte(base, '?'); at >= 0 {
		base, query = strings.TrimRight(base[:at], "/"), base[at:]
	}
	switch a.API {
	case catalog.Anthropic:
		base = strings.TrimSuffix(strings.TrimSuffix(base, "/v1/messages"), "/v1") + "/v1"
		query = cmp.Or(query, "?limit=1000")
	case catalog.Gemini:
		if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
			base += "/v1beta"
		}
		query = cmp.Or(query, "?pageSize=1000")
	default:
		base = strings.TrimSuffix(strings.TrimSuffix(base, "/chat/completions"), "/responses")
		if u, err := url.Parse(base); err == nil && u.Path == "" {
			base += "/v1"
		}
	}
	return base + "/models" + query
}

// readList reads a list of models in any of the forms that there are.
func readList(r io.Reader) ([]serving, error) {
	type one struct {
		ID     string `json:"id"`
		Name   string `json:"name"`
		Length int    `json:"context_length"`   // OpenRouter, Moonshot
		Window int    `json:"context_window"`   // Groq
		Most   int    `json:"max_model_len"`    // vLLM
		Input  int    `json:"max_input_tokens"` // Anthropic
		Limit  int    `json:"inputTokenLimit"`  // Gemini
	}
	var list struct {
		Data   []one `json:"data"`
		Models []one `json:"models"`
	}
	if err := json.NewDecoder(r).Decode(&list); err != nil {
		return nil, fmt.Errorf("its list of models cannot be read: %w", err)
	}
	if list.Data == nil {
		list.Data = list.Models
	}
	var found []serving
	for _, m := range list.Data {
		if id := cmp.Or(m.ID, strings.TrimPrefix(m.Name, "models/")); id != "" {
			found = append(found, serving{id, max(m.Length, m.Window, m.Most, m.Input, m.Limit)})
		}
	}
	return found, nil
}

// printModels is the list for people.
func (p *program) printModels(found []listed) error {
	w := p.words
	var out strings.Builder
	var missing []string
	for _, l := range found {
		state := w.ModelsReached
		switch {
		case !l.Configured:
			if len(found) > 1 {
				missing = append(missing, fmt.Sprintf("  %s  (%s)", l.Name, strings.Join(l.Variables, ", ")))
				continue
			}
			state = fmt.Sprintf(w.ModelsNoKey, strings.Join(l.Variables, ", "))
		case !l.Reachable && l.From == "" && len(l.Models) == 0 && len(found) > 1:
			continue // a local server that nobody started
		case l.through: // nobody knows before it is asked
			state = l.Error
		case !l.Reachable:
			state = fmt.Sprintf(w.ModelsNot, l.Error)
		}
		at := l.BaseURL + "  "
		if l.through {
			at = ""
		}
		fmt.Fprintf(&out, "%s  %s%s\n", l.Name, at, state)
		t := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
		for _, m := range l.Models {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", p.fullName(l.Name, m.ID), p.span(m.Context, m.MaxOutput), p.priceText(m.Price), p.abilities(m, l.Reachable))
		}
		t.Flush()
		if l.unnamed > 0 {
			fmt.Fprintf(&out, "  "+w.ModelsMore+"\n", l.unnamed, l.Name)
		}
	}
	if len(missing) > 0 {
		fmt.Fprintf(&out, "%s\n%s\n", w.ModelsMissing, strings.Join(missing, "\n"))
	}
	asked := w.ModelsNobody
	if m := p.chosenModel(); m != "" {
		asked = fmt.Sprintf(w.ModelsAsked, tui.Visible(m))
	}
	fmt.Fprintf(&out, w.ModelsEnd+" %s\n", catalog.Date, asked)
	code := p.print(tui.Visible(out.String()))
	if code != exitDone {
		return &silentError{code: code}
	}
	return nil
}

// chosenModel is the model that would be asked; empty: none is named and nobody
// has a key.
func (p *program) chosenModel() string {
	if p.settings.Undecided != nil || p.settings.Model.Name == "" && !p.settings.HasCredential() {
		return ""
	}
	return p.modelName()
}

func (p *program) fullName(provider, id string) string {
	return config.Model{Provider: provider, Name: id}.Full()
}

// span is a window and the longest reply, for people.
func (p *program) span(window, reply int) string {
	size := func(n int) string {
		switch {
		case n == 0:
			return p.words.ModelUnknown
		case n >= 1_000_000 && n%10_000 == 0:
			return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) + "M"
		}
		return strconv.Itoa(n/1000) + "k"
	}
	return size(window) + " / " + size(reply)
}

func (p *program) priceText(price *listedPrice) string {
	if price == nil {
		return p.words.ModelNoPrice
	}
	dollars := func(v float64) string { return "$" + strconv.FormatFloat(v, 'f', -1, 64) }
	text := dollars(price.Input) + " / " + dollars(price.Output)
	if price.Most {
		text = "≤ " + text
	}
	return text
}

func (p *program) abilities(m listedModel, reached bool) string {
	w := p.words
	var list []string
	for i, says := range []*bool{m.Images, m.Reasoning} {
		switch {
		case says == nil:
			list = append(list, w.ModelAbilities[i]+" ?")
		case *says:
			list = append(list, w.ModelAbilities[i])
		}
	}
	if efforts := "(" + strings.Join(m.Efforts, " ") + ")"; len(m.Efforts) > 0 && (m.Reasoning == nil || *m.Reasoning) {
		list[len(list)-1] += " " + efforts
	} else if len(m.Efforts) > 0 { // as a file says of a model
		list = append(list, efforts)
	}
	if reached && !m.Served {
		list = append(list, w.ModelNotServed)
	}
	return strings.Join(list, ", ")
}

// chooseModel is /model: which one is asked, and /model NAME another one from
// the next request on. The conversation goes on with it.
func (c *conversation) chooseModel(ctx context.Context, name string) {
	w := c.words
	say := func(err error) { c.front.Say(fmt.Sprintf(w.ErrorLine, c.explain(err))) }
	if name == "" {
		m := describe(c.agent.model, true, true)
		lines := []string{fmt.Sprintf(w.ModelIs, c.agent.model.ID, c.span(m.Context, m.MaxOutput), c.priceText(m.Price), c.abilities(m, true))}
		for _, a := range c.settings.Reachable() {
			if a.Configured() && a.Through == "" && (!a.Local || a.Custom) {
				lines = append(lines, "  "+a.Name+"/"+cmp.Or(a.Default, "NAME"))
			}
		}
		c.front.Say(strings.Join(append(lines, w.ModelChange), "\n"))
		return
	}
	m, a, err := c.reach(name)
	if err == nil && !a.Configured() {
		err = c.unkeyed(a)
	}
	if err == nil {
		_, err = a.Credential(ctx)
	}
	if err == nil && c.opts.maxCost > 0 {
		err = c.agent.ledger.Priced(m.Full())
	}
	if err != nil {
		say(err)
		return
	}
	before, was := c.settings.Model, c.agent.model
	c.settings.Model = m
	c.agent.model = c.catalogueOf(m.Full())
	if err := c.agent.change(); err != nil {
		c.settings.Model, c.agent.model = before, was
		say(err)
		return
	}
	d := describe(c.agent.model, true, true)
	c.front.Say(fmt.Sprintf(w.ModelIs, c.agent.model.ID, c.span(d.Context, d.MaxOutput), c.priceText(d.Price), c.abilities(d, true)))
}

// modelNames are those that can be written behind --model.
func (p *program) modelNames() []string {
	var names []string
	for _, m := range catalog.All() {
		names = append(names, p.fullName(m.Provider, m.ID))
	}
	for _, provider := range catalog.Providers() {
		if !slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, provider.Name+"/") }) && provider.Name != "anthropic" {
			names = append(names, provider.Name+"/")
		}
	}
	return names
}
