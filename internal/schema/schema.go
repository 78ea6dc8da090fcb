// Package schema checks JSON against a JSON Schema (2020-12, and what of draft 7
// reads the same): the part of it that stands in one document and says of a
// value whether it fits. It is here, and not a library, because those known make
// the start of the program longer than all else that is new in it: 0.2 to 5 ms
// before its first line.
//
// format, title, default and the like say nothing about whether a value fits, as
// in the standard. What this package does not know to check (references to other
// documents, $dynamicRef, unevaluatedProperties, unevaluatedItems) is refused when
// the schema is read, not passed over. Patterns are those of package regexp.
package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Schema says which values fit. It is safe for concurrent use.
type Schema struct {
	never bool // nothing fits
	types []string
	enum  []any // nil: any value; const is one of one
	ref   *Schema

	multiple                 *number
	least, most              *number
	above, below             *number // exclusive
	minLength, maxLength     count
	minItems, maxItems       count
	minContains, maxContains count
	minFields, maxFields     count
	pattern                  *regexp.Regexp
	unique                   bool

	prefix   []*Schema
	items    *Schema // of those after prefix
	contains *Schema

	fields   map[string]*Schema
	patterns []patterned
	others   *Schema // of fields that neither has
	names    *Schema
	required []string
	needs    map[string][]string // fields that a field asks for
	with     map[string]*Schema  // what fits if a field is there

	all, any, one    []*Schema
	not              *Schema
	cond, yes, else_ *Schema
}

type patterned struct {
	match  *regexp.Regexp
	schema *Schema
}

// count is a bound; -1 and, as that is its zero value, an unset one say nothing.
type count struct {
	n   int
	set bool
}

// Parse reads a schema. An error says where in it something is wrong or not
// known here.
func Parse(data []byte) (*Schema, error) {
	doc, err := decode(data)
	if err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	r := &reader{doc: doc, made: map[string]*Schema{}}
	return r.at("#", doc)
}

// decode reads one JSON value with its numbers as they are written.
func decode(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("something follows the value")
	}
	return v, nil
}

// reader makes the parts of a document.
type reader struct {
	doc  any
	made map[string]*Schema // by place, also those in the making
}

func wrong(place, format string, args ...any) error {
	return fmt.Errorf("the schema, at %s: "+format, append([]any{place}, args...)...)
}

// at makes the schema that v, which is at place, is.
func (r *reader) at(place string, v any) (*Schema, error) {
	if s := r.made[place]; s != nil {
		return s, nil
	}
	s := &Schema{}
	r.made[place] = s
	switch v := v.(type) {
	case bool:
		s.never = !v
		return s, nil
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := r.keyword(s, place+"/"+escape(key), key, v[key], v); err != nil {
				return nil, err
			}
		}
		return s, nil
	}
	return nil, wrong(place, "a schema is an object, true or false")
}

// keyword takes what one keyword of an object says.
func (r *reader) keyword(s *Schema, place, key string, v any, in map[string]any) (err error) {
	switch key {
	case "$ref":
		s.ref, err = r.reference(place, v)
	case "type":
		s.types, err = types(place, v)
	case "enum":
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			return wrong(place, "the values are a list of one or more")
		}
		if s.enum == nil { // const, which was before, leaves no other
			s.enum = list
		} else if !slices.ContainsFunc(list, func(x any) bool { return equal(x, s.enum[0]) }) {
			s.never = true
		}
	case "const":
		s.enum = []any{v}
	case "unevaluatedProperties", "unevaluatedItems", "$dynamicRef", "$recursiveRef":
		return wrong(place, "%s is not known here", key)
	case "$id":
		if place != "#/$id" {
			return wrong(place, "a part with an address of its own is not known here")
		}
	case "$defs", "definitions":
		_, err = r.named(place, v)
	default:
		if known, err := r.bound(s, place, key, v); known || err != nil {
			return err
		}
		if known, err := r.ofList(s, place, key, v, in); known || err != nil {
			return err
		}
		if known, err := r.ofObject(s, place, key, v); known || err != nil {
			return err
		}
		_, err = r.logic(s, place, key, v)
	}
	return err
}

func (r *reader) bound(s *Schema, place, key string, v any) (known bool, err error) {
	switch key {
	case "multipleOf":
		if s.multiple, err = numeric(place, v); err == nil && s.multiple.sign() <= 0 {
			err = wrong(place, "it is more than 0")
		}
	case "minimum":
		s.least, err = numeric(place, v)
	case "maximum":
		s.most, err = numeric(place, v)
	case "exclusiveMinimum":
		s.above, err = numeric(place, v)
	case "exclusiveMaximum":
		s.below, err = numeric(place, v)
	case "minLength":
		s.minLength, err = counted(place, v)
	case "maxLength":
		s.maxLength, err = counted(place, v)
	case "minItems":
		s.minItems, err = counted(place, v)
	case "maxItems":
		s.maxItems, err = counted(place, v)
	case "minContains":
		s.minContains, err = counted(place, v)
	case "maxContains":
		s.maxContains, err = counted(place, v)
	case "minProperties":
		s.minFields, err = counted(place, v)
	case "maxProperties":
		s.maxFields, err = counted(place, v)
	case "pattern":
		s.pattern, err = expression(place, v)
	default:
		return false, nil
	}
	return true, err
}

func (r *reader) ofList(s *Schema, place, key string, v any, in map[string]any) (known bool, err error) {
	switch key {
	case "prefixItems":
		s.prefix, err = r.list(place, v)
	case "items":
		if _, list := v.([]any); list { // draft 7's way to say prefixItems
			s.prefix, err = r.list(place, v)
		} else {
			s.items, err = r.at(place, v)
		}
	case "additionalItems":
		if _, list := in["items"].([]any); list { // else it says nothing
			s.items, err = r.at(place, v)
		}
	case "contains":
		s.contains, err = r.at(place, v)
	case "uniqueItems":
		is, ok := v.(bool)
		if s.unique = is; !ok {
			err = wrong(place, "it is true or false")
		}
	default:
		return false, nil
	}
	return true, err
}

func (r *reader) ofObject(s *Schema, place, key string, v any) (known bool, err error) {
	switch key {
	case "properties":
		s.fields, err = r.named(place, v)
	case "patternProperties":
		var named map[string]*Schema
		named, err = r.named(place, v)
		for _, text := range slices.Sorted(maps.Keys(named)) {
			match, bad := expression(place+"/"+escape(text), text)
			if bad != nil {
				return true, bad
			}
			s.patterns = append(s.patterns, patterned{match, named[text]})
		}
	case "additionalProperties":
		s.others, err = r.at(place, v)
	case "propertyNames":
		s.names, err = r.at(place, v)
	case "required":
		s.required, err = texts(place, v)
	case "dependentRequired", "dependentSchemas", "dependencies":
		err = r.dependent(s, place, v)
	default:
		return false, nil
	}
	return true, err
}

// dependent takes what fields ask for: other fields, or a schema.
func (r *reader) dependent(s *Schema, place string, v any) error {
	object, ok := v.(map[string]any)
	if !ok {
		return wrong(place, "it is an object")
	}
	for name, v := range object {
		inner := place + "/" + escape(name)
		if _, list := v.([]any); list {
			names, err := texts(inner, v)
			if err != nil {
				return err
			}
			if s.needs == nil {
				s.needs = map[string][]string{}
			}
			s.needs[name] = append(s.needs[name], names...)
			continue
		}
		sub, err := r.at(inner, v)
		if err != nil {
			return err
		}
		if s.with == nil {
			s.with = map[string]*Schema{}
		}
		if before := s.with[name]; before != nil { // dependencies beside dependentSchemas
			sub = &Schema{all: []*Schema{before, sub}}
		}
		s.with[name] = sub
	}
	return nil
}

func (r *reader) logic(s *Schema, place, key string, v any) (known bool, err error) {
	switch key {
	case "allOf":
		s.all, err = r.list(place, v)
	case "anyOf":
		s.any, err = r.list(place, v)
	case "oneOf":
		s.one, err = r.list(place, v)
	case "not":
		s.not, err = r.at(place, v)
	case "if":
		s.cond, err = r.at(place, v)
	case "then":
		s.yes, err = r.at(place, v)
	case "else":
		s.else_, err = r.at(place, v)
	default:
		return false, nil // a remark, or of a vocabulary that is not the standard's
	}
	return true, err
}

// reference finds the part of the document that a $ref names.
func (r *reader) reference(place string, v any) (*Schema, error) {
	text, ok := v.(string)
	pointer, local := strings.CutPrefix(text, "#")
	if !ok || !local || pointer != "" && pointer[0] != '/' {
		return nil, wrong(place, "%v is not in the form #/…/…: only parts of the same document are known here", v)
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil, wrong(place, "%s: %v", text, err)
	}
	at, found := "#", r.doc
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		if pointer == "" {
			break
		}
		at += "/" + part
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch in := found.(type) {
		case map[string]any:
			found, ok = in[part]
		case []any:
			i, err := strconv.Atoi(part)
			if ok = err == nil && i >= 0 && i < len(in); ok {
				found = in[i]
			}
		default:
			ok = false
		}
		if !ok {
			return nil, wrong(place, "there is no %s", text)
		}
	}
	return r.at(at, found)
}

func (r *reader) list(place string, v any) ([]*Schema, error) {
	values, ok := v.([]any)
	if !ok || len(values) == 0 {
		return nil, wrong(place, "it is a list of one or more schemas")
	}
	var all []*Schema
	for i, v := range values {
		s, err := r.at(fmt.Sprintf("%s/%d", place, i), v)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

func (r *reader) named(place string, v any) (map[string]*Schema, error) {
	object, ok := v.(map[string]any)
	if !ok {
		return nil, wrong(place, "it is an object")
	}
	all := map[string]*Schema{}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		s, err := r.at(place+"/"+escape(name), object[name])
		if err != nil {
			return nil, err
		}
		all[name] = s
	}
	return all, nil
}

var kinds = [...]string{"null", "boolean", "object", "array", "number", "integer", "string"}

func types(place string, v any) ([]string, error) {
	list := []any{v}
	if many, ok := v.([]any); ok {
		list = many
	}
	var all []string
	for _, v := range list {
		name, _ := v.(string)
		if !slices.Contains(kinds[:], name) {
			return nil, wrong(place, "%v is no type; those are %s", v, strings.Join(kinds[:], ", "))
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		return nil, wrong(place, "no type fits")
	}
	return all, nil
}

func texts(place string, v any) (all []string, err error) {
	list, ok := v.([]any)
	for _, v := range list {
		s, is := v.(string)
		ok = ok && is
		all = append(all, s)
	}
	if !ok {
		return nil, wrong(place, "it is a list of names")
	}
	return all, nil
}

func numeric(place string, v any) (*number, error) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, wrong(place, "it is a number")
	}
	d := parseNumber(n)
	return &d, nil
}

func counted(place string, v any) (count, error) {
	n, ok := v.(json.Number)
	if ok {
		if f, err := n.Float64(); err == nil && f >= 0 && f <= 1<<31-1 && f == float64(int(f)) {
			return count{int(f), true}, nil
		}
	}
	return count{}, wrong(place, "it is a whole number that is not negative")
}

func expression(place string, v any) (*regexp.Regexp, error) {
	text, ok := v.(string)
	if !ok {
		return nil, wrong(place, "it is a pattern")
	}
	re, err := regexp.Compile(text)
	if err != nil {
		return nil, wrong(place, "the pattern cannot be used: %v", err)
	}
	return re, nil
}

// escape is a name as a part of a place.
func escape(name string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(name) }
