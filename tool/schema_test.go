package tool_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"math/big"
	"net/netip"
	"reflect"
	"strings"
	"testing"
	"time"

	"oneloop/tool"
)

// mode reads one of some words.
type mode string

func (m *mode) UnmarshalJSON(b []byte) error {
	if *m = mode(strings.Trim(string(b), `"`)); *m != "fast" && *m != "slow" {
		return fmt.Errorf("want fast or slow, got %s", b)
	}
	return nil
}

// level is told as a word, and so in lists of it too.
type level uint8

func (l *level) UnmarshalText(b []byte) error {
	*l = level(len(b))
	return nil
}

// span is a number or two of them.
type span struct{ from, to int }

func (s *span) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &s.from) == nil {
		return nil
	}
	return json.Unmarshal(b, &[]*int{&s.from, &s.to})
}

// defaults fills in what is left out.
type defaults struct {
	Limit int `json:"limit,omitempty"`
}

func (d *defaults) UnmarshalJSON(b []byte) error {
	type plain defaults
	d.Limit = 10
	return json.Unmarshal(b, (*plain)(d))
}

type Deep struct{ A, B, C string }

type Tagged struct {
	Own string `json:"B"`
}

type low struct {
	A int `json:"A,omitempty"`
	D int
}

func TestEveryTypeHasTheSchemaOfTheJSONItReads(t *testing.T) {
	for _, c := range []struct {
		of           any
		schema       string
		takes, wrong []string
	}{
		{new(""), `{"type":["null","string"]}`, []string{`null`, `""`}, []string{`1`, `[]`}},
		{[]byte{}, `{"type":["null","string"]}`, []string{`"aGk="`, `null`}, []string{`"a"`, `[104]`}},
		{[2]byte{}, `{"type":"array","items":{"type":"integer","minimum":0,"maximum":255},"minItems":2,"maxItems":2}`, []string{`[1,2]`}, []string{`[1]`, `[1,2,3]`, `null`, `[1,256]`, `"aGk="`}},
		{[]level{}, `{"type":["null","array"],"items":{"type":"string"}}`, []string{`["a"]`}, []string{`"aGk="`, `[1]`}},
		{new(any), `{}`, []string{`null`, `[{"a":1}]`}, []string{`1e400`, `[-1e400]`}},
		{json.RawMessage{}, `{}`, []string{`null`, `1e400`, `{"a":[]}`}, nil},
		{json.Number(""), `{"type":"number"}`, []string{`1`, `1e400`}, []string{`"1"`, `null`}},
		{time.Time{}, `{"type":"string"}`, []string{`"2026-01-02T03:04:05Z"`}, []string{`""`, `0`, `null`}},
		{slog.Level(0), `{"type":"string"}`, []string{`"INFO"`}, []string{`"LOUD"`, `0`}},
		{&netip.Addr{}, `{"type":["null","string"]}`, []string{`"::1"`, `null`}, []string{`"x"`, `{}`}},
		{big.Int{}, `{"type":"integer"}`, []string{`123456789012345678901234567890`}, []string{`"1"`, `1.5`, `1e3`}},
		{mode(""), `{"type":"string"}`, []string{`"fast"`}, []string{`"late"`, `1`}},
		{span{}, `{}`, []string{`1`, `[1,2]`}, []string{`"x"`, `{}`}},
		{defaults{}, `{"type":"object","properties":{"limit":{"type":"integer"}},"additionalProperties":false}`, []string{`{}`, `{"limit":1.0}`}, []string{`{"x":1}`, `{"limit":null}`}},
		{map[string]int8{}, `{"type":"object","additionalProperties":{"type":"integer","minimum":-128,"maximum":127}}`, []string{`{"a":1}`}, []string{`{"a":128}`, `{"a":null}`, `null`}},
		{map[int8]bool{}, `{"type":"object","additionalProperties":{"type":"boolean"}}`, []string{`{"-1":true}`}, []string{`{"x":true}`, `{"200":true}`, `{"1.0":true}`}},
		{map[netip.Addr]any{}, `{"type":"object","additionalProperties":{}}`, []string{`{"::1":1}`}, []string{`{"x":1}`}},
		{uint(0), `{"type":"integer","minimum":0}`, []string{`18446744073709551615`, `1.0e1`}, []string{`-1`, `18446744073709551616`}},
		{float32(0), `{"type":"number"}`, []string{`1e38`, `0`}, []string{`1e39`, `"NaN"`}},
		{struct{}{}, `{"type":"object","properties":{},"additionalProperties":false}`, []string{`{}`}, []string{`{"":1}`, `null`}},
		{struct {
			A int `json:"-"`
			B int `json:"-,"`
			C int `json:"c&d,omitzero" jsonschema:"a = b"`
			d int
		}{d: 1}, `{"type":"object","properties":{"-":{"type":"integer"},"c&d":{"type":"integer","description":"a = b"}},"required":["-"],"additionalProperties":false}`,
			[]string{`{"-":1}`, `{"-":1,"c&d":2}`}, []string{`{"A":1,"-":1}`, `{"-":1,"d":1}`}},
		{struct {
			Tagged `json:"t"`
		}{}, `{"type":"object","properties":{"t":{"type":"object","properties":{"B":{"type":"string"}},"required":["B"],"additionalProperties":false}},"required":["t"],"additionalProperties":false}`,
			[]string{`{"t":{"B":""}}`}, []string{`{"B":""}`}},
		// A of the outer struct hides the others, B with a tag the one without.
		{struct {
			*Deep
			Tagged
			low
			A bool
			N Tagged `json:"n,omitempty"`
		}{}, `{"type":"object","properties":{"C":{"type":"string"},"B":{"type":"string"},"D":{"type":"integer"},"A":{"type":"boolean"},"n":{"type":"object","properties":{"B":{"type":"string"}},"required":["B"],"additionalProperties":false}},"required":["C","B","D","A"],"additionalProperties":false}`,
			[]string{`{"A":true,"B":"","C":"","D":1,"n":{"B":""}}`}, []string{`{"A":1,"B":"","C":"","D":1}`}},
	} {
		text, check, err := tool.Infer(reflect.TypeOf(c.of))
		if err != nil || string(text) != c.schema {
			t.Errorf("%T:\ngot  %s, %v\nwant %s", c.of, text, err, c.schema)
			continue
		}
		for _, in := range c.takes {
			if err := check([]byte(in)); err != nil {
				t.Errorf("%T refuses %s: %v", c.of, in, err)
			}
			if err := tool.Decode([]byte(in), reflect.New(reflect.TypeOf(c.of)).Interface()); err != nil {
				t.Errorf("%T takes %s and cannot read it: %v", c.of, in, err)
			}
		}
		for _, in := range c.wrong {
			if err := check([]byte(in)); err == nil {
				t.Errorf("%T takes %s", c.of, in)
			} else if strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "*") {
				t.Errorf("%T: %s: %v speaks Go", c.of, in, err)
			}
		}
	}
}

type ring struct{ Next []*ring }

type nested struct {
	In struct {
		C chan int
	} `json:"in"`
}

func TestATypeWithoutJSONIsRefusedWithTheFieldThatHasNone(t *testing.T) {
	type self *self
	type Own struct {
		*Own
		X int
	}
	for _, c := range []struct {
		of   any
		want string
	}{
		{ring{}, "field Next: tool_test.ring holds itself"},
		{self(nil), "holds itself"},
		{Own{}, "field Own: it is embedded in itself"},
		{nested{}, "field in: field C: JSON has no form for a chan int"},
		{struct{ F func() }{}, "field F: JSON has no form for a func()"},
		{[]complex64{}, "complex64"},
		{map[string]fmt.Stringer{}, "fmt.Stringer"},
		{map[float64]int{}, "keys of type float64"},
		{struct{ *low }{}, "field low: encoding/json cannot set"},
		{struct {
			N int `json:",string"`
		}{}, "field N: the option string"},
		{struct {
			N int `json:"a\\b"`
		}{}, `no such name as "a\\b"`},
		{struct {
			N int `jsonschema:""`
		}{}, "field N: its jsonschema tag is empty"},
		{struct {
			N int `jsonschema:"description=n"`
		}{}, `begins with "description="`},
	} {
		if _, _, err := tool.Infer(reflect.TypeOf(c.of)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%T: %v, want %q", c.of, err, c.want)
		}
	}
}

func TestAllThatIsWrongIsToldAtOnce(t *testing.T) {
	type part struct {
		N int  `json:"n"`
		B bool `json:"b,omitempty"`
	}
	type input struct {
		Name  string          `json:"name"`
		Parts []part          `json:"parts"`
		By    map[string]part `json:"by,omitempty"`
		Any   any             `json:"any,omitempty"`
	}
	_, check, err := tool.Infer(reflect.TypeFor[input]())
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", 1000)
	for in, want := range map[string]string{
		`{"parts":[{"b":1},{"n":null}],"Name":""}`: `unexpected additional properties ["Name"]; required: missing properties: ["name"] (the fields are: name, parts, by, any; case matters); ` +
			`parts[0]: required: missing properties: ["n"] (the fields are: n, b; case matters); parts[0].b: want true or false, got a number; parts[1].n: want an integer, got null`,
		`{"name":"","parts":null,"by":{"b":[],"a.c":{"n":1.5}}}`: `by.a.c.n: want an integer, got 1.5; by.b: want an object, got an array`,
		`{"name":0,"parts":[` + strings.Repeat(`1,`, 99) + `2]}`: `name: want a string, got a number; ` +
			`parts[0]: want an object, got a number; parts[1]: want an object, got a number; parts[2]: want an object, got a number; parts[3]: want an object, got a number; ` +
			`parts[4]: want an object, got a number; parts[5]: want an object, got a number; parts[6]: want an object, got a number; and more`,
		`{"name":"","parts":[],"` + long + `":1}`:                                   `unexpected additional properties ["` + long[:80] + `"] (the fields are: name, parts, by, any; case matters)`,
		`{"name":"","parts":[{"n":` + strings.Repeat("9", 99) + `}]}`:               `parts[0].n: ` + strings.Repeat("9", 40) + ` is out of range; want an integer from -9223372036854775808 to 9223372036854775807`,
		`{"name":"","parts":[],"any":[[1e400]]}`:                                    `any: 1e400 is out of range; want a number that fits in 64 bits`,
		`{"any":` + strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001) + `}`: `invalid character '[' exceeded max depth`,
		`[]`:        `want an object, got an array`,
		` null`:     `want an object, got null`,
		`{"name":"`: `unexpected end of JSON input`,
		``:          `unexpected end of JSON input`,
	} {
		if err := check([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%.100s:\ngot  %v\nwant %s", in, err, want)
		}
	}
}
