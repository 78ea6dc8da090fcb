package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// withRule returns a settings file with one more rule that allows. All else in
// it stays as it is written, keys that are not known too.
func withRule(data []byte, rule string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(rule); err != nil {
		return nil, err
	}
	text := bytes.TrimSpace(b.Bytes())
	if len(bytes.TrimSpace(data)) == 0 {
		return fmt.Appendf(nil, "{\n  \"permissions\": {\n    \"allow\": [\n      %s\n    ]\n  }\n}\n", text), nil
	}
	out, err := spliced(data, text)
	if err != nil {
		return nil, err
	}
	f := newFile("")
	if err := f.parse(out); err != nil || !slices.Contains(f.rules["allow"], rule) {
		return nil, errors.New("its JSON could not be added to")
	}
	return out, nil
}

func spliced(data, text []byte) ([]byte, error) {
	top, err := scan(data, 0)
	if err != nil {
		return nil, err
	}
	permissions, has := top.members["permissions"]
	if !has || data[permissions] != '{' {
		return insert(data, top.first, top.empty, fmt.Sprintf(`"permissions": {"allow": [%s]}`, text)), nil
	}
	inner, err := scan(data, permissions)
	if err != nil {
		return nil, err
	}
	allow, has := inner.members["allow"]
	if !has {
		return insert(data, inner.first, inner.empty, fmt.Sprintf(`"allow": [%s]`, text)), nil
	}
	if data[allow] != '[' {
		return nil, errors.New("permissions.allow is no list")
	}
	list, err := scan(data, allow)
	if err != nil {
		return nil, err
	}
	return insert(data, list.first, list.empty, string(text)), nil
}

// insert puts a new first element after the bracket that ends before first,
// set apart as the one that was first is.
func insert(data []byte, first int, empty bool, text string) []byte {
	end := first
	for end < len(data) && strings.IndexByte(" \t\r\n", data[end]) >= 0 {
		end++
	}
	if empty {
		return slices.Concat(data[:first], []byte(text), data[first:])
	}
	return slices.Concat(data[:end], []byte(text+","), data[first:end], data[end:])
}

// span is an object or a list in a text.
type span struct {
	first   int            // just behind its opening bracket
	empty   bool           // it has no elements
	members map[string]int // where the values of an object begin
}

// scan finds the members of the object or the list that begins at or after at.
func scan(data []byte, at int) (span, error) {
	d := json.NewDecoder(bytes.NewReader(data[at:]))
	open, err := d.Token()
	if err != nil {
		return span{}, err
	}
	s := span{first: at + int(d.InputOffset()), empty: !d.More(), members: map[string]int{}}
	if open != json.Delim('{') {
		return s, nil
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return s, err
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return s, err
		}
		s.members[fmt.Sprint(name)] = at + int(d.InputOffset()) - len(value)
	}
	return s, nil
}
