package rawjson_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"oneloop/internal/rawjson"

	"github.com/google/go-cmp/cmp"
)

func TestFieldsAndItemsAreExactSlicesOfTheInput(t *testing.T) {
	v := rawjson.Parse([]byte(" { \"a\" : [1 , {\"b\":\"]}\\\\\\\"\"},\"x\"] ,\"k\\u0065y\":2.0,\"n\":null,\"a\":{ }} \n"))
	got := []string{}
	for k, f := range v.Fields() {
		got = append(got, string(k)+"="+string(f))
	}
	want := []string{`a=[1 , {"b":"]}\\\""},"x"]`, "key=2.0", "n=null", "a={ }"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if f := v.Field("a"); string(f) != "{ }" {
		t.Errorf("the last of two fields with one name is %s", f)
	}
	if v.Field("none") != nil || !v.Field("n").IsNull() || !v.Field("none").IsNull() {
		t.Error("a field that is null or not there")
	}
	got = nil
	for item := range rawjson.Parse([]byte(`[1 ,"a,b", [ ] , {"x":[1]}]`)).Items() {
		got = append(got, string(item))
	}
	if d := cmp.Diff([]string{"1", `"a,b"`, "[ ]", `{"x":[1]}`}, got); d != "" {
		t.Error(d)
	}
}

func TestWithChangesOnlyTheNamedFields(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"type":"text", "text" : "" ,"z":[ 1]}`, `{"type":"text", "text" : "new" ,"z":[ 1],"c":[]}`},
		{`{ }`, `{ "text":"new","c":[]}`},
		{`{"c":1}`, `{"c":[],"text":"new"}`},
		{"{\"a\":{\"text\":1}\n}", "{\"a\":{\"text\":1}\n,\"text\":\"new\",\"c\":[]}"},
	} {
		got := rawjson.Parse([]byte(c.in)).With(rawjson.Edit{Name: "text", Value: []byte(`"new"`)}, rawjson.Edit{Name: "c", Value: []byte("[]")})
		if string(got) != c.want {
			t.Errorf("%s\ngot  %s\nwant %s", c.in, got, c.want)
		}
	}
}

func TestIntTakesWholeNumbersOnly(t *testing.T) {
	for in, want := range map[string]int64{"7": 7, "-7": -7, "12.0": 12, "1e3": 1000} {
		if n, ok := rawjson.Value(in).Int(); !ok || n != want {
			t.Errorf("%s: %d, %v", in, n, ok)
		}
	}
	for _, in := range []string{"1.5", `"7"`, "null", "true", "1e300", "99999999999999999999", "{}", ""} {
		if n, ok := rawjson.Value(in).Int(); ok {
			t.Errorf("%s: %d", in, n)
		}
	}
}

func FuzzWalkingAgreesWithEncodingJSON(f *testing.F) {
	f.Add([]byte(`{"a":[{"b":"\"]"},1.5e3,true],"c":"\ud83d\ude00\\","":null}`))
	f.Add([]byte(" [ [ ] , { } , \"\\\\\" ]"))
	f.Fuzz(func(t *testing.T, in []byte) {
		v := rawjson.Parse(in)
		if v == nil {
			return
		}
		var want any
		if err := decode(v, &want); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, rebuild(t, v)); d != "" {
			t.Error(d)
		}
		if clean := rawjson.Clean(v); !json.Valid(clean) || !utf8.Valid(clean) {
			t.Errorf("Clean gives %q", clean)
		} else if d := cmp.Diff(want, rebuild(t, clean)); d != "" {
			t.Errorf("Clean changes what is said:\n%s", d)
		}
	})
}

func decode(data []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(into)
}

// rebuild reads a value with nothing but this package's walking.
func rebuild(t *testing.T, v rawjson.Value) any {
	switch v[0] {
	case '{':
		m := map[string]any{}
		for k, f := range v.Fields() {
			m[string(k)] = rebuild(t, f)
		}
		return m
	case '[':
		s := []any{}
		for item := range v.Items() {
			s = append(s, rebuild(t, item))
		}
		return s
	case '"':
		return v.Text()
	}
	var x any
	if err := decode(v, &x); err != nil {
		t.Fatalf("%q: %v", v, err)
	}
	return x
}

func FuzzPiecesGiveTheTextOfTheWhole(f *testing.F) {
	f.Add(`a\ud83d`, `\ude00b`, "\xe4\xbd", "\xa0")
	f.Add(`\\ud83d`, `\ude00`, `\ud83d`, `x`)
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		var p rawjson.Pieces
		var got strings.Builder
		for _, piece := range []string{a, b, c, d} {
			if !json.Valid([]byte(`"` + piece + `"`)) {
				return
			}
			got.WriteString(p.Next([]byte(piece)))
		}
		got.WriteString(p.Rest())
		var want string
		if err := json.Unmarshal([]byte(`"`+a+b+c+d+`"`), &want); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Errorf("%q, want %q", got.String(), want)
		}
	})
}
