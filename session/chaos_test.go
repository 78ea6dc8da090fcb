//go:build unix

package session_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	wrap "oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/session"
)

func TestMain(m *testing.M) {
	if plan := os.Getenv("SESSION_CHAOS"); plan != "" {
		os.Exit(victim(plan))
	}
	os.Exit(m.Run())
}

// life is what one process is to do until it is killed, or to its end.
type life struct {
	URL     string
	Dir     string // with the log, whose name is in the file "current", and "effects"
	Seed    uint64
	Turns   int
	Write   int           // it dies in this write to the log; 0: in none
	Keep    float64       // the part of it that is written
	After   time.Duration // it dies then at the latest; 0: it does not
	Forking bool          // it goes on in a fork
	Window  int           // tokens; 0: the conversation is never made shorter
	Back    bool          // it goes back now and then to before a prompt
	Number  int           // of the life, from 1
	Calm    bool          // nothing interrupts a turn

	wire *numbered
}

// victim is one life: the process works on the conversation it finds.
func victim(plan string) int {
	var c life
	if err := json.Unmarshal([]byte(plan), &c); err != nil {
		return fail(err)
	}
	die := func() {
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
	if c.After > 0 {
		time.AfterFunc(c.After, die)
	}
	if c.Write > 0 {
		session.KillIn(c.Write, func(n int) int { return int(c.Keep * float64(n)) }, die)
	}
	l, err := c.open()
	if err != nil {
		return fail(err)
	}
	c.wire = &numbered{life: c.Number}
	if l, err = c.work(l, rand.New(rand.NewPCG(c.Seed, 2))); err == nil {
		err = l.Close()
	}
	if err != nil {
		return fail(err)
	}
	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// work takes the turns of a life. It may end in another log.
func (c *life) work(l *session.Log, random *rand.Rand) (*session.Log, error) {
	s, err := c.agent(l)
	if err != nil {
		return nil, err
	}
	for i := range c.Turns {
		if random.IntN(3) == 0 {
			s.Inbox.Put(session.When(random.IntN(3)), text(fmt.Sprintf("also %d of %d", i, c.Seed)))
		}
		if c.Back && random.IntN(2) == 0 {
			if l, s, err = c.back(l, s, random); err != nil {
				return nil, err
			}
		}
		ctx, cancel := context.WithCancel(context.Background())
		if random.IntN(4) == 0 && !c.Calm {
			time.AfterFunc(time.Duration(random.IntN(30))*time.Millisecond, cancel)
		}
		err := c.shorter(ctx, s, random)
		if err == nil {
			err = s.Turn(ctx, nil, text(fmt.Sprintf("turn %d of %d%s", i, c.Seed, c.mark(l))))
		}
		cancel()
		if err != nil && !errors.Is(err, oneloop.ErrInterrupted) {
			return nil, err
		}
	}
	return l, nil
}

// agent is a session at work on a log.
func (c *life) agent(l *session.Log) (*session.Session, error) {
	box := c.tools(l)
	l.Use(session.Setup{Model: "m", System: []oneloop.Block{&oneloop.Text{Text: "Be brief."}}, Tools: box.Defs()})
	api, err := anthropic.New(anthropic.Config{BaseURL: c.URL, Key: "k", Model: "claude-sonnet-4-6", Client: &http.Client{Transport: c.wire}})
	if err != nil {
		return nil, err
	}
	return &session.Session{Model: wrap.Retry(api, wrap.RetryOptions{Retries: 1, Delay: time.Microsecond}), Tools: box, Inbox: new(session.Inbox), Transcript: l,
		Window: session.Window{Tokens: c.Window}}, nil
}

// numbered numbers requests: one that was given up may arrive after the next.
type numbered struct {
	life int
	n    atomic.Int64
}

// RoundTrip sends a request with the number of the life and its own.
func (x *numbered) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Sent", fmt.Sprintf("%04d.%06d", x.life, x.n.Add(1)))
	return http.DefaultTransport.RoundTrip(r)
}

func (c *life) open() (*session.Log, error) {
	name, err := os.ReadFile(filepath.Join(c.Dir, "current"))
	if err != nil {
		return nil, err
	}
	path := filepath.Join(c.Dir, string(name))
	if _, err := os.Stat(path); err != nil {
		l := session.NewLog(path, session.LogOptions{Head: session.Head{ID: strings.TrimSuffix(string(name), ".jsonl")}})
		return l, nil
	}
	if c.Forking {
		if made, err := session.Fork(path, 0, session.LogOptions{}); err == nil {
			path = made
			if err := c.goOnIn(path); err != nil {
				return nil, err
			}
		}
	}
	l, _, err := session.OpenLog(path, session.LogOptions{})
	return l, err
}

// goOnIn has lives that follow open the log at path.
func (c *life) goOnIn(path string) error {
	current := filepath.Join(c.Dir, "current")
	if err := os.WriteFile(current+".new", []byte(filepath.Base(path)), 0o600); err != nil {
		return err
	}
	return os.Rename(current+".new", current)
}

// tools are one of each effect. What must not happen twice is a line in the
// file "effects".
func (c *life) tools(l *session.Log) *oneloop.Toolbox {
	schema := json.RawMessage(`{"type":"object"}`)
	once := func(_ context.Context, call *oneloop.ToolUse, emit func(oneloop.Event)) (*oneloop.ToolResult, error) {
		f, err := os.OpenFile(filepath.Join(c.Dir, "effects"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		emit(oneloop.ToolOutput{ID: call.ID, Text: "about to\n"})
		if _, err := f.WriteString(call.ID + "\n"); err != nil {
			return nil, err
		}
		return oneloop.TextResult("did " + call.ID), nil
	}
	look := func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
		much := 100
		if strings.HasSuffix(call.ID, "7") { // what is long takes the strict server most of the time
			much = 2000
		}
		return oneloop.TextResult(strings.Repeat("seen "+call.ID+" ", much)), nil
	}
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{
		{ToolDef: oneloop.ToolDef{Name: "Once", Schema: schema}, Run: once},
		{ToolDef: oneloop.ToolDef{Name: "Beside", Schema: schema}, Run: once, Parallel: true},
		{ToolDef: oneloop.ToolDef{Name: "Look", Schema: schema}, Run: look, Parallel: true,
			Effect: func(*oneloop.ToolUse) oneloop.Effect { return oneloop.ReadOnly }},
	}}
	for i, t := range box.Tools {
		box.Tools[i] = l.Intend(t)
	}
	return box
}

// talk answers requests at random, with ids that never come twice.
func talk(seed uint64) *script.Server {
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(seed, 1))
	calls, replies := 0, 0
	return script.New(script.Reply{Repeat: true, React: func(script.Request) script.Reply {
		mu.Lock()
		defer mu.Unlock()
		blocks := []script.Block{}
		if random.IntN(2) == 0 {
			blocks = append(blocks, script.Thinking("hm", fmt.Sprint("sig", calls, random.Uint32())))
		}
		replies++
		blocks = append(blocks, script.Text(fmt.Sprint("reply ", replies, strings.Repeat(" words", 1+random.IntN(400)))))
		for range random.IntN(4) {
			calls++
			blocks = append(blocks, script.Tool(fmt.Sprint("toolu_", calls), []string{"Once", "Beside", "Look"}[random.IntN(3)], `{}`))
		}
		return script.Reply{Blocks: blocks, Delay: time.Duration(random.IntN(400)) * time.Microsecond}
	}})
}

// TestKilledAtAnyMomentTheConversationGoesOn kills processes that work on one
// conversation, in the middle of writes to its log and at any other time, and
// has others go on. No request is refused, nothing that was acted on is lost,
// nothing that must not happen twice does, and what the model is told of its
// calls is true.
func TestKilledAtAnyMomentTheConversationGoesOn(t *testing.T) {
	conversations, kills := 4, 11
	if os.Getenv("ONELOOP_SOAK") != "" {
		conversations = 50
	} else {
		t.Logf("%d kills; ONELOOP_SOAK=1 makes it 550", conversations*kills)
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range conversations {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := &chaos{T: t, dir: t.TempDir(), server: talk(seed + uint64(i)), random: rand.New(rand.NewPCG(seed, uint64(i)))}
			c.play(kills)
		})
	}
}

type chaos struct {
	*testing.T
	dir    string
	server *script.Server
	random *rand.Rand
	killed int

	window  int           // tokens; 0: the conversation is never made shorter
	shorter *atomic.Int64 // how often it was
	back    *atomic.Int64 // how often it went back; nil: it never does
}

func (c *chaos) play(kills int) {
	if err := c.server.Start(); err != nil {
		c.Fatal(err)
	}
	defer c.server.Close()
	if err := os.WriteFile(filepath.Join(c.dir, "current"), []byte("s0.jsonl"), 0o600); err != nil {
		c.Fatal(err)
	}
	lives, writes := 0, 12 // two turns have some
	if c.back != nil {
		writes = 24
	}
	for ; c.killed < kills; lives++ {
		if lives > 20*kills {
			c.Fatalf("%d lives gave %d kills", lives, c.killed)
		}
		l := life{Number: lives + 1, Turns: 3, Forking: c.random.IntN(6) == 0}
		if c.random.IntN(4) == 0 {
			l.After = time.Duration(c.random.IntN(60_000)) * time.Microsecond
		} else {
			l.Write, l.Keep = 1+c.random.IntN(writes), []float64{0, 0.01, 0.5, 0.99, 1}[c.random.IntN(5)]
		}
		c.live(l)
	}
	c.live(life{Number: lives + 1, Turns: 2, Calm: true}) // the last request has all of it
	c.judge()
}

// live runs one life and waits for its end.
func (c *chaos) live(l life) {
	l.URL, l.Dir, l.Seed, l.Window, l.Back = c.server.URL(), c.dir, c.random.Uint64(), c.window, c.back != nil
	plan, err := json.Marshal(l)
	if err != nil {
		c.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(c.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), "SESSION_CHAOS="+string(plan), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		c.Fatalf("a life did not end: %s", out)
	}
	var exit *exec.ExitError
	switch {
	case err == nil:
	case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL:
		c.killed++
	default:
		c.Fatalf("a life ended with %v: %s", err, out)
	}
}

func (c *chaos) judge() {
	for _, b := range c.server.Breaches() {
		c.Errorf("the API refused: %v", b)
	}
	done := map[string]int{}
	effects, err := os.ReadFile(filepath.Join(c.dir, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.Fatal(err)
	}
	for id := range strings.FieldsSeq(string(effects)) {
		if done[id]++; done[id] > 1 {
			c.Errorf("%s was done %d times", id, done[id])
		}
	}
	logs, err := filepath.Glob(filepath.Join(c.dir, "*.jsonl"))
	if err != nil {
		c.Fatal(err)
	}
	if turns := replays(c.T, logs...); turns < c.killed/4 {
		c.Errorf("only %d turns were taken again", turns)
	}
	switch {
	case c.back != nil:
		c.judgeBack(done)
		return
	case c.window > 0:
		c.judgeShorter(done)
		return
	}
	requests := c.sent()
	for i, r := range requests[1:] {
		if !c.follows(requests[i], r) {
			c.Errorf("request %d does not go on from the one before:\n%.1500s\n%.1500s", i+2, shape(requests[i]), shape(r))
		}
	}
	last := requests[len(requests)-1]
	for id := range done {
		answer, ok := last.Result(id)
		if !ok {
			c.Errorf("%s was done, and the conversation knows nothing of it", id)
			continue
		}
		if text := answer.FullText(); !strings.Contains(text, "did "+id) && !strings.Contains(text, "may have") {
			c.Errorf("%s was done, and the model is told %q", id, text)
		}
	}
	for _, answer := range last.Results() {
		if text := answer.FullText(); strings.Contains(text, "did ") && done[answer.ID] == 0 {
			c.Errorf("%s was not done, and the model is told %q", answer.ID, text)
		}
	}
}

// sent are the requests in the order in which they were sent.
func (c *chaos) sent() []script.Request {
	list := c.server.Requests()
	slices.SortStableFunc(list, func(a, b script.Request) int { return cmp.Compare(a.Header.Get("X-Sent"), b.Header.Get("X-Sent")) })
	return list
}

// shape is a request in short.
func shape(r script.Request) string {
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "%s:", m.Role)
		for _, x := range m.Content {
			fmt.Fprintf(&b, " %s %s %.20q", x.Type, x.ID, x.FullText())
		}
		b.WriteString("\n")
	}
	text := b.String()
	return text[max(0, len(text)-1500):]
}

// follows reports whether everything in a is in b, at the same place.
func (c *chaos) follows(a, b script.Request) bool {
	var x, y struct {
		System, Tools json.RawMessage
		Messages      []json.RawMessage
	}
	if json.Unmarshal(unmarked(a.Body), &x) != nil || json.Unmarshal(unmarked(b.Body), &y) != nil {
		c.Fatal("a request is no JSON")
	}
	if !bytes.Equal(x.System, y.System) || !bytes.Equal(x.Tools, y.Tools) || len(y.Messages) < len(x.Messages) {
		return false
	}
	for i, m := range x.Messages {
		if !bytes.Equal(m, y.Messages[i]) && i < len(x.Messages)-1 { // what follows the last one may be merged into it
			return false
		}
	}
	return true
}

// unmarked takes the cache marks from a body: they move.
func unmarked(body []byte) []byte {
	for _, mark := range []string{`,"cache_control":{"type":"ephemeral"}`, `"cache_control":{"type":"ephemeral"},`} {
		body = bytes.ReplaceAll(body, []byte(mark), nil)
	}
	return body
}
