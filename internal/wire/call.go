package wire

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"oneloop"
	"oneloop/internal/rawjson"
)

// Calls repairs the calls of one reply on arrival, so that they can be run,
// answered and sent back.
type Calls struct {
	Taken map[string]bool   // ids of calls in the conversation, as they are sent
	Tools []oneloop.ToolDef // what was offered
	NewID func() string     // nil: random
	here  []string          // ids of this reply
}

// ID is the id of the next call: its own where good takes it and no other call
// has it, else a fresh one.
func (c *Calls) ID(id string, good func(string) bool) string {
	if id == "" || !good(id) || c.Taken[id] || slices.Contains(c.here, id) {
		id = c.fresh()
	}
	c.here = append(c.here, id)
	return id
}

func (c *Calls) fresh() string {
	newID := c.NewID
	if newID == nil {
		newID = func() string { return "call_" + rand.Text() }
	}
	for {
		if id := newID(); !c.Taken[id] && !slices.Contains(c.here, id) {
			return id
		}
	}
}

// Name is the name of a call as it can be sent back. One that is repaired is
// kept from being that of a tool: the model did not call it.
func (c *Calls) Name(name string) string {
	if GoodName(name) {
		return name
	}
	name = Name(name)
	free, suffix := name, ""
	for n := 2; slices.ContainsFunc(c.Tools, func(t oneloop.ToolDef) bool { return t.Name == free }); n++ {
		suffix = fmt.Sprint("_", n)
		free = name[:min(len(name), maxName-len(suffix))] + suffix
	}
	return free
}

// Repaired notes in m what was changed of the block that came as number block.
func Repaired(m *oneloop.Message, block int, what, from, to string) {
	m.Meta.Repairs = append(m.Meta.Repairs, oneloop.Repair{Block: block, What: what, From: from, To: to})
}

// Input is the input of a call as it can be sent: wrote itself when it is a
// JSON object, {} when it is blank, else an object that quotes it, in the form
// that the documentation of the Messages API names. Broken tells the model why
// such a call was not run; what came on the way here in pieces of which some
// were no characters was lost in part.
func Input(wrote []byte, lost bool) (input []byte, broken string) {
	v := rawjson.Parse(wrote)
	switch {
	case len(bytes.TrimSpace(wrote)) == 0:
		return []byte("{}"), ""
	case v.IsObject():
		return rawjson.Clean(v), Replaced(v, lost)
	}
	return StandIn(string(wrote)), BrokenInput(string(wrote))
}

// StandIn is the object that takes the place of input that is none.
func StandIn(input string) []byte {
	out := rawjson.AppendString([]byte(`{"INVALID_JSON":`), input)
	return append(out, '}')
}

// BrokenInput tells the model why its call was not run.
func BrokenInput(input string) string {
	why := "it is not valid JSON, perhaps because it was cut off"
	if v := rawjson.Parse([]byte(input)); v != nil {
		why = "it is valid JSON but not an object"
	}
	return fmt.Sprintf("the input of this call did not arrive as a JSON object: %s. The call was not run. Call again with the whole input as one JSON object. It began: %s",
		why, Printable([]byte(input), 100))
}

// Replaced tells the model why a call is not run in whose input characters
// had to be replaced: it would do something else than was asked for. Lost says
// that it happened on the way here. Empty: the input is as it was written.
func Replaced(input rawjson.Value, lost bool) string {
	why := "it has half of a surrogate pair in it, which is no character; send it again with the whole character, or without it"
	if !bytes.Equal(rawjson.Clean(input), input) {
		if err := oneloop.CheckObject(input); err != nil {
			why = err.Error()
		}
	} else if !lost {
		return ""
	}
	return fmt.Sprintf("the input of this call was refused: %s. The call was not run.", why)
}

// Shorten keeps a record small; the whole stands in the block itself.
func Shorten(s string) string { return strings.ToValidUTF8(s[:min(len(s), 200)], "") }

// Blank reports whether a text says nothing.
func Blank(text string) bool { return strings.TrimSpace(text) == "" }

func idByte(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

// GoodID reports whether an id is one of letters, digits, _ and -, which every
// API takes.
func GoodID(id string) bool {
	return id != "" && !strings.ContainsFunc(id, func(r rune) bool { return !idByte(r) })
}

// ID is the id of a call as it is sent to an API that takes those that are
// good: the only place where ids are written differently. Different ids stay
// different, and a call and its result meet again. What is made here has at
// most 40 characters, which every API takes.
func ID(id string, good func(string) bool) string {
	if id != "" && good(id) {
		return id
	}
	h := fnv.New64a()
	h.Write([]byte(id))
	begin := letters(id)
	return fmt.Sprintf("%s_%016x", begin[:min(len(begin), 23)], h.Sum64())
}

// maxName is the length of a tool name that every API takes.
const maxName = 64

// GoodName reports whether every API takes a tool of this name.
func GoodName(name string) bool { return GoodID(name) && len(name) <= maxName }

// Name is a tool name in letters and of a length that every API takes.
func Name(name string) string {
	if GoodName(name) {
		return name
	}
	if name == "" {
		return "unnamed"
	}
	name = letters(name)
	return name[:min(len(name), maxName)]
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if idByte(r) {
			return r
		}
		return '_'
	}, s)
}
