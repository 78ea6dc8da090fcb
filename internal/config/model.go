package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Model names a model and the API it is asked through.
type Model struct {
	Provider string `json:"provider"`
	Name     string `json:"name"`
}

func (m Model) String() string { return m.Provider + "/" + m.Name }

// providers are the APIs that can be asked.
func providers() []string { return []string{"anthropic"} }

// ParseModel reads "provider/name" or a bare name, which is one of
// anthropic's.
func ParseModel(s string) (Model, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }) || s == "" {
		return Model{}, fmt.Errorf("%q is no model name; write one like claude-sonnet-5", s)
	}
	provider, name, ok := strings.Cut(s, "/")
	if !ok {
		return Model{"anthropic", s}, nil
	}
	if !slices.Contains(providers(), provider) {
		return Model{}, fmt.Errorf("there is no provider named %q; known: %s. To send %q as it is, write anthropic/%s",
			provider, strings.Join(providers(), ", "), s, s)
	}
	if name == "" {
		return Model{}, fmt.Errorf("%q names a provider and no model; write %s/NAME", s, provider)
	}
	return Model{provider, name}, nil
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
		m = l.fromFiles("model")
	}
	l.out.Model = Model{Provider: "anthropic"}
	if m.text != "" {
		parsed, err := ParseModel(m.text)
		if err != nil {
			return bad("%s: %v", m.from, err)
		}
		l.out.Model = parsed
		l.set("model", m)
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
