package gemini

import (
	"bytes"
	"strconv"
	"strings"

	"oneloop/internal/rawjson"
)

// arguments gathers the arguments of a call that come in pieces, each with the
// place it is for, such as $.list[2].name.
type arguments struct{ root node }

// node is a value in the making. Fields and items keep the order in which they
// came.
type node struct {
	key   string
	list  bool // its children are items
	inner []*node
	text  []byte        // of a string in pieces, with its escapes, after its opening quote
	raw   rawjson.Value // of any other value
}

// maxItem bounds an index: one that is larger is no place in a list.
const maxItem = 1 << 20

// take takes in pieces.
func (a *arguments) take(pieces rawjson.Value) {
	for p := range pieces.Items() {
		at := &a.root
		for _, step := range steps(p.Field("jsonPath").Text()) {
			at = at.child(step)
		}
		if at == &a.root {
			continue
		}
		for key, val := range p.Fields() {
			switch string(key) {
			case "stringValue":
				if q, ok := val.Quoted(); ok {
					if at.text == nil {
						at.text = []byte{'"'}
					}
					at.text = append(at.text, q...)
				}
			case "numberValue", "boolValue":
				at.raw = bytes.Clone(val)
			case "nullValue":
				at.raw = rawjson.Value("null")
			}
		}
	}
}

// step leads from a value into one of its fields or items.
type step struct {
	key  string
	item bool
}

// steps reads a path: $ and then .name, ['name'] or [0].
func steps(path string) []step {
	var all []step
	rest := strings.TrimPrefix(path, "$")
	for rest != "" {
		switch {
		case rest[0] == '.':
			rest = rest[1:]
		case rest[0] == '[':
			end := strings.IndexByte(rest, ']')
			if len(rest) > 1 && (rest[1] == '\'' || rest[1] == '"') {
				if n := strings.Index(rest[2:], rest[1:2]+"]"); n >= 0 {
					end = n + 3
				}
			}
			if end < 0 {
				return append(all, step{key: rest})
			}
			inside := rest[1:end]
			rest = rest[end+1:]
			if n, err := strconv.Atoi(inside); err == nil && n >= 0 && n < maxItem {
				all = append(all, step{inside, true})
			} else {
				all = append(all, step{strings.Trim(inside, `'"`), false})
			}
		default:
			n := strings.IndexAny(rest, ".[")
			if n < 0 {
				n = len(rest)
			}
			all = append(all, step{key: rest[:n]})
			rest = rest[n:]
		}
	}
	return all
}

// child is the value that a step leads to.
func (n *node) child(s step) *node {
	if len(n.inner) == 0 {
		n.list = s.item
	}
	for _, c := range n.inner {
		if c.key == s.key {
			return c
		}
	}
	c := &node{key: s.key}
	n.inner = append(n.inner, c)
	return c
}

// appendJSON appends what came so far.
func (a *arguments) appendJSON(dst []byte) []byte {
	if len(a.root.inner) == 0 {
		return append(dst, "{}"...)
	}
	return a.root.append(dst)
}

func (n *node) append(dst []byte) []byte {
	switch {
	case len(n.inner) == 0 && n.text != nil:
		return append(append(dst, n.text...), '"')
	case len(n.inner) == 0 && n.raw != nil:
		return append(dst, n.raw...)
	case len(n.inner) == 0:
		return append(dst, "null"...)
	}
	open, end := byte('{'), byte('}')
	if n.list {
		open, end = '[', ']'
	}
	dst = append(dst, open)
	for i, c := range n.inner {
		if i > 0 {
			dst = append(dst, ',')
		}
		if !n.list {
			dst = append(rawjson.AppendString(dst, c.key), ':')
		}
		dst = c.append(dst)
	}
	return append(dst, end)
}
