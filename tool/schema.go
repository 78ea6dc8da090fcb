package tool

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"oneloop/internal/rawjson"
)

// schema is the JSON that a Go type is read from: what a model is told of it,
// and what its input is checked against.
type schema struct {
	typ    reflect.Type // without pointers
	kind   string       // as JSON Schema names it; empty for any value
	null   bool         // null is taken too
	itself bool         // the type reads its JSON itself, and may refuse some of it
	items  *schema      // of an array, or the values of a map
	fields fields       // of a struct
	doc    string       // what it means
}

type fields []field

type field struct {
	name     string
	optional bool
	schema   *schema

	doc string
	typ reflect.Type
	// By these encoding/json chooses among fields of one name, see fieldsOf.
	depth  int
	tagged bool
}

// infer makes the schema of t, which is a part of the types above. It follows
// encoding/json. A type that reads its JSON itself is a string if it does so
// by UnmarshalText. By UnmarshalJSON it may take anything; that it takes the
// fields of its struct, or a string for a string, is what is told of it then.
func infer(t reflect.Type, above []reflect.Type) (s *schema, err error) {
	if t.Name() != "" {
		if slices.Contains(above, t) {
			return nil, fmt.Errorf("%v holds itself, and its schema would have no end; a json.RawMessage can take what is inside", t)
		}
		above = append(slices.Clip(above), t)
	}
	byText, byJSON := readBy[encoding.TextUnmarshaler](t), readBy[json.Unmarshaler](t)
	s = &schema{typ: t, itself: byText || byJSON}
	switch k := t.Kind(); {
	case k == reflect.Pointer:
		if s, err = infer(t.Elem(), above); err == nil {
			s.null = true
		}
	case t == reflect.TypeFor[json.Number]():
		s.kind = "number"
	case t == reflect.TypeFor[big.Int](): // of its two ways to read, the one for JSON takes numbers
		s.kind = "integer"
	case byText, k == reflect.String:
		s.kind = "string"
	case k == reflect.Struct:
		s.fields, err = fieldsOf(t, above)
		if !byJSON || len(s.fields) > 0 {
			s.kind = "object"
		}
	case byJSON:
	case k == reflect.Interface && t.NumMethod() == 0:
		s.itself = true
	case k == reflect.Bool:
		s.kind = "boolean"
	case integer(t):
		s.kind = "integer"
	case float(t):
		s.kind = "number"
	case base64(t):
		s.kind, s.null, s.itself = "string", true, true
	case k == reflect.Slice || k == reflect.Array:
		s.kind, s.null = "array", k == reflect.Slice
		s.items, err = infer(t.Elem(), above)
	case k == reflect.Map:
		s.kind = "object"
		key := t.Key()
		s.itself = readBy[encoding.TextUnmarshaler](key)
		if key.Kind() != reflect.String && !integer(key) && !s.itself {
			return nil, fmt.Errorf("JSON has no form for a map with keys of type %v; strings are the usual ones", key)
		}
		s.items, err = infer(t.Elem(), above)
	default:
		return nil, fmt.Errorf("JSON has no form for a %v that could be read", t)
	}
	return s, err
}

func readBy[I any](t reflect.Type) bool { return reflect.PointerTo(t).Implements(reflect.TypeFor[I]()) }
func integer(t reflect.Type) bool       { return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uintptr }
func float(t reflect.Type) bool         { return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 }

// base64 is how encoding/json reads bytes.
func base64(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
		!readBy[encoding.TextUnmarshaler](t.Elem()) && !readBy[json.Unmarshaler](t.Elem())
}

// fieldsOf are the fields that encoding/json fills in a struct, in the order
// they are written. Of those with one name it is the one embedded least deep;
// of several the one that has its name from a tag; else none.
func fieldsOf(t reflect.Type, above []reflect.Type) (fields, error) {
	all, err := allFields(t, 0, above)
	if err != nil {
		return nil, err
	}
	var chosen fields
	for i, f := range all {
		hidden := false
		for j, other := range all {
			hidden = hidden || i != j && other.name == f.name &&
				(other.depth < f.depth || other.depth == f.depth && (other.tagged || !f.tagged))
		}
		if hidden {
			continue
		}
		if f.schema, err = infer(f.typ, above); err != nil {
			return nil, fmt.Errorf("field %s: %w", f.name, err)
		}
		f.schema.doc = f.doc
		chosen = append(chosen, f)
	}
	return chosen, nil
}

// allFields are those of a struct and of the structs embedded in it.
func allFields(t reflect.Type, depth int, above []reflect.Type) ([]field, error) {
	var all []field
	for i := range t.NumField() {
		sf := t.Field(i)
		inner, pointer := sf.Type, sf.Type.Kind() == reflect.Pointer
		if pointer {
			inner = inner.Elem()
		}
		embedded := sf.Anonymous && inner.Kind() == reflect.Struct
		if !sf.IsExported() && !embedded || sf.Tag.Get("json") == "-" {
			continue
		}
		f, err := fieldOf(sf, depth)
		switch {
		case err != nil:
		case !sf.IsExported() && pointer:
			err = errors.New("encoding/json cannot set a pointer to an unexported struct that is embedded")
		case !embedded || f.tagged:
			all = append(all, f)
		case slices.Contains(above, inner):
			err = errors.New("it is embedded in itself")
		default:
			var deeper []field
			deeper, err = allFields(inner, depth+1, append(slices.Clip(above), inner))
			all = append(all, deeper...)
		}
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", sf.Name, err)
		}
	}
	return all, nil
}

// fieldOf reads the tags of a field.
func fieldOf(sf reflect.StructField, depth int) (field, error) {
	name, rest, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f := field{name: name, typ: sf.Type, depth: depth, tagged: name != ""}
	if !f.tagged {
		f.name = sf.Name
	}
	if odd := strings.IndexFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r)
	}); odd >= 0 {
		return f, fmt.Errorf("encoding/json takes no such name as %q", name)
	}
	for option := range strings.SplitSeq(rest, ",") {
		switch option {
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			return f, errors.New("the option string of its json tag is not for tools: a model writes numbers as such")
		}
	}
	doc, documented := sf.Tag.Lookup("jsonschema")
	if documented && doc == "" {
		return f, errors.New("its jsonschema tag is empty; the tag is what the field means")
	}
	if word, _, ok := strings.Cut(doc, "="); ok && !strings.ContainsAny(word, " \t\n") {
		return f, fmt.Errorf("its jsonschema tag begins with %q; the tag is what the field means, in words", word+"=")
	}
	f.doc = doc
	return f, nil
}

// append writes the schema as JSON Schema has it. It is no MarshalJSON, for
// encoding/json takes longer to learn a type than a program has to start.
func (s *schema) append(b []byte) []byte {
	b = append(b, '{')
	key := func(name string) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), name...), '"', ':')
	}
	text := func(name, value string) {
		key(name)
		b = rawjson.AppendString(b, value)
	}
	switch {
	case s.kind != "" && s.null:
		key("type")
		b = append(append(append(b, `["null","`...), s.kind...), `"]`...)
	case s.kind != "":
		text("type", s.kind)
	}
	object := s.kind == "object"
	if object && s.items == nil { // some APIs refuse an object without properties
		key("properties")
		b = s.fields.append(b)
	}
	if s.kind == "array" {
		key("items")
		b = s.items.append(b)
	}
	if s.doc != "" {
		text("description", s.doc)
	}
	switch {
	case s.kind == "array" && s.typ.Kind() == reflect.Array:
		key("minItems")
		b = strconv.AppendInt(b, int64(s.typ.Len()), 10)
		key("maxItems")
		b = strconv.AppendInt(b, int64(s.typ.Len()), 10)
	case s.kind == "integer" && integer(s.typ):
		// Nobody needs to be told of 64 bits.
		low, high := limits(s.typ)
		narrow := s.typ.Bits() < 64 && s.typ.Kind() != reflect.Int && s.typ.Kind() != reflect.Uint && s.typ.Kind() != reflect.Uintptr
		if low == 0 || narrow {
			key("minimum")
			b = strconv.AppendInt(b, low, 10)
		}
		if narrow {
			key("maximum")
			b = strconv.AppendUint(b, high, 10)
		}
	}
	required := false
	for _, f := range s.fields {
		switch {
		case f.optional:
			continue
		case required:
			b = append(b, ',')
		default:
			required = true
			key("required")
			b = append(b, '[')
		}
		b = rawjson.AppendString(b, f.name)
	}
	if required {
		b = append(b, ']')
	}
	switch {
	case object && s.items != nil:
		key("additionalProperties")
		b = s.items.append(b)
	case object:
		key("additionalProperties")
		b = append(b, "false"...)
	}
	return append(b, '}')
}

// append writes an object that keeps the order.
func (fs fields) append(b []byte) []byte {
	b = append(b, '{')
	for i, f := range fs {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, f.name), ':')
		b = f.schema.append(b)
	}
	return append(b, '}')
}

// limits are those of a type of integers.
func limits(t reflect.Type) (low int64, high uint64) {
	if t.Kind() >= reflect.Uint {
		return 0, math.MaxUint64 >> (64 - t.Bits())
	}
	return math.MinInt64 >> (64 - t.Bits()), math.MaxInt64 >> (64 - t.Bits())
}
