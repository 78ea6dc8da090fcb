package tool_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"oneloop/tool"
)

// jsonschema-go is well kept, but makes tables before main. What it takes must
// fit in the Go type too: that is part of our check.
func TestAnotherInferenceOfSchemasAgrees(t *testing.T) {
	taken, refused := 0, 0
	rapid.Check(t, func(r *rapid.T) {
		typ := anyStruct(r, 3)
		text, check, err := tool.Infer(typ)
		if err != nil {
			r.Fatal(err)
		}
		other, err := jsonschema.ForType(typ, nil)
		if err != nil {
			r.Fatal(err)
		}
		want, err := json.Marshal(other)
		if err != nil {
			r.Fatal(err)
		}
		// encoding/json writes what is safe inside HTML.
		want = bytes.ReplaceAll(bytes.ReplaceAll(want, []byte(`\u003c`), []byte("<")), []byte(`\u003e`), []byte(">"))
		// Some APIs want an object where JSON Schema has true, and properties
		// also where there are none.
		want = bytes.ReplaceAll(want, []byte(":true"), []byte(":{}"))
		none := []byte(`"properties":{},`)
		if !bytes.Equal(bytes.ReplaceAll(text, none, nil), bytes.ReplaceAll(want, none, nil)) {
			r.Fatalf("%v:\ngot  %s\nwant %s", typ, text, want)
		}
		resolved, err := other.Resolve(nil)
		if err != nil {
			r.Fatal(err)
		}
		for range 5 {
			in := []byte(anyJSON(r, typ, 2))
			var value any
			wrong := json.Unmarshal(in, &value)
			if wrong == nil {
				wrong = resolved.Validate(value)
			}
			if wrong == nil {
				wrong = tool.Decode(in, reflect.New(typ).Interface())
			}
			if got := check(in); (got == nil) != (wrong == nil) {
				r.Fatalf("%v: %s\ngot  %v\nwant %v", typ, in, got, wrong)
			}
			if wrong == nil {
				taken++
			} else {
				refused++
			}
			for _, word := range []string{"Go ", "struct", "int64", "uint", "reflect", "map[", "interface"} {
				if err := check(in); err != nil && strings.Contains(err.Error(), word) {
					r.Fatalf("%v: %s: %v speaks Go", typ, in, err)
				}
			}
			part := in[:rapid.IntRange(0, len(in)-1).Draw(r, "part")]
			if check(part) == nil && !json.Valid(part) {
				r.Fatalf("%v: %s is taken", typ, part)
			}
		}
	})
	if taken < 50 || refused < 50 {
		t.Errorf("%d were taken and %d refused: that compares little", taken, refused)
	}
}

// anyType draws a type that both inferences know.
func anyType(r *rapid.T, depth int) reflect.Type {
	plain := []reflect.Type{
		reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[any](), reflect.TypeFor[float32](), reflect.TypeFor[float64](),
		reflect.TypeFor[int](), reflect.TypeFor[int8](), reflect.TypeFor[int16](), reflect.TypeFor[int32](), reflect.TypeFor[int64](),
		reflect.TypeFor[uint](), reflect.TypeFor[uint8](), reflect.TypeFor[uint16](), reflect.TypeFor[uint32](), reflect.TypeFor[uint64](),
	}
	kinds := []string{"plain"}
	if depth > 0 {
		kinds = []string{"plain", "plain", "slice", "array", "map", "pointer", "struct"}
	}
	switch rapid.SampledFrom(kinds).Draw(r, "kind") {
	case "slice":
		if elem := anyType(r, depth-1); elem.Kind() != reflect.Uint8 { // bytes are read from base64, which the other does not know
			return reflect.SliceOf(elem)
		}
		return reflect.TypeFor[[]string]()
	case "array":
		return reflect.ArrayOf(rapid.IntRange(0, 2).Draw(r, "length"), anyType(r, depth-1))
	case "map":
		return reflect.MapOf(reflect.TypeFor[string](), anyType(r, depth-1))
	case "pointer":
		return reflect.PointerTo(anyType(r, depth-1))
	case "struct":
		return anyStruct(r, depth)
	}
	return rapid.SampledFrom(plain).Draw(r, "type")
}

func anyStruct(r *rapid.T, depth int) reflect.Type {
	var fields []reflect.StructField
	for i := range rapid.IntRange(0, 4).Draw(r, "fields") {
		tags := []string{``, `json:"-"`, `json:",omitempty"`, `json:"n%d"`, `json:"n%d,omitzero"`, `json:"n%d" jsonschema:"what <it> means"`}
		tag := strings.ReplaceAll(rapid.SampledFrom(tags).Draw(r, "tag"), "%d", fmt.Sprint(i))
		fields = append(fields, reflect.StructField{Name: fmt.Sprintf("F%d", i), Type: anyType(r, depth-1), Tag: reflect.StructTag(tag)})
	}
	return reflect.StructOf(fields)
}

// anyJSON draws JSON that mostly is what t is read from.
func anyJSON(r *rapid.T, t reflect.Type, depth int) string {
	if rapid.IntRange(0, 30).Draw(r, "other") == 0 {
		t = rapid.SampledFrom([]reflect.Type{reflect.TypeFor[bool](), reflect.TypeFor[string](), reflect.TypeFor[int](), reflect.TypeFor[*int](), reflect.TypeFor[[]int](), reflect.TypeFor[map[string]int]()}).Draw(r, "type")
	}
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n\t"}).Draw(r, "space")
	var parts []string
	switch t.Kind() {
	case reflect.Bool:
		return space + rapid.SampledFrom([]string{"true", "false"}).Draw(r, "bool")
	case reflect.String:
		return space + rapid.SampledFrom([]string{`""`, `"a\"1.0"`, `"\u4e2d"`, `"1e3"`, `"null"`}).Draw(r, "string")
	case reflect.Interface:
		if depth == 0 {
			return "null"
		}
		return anyJSON(r, anyType(r, 1), depth-1)
	case reflect.Pointer:
		if rapid.IntRange(0, 2).Draw(r, "null") == 0 {
			return space + "null"
		}
		return anyJSON(r, t.Elem(), depth)
	case reflect.Slice, reflect.Array:
		n := rapid.IntRange(0, 2).Draw(r, "items")
		if t.Kind() == reflect.Array && rapid.IntRange(0, 9).Draw(r, "wrong") > 0 {
			n = t.Len()
		}
		for range n {
			parts = append(parts, anyJSON(r, t.Elem(), depth))
		}
		return space + "[" + strings.Join(parts, ",") + "]"
	case reflect.Map:
		for i := range rapid.IntRange(0, 2).Draw(r, "entries") {
			parts = append(parts, fmt.Sprintf(`"k%d":%s`, i, anyJSON(r, t.Elem(), depth)))
		}
		return "{" + strings.Join(parts, ",") + space + "}"
	case reflect.Struct:
		for i := range t.NumField() {
			name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
			if name == "" {
				name = t.Field(i).Name
			}
			n := rapid.IntRange(0, 40).Draw(r, "name")
			if n == 0 || name == "-" && n > 2 {
				continue
			}
			if n == 1 {
				name = strings.ToLower(name)
			}
			parts = append(parts, fmt.Sprintf(`"%s":%s`, name, anyJSON(r, t.Field(i).Type, depth)))
		}
		return "{" + space + strings.Join(parts, ",") + "}"
	}
	numbers := []string{"0", "1", "1.0", "1e1", "7", "100"}
	if rapid.IntRange(0, 9).Draw(r, "odd") == 0 {
		numbers = []string{"-1", "-0", "-0.0", "1.5", "127", "128", "-129", "255", "256", "32768", "65536", "2147483647", "2147483648", "4294967296",
			"9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616", "1e19", "1e39", "1e-400", "1e400", "10e-1", "0.1e1"}
	}
	return space + rapid.SampledFrom(numbers).Draw(r, "number")
}
