package tool

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// decode reads input into in, a pointer to a struct. To JSON Schema 1000.0 and
// 1e3 are integers, to encoding/json they are none: they are written plainly
// when something asks for an integer.
func decode(input json.RawMessage, in any) error {
	err := json.Unmarshal(input, in)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && integer(e.Type) && strings.ContainsAny(e.Value, ".eE") {
		input = plain(input)
		err = json.Unmarshal(input, in)
	}
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return typeError(input, e)
	}
	return err
}

// check refuses input that does not keep to the schema, or that In cannot
// hold, such as a number that is too large.
func check[In any](resolved *jsonschema.Resolved, input json.RawMessage) error {
	var in In
	err := decode(input, &in)
	if _, ok := errors.AsType[*inputError](err); ok {
		return err
	}
	var value any
	if err := json.Unmarshal(input, &value); err != nil {
		return err
	}
	if broken := resolved.Validate(value); broken != nil {
		fields := resolved.Schema().PropertyOrder
		return fmt.Errorf("%s (the fields are: %s; case matters)", schemaText(broken.Error()), strings.Join(fields, ", "))
	}
	return err
}

// inputError is a value of the wrong type, in the words of JSON.
type inputError struct{ place, text string }

func (e *inputError) Error() string { return e.place + ": " + e.text }

func typeError(input []byte, e *json.UnmarshalTypeError) error {
	place, _ := placeOf(json.NewDecoder(bytes.NewReader(input)), e.Offset, "")
	what, value, _ := strings.Cut(e.Value, " ")
	if what != "number" || !integer(e.Type) && !float(e.Type) {
		return &inputError{place, fmt.Sprintf("want %s, got %s", wanted(e.Type), article(what))}
	}
	if value == "" {
		return &inputError{place, fmt.Sprintf("want %s", wanted(e.Type))}
	}
	if f, err := strconv.ParseFloat(value, 64); err == nil && f != math.Trunc(f) {
		return &inputError{place, fmt.Sprintf("want an integer, got %s", value)}
	}
	return &inputError{place, fmt.Sprintf("%s is out of range; want %s %s", value, wanted(e.Type), bounds(e.Type))}
}

// placeOf is the path of the value whose reading ended at offset.
func placeOf(dec *json.Decoder, offset int64, path string) (string, bool) {
	tok, err := dec.Token()
	if err != nil || dec.InputOffset() >= offset {
		return path, true
	}
	open, _ := tok.(json.Delim)
	if open == 0 {
		return path, false
	}
	for i := 0; dec.More(); i++ {
		inner := fmt.Sprintf("%s[%d]", path, i)
		if open == '{' {
			key, err := dec.Token()
			if err != nil {
				return path, true
			}
			inner = strings.TrimPrefix(fmt.Sprintf("%s.%s", path, key), ".")
		}
		if found, ok := placeOf(dec, offset, inner); ok {
			return found, true
		}
	}
	_, err = dec.Token() // the bracket that closes it
	return path, err != nil || dec.InputOffset() >= offset
}

func integer(t reflect.Type) bool { return reflect.Int <= t.Kind() && t.Kind() <= reflect.Uintptr }
func float(t reflect.Type) bool   { return t.Kind() == reflect.Float32 || t.Kind() == reflect.Float64 }

// wanted is the JSON that a type takes.
func wanted(t reflect.Type) string {
	switch k := t.Kind(); {
	case reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "a string"
	case integer(t):
		return "an integer"
	case float(t):
		return "a number"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.String:
		return "a string"
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "a string in base64"
	case k == reflect.Slice || k == reflect.Array:
		return "an array"
	}
	return "an object"
}

func article(kind string) string {
	switch kind {
	case "integer", "array", "object":
		return "an " + kind
	case "bool":
		return "a boolean"
	case "null":
		return kind
	}
	return "a " + kind
}

// bounds are those of a type of number.
func bounds(t reflect.Type) string {
	bits := t.Bits()
	switch {
	case float(t):
		return fmt.Sprintf("that fits in %d bits", bits)
	case t.Kind() >= reflect.Uint:
		return fmt.Sprintf("from 0 to %d", uint64(math.MaxUint64)>>(64-bits))
	}
	return fmt.Sprintf("from %d to %d", int64(math.MinInt64)>>(64-bits), int64(math.MaxInt64)>>(64-bits))
}

// plain writes the numbers of valid JSON that are integers, but written with a
// point or an exponent, as integers.
func plain(input []byte) []byte {
	out := make([]byte, 0, len(input))
	for i := 0; i < len(input); {
		from := i
		switch c := input[i]; {
		case c == '"':
			for i++; input[i] != '"'; i++ {
				if input[i] == '\\' {
					i++
				}
			}
			i++
		case c == '-' || '0' <= c && c <= '9':
			for i < len(input) && strings.IndexByte("+-.eE0123456789", input[i]) >= 0 {
				i++
			}
			out = append(out, plainNumber(string(input[from:i]))...)
			continue
		default:
			i++
		}
		out = append(out, input[from:i]...)
	}
	return out
}

// longestInteger is the number of digits that every integer fits in.
const longestInteger = 20

// plainNumber is a number without point and exponent, or as it was when it is
// no integer or a longer one than any type holds.
func plainNumber(s string) string {
	digits, exponent := s, 0
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		var err error
		if exponent, err = strconv.Atoi(s[at+1:]); err != nil {
			return s
		}
		digits = s[:at]
	}
	minus := strings.HasPrefix(digits, "-")
	whole, part, _ := strings.Cut(strings.TrimPrefix(digits, "-"), ".")
	part = strings.TrimRight(part, "0")
	if exponent < -len(whole) || exponent > longestInteger || len(part) > max(exponent, 0) {
		return s
	}
	digits = whole + part
	if n := exponent - len(part); n >= 0 {
		digits += strings.Repeat("0", n)
	} else if cut := len(digits) + n; strings.Trim(digits[cut:], "0") == "" {
		digits = digits[:cut]
	} else {
		return s
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	if len(digits) > longestInteger {
		return s
	}
	if minus {
		return "-" + digits
	}
	return digits
}

// schemaText is what a validator of schemas found, with the name of the field
// in place of the schema's path and without Go's ways to write values.
func schemaText(text string) string {
	path := ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		at, found, sep := strings.Cut(rest, ": ")
		if !ok || !sep {
			break
		}
		path, text = at, found
	}
	place := strings.NewReplacer("/properties/", ".", "/items", "[]", "/additionalProperties", ".*").Replace(path)
	place = strings.TrimPrefix(strings.TrimPrefix(place, "root"), ".")
	if at := strings.LastIndex(text, ` has type "`); at >= 0 && strings.HasPrefix(text, "type: ") {
		got, want, _ := strings.Cut(text[at+len(` has type "`):], `", want `)
		kinds := strings.Split(strings.Trim(strings.TrimPrefix(want, "one of "), `"`), ", ")
		for i := range kinds {
			kinds[i] = article(kinds[i])
		}
		text = fmt.Sprintf("want %s, got %s", strings.Join(kinds, " or "), article(got))
	}
	if place == "" {
		return text
	}
	return place + ": " + text
}
