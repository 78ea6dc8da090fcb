package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"oneloop"
	"oneloop/budget"
	"oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/session"
	"oneloop/team"
	"oneloop/tool"
)

// Kinds of crews.
const (
	crewBare   = "loops"  // that of bench/floor, in goroutines
	crewAgents = "agents" // of package team, each a session with a log in memory, limits and retries
)

// crewRun is what a crew took.
type crewRun struct {
	Turns, Seconds float64 // of all together, until the last one is at its last call
	Each           float64 // bytes of each then, beyond its history
	Failed         float64 // that did not end as they should
}

// crew runs n members of a kind against the API at url.
func crew(kind, url string, n, turns int) (crewRun, error) {
	h := &halt{members: int64(n), last: turns, all: make(chan struct{})}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: n, DisableCompression: true}}
	defer client.CloseIdleConnections()
	began, base := time.Now(), held()
	h.reached = func() crewRun {
		took := time.Since(began)
		return crewRun{Turns: float64(n * turns), Seconds: took.Seconds(), Each: float64(held()-base-h.history()) / float64(n)}
	}
	var errs []error
	switch kind {
	case crewBare:
		errs = bareLoops(h, client, url, n)
	case crewAgents:
		errs = teamOf(h, client, url, n)
	default:
		return crewRun{}, fmt.Errorf("there is no crew of %q", kind)
	}
	h.result.Failed = float64(len(errs))
	if len(errs) > 0 {
		fmt.Fprintln(os.Stderr, "bench: the first of", len(errs), "errors:", errs[0])
	}
	return h.result, nil
}

// held is what is in memory: what is used of the heap, and the stacks.
func held() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc + m.StackInuse)
}

// halt is where all members wait for each other, in their last call.
type halt struct {
	members int64
	last    int
	reached func() crewRun
	history func() int64 // bytes, of all members

	here   atomic.Int64
	all    chan struct{}
	result crewRun
}

// call is the call of a member with this number, from 1.
func (h *halt) call(number int) string {
	if number == h.last {
		if h.here.Add(1) == h.members {
			h.result = h.reached()
			close(h.all)
		}
		<-h.all
	}
	return fmt.Sprintf("output of call %d", number)
}

// bareLoops are n loops of bench/floor.
func bareLoops(h *halt, client *http.Client, url string, n int) []error {
	histories := make([]atomic.Int64, n)
	h.history = func() (sum int64) {
		for i := range histories {
			sum += histories[i].Load()
		}
		return sum
	}
	return each(n, func(i int) error { return bareLoop(h, client, url+"/v1/messages", &histories[i]) })
}

func bareLoop(h *halt, client *http.Client, url string, history *atomic.Int64) error {
	type message struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	type reply struct {
		StopReason string            `json:"stop_reason"`
		Content    []json.RawMessage `json:"content"`
	}
	messages := []message{{"user", "Begin."}}
	for calls := 1; ; calls++ {
		body, err := json.Marshal(map[string]any{
			"model": "claude-sonnet-5", "max_tokens": 4096, "system": "You work in a terminal.", "messages": messages,
			"tools": []any{map[string]any{"name": "bash", "description": "Run a command.", "input_schema": json.RawMessage(bashSchema)}},
		})
		if err != nil {
			return err
		}
		history.Store(int64(len(body)))
		resp, err := client.Post(url, "application/json", bytes.NewReader(body))
		if err != nil {
			return err
		}
		var r reply
		err = json.NewDecoder(resp.Body).Decode(&r)
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: %w", resp.Status, err)
		}
		messages = append(messages, message{"assistant", r.Content})
		if r.StopReason != "tool_use" {
			return nil
		}
		var results []map[string]string
		for _, raw := range r.Content {
			var b struct{ ID string }
			if err := json.Unmarshal(raw, &b); err != nil {
				return err
			}
			results = append(results, map[string]string{"type": "tool_result", "tool_use_id": b.ID, "content": h.call(calls)})
		}
		messages = append(messages, message{"user", results})
	}
}

const bashSchema = `{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`

// teamOf are n agents that one call of each starts, as cmd/oneloop wires them.
func teamOf(h *halt, client *http.Client, url string, n int) []error {
	logs := make(chan *session.Log, n)
	h.history = func() (sum int64) {
		for range n {
			l := <-logs
			req, err := l.Request(context.Background())
			if err != nil {
				continue
			}
			for _, m := range req.Messages {
				if parts, err := m.Parts(); err == nil {
					for _, p := range parts {
						sum += int64(len(p))
					}
				}
			}
		}
		return sum
	}
	ledger := budget.New(budget.Limits{})
	run := func(ctx context.Context, t team.Task, emit func(oneloop.Event)) (string, error) {
		l, err := ledger.Reserve(budget.Limits{Requests: 10 * h.last}, t.Share)
		if err != nil {
			return "", err
		}
		defer l.Return()
		api, err := anthropic.New(anthropic.Config{BaseURL: url, Key: "key", Model: "claude-sonnet-5", Client: client})
		if err != nil {
			return "", err
		}
		m := model.Stall(api, model.StallOptions{})
		m = model.Pause(m, model.PauseOptions{})
		m = model.Retry(m, model.RetryOptions{})
		m = model.Budget(m, l, "claude-sonnet-5")
		calls := 0
		box := &oneloop.Toolbox{Tools: []oneloop.Tool{tool.New("bash", "Run a command.", func(context.Context, struct {
			Command string `json:"command"`
		}) (string, error) {
			calls++
			return h.call(calls), nil
		})}}
		log := session.NewLog("", session.LogOptions{})
		log.Use(session.Setup{Model: "claude-sonnet-5", System: []oneloop.Block{&oneloop.Text{Text: "You work in a terminal."}}, Tools: box.Defs(), Params: oneloop.Params{MaxTokens: 4096}})
		logs <- log
		s := &session.Session{Model: m, Tools: box, Transcript: log, Inbox: new(session.Inbox), Window: session.Window{Tokens: 200_000}}
		answer := ""
		err = s.Turn(ctx, func(e oneloop.Event) {
			if added, is := e.(oneloop.MessageAdded); is && added.Message.Role == oneloop.Assistant {
				answer = added.Message.Text()
			}
			emit(e)
		}, &oneloop.Text{Text: t.Prompt})
		return answer, err
	}
	broker := team.NewBroker(team.Options{Tree: &team.Tree{MaxLive: n, MaxTotal: n}, Run: run})
	agents := team.NewAgents(team.AgentOptions{Broker: func() (*team.Broker, error) { return broker, nil }, PerTurn: n})
	box := &oneloop.Toolbox{Tools: []oneloop.Tool{agents.Tool()}}
	var calls []*oneloop.ToolUse
	for i := range n {
		calls = append(calls, &oneloop.ToolUse{ID: fmt.Sprint("c", i), Name: "Agent", Input: json.RawMessage(`{"prompt":"Begin."}`)})
	}
	var errs []error
	for _, b := range box.Run(context.Background(), calls, nil).Blocks {
		if r := b.(*oneloop.ToolResult); r.IsError || r.Content[0].(*oneloop.Text).Text != "Done." {
			errs = append(errs, errors.New(r.Text()))
		}
	}
	return errs
}

// each runs a function n times side by side and returns the errors.
func each(n int, run func(i int) error) (errs []error) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := run(i); err != nil {
				mu.Lock()
				defer mu.Unlock()
				errs = append(errs, err)
			}
		})
	}
	wg.Wait()
	return errs
}
