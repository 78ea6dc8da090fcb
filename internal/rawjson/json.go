// Package rawjson reads and changes JSON without touching the bytes that are
// not meant.
package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"unicode/utf8"
)

// Value is one valid JSON value without white space around it. Values found
// in a Value share its memory. The nil Value is one that is not there.
type Value []byte

// Parse returns data as a value, nil when it is not valid JSON.
func Parse(data []byte) Value {
	if !json.Valid(data) {
		return nil
	}
	return Value(bytes.Trim(data, " \t\r\n"))
}

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return len(v) > 0 && v[0] == '{' }

// IsNull reports whether v is null or not there.
func (v Value) IsNull() bool { return len(v) == 0 || v[0] == 'n' }

// Field returns the field of an object, the last one of those that have the
// same name, as most readers do. It is nil when there is none.
func (v Value) Field(name string) Value {
	var found Value
	for key, val := range v.Fields() {
		if string(key) == name {
			found = val
		}
	}
	return found
}

// Fields yields the fields of an object; nothing when v is none.
func (v Value) Fields() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		for f := range v.fields() {
			if !yield(f.key, v[f.from:f.to:f.to]) {
				return
			}
		}
	}
}

// field is one field of an object; its value lies between from and to.
type field struct {
	key      []byte
	from, to int
}

func (v Value) fields() iter.Seq[field] {
	return func(yield func(field) bool) {
		if !v.IsObject() {
			return
		}
		for i := space(v, 1); v[i] != '}'; {
			end := skip(v, i)
			key := []byte(v[i+1 : end-1])
			if bytes.IndexByte(key, '\\') >= 0 {
				key = AppendUnquoted(nil, key)
			}
			from := space(v, space(v, end)+1)
			to := skip(v, from)
			if !yield(field{key, from, to}) {
				return
			}
			if i = space(v, to); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// Items yields the items of an array; nothing when v is none.
func (v Value) Items() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if len(v) == 0 || v[0] != '[' {
			return
		}
		for i := space(v, 1); v[i] != ']'; {
			end := skip(v, i)
			if !yield(v[i:end:end]) {
				return
			}
			if i = space(v, end); v[i] == ',' {
				i = space(v, i+1)
			}
		}
	}
}

// Quoted returns what stands between the quotes of a string, escapes as they
// are; false when v is no string.
func (v Value) Quoted() ([]byte, bool) {
	if len(v) < 2 || v[0] != '"' {
		return nil, false
	}
	return v[1 : len(v)-1], true
}

// Text returns the text of a string; empty when v is none.
func (v Value) Text() string {
	q, _ := v.Quoted()
	if bytes.IndexByte(q, '\\') < 0 && utf8.Valid(q) {
		return string(q)
	}
	return string(AppendUnquoted(make([]byte, 0, len(q)), q))
}

// Int returns a whole number; false when v is none, also when it is too large
// for an int64.
func (v Value) Int() (int64, bool) {
	if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
		return n, true
	}
	if len(v) == 0 || v[0] == '"' {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != float64(int64(f)) || f > 1<<53 || f < -1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Edit sets a field of an object.
type Edit struct {
	Name  string
	Value []byte // JSON
}

// With returns a copy of the object v with fields set: the value of a field
// that is there is replaced, others are added at the end. All other bytes are
// kept.
func (v Value) With(edits ...Edit) []byte {
	size := len(v)
	for _, e := range edits {
		size += len(e.Name) + len(e.Value) + len(`,"":`)
	}
	out := make([]byte, 0, size)
	done := make([]bool, len(edits))
	last, empty := 0, true
	for f := range v.fields() {
		empty = false
		for i, e := range edits {
			if string(f.key) == e.Name {
				out = append(append(out, v[last:f.from]...), e.Value...)
				last, done[i] = f.to, true
			}
		}
	}
	end := bytes.LastIndexByte(v, '}')
	out = append(out, v[last:end]...)
	for i, e := range edits {
		if done[i] {
			continue
		}
		if !empty {
			out = append(out, ',')
		}
		empty = false
		out = AppendString(out, e.Name)
		out = append(append(out, ':'), e.Value...)
	}
	return append(out, v[end:]...)
}

func space(v []byte, i int) int {
	for v[i] == ' ' || v[i] == '\n' || v[i] == '\r' || v[i] == '\t' {
		i++
	}
	return i
}

// skip returns where the value that begins at i ends.
func skip(v []byte, i int) int {
	switch v[i] {
	case '"':
		return skipString(v, i)
	case '{', '[':
		for depth := 0; ; i++ {
			switch v[i] {
			case '"':
				i = skipString(v, i) - 1
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
		}
	}
	for i < len(v) && v[i] != ',' && v[i] != '}' && v[i] != ']' && v[i] > ' ' {
		i++
	}
	return i
}

func skipString(v []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(v[i:], '"')
		n := i
		for v[n-1] == '\\' {
			n--
		}
		if (i-n)%2 == 0 {
			return i + 1
		}
	}
}
