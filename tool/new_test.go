package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"oneloop"
	"oneloop/tool"
	"oneloop/workspace"
)

type placeInput struct {
	City string   `json:"city" jsonschema:"name of the city, e.g. 北京 <x>"`
	Days int32    `json:"days,omitempty"`
	Tags []string `json:"tags,omitempty"`
}

func TestTheSchemaIsThatOfTheInput(t *testing.T) {
	w := tool.New("weather", "The weather.", func(_ context.Context, in placeInput) (string, error) { return in.City, nil })
	const want = `{"type":"object","properties":{"city":{"type":"string","description":"name of the city, e.g. 北京 \u003cx\u003e"},"days":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"tags":{"type":["null","array"],"items":{"type":"string"}}},"required":["city"],"additionalProperties":false}`
	if got := string(w.Schema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Name != "weather" || w.Description != "The weather." {
		t.Errorf("got %+v", w.ToolDef)
	}
}

func TestTheSchemaOfBashIsThatOfItsInput(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{})
	inferred := tool.New("x", "", func(_ context.Context, in tool.BashInput) (string, error) { return "", nil })
	if string(b.Schema) != string(inferred.Schema) {
		t.Errorf("got  %s\nwant %s", b.Schema, inferred.Schema)
	}
	if n := len(b.Name) + len(b.Description) + len(b.Schema); n > 500 {
		t.Errorf("name, description and schema take %d bytes", n)
	}
}

func TestInputThatBreaksTheSchemaIsNotRun(t *testing.T) {
	ran := false
	w := tool.New("weather", "", func(context.Context, placeInput) (string, error) { ran = true; return "", nil })
	for input, want := range map[string]string{
		`{}`:                              `missing properties: ["city"]`,
		`{"City":"x"}`:                    `"City"`,
		`{"city":"x","CITY":"y"}`:         `"CITY"`,
		`{"city":"x","unit":"C"}`:         `(the fields are: city, days, tags; case matters)`,
		`{"city":1}`:                      `city: type: 1 has type "integer", want "string"`,
		`{"city":null}`:                   `want "string"`,
		`{"city":"x","days":1.5}`:         `want "integer"`,
		`{"city":"x","days":99999999999}`: `days`,
		`{"city":"x","tags":[1]}`:         `tags`,
		`{"city":"x","city":"y"}`:         `twice`,
	} {
		r := call(t, t.Context(), w, input, nil)
		if !r.IsError || !strings.Contains(r.Text(), want) || !strings.Contains(r.Text(), "The call was not run.") {
			t.Errorf("%s: got %q, want %q", input, r.Text(), want)
		}
	}
	if ran {
		t.Error("it was run")
	}
}

func TestWhatAFunctionReturnsBecomesTheResult(t *testing.T) {
	ctx := t.Context()
	text := tool.New("t", "", func(_ context.Context, in placeInput) (string, error) { return in.City + "!", nil })
	if r := call(t, ctx, text, `{"city":"北京"}`, nil); r.IsError || r.Text() != "北京!" {
		t.Errorf("string: %q", r.Text())
	}
	blocks := tool.New("t", "", func(context.Context, struct{}) ([]oneloop.Block, error) {
		return []oneloop.Block{&oneloop.Text{Text: "a"}, &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte{1}}}, nil
	})
	if r := call(t, ctx, blocks, `{}`, nil); len(r.Content) != 2 {
		t.Errorf("blocks: %v", r.Content)
	}
	other := tool.New("t", "", func(context.Context, struct{}) (map[string]any, error) {
		return map[string]any{"ok": true, "code": "<a & b>"}, nil
	})
	if r := call(t, ctx, other, `{}`, nil); r.Text() != `{"code":"<a & b>","ok":true}` {
		t.Errorf("JSON: %q", r.Text())
	}
	failing := tool.New("t", "", func(context.Context, struct{}) (string, error) { return "", errors.New("no such city; try another") })
	if r := call(t, ctx, failing, `{}`, nil); !r.IsError || r.Text() != "no such city; try another" {
		t.Errorf("error: %v %q", r.IsError, r.Text())
	}
	broken := tool.New("t", "", func(context.Context, struct{}) (any, error) { return func() {}, nil })
	if r := call(t, ctx, broken, `{}`, nil); !r.IsError || !strings.Contains(r.Text(), "encode the result") {
		t.Errorf("no JSON: %q", r.Text())
	}
}

func TestMistakesInTheProgramPanic(t *testing.T) {
	type loop struct{ Next *loop }
	str := func(context.Context, struct{}) (string, error) { return "", nil }
	for name, make := range map[string]func(){
		"empty name": func() { tool.New("", "", str) },
		"odd name":   func() { tool.New("a b", "", str) },
		"long name":  func() { tool.New(strings.Repeat("a", 65), "", str) },
		"no struct":  func() { tool.New("t", "", func(context.Context, string) (string, error) { return "", nil }) },
		"a map":      func() { tool.New("t", "", func(context.Context, map[string]any) (string, error) { return "", nil }) },
		"no schema": func() {
			tool.New("t", "", func(context.Context, struct{ C chan int }) (string, error) { return "", nil })
		},
		"no end to it": func() { tool.New("t", "", func(context.Context, loop) (string, error) { return "", nil }) },
	} {
		t.Run(name, func(t *testing.T) {
			defer func() {
				if recover() == nil {
					t.Error("it did not panic")
				}
			}()
			make()
		})
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		tool.New("weather", "", func(context.Context, placeInput) (string, error) { return "", nil })
	}
}

func BenchmarkCheck(b *testing.B) {
	w := tool.New("weather", "", func(context.Context, placeInput) (string, error) { return "", nil })
	in := json.RawMessage(`{"city":"x","days":3}`)
	for b.Loop() {
		if err := w.Check(in); err != nil {
			b.Fatal(err)
		}
	}
}
