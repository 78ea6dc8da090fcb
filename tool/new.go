// Package tool makes tools a model can call: any function by [New], and the
// shell by [Bash].
package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"oneloop"
)

// New makes a tool of fn. The schema of its input is that of the struct In:
// names are those of the json tags, a jsonschema tag describes a field, a
// field is required unless it is marked omitempty or omitzero, and no other
// field is taken. Names are matched with their case. An integer may be written
// as 1000.0 or 1e3. Fields of embedded structs are its own, by the rules of
// encoding/json. A pointer or a slice may be null, a []byte is a string in
// base64, any and json.RawMessage take every JSON, and so does a type with a
// method UnmarshalJSON that is neither a struct with fields nor a string; one
// with a method UnmarshalText is a string.
//
// What is wrong with an input is told to the model with the place of each
// mistake, and the call is not run.
//
// An Out that is a string becomes the text of the result, a []oneloop.Block
// its content, anything else its JSON. The text of an error is told to the
// model in place of the result: it should say what failed and what to try
// next.
//
// New panics when name is no name of a tool or In has no schema, as a channel
// or a type that holds itself has none: both are mistakes in the program.
// Parallel and Effect of the tool are the caller's to set.
func New[In, Out any](name, doc string, fn func(context.Context, In) (Out, error)) oneloop.Tool {
	return build(name, doc, schemaOf[In](name), func(ctx context.Context, _ *oneloop.ToolUse, _ func(oneloop.Event), in In) (*oneloop.ToolResult, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return result(out)
	})
}

type runFunc[In any] = func(context.Context, *oneloop.ToolUse, func(oneloop.Event), In) (*oneloop.ToolResult, error)

// nameable reports whether every API takes name for a tool. It is no regular
// expression because compiling that one takes longer than the rest of a start.
func nameable(name string) bool {
	for _, r := range name {
		if !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-') {
			return false
		}
	}
	return 0 < len(name) && len(name) <= 64
}

func build[In any](name, doc string, schemaJSON json.RawMessage, run runFunc[In]) oneloop.Tool {
	if !nameable(name) {
		panic(fmt.Sprintf("tool %q: a name has 1 to 64 letters, digits, _ or -", name))
	}
	// Made when first needed, to keep it out of the start of the program.
	input := sync.OnceValues(func() (*schema, error) { return infer(reflect.TypeFor[In](), nil) })
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{Name: name, Description: doc, Schema: schemaJSON},
		Check: func(call json.RawMessage) error {
			s, err := input()
			if err != nil {
				return err
			}
			return s.check(call)
		},
		Run: func(ctx context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
			var in In
			if err := decode(call.Input, &in); err != nil {
				return nil, fmt.Errorf("read the input of %s: %w", name, err)
			}
			return run(ctx, call, emit, in)
		},
	}
}

// schemaOf gives the JSON of In's schema.
func schemaOf[In any](name string) json.RawMessage {
	t := reflect.TypeFor[In]()
	s, err := infer(t, nil)
	if err == nil && (s.kind != "object" || t.Kind() != reflect.Struct) {
		err = errors.New("it is read from no JSON object with fields; make it a struct")
	}
	if err != nil {
		panic(fmt.Sprintf("tool %q: input type %v: %v", name, t, err))
	}
	return s.append(nil)
}

// result makes content of what a function returned.
func result(out any) (*oneloop.ToolResult, error) {
	switch out := out.(type) {
	case string:
		return oneloop.TextResult(out), nil
	case []oneloop.Block:
		return &oneloop.ToolResult{Content: out}, nil
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(out); err != nil {
		return nil, fmt.Errorf("encode the result: %w. The call was run.", err)
	}
	return oneloop.TextResult(strings.TrimSuffix(b.String(), "\n")), nil
}
