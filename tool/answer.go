package tool

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"oneloop"
	"oneloop/internal/rawjson"
	jsonschema "oneloop/internal/schema"
)

// Bounds of how a model is brought to an answer.
const (
	AnswerTries   = 5 // answers that do not fit, after which the turn ends
	AnswerUrgings = 3 // times a model that stops without an answer is asked for it
)

// Answer is the final answer of a model in a form that was asked for. Its Tool
// is how the model gives it; a session with it among its tools and with
// its AtStop either ends with an answer of that form, or JSON and Decode say why
// there is none. It works with every API that has tools, and takes an answer that
// was only written, where it is JSON of the form.
//
//	answer, err := tool.AnswerOf[Weather]()
//	s := &session.Session{Model: m, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{answer.Tool()}}, AtStop: answer.AtStop}
//	for _, err := range s.Send(ctx, &oneloop.Text{Text: "How is the weather in Paris?"}) { … }
//	var w Weather
//	err = answer.Decode(&w)
//
// An Answer is for one turn. Its methods are safe for concurrent use.
type Answer struct {
	schema json.RawMessage // of the tool's input
	inside bool            // the answer is the field "answer" of the input
	check  func(json.RawMessage) error

	mu     sync.Mutex
	value  json.RawMessage // nil: there is none
	why    string          // of the last one that did not fit
	tries  int
	urging int
}

// NewAnswer returns an answer that fits a JSON Schema (2020-12). An error says
// where the schema is wrong, or has something that is not known here:
// references to other documents, $dynamicRef, unevaluatedProperties and
// unevaluatedItems.
func NewAnswer(schema json.RawMessage) (*Answer, error) {
	s, err := jsonschema.Parse(schema)
	if err != nil {
		return nil, err
	}
	a := &Answer{check: func(v json.RawMessage) error {
		problems, err := s.Check(v)
		if err != nil || len(problems) == 0 {
			return err
		}
		var all []string
		for _, p := range problems {
			all = append(all, p.String())
		}
		return fmt.Errorf("%s", strings.Join(all, "; "))
	}}
	var top map[string]json.RawMessage
	object := json.Unmarshal(schema, &top) == nil && string(top["type"]) == `"object"`
	for _, key := range []string{"$ref", "allOf", "anyOf", "oneOf", "not", "if"} {
		object = object && top[key] == nil // APIs refuse these at the top
	}
	return a.of(schema, object, top), nil
}

// AnswerOf returns an answer that a T is read from, by the rules of [New]. An
// error means that T has no schema.
func AnswerOf[T any]() (*Answer, error) {
	t := reflect.TypeFor[T]()
	s, err := infer(t, nil)
	if err != nil {
		return nil, fmt.Errorf("%v as an answer: %w", t, err)
	}
	return (&Answer{check: s.check}).of(s.append(nil), s.kind == "object" && !s.null, nil), nil
}

// of sets the schema of the tool's input, which is an object for every API. What
// references point to stays where they look for it.
func (a *Answer) of(schema json.RawMessage, object bool, top map[string]json.RawMessage) *Answer {
	if a.schema = schema; !object {
		a.inside = true
		defs := ""
		for _, key := range []string{"$defs", "definitions"} {
			if top[key] != nil {
				defs += fmt.Sprintf(`,%q:%s`, key, moved(rawjson.Value(top[key])))
			}
		}
		a.schema = fmt.Appendf(nil, `{"type":"object","properties":{"answer":%s},"required":["answer"],"additionalProperties":false%s}`, moved(rawjson.Parse(schema)), defs)
	}
	var b bytes.Buffer
	if json.Compact(&b, a.schema) == nil { // which Parse has read
		a.schema = b.Bytes()
	}
	return a
}

// moved is a schema that is put inside another one: its references, but for those
// to definitions, which stay at the top, lead to where it is.
func moved(v rawjson.Value) rawjson.Value {
	if len(v) == 0 || v[0] != '{' && v[0] != '[' {
		return v
	}
	out := []byte{v[0]}
	add := func(key string, val rawjson.Value) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		if v[0] == '{' {
			out = append(rawjson.AppendString(out, key), ':')
		}
		out = append(out, val...)
	}
	for item := range v.Items() {
		add("", moved(item))
	}
	for key, val := range v.Fields() {
		ref, found := strings.CutPrefix(val.Text(), "#")
		switch name := string(key); {
		case name == "const", name == "enum", name == "default", name == "examples": // data
			add(name, val)
		case name == "$ref" && found && !strings.HasPrefix(ref, "/$defs/") && !strings.HasPrefix(ref, "/definitions/"):
			add(name, rawjson.AppendString(nil, "#/properties/answer"+ref))
		default:
			add(name, moved(val))
		}
	}
	if v[0] == '[' {
		return append(out, ']')
	}
	return append(out, '}')
}

// AnswerTool is the name of the tool by which an answer is given.
const AnswerTool = "StructuredOutput"

// Tool is how the model gives the answer. A call that fits ends the turn.
func (a *Answer) Tool() oneloop.Tool {
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{
			Name:        AnswerTool,
			Description: "Gives the final answer in the form that is asked for. Call it once, when all other work is done: the work ends with it.",
			Schema:      a.schema,
		},
		Effect: func(*oneloop.ToolUse) oneloop.Effect { return oneloop.Idempotent },
		Run: func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return a.take(call.Input), nil
		},
	}
}

// take is the result of a call.
func (a *Answer) take(input json.RawMessage) *oneloop.ToolResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value != nil {
		return oneloop.ErrorResult("The answer was given already; this one was not taken.")
	}
	if err := a.put(input); err != nil {
		a.tries++
		a.why = err.Error()
		r := oneloop.ErrorResult("This answer does not have the form that is asked for: " + a.why + ". Call " + AnswerTool + " again with an answer that has.")
		r.EndTurn = a.tries >= AnswerTries
		return r
	}
	r := oneloop.TextResult("The answer was taken.")
	r.EndTurn = true
	return r
}

// put keeps the answer that is in input if it fits.
func (a *Answer) put(input json.RawMessage) error {
	value := input
	if a.inside {
		var in map[string]json.RawMessage
		if err := json.Unmarshal(input, &in); err != nil || len(in) != 1 || in["answer"] == nil {
			return fmt.Errorf(`it has the one field "answer"`)
		}
		value = in["answer"]
	}
	if err := a.check(value); err != nil {
		return err
	}
	a.value = bytes.Clone(value)
	return nil
}

// AtStop is for the field of a session of that name: it asks a model that stopped for its answer.
func (a *Answer) AtStop(_ context.Context, last *oneloop.Message) ([]oneloop.Block, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value != nil {
		return nil, nil
	}
	if text := bare(last.Text()); json.Valid([]byte(text)) && a.check([]byte(text)) == nil {
		a.value = []byte(text)
		return nil, nil
	}
	if a.urging++; a.urging > AnswerUrgings {
		return nil, nil
	}
	return []oneloop.Block{&oneloop.Text{Text: "The answer is still missing. Give it now by calling the tool " + AnswerTool + "."}}, nil
}

// bare is text without the fence that models put around JSON.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if rest, ok := strings.CutPrefix(text, "```"); ok {
		if inner, ok := strings.CutSuffix(rest, "```"); ok {
			return strings.TrimSpace(strings.TrimPrefix(inner, "json"))
		}
	}
	return text
}

// AnswerError says why there is no answer of the form that was asked for.
type AnswerError struct {
	Why string // what of the last one did not fit; empty: there was none
}

func (e *AnswerError) Error() string {
	if e.Why == "" {
		return "the model gave no answer in the form that was asked for"
	}
	return "the model's answer does not have the form that was asked for: " + e.Why
}

// JSON is the answer as the model wrote it; the error is an [*AnswerError].
func (a *Answer) JSON() (json.RawMessage, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.value == nil {
		return nil, &AnswerError{Why: a.why}
	}
	return a.value, nil
}

// Decode reads the answer into what to points to.
func (a *Answer) Decode(to any) error {
	value, err := a.JSON()
	if err != nil {
		return err
	}
	if err := json.Unmarshal(value, to); err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	return nil
}
