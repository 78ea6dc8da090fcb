package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// problem is what is wrong at a place of the input, such as ".list[1].name".
type problem struct{ place, text string }

func (p *problem) Error() string {
	place := strings.TrimPrefix(p.place, ".")
	if place == "" {
		return p.text
	}
	return place + ": " + p.text
}

// mostTold is how many problems, or names of fields, are told at once.
const mostTold = 8

// check refuses input that does not keep to the schema, or that the type
// cannot hold. It says all that is wrong, so that it can be mended at once.
func (s *schema) check(input json.RawMessage) error {
	if !json.Valid(input) {
		return json.Unmarshal(input, new(any)) // says where
	}
	var texts []string
	for _, p := range s.problems(bytes.TrimLeft(input, " \t\r\n")) {
		texts = append(texts, p.Error())
	}
	if len(texts) > mostTold {
		texts = append(texts[:mostTold], "and more")
	}
	if len(texts) > 0 {
		return errors.New(strings.Join(texts, "; "))
	}
	return nil
}

// problems are those of valid JSON without space before it. They are complete
// up to a little more than mostTold.
func (s *schema) problems(raw json.RawMessage) []*problem {
	var found []*problem
	say := func(format string, args ...any) { found = append(found, &problem{"", fmt.Sprintf(format, args...)}) }
	var err error
	switch got := kindOfJSON(raw[0]); {
	case got == "null" && s.null:
		return nil
	case s.kind == "":
	case got != s.kind && !(got == "number" && s.kind == "integer"):
		say("want %s, got %s", s.wanted(), article(got))
	case got == "number":
		if text := s.number(string(raw)); text != "" {
			say("%s", text)
		}
	case got == "array":
		var items []json.RawMessage
		err = json.Unmarshal(raw, &items)
		for i := 0; i < len(items) && len(found) <= mostTold; i++ {
			found = append(found, placed(s.items.problems(items[i]), "[%d]", i)...)
		}
		if s.typ.Kind() == reflect.Array && len(items) != s.typ.Len() {
			say("want %d items, got %d", s.typ.Len(), len(items))
		}
	case got == "object":
		var values map[string]json.RawMessage
		err = json.Unmarshal(raw, &values)
		if s.items != nil {
			found = s.entries(values)
		} else {
			found = s.members(values)
		}
	}
	if err == nil && s.itself && len(found) == 0 {
		err = decode(raw, reflect.New(s.typ).Interface())
	}
	if p, ok := errors.AsType[*problem](err); ok {
		found = append(found, p)
	} else if err != nil {
		say("%v", err)
	}
	return found
}

// placed are the problems of a part, by the way to it.
func placed(inside []*problem, format string, part any) []*problem {
	for _, p := range inside {
		p.place = fmt.Sprintf(format, part) + p.place
	}
	return inside
}

// entries checks a map.
func (s *schema) entries(values map[string]json.RawMessage) []*problem {
	var found []*problem
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if len(found) > mostTold {
			break
		}
		if key := s.typ.Key(); integer(key) && !s.itself && !fits(key, name) {
			found = append(found, &problem{"", fmt.Sprintf("want integers as names, got %.80q", name)})
		}
		found = append(found, placed(s.items.problems(values[name]), ".%.80s", name)...)
	}
	return found
}

// members checks a struct.
func (s *schema) members(values map[string]json.RawMessage) []*problem {
	var found []*problem
	var names, missing []string
	for _, f := range s.fields {
		names = append(names, f.name)
		if value, ok := values[f.name]; ok {
			found = append(found, placed(f.schema.problems(value), ".%s", f.name)...)
		} else if !f.optional {
			missing = append(missing, f.name)
		}
		delete(values, f.name)
	}
	var texts []string
	if len(values) > 0 {
		texts = append(texts, "unexpected additional properties "+someNames(slices.Sorted(maps.Keys(values))))
	}
	if len(missing) > 0 {
		texts = append(texts, "required: missing properties: "+someNames(missing))
	}
	if len(texts) == 0 {
		return found
	}
	known := "it has no fields"
	if len(names) > 0 {
		known = "the fields are: " + strings.Join(names, ", ") + "; case matters"
	}
	shape := &problem{"", fmt.Sprintf("%s (%s)", strings.Join(texts, "; "), known)}
	return append([]*problem{shape}, found...)
}

// someNames is a list of names, which may be as long as a model writes them.
func someNames(names []string) string {
	var b strings.Builder
	for i, name := range names[:min(len(names), mostTold)] {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%.80q", name)
	}
	if len(names) > mostTold {
		b.WriteString(", …")
	}
	return "[" + b.String() + "]"
}

// number says what is wrong with a number; empty when it can be held.
func (s *schema) number(text string) string {
	whole := plainNumber(text)
	switch {
	case s.typ == reflect.TypeFor[big.Int]() && strings.ContainsAny(text, ".eE"):
		return fmt.Sprintf("want an integer without a point or an exponent, got %.40s", text)
	case s.itself || !integer(s.typ) && !float(s.typ) || fits(s.typ, whole):
		return ""
	case float(s.typ):
		return fmt.Sprintf("%.40s is out of range; want %s that fits in %d bits", text, s.wanted(), s.typ.Bits())
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && f != math.Trunc(f) {
		return fmt.Sprintf("want an integer, got %.40s", text)
	}
	low, high := limits(s.typ)
	return fmt.Sprintf("%.40s is out of range; want an integer from %d to %d", whole, low, high)
}

// fits reports whether a type of number holds the number.
func fits(t reflect.Type, text string) bool {
	var err error
	switch {
	case float(t):
		_, err = strconv.ParseFloat(text, t.Bits())
	case t.Kind() >= reflect.Uint:
		_, err = strconv.ParseUint(text, 10, t.Bits())
	default:
		_, err = strconv.ParseInt(text, 10, t.Bits())
	}
	return err == nil
}

// wanted is the JSON that is taken.
func (s *schema) wanted() string {
	switch {
	case s.kind == "":
		return "another value"
	case s.kind == "boolean":
		return "true or false"
	case base64(s.typ):
		return "a string in base64"
	}
	return article(s.kind)
}

// kindOfJSON is the kind of the JSON that begins with c.
func kindOfJSON(c byte) string {
	switch c {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	}
	return "number"
}

func article(kind string) string {
	switch kind {
	case "integer", "array", "object":
		return "an " + kind
	case "bool": // so encoding/json calls it
		return "a boolean"
	case "null":
		return kind
	}
	return "a " + kind
}
