package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// product is the real program in a folder, a home and an environment of its
// own, against a scripted model.
type product struct {
	t      *testing.T
	server *script.Server
	dir    string
	env    []string
	stdin  io.Reader
	bin    string
	limit  time.Duration // for a run; 0: a minute

	pid  atomic.Int64 // of the program that runs
	peak int64        // bytes of memory it had taken when watched asked, 0 where that is not known
}

// shipped is the program as it is shipped: this test binary, which stands in
// for it elsewhere, takes many times the memory under the race detector.
var shipped = sync.OnceValues(func() (string, error) {
	built = true
	dir, err := os.MkdirTemp("", "oneloop-shipped-")
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "oneloop")
	if out, err := exec.Command("make", "-C", "../..", "build", "BIN="+bin).CombinedOutput(); err != nil {
		return "", fmt.Errorf("make build: %w\n%s", err, out)
	}
	return bin, nil
})

var built bool // shipped was called

// ship makes p run the program as it is shipped.
func (p *product) ship() *product {
	p.t.Helper()
	bin, err := shipped()
	if err != nil {
		p.t.Fatal(err)
	}
	p.bin = bin
	return p
}

// watched plays r and takes note of the most memory the program has taken
// until then. What the kernel reports at the end is of no use: it counts in
// what the test itself had taken when it started the program.
func (p *product) watched(r script.Reply) script.Reply {
	return script.Reply{React: func(script.Request) script.Reply {
		p.peak = peak(int(p.pid.Load()))
		return r
	}}
}

func newProduct(t *testing.T, replies ...script.Reply) *product {
	t.Helper()
	server := script.New(replies...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	home, tmp := t.TempDir(), t.TempDir()
	p := &product{t: t, server: server, bin: "oneloop", dir: t.TempDir(), env: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + tmp, "LANG=C.UTF-8",
		"ANTHROPIC_BASE_URL=" + server.URL(), "ANTHROPIC_API_KEY=" + testKey, "ONELOOP_RETRY_DELAY=20ms",
		"GORACE=atexit_sleep_ms=0", // the race detector would wait a second at each end
	}}
	t.Cleanup(func() {
		if err := replayed(p.home()); err != nil {
			t.Error(err)
		}
		for _, b := range server.Breaches() {
			t.Errorf("the strict server refused: %v", b)
		}
		for _, f := range server.Failures() {
			t.Errorf("server: %s", f)
		}
		server.Close()
	})
	return p
}

const testKey = "unique-key-5f2c9e1b"

// home is the home folder of the product.
func (p *product) home() string {
	for _, kv := range p.env {
		if h, ok := strings.CutPrefix(kv, "HOME="); ok {
			return h
		}
	}
	return ""
}

// outcome is what a run left.
type outcome struct {
	stdout, stderr string
	code           int
	took           time.Duration
}

// run runs the program to its end, within its limit.
func (p *product) run(args ...string) outcome {
	p.t.Helper()
	limit := cmp.Or(p.limit, time.Minute)
	ctx, cancel := context.WithTimeout(p.t.Context(), limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, p.bin, append([]string{"--permission-mode", "bypassPermissions"}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stdin = p.dir, p.env, p.stdin
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	began := time.Now()
	err := cmd.Start()
	if err == nil {
		p.pid.Store(int64(cmd.Process.Pid))
		err = cmd.Wait()
	}
	if ctx.Err() != nil {
		p.t.Fatalf("it still ran after %v\n%s", limit, stderr.String())
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), code: cmd.ProcessState.ExitCode(), took: time.Since(began)}
	for _, s := range []string{o.stdout, o.stderr} {
		if strings.Contains(s, "goroutine ") || strings.Contains(s, "panic:") {
			p.t.Errorf("panic text reached the user:\n%s", s)
		}
		if strings.Contains(s, testKey) {
			p.t.Error("the key was shown")
		}
	}
	return o
}

// done is run for work that has to end well.
func (p *product) done(args ...string) outcome {
	p.t.Helper()
	o := p.run(args...)
	if o.code != 0 {
		p.t.Fatalf("exit code %d\n%s", o.code, o.stderr)
	}
	return o
}

// request is the n-th request, counted from 1.
func (p *product) request(n int) script.Request {
	p.t.Helper()
	all := p.server.Requests()
	if n > len(all) {
		p.t.Fatalf("only %d requests", len(all))
	}
	return all[n-1]
}

// result is the text of the answer to a call in the n-th request.
func (p *product) result(n int, id string) string {
	p.t.Helper()
	r := p.request(n)
	c, ok := r.Result(id)
	if !ok {
		p.t.Fatalf("request %d has no answer to %s", n, id)
	}
	return c.FullText()
}

func (p *product) exists(name string) bool {
	_, err := os.Lstat(filepath.Join(p.dir, name))
	return err == nil
}

func shell(id, command string) script.Block {
	input, _ := json.Marshal(map[string]string{"command": command}) // strings always encode
	return script.Tool(id, "Bash", string(input))
}

func say(text string) script.Reply { return script.Say(script.Text(text)) }

// puts makes a file in the folder that is worked in.
func (p *product) puts(name, text string) {
	p.t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

func contains(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("no %q in %.600q", w, text)
		}
	}
}

func lacks(t *testing.T, text string, not ...string) {
	t.Helper()
	for _, w := range not {
		if strings.Contains(text, w) {
			t.Errorf("%q is in %.600q", w, text)
		}
	}
}

func TestCaseStrm01CharactersSurviveAnyChunk(t *testing.T) {
	first := script.Say(script.Text("你好，世界🌍 e\u0301"), shell("t1", `printf '北京🌤\n' > 文.txt`))
	first.Chunk = 1
	last := say("你好，世界🌍 e\u0301")
	last.Chunk = 1
	p := newProduct(t, first, last)
	o := p.done("go on")
	if o.stdout != "你好，世界🌍 e\u0301\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	got, err := os.ReadFile(filepath.Join(p.dir, "文.txt"))
	if err != nil || string(got) != "北京🌤\n" {
		t.Errorf("文.txt is %q, %v", got, err)
	}
	lacks(t, string(p.request(2).Body), "\uFFFD")
	contains(t, string(p.request(2).Body), "你好，世界🌍 e\u0301")
}

func TestCaseStrm03OneLineOfManyMegabytes(t *testing.T) {
	quiet := newProduct(t).ship()
	quiet.server.Add(script.Say(shell("t1", "true")), quiet.watched(say("ok")))
	quiet.done("go on")
	program := serverProgram(t)
	for _, size := range []int{70 << 10, 1_100_000, 5 << 20, 20 << 20} {
		p := newProduct(t).ship()
		p.env = append(p.env, "ONELOOP_CONTEXT_WINDOW=100000000") // nothing is to be made shorter
		stop := p.serveApart(program, size)
		p.done("go on")
		stop()
		info, err := os.Stat(filepath.Join(p.dir, "big.txt"))
		if err != nil || info.Size() != int64(size/16*16+1) {
			t.Errorf("%d bytes: the file is %v, %v", size, info, err)
		}
		t.Logf("a line of %d bytes: peak memory %.1f times that", size, float64(p.peak)/float64(size))
		if p.peak > quiet.peak+int64(10*size)+8<<20 { // the collector begins at 4 MB, and runs beside the rest
			t.Errorf("%d bytes: peak memory %d MB, %d MB without any", size, p.peak>>20, quiet.peak>>20)
		}
		if quiet.peak > 0 && p.peak <= 0 {
			t.Errorf("%d bytes: nobody looked at the memory", size)
		}
	}
}

func TestCaseStrm04SilenceIsBounded(t *testing.T) {
	silent := script.Say(script.Text("half of an answer"))
	silent.Pauses = []script.Pause{{After: 3, For: script.Forever}}
	p := newProduct(t, silent, script.Reply{Wait: script.Forever}, say("ok"))
	p.env = append(p.env, "ONELOOP_IDLE_TIMEOUT=300ms")
	o := p.done("go on")
	if o.stdout != "ok\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	if !bytes.Equal(p.request(1).Body, p.request(3).Body) {
		t.Error("the request was changed for another try")
	}

	p = newProduct(t, script.Reply{Wait: script.Forever, Repeat: true})
	p.env = append(p.env, "ONELOOP_IDLE_TIMEOUT=200ms", "ONELOOP_MAX_RETRIES=2")
	if o := p.run("go on"); o.code != 1 || len(p.server.Requests()) != 3 {
		t.Errorf("exit code %d after %d requests", o.code, len(p.server.Requests()))
	}
}

func TestCaseStrm07ErrorsInsideAStream(t *testing.T) {
	half := script.Say(script.Text("Half"))
	half.Error = &script.Error{Type: "overloaded_error", Message: "Overloaded"}
	at := script.Reply{Error: half.Error}
	p := newProduct(t, half, at, say("ok"))
	if o := p.done("go on"); o.stdout != "ok\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	if !bytes.Equal(p.request(1).Body, p.request(3).Body) {
		t.Error("the request was changed for another try")
	}
	half.Error = &script.Error{Type: "invalid_request_error", Message: "no such thing"}
	p = newProduct(t, half)
	o := p.run("go on")
	if o.code != 1 || len(p.server.Requests()) != 1 {
		t.Errorf("exit code %d after %d requests", o.code, len(p.server.Requests()))
	}
	contains(t, o.stderr, "invalid_request_error", "no such thing")
}

func TestCaseStrm08WhatIsNotAStream(t *testing.T) {
	overloaded := script.Fail(200, "overloaded_error", "Overloaded")
	oneShot := say("ok")
	oneShot.OneShot = true
	p := newProduct(t, script.HTML(200, "<html>\x1b[31m<script>alert(1)</script></html>"), overloaded, script.Reply{Body: []byte{}}, script.HTML(502, "bad gateway"), oneShot)
	o := p.done("go on")
	if o.stdout != "ok\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
	lacks(t, o.stderr, "\x1b")
	p = newProduct(t, func() script.Reply { r := script.HTML(200, "<html>hi</html>"); r.Repeat = true; return r }())
	p.env = append(p.env, "ONELOOP_MAX_RETRIES=1")
	o = p.run("go on")
	if o.code != 1 {
		t.Errorf("exit code %d", o.code)
	}
	contains(t, o.stderr, "text/html")
}

func TestCaseStrm09RetryAfterIsKept(t *testing.T) {
	busy := script.Fail(429, "rate_limit_error", "slow down")
	busy.Header.Set("Retry-After", "1")
	p := newProduct(t, busy, say("ok"))
	p.done("go on")
	if gap := p.request(2).At.Sub(p.request(1).At); gap < time.Second {
		t.Errorf("it came back after %v", gap)
	}
	for _, odd := range []string{"0", "-5", "abc"} {
		busy := script.Fail(429, "rate_limit_error", "slow down")
		busy.Header.Set("Retry-After", odd)
		p := newProduct(t, busy, busy, say("ok"))
		p.env = append(p.env, "ONELOOP_RETRY_DELAY=250ms")
		p.done("go on")
		one, two := p.request(2).At.Sub(p.request(1).At), p.request(3).At.Sub(p.request(2).At)
		if one < 200*time.Millisecond || two <= one {
			t.Errorf("retry-after %s: gaps %v, %v", odd, one, two)
		}
	}
	long := script.Fail(429, "rate_limit_error", "slow down")
	long.Header.Set("Retry-After", "7200")
	p = newProduct(t, long)
	o := p.run("go on")
	if o.code != 1 || o.took > 30*time.Second {
		t.Errorf("exit code %d after %v", o.code, o.took)
	}
	contains(t, o.stderr, "2h")
}

func TestCaseStrm10OverloadForEverIsBoundedAndSaid(t *testing.T) {
	over := script.Fail(529, "overloaded_error", "Overloaded")
	over.Repeat = true
	p := newProduct(t, over)
	p.env = append(p.env, "ONELOOP_MAX_RETRIES=3")
	o := p.run("--output-format", "stream-json", "go on")
	if o.code != 1 || len(p.server.Requests()) != 4 {
		t.Errorf("exit code %d after %d requests", o.code, len(p.server.Requests()))
	}
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	contains(t, lines[len(lines)-1], `"type":"result"`, `"is_error":true`, "overloaded")
	auth := script.Fail(401, "authentication_error", "invalid x-api-key")
	p = newProduct(t, auth)
	if o := p.run("go on"); o.code != 3 || len(p.server.Requests()) != 1 {
		t.Errorf("exit code %d after %d requests", o.code, len(p.server.Requests()))
	}
}

func TestCaseStrm12OddButCompleteEndings(t *testing.T) {
	done := say("ok")
	done.Extra = []script.Extra{{At: -1, Text: "data: [DONE]\n\n"}}
	cut := say("ok")
	cut.Cut = &script.Cut{Bytes: -20}
	zipped := say("ok")
	zipped.Gzip = true
	for name, r := range map[string]script.Reply{"[DONE]": done, "cut in message_stop": cut, "gzip": zipped} {
		p := newProduct(t, r)
		if o := p.done("go on"); o.stdout != "ok\n" || len(p.server.Requests()) != 1 {
			t.Errorf("%s: stdout %q after %d requests", name, o.stdout, len(p.server.Requests()))
		}
	}
}

func TestCaseProv05UsageMissingOrOddIsUnknown(t *testing.T) {
	for _, usage := range []string{``, `null`, `{}`, `{"output_tokens":3}`, `{"input_tokens":-5,"output_tokens":1e300}`, `{"input_tokens":1.5,"output_tokens":"x"}`} {
		field := ""
		if usage != "" {
			field = `,"usage":` + usage
		}
		p := newProduct(t, script.Reply{SSE: oddStream(field, "")})
		o := p.done("--output-format", "json", "go on")
		contains(t, o.stdout, `"total_cost_usd":null`, `"result":"ok"`)
	}
}

func TestCaseProv05OddStreamsEndInTextOrOneError(t *testing.T) {
	for name, odd := range map[string]string{
		"delta for a block that was never started": `{"type":"content_block_delta","index":9,"delta":{"type":"text_delta","text":"?"}}`,
		"a block that is stopped twice":            `{"type":"content_block_stop","index":0}`,
		"a block whose index leaves a gap":         `{"type":"content_block_start","index":7,"content_block":{"type":"text","text":"!"}}` + "\n\ndata: " + `{"type":"content_block_stop","index":7}`,
		"no type":                                  `{"index":0}`,
		"no object":                                `[]`,
	} {
		p := newProduct(t, script.Reply{SSE: oddStream("", "data: "+odd+"\n\n"), Repeat: true})
		p.env = append(p.env, "ONELOOP_MAX_RETRIES=1")
		o := p.run("go on")
		t.Logf("%s: exit code %d, %q, %s", name, o.code, o.stdout, o.stderr)
		if o.code != 0 && o.code != 1 {
			t.Errorf("%s: exit code %d", name, o.code)
		}
		if o.code == 0 && !strings.Contains(o.stdout, "ok") {
			t.Errorf("%s: the answer is %q", name, o.stdout)
		}
	}
}

// oddStream is a reply "ok" with hardly any of the fields a reply has.
func oddStream(field, extra string) []byte {
	return []byte("data: {\"type\":\"message_start\",\"message\":{\"type\":\"message\",\"role\":\"assistant\",\"content\":null" + field + "}}\n\n" +
		"data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"ok\"}}\n\n" +
		"data: {\"type\":\"content_block_stop\",\"index\":0}\n\n" + extra +
		"data: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}" + field + "}\n\n" +
		"data: {\"type\":\"message_stop\"}\n\n")
}

func TestCaseProv03BaseURLShapes(t *testing.T) {
	p := newProduct(t, func() script.Reply { r := say("ok"); r.Repeat = true; return r }())
	paths := map[string]string{"": "/v1/messages", "/": "/v1/messages", "/v1": "/v1/messages", "/v1/": "/v1/messages",
		"/gw/anthropic": "/gw/anthropic/v1/messages", "/gw/anthropic/": "/gw/anthropic/v1/messages", "/gw/anthropic/v1": "/gw/anthropic/v1/messages"}
	for shape, want := range paths {
		p.env = append(p.env, "ANTHROPIC_BASE_URL="+p.server.URL()+shape, "http_proxy=http://127.0.0.1:9", "NO_PROXY=127.0.0.1")
		p.done("go on")
		all := p.server.Requests()
		if got, _, _ := strings.Cut(all[len(all)-1].Path, "?"); got != want {
			t.Errorf("%q goes to %s", shape, got)
		}
	}
	gone := newProduct(t, script.HTML(http.StatusNotFound, "<html>no</html>"))
	o := gone.run("go on")
	if o.code != 1 {
		t.Errorf("exit code %d", o.code)
	}
	contains(t, o.stderr, gone.server.URL()+"/v1/messages")
}

func TestAMessageWhoseContentIsOneStringIsItsText(t *testing.T) {
	p := newProduct(t, script.Reply{Header: http.Header{"Content-Type": {"application/json"}},
		Body: []byte(`{"id":"m","type":"message","role":"assistant","content":"plain \"words\"","stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":1}}`)})
	if o := p.done("go on"); o.stdout != "plain \"words\"\n" {
		t.Errorf("stdout is %q", o.stdout)
	}
}

func TestTheDefaultToolsAndPromptAreSmall(t *testing.T) {
	p := newProduct(t, say("ok"))
	p.done("go on")
	p.smallPrompt(1, 5500)
}

// smallPrompt fails when system prompt and tools of a request are larger.
func (p *product) smallPrompt(n, most int) {
	p.t.Helper()
	var sent struct {
		System json.RawMessage `json:"system"`
		Tools  json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(p.request(n).Body, &sent); err != nil {
		p.t.Fatal(err)
	}
	if size := len(sent.System) + len(sent.Tools); size > most {
		p.t.Errorf("%d bytes", size)
	} else {
		p.t.Logf("%d bytes", size)
	}
}

// settings puts the user's settings in place.
func (p *product) settings(text string) (path string) {
	p.t.Helper()
	path = filepath.Join(p.home(), ".config", "oneloop", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}
