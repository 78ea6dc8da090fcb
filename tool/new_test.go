package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

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
	const want = `{"type":"object","properties":{"city":{"type":"string","description":"name of the city, e.g. 北京 <x>"},"days":{"type":"integer","minimum":-2147483648,"maximum":2147483647},"tags":{"type":["null","array"],"items":{"type":"string"}}},"required":["city"],"additionalProperties":false}`
	if got := string(w.Schema); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w.Name != "weather" || w.Description != "The weather." {
		t.Errorf("got %+v", w.ToolDef)
	}
}

func TestTheSchemaOfBashIsThatOfItsInput(t *testing.T) {
	b := tool.Bash(open(t, workspace.LocalOptions{}), tool.BashOptions{Jobs: tool.NewJobs(tool.JobsOptions{})})
	inferred := tool.New("x", "", func(_ context.Context, in tool.BashInput) (string, error) { return "", nil })
	if string(b.Schema) != string(inferred.Schema) {
		t.Errorf("got  %s\nwant %s", b.Schema, inferred.Schema)
	}
	if n := len(b.Name) + len(b.Description) + len(b.Schema); n > 600 {
		t.Errorf("name, description and schema take %d bytes", n)
	}
}

func TestInputThatBreaksTheSchemaIsNotRun(t *testing.T) {
	ran := false
	w := tool.New("weather", "", func(context.Context, placeInput) (string, error) { ran = true; return "", nil })
	for input, want := range map[string]string{
		`{}`:                                 `missing properties: ["city"]`,
		`{"City":"x"}`:                       `"City"`,
		`{"city":"x","CITY":"y"}`:            `"CITY"`,
		`{"city":"x","unit":"C"}`:            `(the fields are: city, days, tags; case matters)`,
		`{"city":1}`:                         `city: want a string, got a number`,
		`{"city":null}`:                      `city: want a string, got null.`,
		`{"city":"x","days":1.5}`:            `days: want an integer, got 1.5.`,
		`{"city":"x","days":"3"}`:            `days: want an integer, got a string.`,
		`{"city":"x","days":99999999999}`:    `days: 99999999999 is out of range; want an integer from -2147483648 to 2147483647.`,
		`{"city":"x","days":1e10}`:           `days: 10000000000 is out of range`,
		`{"city":"x","days":1e999999999999}`: `days: 1e999999999999 is out of range`,
		`{"city":"x","tags":["a",1]}`:        `tags[1]: want a string, got a number.`,
		`{"city":"x","tags":{"a":1}}`:        `tags: want an array, got an object.`,
		`{"city":"x","city":"y"}`:            `twice`,
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

type Part struct {
	N uint8    `json:"n"`
	S []string `json:"s,omitempty"`
}

type wideInput struct {
	Part
	Big  int64          `json:"big,omitempty"`
	F    float64        `json:"f,omitempty"`
	Text string         `json:"text,omitempty"`
	List []Part         `json:"list,omitempty"`
	Map  map[string]int `json:"map,omitempty"`
	Any  any            `json:"any,omitempty"`
	At   time.Time      `json:"at,omitzero"`
	Addr netip.Addr     `json:"addr,omitzero"`
	Data []byte         `json:"data,omitempty"`
}

func TestIntegersMayHaveAPointOrAnExponent(t *testing.T) {
	var got wideInput
	w := tool.New("wide", "", func(_ context.Context, in wideInput) (string, error) { got = in; return "", nil })
	for input, want := range map[string]wideInput{
		`{"n":10.0}`:                                             {Part: Part{N: 10}},
		`{"n":1e2}`:                                              {Part: Part{N: 100}},
		`{"n":1.5E+1,"text":"1.0 \\\" 1e2"}`:                     {Part: Part{N: 15}, Text: `1.0 \" 1e2`},
		`{"n":1000e-2,"f":0.5}`:                                  {Part: Part{N: 10}, F: 0.5},
		`{"n":0.0,"f":1e300}`:                                    {F: 1e300},
		`{"n":1,"big":9007199254740993.0}`:                       {Part: Part{N: 1}, Big: 9007199254740993},
		`{"n":1.0,"big":-9223372036854775808}`:                   {Part: Part{N: 1}, Big: -9223372036854775808},
		`{"n":1,"big":9223372036854775807}`:                      {Part: Part{N: 1}, Big: 9223372036854775807},
		`{"n":1,"big":-0.09223372036854775e20}`:                  {Part: Part{N: 1}, Big: -9223372036854775000 / 1000 * 1000},
		`{"n":1,"list":[{"n":2.0}],"map":{"k":3e0},"any":[1.0]}`: {Part: Part{N: 1}, List: []Part{{N: 2}}, Map: map[string]int{"k": 3}, Any: []any{1.0}},
	} {
		got = wideInput{}
		if r := call(t, t.Context(), w, input, nil); r.IsError || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %s", input, got, r.Text())
		}
	}
}

func TestErrorsAboutInputAreInTheWordsOfJSON(t *testing.T) {
	w := tool.New("wide", "", func(_ context.Context, in wideInput) (string, error) { return "", nil })
	for input, want := range map[string]string{
		`{"n":"x"}`:                          `n: want an integer, got a string`,
		`{"n":256}`:                          `n: 256 is out of range; want an integer from 0 to 255`,
		`{"n":-1}`:                           `n: -1 is out of range`,
		`{"n":1.25e1}`:                       `n: want an integer, got 1.25e1`,
		`{"n":true}`:                         `n: want an integer, got a boolean`,
		`{"n":null}`:                         `n: want an integer, got null`,
		`{"n":1,"big":9223372036854775808}`:  `big: 9223372036854775808 is out of range; want an integer from -9223372036854775808 to 9223372036854775807`,
		`{"n":1,"f":1e400}`:                  `f: 1e400 is out of range`,
		`{"n":1,"f":[1]}`:                    `f: want a number, got an array`,
		`{"n":1,"any":{"k":[0,1e400]}}`:      `1e400 is out of range`,
		`{"n":1,"list":[{"n":1},{"n":"x"}]}`: `list[1].n: want an integer, got a string`,
		`{"n":1,"list":[{"n":1},{"s":[1]}]}`: `list[1].s[0]: want a string, got a number`,
		`{"n":1,"list":[7]}`:                 `list[0]: want an object, got a number`,
		`{"n":1,"list":[{"q":2}]}`:           `list[0]: unexpected additional properties ["q"]`,
		`{"n":1,"list":[{}]}`:                `list[0]: required: missing properties: ["n"] (the fields are: n, s; case matters)`,
		`{"n":1,"list":[{"n":null}]}`:        `list[0].n: want an integer, got null`,
		`{"n":1,"map":{"k":"x"}}`:            `map.k: want an integer, got a string`,
		`{"n":1,"addr":7}`:                   `addr: want a string, got a number`,
		`{"n":1,"at":7}`:                     `at: want a string, got a number`,
		`{"n":1,"at":"noon"}`:                `at: parsing time "noon"`,
		`{"n":1,"addr":"here"}`:              `addr: `,
		`{"n":1,"data":"?"}`:                 `data: illegal base64 data`,
		`{"n":1,"data":[1]}`:                 `data: want a string in base64, got an array`,
		`{"n":1,"map":null}`:                 `map: want an object, got null`,
		`{"n":1,"text":{"a":" has type \"x\", want \"y\""}}`: `text: want a string, got an object`,
	} {
		err := w.Check(json.RawMessage(input))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", input, err, want)
			continue
		}
		for _, go_ := range []string{"Go ", "struct", "int64", "uint8", "reflect", "Part", "map[", "validating"} {
			if strings.Contains(err.Error(), go_) {
				t.Errorf("%s: %v speaks Go", input, err)
			}
		}
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
