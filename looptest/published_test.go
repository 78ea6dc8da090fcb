package looptest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"oneloop/looptest/script"
)

// What vendors publish about the requests they take, by the module it comes
// in. Nothing of it is kept in this repository: it is read from the module
// cache, and fetched into it where ONELOOP_SCHEMAS is "fetch".
const (
	anthropicModule = "github.com/anthropics/anthropic-sdk-go/v2@v2.15.0" // the OpenAPI document
	openAIModule    = "github.com/openai/openai-go/v3@v3.99.0"            // types made from the OpenAPI document
	geminiModule    = "google.golang.org/genai@v1.77.0"                   // types made from the discovery document
	ollamaModule    = "github.com/ollama/ollama@v0.17.4"                  // the types that the server reads into
)

// published is the folder of a module, empty when it is not here.
func published(module string) string {
	dir, err := os.MkdirTemp("", "published")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "GO111MODULE=on")
	if os.Getenv("ONELOOP_SCHEMAS") != "fetch" {
		cmd.Env = append(cmd.Env, "GOPROXY=off")
	}
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if err != nil || json.Unmarshal(out, &got) != nil || got.Dir == "" {
		fmt.Fprintf(os.Stderr, "SCHEMA CHECK DID NOT RUN: %s is not in the module cache; set ONELOOP_SCHEMAS=fetch to have it fetched\n", module)
		return ""
	}
	return got.Dir
}

// checker says what is wrong with the body of a request; nil: nobody knows.
type checker func(body []byte) []string

// seen makes the function that a subject tells of its requests. The same body
// is looked at once.
func seen(check func() checker) func(testing.TB, script.Request) {
	var fine sync.Map
	return func(t testing.TB, r script.Request) {
		t.Helper()
		if _, ok := fine.Load(string(r.Body)); ok {
			return
		}
		c := check()
		if c == nil || bytes.Contains(r.Body, []byte("hologram")) { // that one is of our own making
			return
		}
		found := c(r.Body)
		if len(found) == 0 {
			fine.Store(string(r.Body), true)
		}
		for _, problem := range found {
			t.Errorf("the vendor's schema refuses the request: %s\n%s", problem, r.Body)
		}
	}
}

var (
	checkAnthropic = sync.OnceValue(func() checker {
		dir := published(anthropicModule)
		if dir == "" {
			return nil
		}
		return openAPI(filepath.Join(dir, "scripts", "mock-spec.json.gz"), "CreateMessageParams")
	})
	checkChat      = sync.OnceValue(func() checker { return openAITypes("openai.ChatCompletionNewParams", "stream bool") })
	checkResponses = sync.OnceValue(func() checker { return openAITypes("responses.ResponseNewParams", "stream bool") })
	checkGemini    = sync.OnceValue(func() checker {
		dir := published(geminiModule)
		if dir == "" {
			return nil
		}
		g := newGoTypes()
		g.file(filepath.Join(dir, "types.go"), nil)
		g.file("request.go", `package genai
type request struct {
	Contents []*Content          `+"`json:\"contents\" api:\"required\"`"+`
	SystemInstruction *Content   `+"`json:\"systemInstruction\"`"+`
	Tools []*Tool                `+"`json:\"tools\"`"+`
	ToolConfig *ToolConfig       `+"`json:\"toolConfig\"`"+`
	Safety []*SafetySetting      `+"`json:\"safetySettings\"`"+`
	Config *GenerationConfig     `+"`json:\"generationConfig\"`"+`
	CachedContent string         `+"`json:\"cachedContent\"`"+`
}`)
		return g.checker("genai.request")
	})
	checkOllama = sync.OnceValue(func() checker {
		dir := published(ollamaModule)
		if dir == "" {
			return nil
		}
		g := newGoTypes()
		g.file(filepath.Join(dir, "api", "types.go"), nil)
		for _, name := range []string{"Duration", "ThinkValue", "PropertyType", "ToolPropertiesMap", "ToolCallFunctionArguments"} {
			g.types["api."+name] = goType{ast.NewIdent("any"), "api"} // these read themselves
		}
		g.types["api.ToolFunctionParameters"] = goType{ast.NewIdent("any"), "api"} // what it does not know of a JSON Schema it leaves out
		return g.checker("api.ChatRequest")
	})
)

func TestPublishedSchemasRefuseWhatIsNotInThem(t *testing.T) {
	for _, c := range []struct {
		name       string
		check      func() checker
		good, more string
	}{
		{"Messages", checkAnthropic, `{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"hi"}]}`, `"zebra":1`},
		{"Chat Completions", checkChat, `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"},{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{}"}}]}]}`, `"zebra":1`},
		{"Responses", checkResponses, `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]},{"type":"function_call","call_id":"a","name":"x","arguments":"{}"}]}`, `"zebra":1`},
		{"Gemini", checkGemini, `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":5}}`, `"zebra":1`},
		{"Ollama", checkOllama, `{"model":"m","messages":[{"role":"user","content":"hi","images":["AAAA"]}],"options":{"num_ctx":5}}`, `"zebra":1`},
	} {
		check := c.check()
		if check == nil {
			continue
		}
		if found := check([]byte(c.good)); len(found) > 0 {
			t.Errorf("%s: %s is refused: %v", c.name, c.good, found)
		}
		for at, r := range c.good { // into every object
			if r == '{' && c.good[at+1] != '}' {
				bad := c.good[:at+1] + c.more + "," + c.good[at+1:]
				if found := check([]byte(bad)); len(found) == 0 && !strings.HasPrefix(c.good[at:], `{"num_ctx`) {
					t.Errorf("%s takes %s", c.name, bad)
				}
			}
		}
	}
}

func TestGoTypesDescribeJSON(t *testing.T) {
	g := newGoTypes()
	g.file("x.go", `package x
type Root struct {
	Name param.Opt[string] `+"`json:\"name,omitzero\"`"+`
	Kind constant.Text     `+"`json:\"kind\" default:\"text\"`"+`
	List []Either          `+"`json:\"list\" api:\"required\"`"+`
	Word Word              `+"`json:\"word\"`"+`
	Any  map[string]any    `+"`json:\"any\"`"+`
	N    *int64            `+"`json:\"n\"`"+`
}
type Either struct {
	OfText param.Opt[string] `+"`json:\",omitzero,inline\"`"+`
	OfRoot *Root             `+"`json:\",omitzero,inline\"`"+`
}
type Word string
const A Word = "a"
`)
	check := g.checker("x.Root")
	for _, c := range []struct{ body, want string }{
		{`{"kind":"text","list":[]}`, ""},
		{`{"kind":"text","list":["x",{"kind":"text","list":[]}],"word":"a","any":{"z":1},"n":null,"name":null}`, ""},
		{`{"list":[]}`, "body.kind is required"},
		{`{"kind":"image","list":[]}`, `body.kind is not "text"`},
		{`{"kind":"text"}`, "body.list is required"},
		{`{"kind":"text","list":[5]}`, "body.list[0] is no"},
		{`{"kind":"text","list":[{"kind":"text","list":[],"z":1}]}`, `body.list[0] has no "z"`},
		{`{"kind":"text","list":[],"word":"b"}`, "body.word is no word of Word"},
		{`{"kind":"text","list":[],"n":1.5}`, "body.n is no number"},
		{`{"kind":"text","list":[],"name":1}`, "body.name is no text"},
		{`{"kind":"text","list":[],"any":[]}`, "body.any is no object"},
		{`[]`, "body is no object"},
	} {
		got := strings.Join(check([]byte(c.body)), "; ")
		if c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
			t.Errorf("%s: %q, want %q", c.body, got, c.want)
		}
	}
}

// openAPI checks against a schema of an OpenAPI document.
func openAPI(file, name string) checker {
	f, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		panic(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		panic(err)
	}
	text = bytes.ReplaceAll(text, []byte("#/components/schemas/"), []byte("#/$defs/"))
	text = regexp.MustCompile(`\\\\u([0-9a-fA-F]{4})`).ReplaceAll(text, []byte(`\\x{$1}`)) // as Go writes it
	var doc struct {
		Components struct{ Schemas map[string]json.RawMessage }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		panic(err)
	}
	whole, err := json.Marshal(map[string]any{"$defs": reached(doc.Components.Schemas, name), "$ref": "#/$defs/" + name})
	if err != nil {
		panic(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(whole, &s); err != nil {
		panic(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		panic(err)
	}
	return func(body []byte) []string {
		var v any
		if err := json.Unmarshal(body, &v); err != nil {
			return []string{err.Error()}
		}
		if err := resolved.Validate(v); err != nil {
			return []string{err.Error()}
		}
		return nil
	}
}

// reached are the schemas that one needs.
func reached(all map[string]json.RawMessage, name string) map[string]json.RawMessage {
	out := map[string]json.RawMessage{}
	ref := regexp.MustCompile(`"#/\$defs/([^"]+)"`)
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		if _, ok := out[todo[0]]; ok {
			continue
		}
		out[todo[0]] = all[todo[0]]
		for _, m := range ref.FindAllSubmatch(all[todo[0]], -1) {
			todo = append(todo, string(m[1]))
		}
	}
	return out
}

func openAITypes(root, extra string) checker {
	dir := published(openAIModule)
	if dir == "" {
		return nil
	}
	g := newGoTypes()
	for _, pattern := range []string{"chatcompletion.go", "aliases.go", "responses/response.go", "responses/aliases.go", "shared/shared.go", "shared/union.go"} {
		if path := filepath.Join(dir, pattern); exists(path) {
			g.file(path, nil)
		}
	}
	g.beside[root] = extra
	return g.checker(root)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// goTypes are types read from Go source, as descriptions of JSON.
type goTypes struct {
	types  map[string]goType   // by package and name
	values map[string][]string // of types that are lists of words
	beside map[string]string   // keys that a type has, too, with their kind
}

type goType struct {
	expr ast.Expr
	in   string // its package
}

func newGoTypes() *goTypes {
	return &goTypes{map[string]goType{}, map[string][]string{}, map[string]string{}}
}

// file reads a file; src, when it is not nil, is what stands in it.
func (g *goTypes) file(path string, src any) {
	f, err := parser.ParseFile(token.NewFileSet(), path, src, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range gen.Specs {
			switch spec := spec.(type) {
			case *ast.TypeSpec:
				g.types[f.Name.Name+"."+spec.Name.Name] = goType{spec.Type, f.Name.Name}
			case *ast.ValueSpec:
				if name, ok := spec.Type.(*ast.Ident); ok && gen.Tok == token.CONST && len(spec.Values) == 1 {
					if lit, ok := spec.Values[0].(*ast.BasicLit); ok && lit.Kind == token.STRING {
						word, _ := strconv.Unquote(lit.Value)
						key := f.Name.Name + "." + name.Name
						g.values[key] = append(g.values[key], word)
					}
				}
			}
		}
	}
}

func (g *goTypes) checker(root string) checker {
	t, ok := g.types[root]
	if !ok {
		panic(root + " is not there")
	}
	return func(body []byte) []string { return g.check(t.expr, t.in, root, body, "body") }
}

// check compares JSON with a type; name is that of the type, if it has one.
func (g *goTypes) check(e ast.Expr, in, name string, raw json.RawMessage, at string) []string {
	raw = bytes.TrimSpace(raw)
	wrong := func(want string) []string { return []string{fmt.Sprintf("%s is no %s: %.80s", at, want, raw)} }
	switch e := e.(type) {
	case *ast.Ident:
		return g.named(e.Name, in, raw, at)
	case *ast.StarExpr:
		if string(raw) == "null" {
			return nil
		}
		return g.check(e.X, in, name, raw, at)
	case *ast.IndexExpr: // param.Opt[T]
		if string(raw) == "null" {
			return nil
		}
		return g.check(e.Index, in, name, raw, at)
	case *ast.SelectorExpr:
		pkg := e.X.(*ast.Ident).Name
		switch {
		case pkg == "constant":
			if raw[0] != '"' {
				return wrong("text")
			}
			return nil
		case pkg == "json" || pkg == "time":
			return nil
		}
		return g.named(e.Sel.Name, pkg, raw, at)
	case *ast.InterfaceType:
		return nil
	case *ast.ArrayType:
		if id, ok := e.Elt.(*ast.Ident); ok && id.Name == "byte" {
			if !isBase64(raw) {
				return wrong("base64")
			}
			return nil
		}
		var list []json.RawMessage
		if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
			return wrong("list")
		}
		var found []string
		for i, v := range list {
			found = append(found, g.check(e.Elt, in, "", v, fmt.Sprintf("%s[%d]", at, i))...)
		}
		return found
	case *ast.MapType:
		var m map[string]json.RawMessage
		if raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
			return wrong("object")
		}
		var found []string
		for k, v := range m {
			found = append(found, g.check(e.Value, in, "", v, at+"."+k)...)
		}
		return found
	case *ast.StructType:
		return g.fields(e, in, name, raw, at)
	}
	panic(fmt.Sprintf("%s: %T", at, e))
}

func isBase64(raw json.RawMessage) bool {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return false
	}
	s = strings.NewReplacer("-", "+", "_", "/").Replace(strings.TrimRight(s, "="))
	_, err := base64.RawStdEncoding.DecodeString(s)
	return err == nil
}

func (g *goTypes) named(name, in string, raw json.RawMessage, at string) []string {
	wrong := func(want string) []string { return []string{fmt.Sprintf("%s is no %s: %.80s", at, want, raw)} }
	switch name {
	case "any":
		return nil
	case "string":
		if raw[0] != '"' {
			return wrong("text")
		}
		return nil
	case "bool":
		if raw[0] != 't' && raw[0] != 'f' {
			return wrong("truth value")
		}
		return nil
	case "int", "int32", "int64", "uint", "float32", "float64":
		if _, err := strconv.ParseFloat(string(raw), 64); err != nil || name[0] != 'f' && bytes.ContainsAny(raw, ".eE") {
			return wrong("number of type " + name)
		}
		return nil
	}
	t, ok := g.types[in+"."+name]
	if !ok {
		panic(fmt.Sprintf("%s: type %s.%s is not there", at, in, name))
	}
	if words := g.values[in+"."+name]; len(words) > 0 && !strings.HasSuffix(name, "Model") { // others are taken
		var s string
		if json.Unmarshal(raw, &s) != nil || !slices.Contains(words, s) {
			return wrong("word of " + name)
		}
		return nil
	}
	return g.check(t.expr, t.in, in+"."+name, raw, at)
}

// distance is how far JSON is from a type: farthest when it is of another kind
// altogether.
func distance(problems []string, at string) int {
	if len(problems) == 1 && strings.HasPrefix(problems[0], at+" is no ") {
		return 1000
	}
	return len(problems)
}

// fields compares an object with a struct, or with the one that fits best of
// those that a union is made of.
func (g *goTypes) fields(s *ast.StructType, in, name string, raw json.RawMessage, at string) []string {
	var m map[string]json.RawMessage
	isObject := raw[0] == '{' && json.Unmarshal(raw, &m) == nil
	var found, best []string
	union := false
	known := map[string]bool{}
	if extra, kind, ok := strings.Cut(g.beside[name], " "); ok {
		known[extra] = true
		if v, ok := m[extra]; ok {
			found = append(found, g.named(kind, in, v, at+"."+extra)...)
		}
	}
	for _, f := range s.Fields.List {
		if f.Tag == nil {
			continue
		}
		text, _ := strconv.Unquote(f.Tag.Value)
		tag := reflect.StructTag(text)
		key, options, _ := strings.Cut(tag.Get("json"), ",")
		switch {
		case strings.Contains(options, "inline"):
			if got := g.check(f.Type, in, "", raw, at); !union || distance(got, at) < distance(best, at) {
				best = got
			}
			union = true
			continue
		case key == "" || key == "-":
			continue
		}
		known[key] = true
		v, there := m[key]
		word, fixed := tag.Lookup("default")
		switch {
		case !there && (tag.Get("api") == "required" || fixed):
			found = append(found, fmt.Sprintf("%s.%s is required", at, key))
		case there && fixed && string(v) != strconv.Quote(word):
			found = append(found, fmt.Sprintf("%s.%s is not %q: %.80s", at, key, word, v))
		case there && !fixed:
			found = append(found, g.check(f.Type, in, "", v, at+"."+key)...)
		}
	}
	if union {
		return best
	}
	if !isObject {
		return []string{fmt.Sprintf("%s is no object: %.80s", at, raw)}
	}
	for key := range m {
		if !known[key] {
			found = append(found, fmt.Sprintf("%s has no %q", at, key))
		}
	}
	return found
}
