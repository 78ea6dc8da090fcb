package config

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"oneloop/model/catalog"
)

// Model names a model and the API it is asked through.
type Model struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
}

func (m Model) String() string { return m.Provider + "/" + m.Name }

// Full is the name that says all: without the provider where that is
// Anthropic, as names have always been.
func (m Model) Full() string {
	if m.Name == "" || m.Provider == "" || m.Provider == "anthropic" && !strings.Contains(m.Name, "/") {
		return m.Name
	}
	return m.String()
}

// ParseModel reads "provider/name" or a bare name: of the provider that is
// known to have it, else of Anthropic. A name that several have is an error
// that lists them.
func ParseModel(s string) (Model, error) { return new(Settings).ParseModel(s) }

// ParseModel is [ParseModel] with the providers and models of the user's
// settings.
func (s *Settings) ParseModel(text string) (Model, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) || text == "" {
		return Model{}, fmt.Errorf("%q is no model name; write one like claude-sonnet-5 or deepseek/deepseek-v4-pro", text)
	}
	provider, name, ok := strings.Cut(text, "/")
	if !ok {
		of := s.providing(text)
		switch len(of) {
		case 0:
			return s.bare(text)
		case 1:
			return Model{of[0], text}, nil
		}
		for i := range of {
			of[i] += "/" + text
		}
		return Model{}, fmt.Errorf("%q is a model of several providers; write one of %s", text, strings.Join(of, ", "))
	}
	if _, is := catalog.FindProvider(provider); !is {
		if _, is = s.Access(provider); !is {
			others := ""
			if a, ok := s.Access("openrouter"); ok && a.Configured() { // whose models have such names
				others = " or openrouter/" + text
			}
			return Model{}, fmt.Errorf("there is no provider named %q; known: %s. To send %q as it is, write anthropic/%s%s",
				provider, strings.Join(s.providerNames(), ", "), text, text, others)
		}
	}
	if name == "" {
		return Model{}, unnamed(text, provider)
	}
	return Model{provider, name}, nil
}

func unnamed(text, provider string) error {
	return fmt.Errorf("%q names a provider and no model; write %s/NAME", text, provider)
}

// bare reads a name that nobody is known to have: that of a provider is its
// usual model, unless a proxy may know it, and every other is Anthropic's.
func (s *Settings) bare(text string) (Model, error) {
	p, known := catalog.FindProvider(text)
	if a, ok := s.Access(text); ok {
		p, known = a.Provider, true
	}
	switch {
	case !known || s.BaseURL != "":
		return Model{"anthropic", text}, nil
	case p.Default == "":
		return Model{}, unnamed(text, text)
	}
	return Model{text, p.Default}, nil
}

// providing are the providers that have a model of this name.
func (s *Settings) providing(name string) []string {
	of := s.Book.Providing(name)
	for _, a := range s.access {
		if slices.Contains(a.Models, name) && !slices.Contains(of, a.Name) {
			of = append(of, a.Name)
		}
	}
	return of
}

func (s *Settings) providerNames() []string {
	var names []string
	for _, p := range catalog.Providers() {
		names = append(names, p.Name)
	}
	for _, a := range s.access {
		if !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	return names
}

// efforts are the levels a model may be asked to work at; which of them a
// model has is the catalogue's knowledge.
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// model decides the model and how hard it works.
func (l *loader) model() error {
	m, bad := value{l.Flags.Model, "--model"}, usage
	if m.text == "" {
		m, bad = l.modelVariable(), fileError
	}
	if m.text == "" {
		m = l.own.value("model")
	}
	if m.text == "" {
		m = l.projectModel()
	}
	l.out.Model = Model{Provider: "anthropic"}
	if m.text != "" {
		parsed, err := l.out.ParseModel(m.text)
		if err != nil {
			return bad("%s: %v", m.from, err)
		}
		l.out.Model = parsed
		l.set("model", m)
	} else {
		l.pick()
	}
	a, _ := l.out.Access(l.out.Model.Provider)
	if a.passed != "" {
		l.notice("%s in %s is not used: an address from a folder is used only with a key from the same file, and the key in use is from %s.",
			a.passed, l.dotenv, orNone(a.From))
	}
	if a.wrong != nil {
		return a.wrong
	}
	if !a.Configured() && l.broken != nil {
		return l.broken
	}

	e, bad := value{l.Flags.Effort, "--effort"}, usage
	if e.text == "" {
		e, bad = l.fromFiles("effort"), fileError
	}
	if e.text != "" && !slices.Contains(efforts, e.text) {
		return bad("%s: there is no effort named %q; the names are %s.", e.from, e.text, strings.Join(efforts, ", "))
	}
	if e.text != "" {
		l.out.Effort = l.set("effort", e)
	}
	return nil
}

// projectModel looks a model up in the project's settings. They may not choose
// the provider: a name that the user's settings have is not theirs to use.
func (l *loader) projectModel() value {
	for _, f := range l.project {
		v := f.value("model")
		if v.text == "" {
			continue
		}
		if m, err := l.out.ParseModel(v.text); err == nil && m.Provider != "anthropic" {
			l.ignored(f, "model (its provider "+m.Provider+")")
			continue
		}
		return v
	}
	return value{}
}

// UndecidedError says that no model is named and that none can be chosen for
// the user.
type UndecidedError struct {
	// Names are what --model takes: "provider/model", with NAME where the
	// provider has no usual one. Of several each is of a provider with a key.
	Names []string
}

func (e *UndecidedError) Error() string {
	return "no model is named; choose one with --model or ONELOOP_MODEL: " + strings.Join(e.Names, ", ")
}

// Provider is the only one there is a key for; empty: there are several.
func (e *UndecidedError) Provider() string {
	if len(e.Names) != 1 {
		return ""
	}
	name, _, _ := strings.Cut(e.Names[0], "/")
	return name
}

// pick chooses the provider where no model is named: Anthropic if there is a
// credential for it, else the one that there is a key for.
func (l *loader) pick() {
	if a, _ := l.out.Access("anthropic"); a.Configured() {
		return
	}
	var found []Access
	for _, a := range l.out.access {
		if again := a.Name == "openai-chat" || a.Name == "openai-responses"; !again && (a.Key.Set() || a.Custom && a.Configured()) {
			found = append(found, a)
		}
	}
	switch {
	case len(found) == 0:
	case len(found) > 1 || found[0].Default == "":
		e := &UndecidedError{}
		for _, a := range found {
			e.Names = append(e.Names, oneLine(a.Name+"/"+cmp.Or(a.Default, "NAME")))
		}
		l.out.Undecided = e
	default:
		l.out.Model = Model{found[0].Name, found[0].Default}
		l.out.From["model"] = found[0].From
		l.out.Picked = true
	}
}

const fallbackKey = "fallbackModel"

// fallback decides who is asked when the model stays overloaded.
func (l *loader) fallback() error {
	v, bad := value{l.Flags.Fallback, "--fallback-model"}, usage
	if v.text == "" {
		v, bad = l.own.value(fallbackKey), fileError
	}
	if v.text == "" {
		return nil
	}
	m, err := l.out.ParseModel(v.text)
	if err != nil {
		return bad("%s: %v", v.from, err)
	}
	a, _ := l.out.Access(m.Provider)
	if a.wrong != nil {
		return a.wrong
	}
	if !a.Configured() {
		return bad("%s: %s", v.from, a.Lacks())
	}
	l.out.Fallback = m
	l.set("fallback_model", v)
	return nil
}

// Lacks says what a provider that is not configured needs.
func (a Access) Lacks() string {
	return fmt.Sprintf("there is no key for %s; set %s", a.Name, strings.Join(a.Variables(), " or "))
}

// Unlock gets the keys that commands print, of the models that may be asked,
// before the first command of a model: they are kept from those.
func (s *Settings) Unlock(ctx context.Context) error {
	for _, m := range []Model{s.Model, s.Fallback} {
		a, ok := s.Access(m.Provider)
		if !ok || len(a.command) == 0 {
			continue
		}
		if _, err := a.Credential(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return err
		}
	}
	return nil
}

// modelVariable looks for the model's name in the environment, config.env and
// the folder's .env. Our own name for it beats the shared one.
func (l *loader) modelVariable() value {
	for _, in := range []struct {
		vars map[string]string
		from string // empty: the variable's name
	}{{l.env, ""}, {l.user, l.config}, {l.folder, l.dotenv}} {
		for _, name := range []string{"ONELOOP_MODEL", "MODEL_ID"} {
			if v := in.vars[name]; v != "" {
				return value{v, cmp.Or(in.from, name)}
			}
		}
	}
	return value{}
}

// fromFiles looks a setting up in the user's settings, then in the project's.
func (l *loader) fromFiles(key string) value {
	for _, f := range append([]*file{l.own}, l.project...) {
		if v := f.value(key); v.text != "" {
			return v
		}
	}
	return value{}
}

// Efforts are the names of the levels a model may be asked to work at.
func Efforts() []string { return slices.Clone(efforts) }
