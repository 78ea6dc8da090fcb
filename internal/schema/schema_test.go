package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"pgregory.net/rapid"

	"oneloop/internal/schema"
)

func check(t testing.TB, text, value string) string {
	t.Helper()
	s, err := schema.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	problems, err := s.Check([]byte(value))
	if err != nil {
		t.Fatalf("%s: %v", value, err)
	}
	var all []string
	for _, p := range problems {
		all = append(all, p.String())
	}
	return strings.Join(all, "; ")
}

func TestWhatDoesNotFitIsSaidWithItsPlace(t *testing.T) {
	for _, x := range []struct{ schema, value, want string }{
		{`true`, `1`, ""},
		{`false`, `1`, "the value must not be there"},
		{`{"type":"string"}`, `1`, "the value must be a string and is a number"},
		{`{"type":["integer","null"]}`, `1.5`, "the value must be an integer or null and is a number"},
		{`{"type":"integer"}`, `1.0e2`, ""},
		{`{"type":"integer"}`, `1e-2`, "the value must be an integer and is a number"},
		{`{"enum":["a",1]}`, `1.0`, ""},
		{`{"enum":["a",1]}`, `"b"`, `the value must be "a" or 1 and is "b"`},
		{`{"const":{"a":[1,2],"b":null}}`, `{"b":null,"a":[1,2.0]}`, ""},
		{`{"const":1,"enum":[2]}`, `1`, "the value must not be there"},
		{`{"minimum":1,"exclusiveMaximum":2}`, `2`, "the value must be less than 2 and is 2"},
		{`{"minimum":0.1}`, `0.09999999999999999999999`, "the value must be at least 0.1 and is 0.09999999999999999999999"},
		{`{"maximum":9007199254740992}`, `9007199254740993`, "the value must be at most 9007199254740992 and is 9007199254740993"},
		{`{"multipleOf":0.01}`, `19.99`, ""},
		{`{"multipleOf":0.01}`, `19.999`, "the value must be a multiple of 0.01 and is 19.999"},
		{`{"multipleOf":3}`, `1e999999999999`, "the value must be a multiple of 3 and is 1e999999999999"},
		{`{"minLength":2}`, `"é"`, "the value must have at least 2 characters and has 1"},
		{`{"maxLength":1}`, `"你好"`, "the value must have at most 1 character and has 2"},
		{`{"pattern":"^a+$"}`, `"ab"`, `the value must match ^a+$ and is "ab"`},
		{`{"items":{"type":"string"},"maxItems":1}`, `["a",1]`, "the value must have at most 1 item and has 2; /1 must be a string and is a number"},
		{`{"prefixItems":[{"type":"string"}],"items":false}`, `["a",1]`, "/1 must not be there"},
		{`{"items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, "/1 must not be there"},
		{`{"additionalItems":false}`, `["a",1]`, ""},
		{`{"uniqueItems":true}`, `[1,"1",1.0]`, "/2 is there twice"},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, "the value must have at most 1 item of the kind asked for and has 2"},
		{`{"contains":{"const":1},"minContains":0}`, `[]`, ""},
		{`{"contains":{"const":1}}`, `[2]`, "the value must have at least 1 item of the kind asked for and has 0"},
		{`{"required":["a","b"]}`, `{"a":1}`, `the value must have the field "b"`},
		{`{"properties":{"a/b":{"type":"string"}}}`, `{"a/b":1,"c":2}`, "/a~1b must be a string and is a number"},
		{`{"properties":{"a":{}},"patternProperties":{"^x":{"type":"null"}},"additionalProperties":false}`, `{"a":1,"x1":2,"y":3}`, "/x1 must be null and is a number; /y must not be there"},
		{`{"propertyNames":{"maxLength":1}}`, `{"ab":1}`, "/ab has a name that must have at most 1 character and has 2"},
		{`{"minProperties":1}`, `{}`, "the value must have at least 1 field and has 0"},
		{`{"dependentRequired":{"a":["b"]}}`, `{"a":1}`, `the value must have the field "b" beside "a"`},
		{`{"dependencies":{"a":["b"]},"dependentSchemas":{"a":{"required":["c"]}}}`, `{"a":1}`, `the value must have the field "b" beside "a"; the value must have the field "c"`},
		{`{"anyOf":[{"type":"string"},{"properties":{"a":{"type":"string"}},"type":"object"}]}`, `{"a":1}`, "/a must be a string and is a number (of 2 forms none fits)"},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, "the value must fit one of 2 forms and fits 2"},
		{`{"not":{"type":"string"}}`, `"a"`, "the value is of a form that it must not have"},
		{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"const":1}}`, `"ab"`, "the value must have at most 1 character and has 2"},
		{`{"if":{"type":"string"},"then":{"maxLength":1},"else":{"const":1}}`, `2`, "the value must be 1 and is 2"},
		{`{"$defs":{"node":{"properties":{"next":{"$ref":"#/$defs/node"},"n":{"type":"integer"}}}},"$ref":"#/$defs/node"}`, `{"next":{"next":{"n":"x"}}}`, "/next/next/n must be an integer and is a string"},
		{`{"$ref":"#","type":"object"}`, `1`, "the value must be an object and is a number"},
		{`{"definitions":{"a b":{"type":"string"}},"$ref":"#/definitions/a%20b"}`, `1`, "the value must be a string and is a number"},
		{`{"format":"date","title":"x","x-own":1}`, `"no date"`, ""},
	} {
		if got := check(t, x.schema, x.value); got != x.want {
			t.Errorf("%s against %s:\ngot  %s\nwant %s", x.value, x.schema, got, x.want)
		}
	}
}

func TestASchemaThatCannotBeUsedIsRefusedWithThePlace(t *testing.T) {
	for text, want := range map[string]string{
		`{"type":"strng"}`:                     `the schema, at #/type: strng is no type; those are null, boolean`,
		`{`:                                    `the schema is no JSON: `,
		`{} {}`:                                `something follows`,
		`[]`:                                   `at #: a schema is an object`,
		`{"properties":{"a":{"minimum":"1"}}}`: `at #/properties/a/minimum: it is a number`,
		`{"maxLength":-1}`:                     `at #/maxLength: it is a whole number`,
		`{"pattern":"(?=a)"}`:                  `at #/pattern: the pattern cannot be used`,
		`{"$ref":"other.json"}`:                `at #/$ref: other.json is not in the form #/`,
		`{"$ref":"#/$defs/no"}`:                `at #/$ref: there is no #/$defs/no`,
		`{"unevaluatedProperties":false}`:      `at #/unevaluatedProperties: unevaluatedProperties is not known here`,
		`{"properties":{"a":{"$id":"x"}}}`:     `at #/properties/a/$id: a part with an address of its own`,
		`{"enum":[]}`:                          `at #/enum: the values are a list`,
		`{"multipleOf":0}`:                     `at #/multipleOf: it is more than 0`,
		`{"required":"a"}`:                     `at #/required: it is a list of names`,
		`{"allOf":[]}`:                         `at #/allOf: it is a list of one or more`,
		`{"items":{"anyOf":[{"type":"object"},"object"]}}`: `at #/items/anyOf/1: a schema is an object`,
	} {
		if _, err := schema.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// drawn is a schema of depth levels.
func drawn(t *rapid.T, depth int) any {
	values := []any{nil, true, false, 0, 1, 2, -1, 1.5, 10, "", "a", "ab", "é", []any{}, []any{1}, map[string]any{}, map[string]any{"a": 1}}
	s := map[string]any{}
	sub := func() any {
		if depth == 0 {
			return rapid.SampledFrom([]any{true, false, map[string]any{"type": "string"}, map[string]any{"minimum": 1}}).Draw(t, "leaf")
		}
		return drawn(t, depth-1)
	}
	list := func() []any { return []any{sub(), sub()} }
	n := func(what string) any { return rapid.IntRange(0, 2).Draw(t, what) }
	for range rapid.IntRange(1, 3).Draw(t, "keywords") {
		switch key := rapid.SampledFrom([]string{
			"type", "types", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
			"minItems", "maxItems", "uniqueItems", "items", "prefixItems", "contains", "minContains", "maxContains", "properties", "patternProperties",
			"additionalProperties", "propertyNames", "required", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
			"allOf", "anyOf", "oneOf", "not", "if", "$ref",
		}).Draw(t, "keyword"); key {
		case "type":
			s[key] = rapid.SampledFrom([]string{"null", "boolean", "object", "array", "number", "integer", "string"}).Draw(t, key)
		case "types":
			s["type"] = []string{rapid.SampledFrom([]string{"null", "integer", "object"}).Draw(t, key), "string"}
		case "enum":
			s[key] = []any{rapid.SampledFrom(values).Draw(t, key), rapid.SampledFrom(values).Draw(t, key)}
		case "const":
			s[key] = rapid.SampledFrom(values).Draw(t, key)
		case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
			s[key] = rapid.SampledFrom([]float64{-1, 0, 1, 1.5, 2}).Draw(t, key)
		case "multipleOf":
			s[key] = rapid.SampledFrom([]float64{0.5, 1, 2, 5}).Draw(t, key)
		case "pattern":
			s[key] = rapid.SampledFrom([]string{"^a", "b", "é$"}).Draw(t, key)
		case "uniqueItems":
			s[key] = true
		case "items", "contains", "additionalProperties", "propertyNames", "not":
			s[key] = sub()
		case "prefixItems", "allOf", "anyOf", "oneOf":
			s[key] = list()
		case "properties", "dependentSchemas":
			s[key] = map[string]any{"a": sub(), "b": sub()}
		case "patternProperties":
			s[key] = map[string]any{"^a": sub()}
		case "required":
			s[key] = []string{"a"}
		case "dependentRequired":
			s[key] = map[string]any{"a": []string{"b"}}
		case "if":
			s["if"], s["then"], s["else"] = sub(), sub(), sub()
		case "$ref":
			s[key] = "#/$defs/d"
		default:
			s[key] = n(key)
		}
	}
	return s
}

func drawnValue(t *rapid.T, depth int) any {
	leaves := []any{nil, true, false, 0, 1, 2, -1, 1.5, 10, "", "a", "ab", "é"}
	switch rapid.IntRange(0, 4).Draw(t, "shape") {
	case 0:
		if depth > 0 {
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				list = append(list, drawnValue(t, depth-1))
			}
			return list
		}
	case 1, 2:
		if depth > 0 {
			object := map[string]any{}
			for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ab", "é"}), 0, 3).Draw(t, "names") {
				object[name] = drawnValue(t, depth-1)
			}
			return object
		}
	}
	return rapid.SampledFrom(leaves).Draw(t, "leaf")
}

// TestTheSameFitsAsForALibrary holds it against one that the program does not
// link.
func TestTheSameFitsAsForALibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := map[string]any{"allOf": []any{drawn(t, 2)}, "$defs": map[string]any{"d": drawn(t, 0)}}
		delete(top["$defs"].(map[string]any)["d"].(map[string]any), "$ref")
		text, err := json.Marshal(top)
		if err != nil {
			t.Fatal(err)
		}
		var theirs jsonschema.Schema
		if err := json.Unmarshal(text, &theirs); err != nil {
			t.Skip(err)
		}
		resolved, err := theirs.Resolve(nil)
		if err != nil {
			t.Skip(err)
		}
		ours, err := schema.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		for range 4 {
			value, err := json.Marshal(drawnValue(t, 2))
			if err != nil {
				t.Fatal(err)
			}
			var v any
			if err := json.Unmarshal(value, &v); err != nil {
				t.Fatal(err)
			}
			problems, err := ours.Check(value)
			if err != nil {
				t.Fatal(err)
			}
			if err := resolved.Validate(v); (err == nil) != (len(problems) == 0) {
				t.Fatalf("%s against %s: %v, and for the library %v", value, text, problems, err)
			}
		}
	})
}

func TestNumbersOfAnySizeAreCompared(t *testing.T) {
	for _, big := range []string{"1e400", "123456789012345678901234567890", "1e99999999999"} {
		for _, x := range []struct{ schema, value string }{
			{fmt.Sprintf(`{"minimum":%s}`, big), big}, {fmt.Sprintf(`{"const":%s}`, big), big}, {`{"type":"integer"}`, big}, {`{"exclusiveMinimum":1}`, big},
			{fmt.Sprintf(`{"exclusiveMaximum":-1e3,"minimum":-%s}`, big), "-" + big},
		} {
			if got := check(t, x.schema, x.value); got != "" {
				t.Errorf("%s against %s: %s", x.value, x.schema, got)
			}
		}
	}
}
