package gemini

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// subset is a JSON Schema in the form that the API took first, a part of what
// OpenAPI has; nil when nothing is left of it. References are put in,
// alternatives are one kind of list, and what has no place there is left out:
// the tool itself still checks its input.
func subset(schema []byte) ([]byte, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var root map[string]any
	if err := dec.Decode(&root); err != nil {
		return nil, err
	}
	s := &subsetter{root: root}
	out := s.schema(root, 0)
	if props, _ := out["properties"].(map[string]any); len(props) == 0 && out["anyOf"] == nil {
		return nil, nil // an object without fields is refused
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

type subsetter struct {
	root map[string]any
	made int // schemas so far
}

// A schema may name itself: maxSchema is how deep it is followed, maxMade how
// many schemas one may become, as each of them may name itself several times.
const (
	maxSchema = 12
	maxMade   = 10_000
)

// kept are the fields that the API knows and that need no change.
const kept = " title description nullable maxItems minItems required minProperties maxProperties minLength maxLength pattern default minimum maximum "

func (s *subsetter) schema(in map[string]any, depth int) map[string]any {
	if s.made++; depth > maxSchema || s.made > maxMade {
		return map[string]any{"type": "object"}
	}
	if ref, ok := in["$ref"].(string); ok {
		merged := maps.Clone(s.lookup(ref))
		if merged == nil {
			merged = map[string]any{}
		}
		for k, v := range in {
			if k != "$ref" {
				merged[k] = v
			}
		}
		return s.schema(merged, depth+1)
	}
	out := map[string]any{}
	for k, v := range in {
		if strings.Contains(kept, " "+k+" ") {
			out[k] = v
		}
	}
	s.kind(in, out, depth)
	s.values(in, out)
	if props, ok := in["properties"].(map[string]any); ok && len(props) > 0 {
		fields := map[string]any{}
		for _, name := range slices.Sorted(maps.Keys(props)) { // where it ends is the same every time
			fields[name] = s.any(props[name], depth+1)
		}
		out["properties"] = fields
	}
	if items, ok := in["items"]; ok {
		out["items"] = s.any(items, depth+1)
	} else if out["type"] == "array" {
		out["items"] = map[string]any{"type": "string"} // a list has to say of what
	}
	for _, name := range []string{"anyOf", "oneOf", "allOf"} {
		s.choice(in[name], name, out, depth)
	}
	return out
}

// any is a schema that may be true or false.
func (s *subsetter) any(v any, depth int) map[string]any {
	m, ok := v.(map[string]any)
	if !ok {
		return map[string]any{"type": "string"}
	}
	return s.schema(m, depth)
}

// kind sets the type: one, and whether there may be none.
func (s *subsetter) kind(in, out map[string]any, depth int) {
	switch t := in["type"].(type) {
	case string:
		out["type"] = t
	case []any:
		var choices []any
		for _, k := range t {
			if k == "null" {
				out["nullable"] = true
			} else {
				choices = append(choices, map[string]any{"type": k})
			}
		}
		if len(choices) == 1 {
			out["type"] = choices[0].(map[string]any)["type"]
		} else {
			s.choice(choices, "anyOf", out, depth)
		}
	}
	format, _ := in["format"].(string)
	text := out["type"] == "string"
	if format != "" && (!text || format == "date-time" || format == "enum") {
		out["format"] = format
	}
}

// values sets what a text may be; other values cannot be listed.
func (s *subsetter) values(in, out map[string]any) {
	list, _ := in["enum"].([]any)
	if c, ok := in["const"]; ok {
		list = []any{c}
	}
	var texts []any
	for _, v := range list {
		switch v := v.(type) {
		case string:
			texts = append(texts, v)
		case nil:
			out["nullable"] = true
		default:
			out["description"] = strings.TrimSpace(fmt.Sprint(or(out["description"], ""), " One of: ", list))
			return
		}
	}
	if len(texts) > 0 {
		out["enum"], out["type"] = texts, "string"
	}
}

func or(v, otherwise any) any {
	if v == nil {
		return otherwise
	}
	return v
}

// choice puts in alternatives, or what holds in addition.
func (s *subsetter) choice(list any, name string, out map[string]any, depth int) {
	all, _ := list.([]any)
	var choices []any
	for _, v := range all {
		one := s.any(v, depth+1)
		switch {
		case one["type"] == "null":
			out["nullable"] = true
		case name == "allOf":
			merge(out, one)
		default:
			choices = append(choices, one)
		}
	}
	if len(choices) == 1 {
		merge(out, choices[0].(map[string]any))
	} else if len(choices) > 1 {
		out["anyOf"] = choices
	}
}

// merge puts into a schema what another one says.
func merge(out, more map[string]any) {
	for k, v := range more {
		have, ok := out[k]
		switch {
		case !ok:
			out[k] = v
		case k == "properties":
			maps.Copy(have.(map[string]any), v.(map[string]any))
		case k == "required":
			a, _ := have.([]any)
			b, _ := v.([]any)
			out[k] = append(append([]any(nil), a...), b...)
		}
	}
}

// lookup finds a definition by its reference inside the document.
func (s *subsetter) lookup(ref string) map[string]any {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil
	}
	at := s.root
	for _, name := range strings.Split(strings.TrimPrefix(path, "/"), "/") {
		if name == "" {
			return at
		}
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		if at, ok = at[name].(map[string]any); !ok {
			return nil
		}
	}
	return at
}
