package tool

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop/workspace"
)

// form is what a schema says of the form of an input.
type form struct {
	Type       kindName
	Enum       []string
	Properties map[string]*form
	Required   []string
	Items      *form
}

// kindName is the name of a JSON type. That null does as well is left out:
// the API takes no such input for an absent one, and a model writes none.
type kindName string

func (k *kindName) UnmarshalJSON(data []byte) error {
	var several []string
	if json.Unmarshal(data, &several) != nil {
		return json.Unmarshal(data, (*string)(k))
	}
	for _, one := range several {
		if one != "null" {
			*k = kindName(one)
		}
	}
	return nil
}

// plain leaves only what the type of the input can say, too.
func (f *form) plain() {
	if f == nil {
		return
	}
	if f.Type == "" && len(f.Enum) > 0 {
		f.Type, f.Enum = "string", nil
	}
	slices.Sort(f.Required)
	for _, p := range f.Properties {
		p.plain()
	}
	f.Items.plain()
}

func formOf(t *testing.T, schema []byte) *form {
	t.Helper()
	var f form
	if err := json.Unmarshal(schema, &f); err != nil {
		t.Fatalf("%v in %s", err, schema)
	}
	f.plain()
	return &f
}

// TestSchemasAgreeWithTheInputsTheyAreReadInto holds those that are written by
// hand against those that the types give.
func TestSchemasAgreeWithTheInputsTheyAreReadInto(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		input  any
	}{
		"Bash":            {bashSchema, bashInput{}},
		"Bash alone":      {strings.Replace(bashSchema, backgroundField, "", 1), bashInput{}},
		"TaskStop":        {stopSchema, stopInput{}},
		"Read":            {readSchema, readInput{}},
		"Write":           {writeSchema, writeInput{}},
		"Edit":            {editSchema, editInput{}},
		"Glob":            {globSchema, globInput{}},
		"Grep":            {grepSchema, grepInput{}},
		"WebFetch":        {fetchSchema, fetchInput{}},
		"AskUserQuestion": {choiceSchema, choiceInput{}},
		"TodoWrite":       {todoSchema, todoInput{}},
		"ExitPlanMode":    {planSchema, planInput{}},
	} {
		inferred, _, err := Infer(reflect.TypeOf(c.input))
		if err != nil {
			t.Fatal(err)
		}
		want, got := formOf(t, inferred), formOf(t, []byte(c.schema))
		switch name {
		case "Bash alone":
			delete(want.Properties, "run_in_background") // it is not offered
		case "TodoWrite": // what models add is taken and not asked for
			for _, added := range []string{"activeForm", "id", "priority"} {
				delete(want.Properties["todos"].Items.Properties, added)
			}
		case "Edit": // its description says what is in it, which is shorter
			if got.Properties["edits"].Items.Properties == nil {
				want.Properties["edits"].Items = &form{Type: "object"}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: the type and the schema differ:\n%s", name, diff)
		}
	}
}

func TestWhoLooksForACommandsTemporaryFileIsToldWhereItIs(t *testing.T) {
	for _, c := range []struct {
		sandbox, name string
		says          string
	}{{"ns", "/tmp/out.txt", "with a command (cat, sed -n)"}, {"ns", os.TempDir() + "/x", "with a command"}, {"none", "/tmp/out.txt", "--add-dir"}, {"ns", "/tmpx", "--add-dir"}, {"ns", "../x", "--add-dir"}} {
		if got := elsewhere(workspace.Info{Sandbox: c.sandbox}, c.name); !strings.Contains(got, c.says) {
			t.Errorf("%+v: %s", c, got)
		}
	}
}
