package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Problem is a place in a value that does not fit.
type Problem struct {
	Place string // a JSON pointer such as /list/0/name; empty: the value itself
	Text  string
}

func (p Problem) String() string {
	if p.Place == "" {
		return "the value " + p.Text
	}
	return p.Place + " " + p.Text
}

// maxProblems is how many problems are told of.
const maxProblems = 8

// Check returns what of a JSON value does not fit, at most 8 problems in the
// order of places; none: it fits. An error means that data is no JSON value.
func (s *Schema) Check(data []byte) ([]Problem, error) {
	v, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("it is no JSON: %w", err)
	}
	c := &check{}
	c.value(s, v, "")
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return strings.Compare(a.Place, b.Place) })
	all := slices.Compact(c.problems)
	return all[:min(len(all), maxProblems)], nil
}

type check struct {
	problems []Problem
	refs     []*Schema // that are being followed for the value at hand
}

func (c *check) say(place, format string, args ...any) {
	c.problems = append(c.problems, Problem{place, fmt.Sprintf(format, args...)})
}

// fits reports whether v fits, and if not what the first problem is.
func (c *check) fits(s *Schema, v any, place string) (Problem, bool) {
	inner := &check{refs: c.refs}
	inner.value(s, v, place)
	if len(inner.problems) == 0 {
		return Problem{}, true
	}
	return inner.problems[0], false
}

// inside checks a value within the one at hand.
func (c *check) inside(s *Schema, v any, place string) {
	refs := c.refs
	c.refs = nil
	c.value(s, v, place)
	c.refs = refs
}

func (c *check) value(s *Schema, v any, place string) {
	if s.never {
		c.say(place, "must not be there")
		return
	}
	if s.ref != nil {
		c.follow(s.ref, v, place)
	}
	if len(s.types) > 0 && !slices.ContainsFunc(s.types, func(t string) bool { return is(v, t) }) {
		c.say(place, "must be %s and is %s", article(strings.Join(s.types, " or ")), article(kind(v)))
		return // what is said of other types is no help
	}
	if s.enum != nil && !slices.ContainsFunc(s.enum, func(x any) bool { return equal(x, v) }) {
		c.say(place, "must be %s and is %s", oneOf(s.enum), short(v))
	}
	switch v := v.(type) {
	case json.Number:
		c.number(s, parseNumber(v), v, place)
	case string:
		c.text(s, v, place)
	case []any:
		c.list(s, v, place)
	case map[string]any:
		c.object(s, v, place)
	}
	c.logic(s, v, place)
}

// follow checks by a reference. One that leads back to itself for the same value
// says nothing more.
func (c *check) follow(s *Schema, v any, place string) {
	if slices.Contains(c.refs, s) {
		return
	}
	c.refs = append(slices.Clip(c.refs), s)
	c.value(s, v, place)
	c.refs = c.refs[:len(c.refs)-1]
}

func (c *check) number(s *Schema, n number, said json.Number, place string) {
	for _, b := range []struct {
		bound *number
		ok    func(int) bool
		words string
	}{
		{s.least, func(i int) bool { return i >= 0 }, "at least"},
		{s.most, func(i int) bool { return i <= 0 }, "at most"},
		{s.above, func(i int) bool { return i > 0 }, "more than"},
		{s.below, func(i int) bool { return i < 0 }, "less than"},
	} {
		if b.bound != nil && !b.ok(n.compare(*b.bound)) {
			c.say(place, "must be %s %s and is %s", b.words, b.bound, short(said))
		}
	}
	if s.multiple != nil && !n.multipleOf(*s.multiple) {
		c.say(place, "must be a multiple of %s and is %s", s.multiple, short(said))
	}
}

func (c *check) text(s *Schema, text, place string) {
	c.bounds(s.minLength, s.maxLength, utf8.RuneCountInString(text), "character", place)
	if s.pattern != nil && !s.pattern.MatchString(text) {
		c.say(place, "must match %s and is %s", s.pattern, short(text))
	}
}

func (c *check) bounds(low, high count, n int, what, place string) {
	if low.set && n < low.n {
		c.say(place, "must have at least %s and has %d", plural(low.n, what), n)
	}
	if high.set && n > high.n {
		c.say(place, "must have at most %s and has %d", plural(high.n, what), n)
	}
}

func (c *check) list(s *Schema, list []any, place string) {
	c.bounds(s.minItems, s.maxItems, len(list), "item", place)
	for i, v := range list {
		at := fmt.Sprintf("%s/%d", place, i)
		switch {
		case i < len(s.prefix):
			c.inside(s.prefix[i], v, at)
		case s.items != nil:
			c.inside(s.items, v, at)
		}
		if s.unique && slices.ContainsFunc(list[:i], func(x any) bool { return equal(x, v) }) {
			c.say(at, "is there twice")
		}
	}
	if s.contains == nil {
		return
	}
	n := 0
	for i, v := range list {
		if _, ok := (&check{}).fits(s.contains, v, fmt.Sprintf("%s/%d", place, i)); ok {
			n++
		}
	}
	low := s.minContains
	if !low.set {
		low = count{1, true}
	}
	c.bounds(low, s.maxContains, n, "item of the kind asked for", place)
}

func (c *check) object(s *Schema, object map[string]any, place string) {
	c.bounds(s.minFields, s.maxFields, len(object), "field", place)
	for _, name := range s.required {
		if _, ok := object[name]; !ok {
			c.say(place, "must have the field %q", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		v, at := object[name], place+"/"+escape(name)
		if s.names != nil {
			if p, ok := (&check{}).fits(s.names, name, ""); !ok {
				c.say(at, "has a name that %s", p.Text)
			}
		}
		c.field(s, name, v, at)
		for _, other := range s.needs[name] {
			if _, ok := object[other]; !ok {
				c.say(place, "must have the field %q beside %q", other, name)
			}
		}
		if with := s.with[name]; with != nil {
			c.value(with, object, place)
		}
	}
}

func (c *check) field(s *Schema, name string, v any, at string) {
	known := false
	if f := s.fields[name]; f != nil {
		known = true
		c.inside(f, v, at)
	}
	for _, p := range s.patterns {
		if p.match.MatchString(name) {
			known = true
			c.inside(p.schema, v, at)
		}
	}
	if !known && s.others != nil {
		c.inside(s.others, v, at)
	}
}

func (c *check) logic(s *Schema, v any, place string) {
	for _, sub := range s.all {
		c.value(sub, v, place)
	}
	if len(s.any) > 0 {
		if n, first := c.fitting(s.any, v, place); n == 0 {
			c.say(first.Place, "%s (of %s none fits)", first.Text, plural(len(s.any), "form"))
		}
	}
	if len(s.one) > 0 {
		switch n, first := c.fitting(s.one, v, place); {
		case n == 0:
			c.say(first.Place, "%s (of %s none fits)", first.Text, plural(len(s.one), "form"))
		case n > 1:
			c.say(place, "must fit one of %s and fits %d", plural(len(s.one), "form"), n)
		}
	}
	if s.not != nil {
		if _, ok := c.fits(s.not, v, place); ok {
			c.say(place, "is of a form that it must not have")
		}
	}
	if s.cond != nil {
		_, ok := c.fits(s.cond, v, place)
		switch {
		case ok && s.yes != nil:
			c.value(s.yes, v, place)
		case !ok && s.else_ != nil:
			c.value(s.else_, v, place)
		}
	}
}

// fitting counts the forms that v fits. The problem is that which lies deepest:
// it is of the form that was meant, most likely.
func (c *check) fitting(forms []*Schema, v any, place string) (n int, deepest Problem) {
	for i, form := range forms {
		p, ok := c.fits(form, v, place)
		if ok {
			n++
		} else if i == 0 || strings.Count(p.Place, "/") > strings.Count(deepest.Place, "/") {
			deepest = p
		}
	}
	return n, deepest
}

func is(v any, name string) bool {
	k := kind(v)
	if name == "integer" {
		n, ok := v.(json.Number)
		return ok && parseNumber(n).whole()
	}
	return k == name
}

func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		return "number"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// equal reports whether two values are the same: 1 is 1.0, and the order of
// fields is of no matter.
func equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		n, ok := b.(json.Number)
		return ok && parseNumber(a).compare(parseNumber(n)) == 0
	case []any:
		list, ok := b.([]any)
		return ok && slices.EqualFunc(a, list, equal)
	case map[string]any:
		object, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, object, equal)
	}
	switch b.(type) {
	case []any, map[string]any:
		return false
	}
	return a == b
}

func (d number) String() string {
	sign := ""
	if d.minus {
		sign = "-"
	}
	switch n := len(d.digits); {
	case n == 0:
		return "0"
	case !d.exp.IsInt64() || d.exp.Int64() > 20 || d.exp.Int64() < -5:
		return fmt.Sprintf("%s0.%se%s", sign, d.digits, d.exp)
	case d.exp.Int64() <= 0:
		return sign + "0." + strings.Repeat("0", int(-d.exp.Int64())) + d.digits
	case int(d.exp.Int64()) >= n:
		return sign + d.digits + strings.Repeat("0", int(d.exp.Int64())-n)
	default:
		return sign + d.digits[:d.exp.Int64()] + "." + d.digits[d.exp.Int64():]
	}
}

func oneOf(values []any) string {
	var all []string
	for _, v := range values[:min(len(values), 12)] {
		all = append(all, short(v))
	}
	if len(values) > 12 {
		all = append(all, "…")
	}
	return strings.Join(all, " or ")
}

// short is a value as JSON, cut.
func short(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "unreadable"
	}
	if r := []rune(string(b)); len(r) > 60 {
		return string(r[:60]) + "…"
	}
	return string(b)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if before, of, ok := strings.Cut(what, " of "); ok {
		return fmt.Sprintf("%d %ss of %s", n, before, of)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func article(kind string) string {
	switch kind[0] {
	case 'a', 'i', 'o':
		return "an " + kind
	}
	if kind == "null" {
		return kind
	}
	return "a " + kind
}
