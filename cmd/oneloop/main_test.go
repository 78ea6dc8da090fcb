package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"oneloop/internal/tui"
	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/trace"
	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	testscript.Main(cleanup{m}, map[string]func(){"oneloop": main, "oneloop-panics": panics, "oneloop-cloud": cloudOfTheTests})
}

// panics is a conversation with a bug in it.
func panics() {
	p := &program{env: os.Environ(), words: tui.Messages("en"), stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr}
	os.Exit(p.end(func(context.Context) error {
		front, err := tui.Open(tui.Options{In: p.stdin, Out: p.stdout, Err: p.stderr, Env: p.variable})
		if err != nil {
			return err
		}
		defer front.Close()
		front.Say("Ctrl-D")
		if _, err := front.Prompt(context.Background()); err != nil {
			return err
		}
		var nothing map[string]int
		nothing["x"] = 1
		return nil
	}))
}

// cleanup runs the tests and takes away what they have built.
type cleanup struct{ *testing.M }

func (c cleanup) Run() int {
	code := c.M.Run()
	if !built {
		return code
	}
	if bin, err := shipped(); err == nil {
		os.RemoveAll(filepath.Dir(bin))
	}
	return code
}

// TestScripts runs testdata/*.txtar: the real main, a scripted model, a home
// of its own. Each script is a promise to the user.
//
// Beside testscript's own commands there are
//
//	model FILE          start a scripted model; FILE has one reply a line
//	requests N          it got exactly N requests
//	sent N REGEXP       request N's body matches, with JSON strings as they are read
//	header N NAME TEXT  request N's header has this value
//	gap A B MIN         at least MIN passed between requests A and B
//
// Afterwards every request must have passed the strict server, and every
// session that was kept must come out the same in a replay.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		Setup:               setup,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"model":    cmdModel,
			"requests": cmdRequests,
			"sent":     cmdSent,
			"header":   cmdHeader,
			"gap":      cmdGap,
		},
		Condition: func(cond string) (bool, error) {
			if cond == "root" {
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
	})
}

type serverKey struct{}

// holder has the servers of a script; server is the one started last.
type holder struct {
	server *script.Server
	all    []*script.Server
}

func setup(e *testscript.Env) error {
	h := &holder{}
	e.Values[serverKey{}] = h
	for _, dir := range []string{"home", "tmp", "ws"} {
		if err := os.MkdirAll(e.WorkDir+"/"+dir, 0o700); err != nil {
			return err
		}
	}
	e.Setenv("HOME", e.WorkDir+"/home")
	e.Setenv("TMPDIR", e.WorkDir+"/tmp")
	e.Setenv("LANG", "C.UTF-8")
	e.Setenv("ANTHROPIC_API_KEY", "test-key-of-the-scripts")
	e.Setenv("ONELOOP_RETRY_DELAY", "20ms")
	e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector would wait a second at each end
	e.Defer(func() {
		if err := replayed(filepath.Join(e.WorkDir, "home")); err != nil {
			e.T().Log(err)
			e.T().FailNow()
		}
	})
	e.Defer(func() {
		for _, server := range h.all {
			defer server.Close()
		}
		if h.server == nil {
			return
		}
		if err := h.server.Check(); err != nil {
			e.T().Log(err)
			e.T().FailNow()
		}
	})
	return nil
}

// replayed takes all sessions of a home again.
func replayed(home string) error {
	logs, err := filepath.Glob(filepath.Join(home, ".local/state/oneloop/sessions/*/*.jsonl"))
	if err != nil {
		return err
	}
	for _, path := range logs {
		r, err := trace.Replay(context.Background(), path, trace.ReplayOptions{})
		if err != nil {
			return err
		}
		if r.Differs != nil {
			return fmt.Errorf("a replay of %s: %w", path, r.Differs)
		}
	}
	return nil
}

// line is one reply in a model file.
type line struct {
	Begins string `json:"begins"` // for conversations that begin so
	Blocks []struct {
		Text     string          `json:"text"`
		Thinking string          `json:"thinking"`
		Tool     string          `json:"tool"`
		ID       string          `json:"id"`
		Input    json.RawMessage `json:"input"`
		Pieces   []string        `json:"pieces"` // of the input, as they stream
		Raw      json.RawMessage `json:"raw"`
	} `json:"blocks"`
	Stop    string            `json:"stop"`
	Details json.RawMessage   `json:"details"`
	Status  int               `json:"status"`
	Header  map[string]string `json:"header"`
	Type    string            `json:"type"` // of an error, with status; or in the stream without
	Message string            `json:"message"`
	HTML    string            `json:"html"`
	OneShot bool              `json:"one_shot"`
	Repeat  bool              `json:"repeat"`
	Silent  bool              `json:"silent"` // for ever, before the headers
	Chunk   int               `json:"chunk"`
	NoUsage bool              `json:"no_usage"`
}

func (l line) reply() script.Reply {
	r := script.Reply{}
	switch {
	case l.HTML != "":
		r = script.HTML(max(l.Status, 200), l.HTML)
	case l.Status != 0:
		r = script.Fail(l.Status, l.Type, l.Message)
	case l.Type != "":
		r.Error = &script.Error{Type: l.Type, Message: l.Message}
	}
	for i, b := range l.Blocks {
		id := b.ID
		if id == "" {
			id = fmt.Sprintf("toolu_%p_%d", &l, i)
		}
		switch {
		case b.Raw != nil:
			r.Blocks = append(r.Blocks, script.Raw(b.Raw))
		case b.Pieces != nil:
			r.Blocks = append(r.Blocks, script.ToolPieces(id, b.Tool, b.Pieces...))
		case b.Tool != "":
			r.Blocks = append(r.Blocks, script.Tool(id, b.Tool, string(b.Input)))
		case b.Thinking != "":
			r.Blocks = append(r.Blocks, script.Thinking(b.Thinking, "c2lnbmF0dXJl"))
		default:
			r.Blocks = append(r.Blocks, script.Text(b.Text))
		}
	}
	r.Stop, r.StopDetails, r.OneShot, r.Repeat, r.Chunk = l.Stop, l.Details, l.OneShot, l.Repeat, l.Chunk
	if len(l.Header) > 0 && r.Header == nil {
		r.Header = http.Header{}
	}
	for k, v := range l.Header {
		r.Header.Set(k, v)
	}
	if l.Silent {
		r.Wait = script.Forever
	}
	return r
}

func cmdModel(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && len(args) != 3 {
		ts.Fatalf("usage: model FILE [WIRE VARIABLE]")
	}
	server, variable := script.New(), "ANTHROPIC_BASE_URL"
	if len(args) == 3 {
		server.Wire, variable = otherWire(ts, args[1]), args[2]
	}
	routes := map[string][]script.Reply{}
	for i, text := range strings.Split(strings.TrimSpace(ts.ReadFile(args[0])), "\n") {
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			ts.Fatalf("%s line %d: %v", args[0], i+1, err)
		}
		if l.Begins == "" {
			server.Add(l.reply())
		} else {
			routes[l.Begins] = append(routes[l.Begins], l.reply())
		}
	}
	for begins, replies := range routes {
		server.Route(begins, replies...)
	}
	ts.Check(server.Start())
	h := ts.Value(serverKey{}).(*holder)
	h.server, h.all = server, append(h.all, server)
	ts.Setenv(variable, server.URL())
	ts.Setenv("SERVER", server.URL())
}

// otherWire is an API by name: gemini, responses, ollama, or a dialect of Chat
// Completions.
func otherWire(ts *testscript.TestScript, name string) *script.Wire {
	switch name {
	case "gemini":
		return wires.Gemini()
	case "responses":
		return wires.Responses()
	case "ollama":
		return wires.Ollama(wires.OllamaServer{})
	}
	for _, d := range wires.Dialects() {
		if strings.EqualFold(d.Name, name) {
			return wires.Chat(d)
		}
	}
	ts.Fatalf("there is no wire named %q", name)
	return nil
}

func requests(ts *testscript.TestScript) []script.Request {
	h := ts.Value(serverKey{}).(*holder)
	if h.server == nil {
		ts.Fatalf("no model was started")
	}
	return h.server.Requests()
}

func request(ts *testscript.TestScript, n string) script.Request {
	i, err := strconv.Atoi(n)
	ts.Check(err)
	all := requests(ts)
	if i < 1 || i > len(all) {
		ts.Fatalf("there is no request %d, the model got %d", i, len(all))
	}
	return all[i-1]
}

func cmdRequests(ts *testscript.TestScript, neg bool, args []string) {
	if got := strconv.Itoa(len(requests(ts))); len(args) != 1 || (got == args[0]) == neg {
		ts.Fatalf("the model got %s requests", got)
	}
}

func cmdSent(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 {
		ts.Fatalf("usage: sent N REGEXP")
	}
	// Escapes are undone in the whole body, so that a script can say what a
	// reader of the strings would see.
	body := strings.NewReplacer(`\n`, "\n", `\"`, `"`, `\t`, "\t", `\\`, `\`).Replace(string(request(ts, args[0]).Body))
	if regexp.MustCompile(args[1]).MatchString(body) == neg {
		ts.Fatalf("request %s: match of %q is not as wanted in\n%s", args[0], args[1], body)
	}
}

func cmdHeader(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: header N NAME TEXT")
	}
	if got := request(ts, args[0]).Header.Get(args[1]); (got == args[2]) == neg {
		ts.Fatalf("request %s: header %s is %q", args[0], args[1], got)
	}
}

func cmdGap(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: gap A B MIN")
	}
	want, err := time.ParseDuration(args[2])
	ts.Check(err)
	if got := request(ts, args[1]).At.Sub(request(ts, args[0]).At); got < want {
		ts.Fatalf("only %v between requests %s and %s", got, args[0], args[1])
	}
}
