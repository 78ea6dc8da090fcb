package catalog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Book is the catalogue with what a user's file says over it. A nil one is the
// catalogue alone.
type Book struct{ over []entry }

// entry is one model of the file. What it does not set stays as it is known.
type entry struct {
	ID        string          `json:"id"` // "provider/id"; an id alone is one of Anthropic's
	Context   *int            `json:"context"`
	MaxOutput *int            `json:"maxOutput"`
	Images    *bool           `json:"images"`
	Reasoning *bool           `json:"reasoning"`
	Efforts   []string        `json:"efforts"`
	Price     json.RawMessage `json:"price"` // null: unknown

	provider, name string
	price          *Price
}

// filePrice is a price as the file has it, in US dollars per million tokens.
// What a cache costs is what input costs unless it is set.
type filePrice struct {
	Input, Output         *float64
	CacheRead, CacheWrite *float64
	Above                 int64
	Times                 float64
}

// Read makes a book of a file: {"models": [{"id": "provider/name", "context":
// …, "maxOutput": …, "images": …, "reasoning": …, "efforts": […], "price":
// {"input": …, "output": …, "cacheRead": …, "cacheWrite": …, "above": …,
// "times": …}}]}. Its errors name the line.
func Read(data []byte) (*Book, error) {
	var top struct {
		Schema string            `json:"$schema"`
		Models []json.RawMessage `json:"models"`
	}
	if err := strict(data, &top); err != nil {
		return nil, at(data, 0, err)
	}
	b := &Book{}
	from := 0
	for _, raw := range top.Models {
		i := from + max(0, bytes.Index(data[from:], raw))
		from = i + len(raw)
		var e entry
		err := strict(raw, &e)
		if err == nil {
			err = e.check()
		}
		if err != nil {
			return nil, at(data, i, err)
		}
		b.over = append(b.over, e)
	}
	return b, nil
}

// strict reads one JSON value that has no unknown keys.
func strict(data []byte, to any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	return nil
}

// at names the line of an error in what begins at offset.
func at(data []byte, offset int, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset += int(syntax.Offset)
	case errors.As(err, &kind):
		offset += int(kind.Offset)
	}
	return fmt.Errorf("line %d: %s", 1+bytes.Count(data[:min(offset, len(data))], []byte("\n")), strings.TrimPrefix(err.Error(), "json: "))
}

// check sees that e can be used, and reads its price.
func (e *entry) check() error {
	if e.ID == "" {
		return errors.New(`a model needs an id, such as "deepseek/deepseek-v4-pro"`)
	}
	e.provider, e.name = "anthropic", e.ID
	if provider, name, ok := strings.Cut(e.ID, "/"); ok {
		e.provider, e.name = provider, name
	}
	if e.name == "" || e.provider == "" {
		return fmt.Errorf("%q is no id of a model; write provider/name", e.ID)
	}
	for key, n := range map[string]*int{"context": e.Context, "maxOutput": e.MaxOutput} {
		if n != nil && *n <= 0 {
			return fmt.Errorf("%s of %s must be a number of tokens above 0", key, e.ID)
		}
	}
	if e.Price == nil || string(e.Price) == "null" {
		return nil
	}
	var f filePrice
	if err := strict(e.Price, &f); err != nil {
		return fmt.Errorf("the price of %s: %w", e.ID, err)
	}
	if f.Input == nil || f.Output == nil {
		return fmt.Errorf("the price of %s needs input and output, in US dollars per million tokens", e.ID)
	}
	p := Price{Known: true, Input: *f.Input, Output: *f.Output, CacheRead: *f.Input, CacheWrite5m: *f.Input, Above: f.Above, Times: f.Times}
	if f.CacheRead != nil {
		p.CacheRead = *f.CacheRead
	}
	if f.CacheWrite != nil {
		p.CacheWrite5m = *f.CacheWrite
	}
	p.CacheWrite1h = p.CacheWrite5m
	for _, v := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite5m, p.Times, float64(p.Above)} {
		if v < 0 {
			return fmt.Errorf("the price of %s has a number below 0", e.ID)
		}
	}
	if p.Above > 0 && p.Times == 0 {
		return fmt.Errorf("the price of %s says above and not times, by which it is multiplied then", e.ID)
	}
	e.price = &p
	return nil
}

// put writes what e says over what is known.
func (e *entry) put(m Model) Model {
	if e.Context != nil {
		m.Context = *e.Context
	}
	if e.MaxOutput != nil {
		m.MaxOutput = *e.MaxOutput
	}
	m.MaxOutput = min(m.MaxOutput, m.Context)
	ability := func(to *Ability, says *bool) {
		if says != nil {
			*to = No
			if *says {
				*to = Yes
			}
		}
	}
	ability(&m.Images, e.Images)
	ability(&m.Reasoning, e.Reasoning)
	if e.Efforts != nil {
		m.Efforts, m.Effort = e.Efforts, ""
	}
	switch {
	case e.price != nil:
		m.Price = *e.price
	case e.Price != nil:
		m.Price = Price{}
	}
	return m
}

// FindIn is [FindIn] with what the file says.
func (b *Book) FindIn(provider, id string) (Model, bool) {
	m, ok := FindIn(provider, id)
	if e := b.entry(provider, id); e != nil {
		m, ok = e.put(m), true
		m.ID, m.Provider = id, provider
	}
	return m, ok
}

// Over is what the file says of a model, to be put over what is known of it; nil
// when it says nothing.
func (b *Book) Over(provider, id string) func(Model) Model {
	e := b.entry(provider, id)
	if e == nil {
		return nil
	}
	return e.put
}

// Find is [Find] with what the file says.
func (b *Book) Find(name string) (Model, bool) {
	if b != nil {
		provider, id, ok := strings.Cut(name, "/")
		if !ok {
			provider, id = "anthropic", name
		}
		if e := b.entry(provider, id); e != nil {
			return b.FindIn(provider, id)
		}
	}
	return Find(name)
}

func (b *Book) entry(provider, id string) *entry {
	if b == nil {
		return nil
	}
	for i := range b.over {
		if e := &b.over[i]; e.provider == provider && e.name == id {
			return e
		}
	}
	return nil
}

// Providing is [Providing] with the models of the file.
func (b *Book) Providing(id string) []string {
	names := Providing(id)
	if b != nil {
		for _, e := range b.over {
			if e.name == id && !slices.Contains(names, e.provider) {
				names = append(names, e.provider)
			}
		}
	}
	return names
}

// All is [All] with the models of the file.
func (b *Book) All() []Model {
	all := All()
	if b == nil {
		return all
	}
	for i := range all {
		if e := b.entry(all[i].Provider, all[i].ID); e != nil {
			all[i] = e.put(all[i])
		}
	}
	for _, e := range b.over {
		if !slices.ContainsFunc(all, func(m Model) bool { return m.Provider == e.provider && m.ID == e.name }) {
			m, _ := b.FindIn(e.provider, e.name)
			all = append(all, m)
		}
	}
	return all
}
