package looptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"

	"oneloop"
)

// TestTranscript checks the contract of [oneloop.Transcript] on transcripts
// that open makes, each new and empty.
func TestTranscript(t *testing.T, open func(t testing.TB) oneloop.Transcript) {
	for _, law := range []struct {
		name string
		run  func(*testing.T, oneloop.Transcript)
	}{
		{"messages come back in order", inOrder},
		{"messages keep their bytes", keepBytes},
		{"what no API takes is left out", leftOut},
		{"an older request does not change", olderRequest},
		{"what was sent stays the beginning of what is sent", prefix},
		{"an ended context gives its cause", endedContext},
		{"several goroutines may append", together},
	} {
		t.Run(law.name, func(t *testing.T) { law.run(t, open(t)) })
	}
}

func add(t *testing.T, tr oneloop.Transcript, msgs ...*oneloop.Message) {
	t.Helper()
	if err := tr.Append(t.Context(), msgs...); err != nil {
		t.Fatalf("append: %v", err)
	}
}

// sent is each message of the next request as JSON.
func sent(t *testing.T, tr oneloop.Transcript) []string {
	t.Helper()
	req, err := tr.Request(t.Context())
	if err != nil {
		t.Fatalf("request: %v", err)
	}
	return encoded(t, req)
}

func encoded(t *testing.T, req *oneloop.Request) []string {
	t.Helper()
	var out []string
	for _, m := range req.Messages {
		b, err := m.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

func assistant(stop oneloop.StopReason, blocks ...oneloop.Block) *oneloop.Message {
	return &oneloop.Message{Role: oneloop.Assistant, Blocks: blocks, Stop: stop}
}

// round is a call and its answer.
func round(id string) []*oneloop.Message {
	r := oneloop.TextResult("done " + id)
	r.ID = id
	return []*oneloop.Message{
		assistant(oneloop.StopToolUse, Call(id, "Bash", `{}`)),
		oneloop.NewMessage(oneloop.User, r),
	}
}

func inOrder(t *testing.T, tr oneloop.Transcript) {
	add(t, tr, oneloop.UserText("first"))
	for i := range 5 {
		add(t, tr, round(fmt.Sprint("t", i))...)
	}
	add(t, tr, assistant(oneloop.StopEndTurn, &oneloop.Text{Text: "last"}))
	req, err := tr.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Messages) != 12 || req.Messages[0].Text() != "first" || req.Messages[11].Text() != "last" {
		t.Fatalf("12 messages were appended, these come back: %q", encoded(t, req))
	}
	for i := range 5 {
		c := req.Messages[1+2*i].ToolUses()
		if len(c) != 1 || c[0].ID != fmt.Sprint("t", i) {
			t.Errorf("message %d is not call t%d", 1+2*i, i)
		}
	}
	if err := CheckRequest(req); err != nil {
		t.Errorf("an API would refuse the request: %v", err)
	}
}

func keepBytes(t *testing.T, tr oneloop.Transcript) {
	raws := []string{
		`{"type":"thinking","thinking":"","signature":"c2ln"}`,
		`{"text":"a < b && \u4f60","type":"text","citations":null}`,
		`{"type":"hologram","depth":18446744073709551616}`,
		`{"type":"tool_use","id":"t1","name":"Bash","input":{"b":1.10,"a":2}}`,
	}
	m := assistant(oneloop.StopToolUse)
	for _, raw := range raws {
		b, err := oneloop.DecodeBlock(json.RawMessage(raw))
		if err != nil {
			t.Fatal(err)
		}
		m.Blocks = append(m.Blocks, b)
	}
	add(t, tr, oneloop.UserText("hi"), m, round("t1")[1])
	req, err := tr.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(req.Messages) != 3 || len(req.Messages[1].Blocks) != len(raws) {
		t.Fatalf("these come back: %q", encoded(t, req))
	}
	for i, b := range req.Messages[1].Blocks {
		if string(b.RawJSON()) != raws[i] {
			t.Errorf("block %d was\n%s\nand is\n%s", i, raws[i], b.RawJSON())
		}
	}
}

func leftOut(t *testing.T, tr oneloop.Transcript) {
	text := &oneloop.Text{Text: "text"}
	add(t, tr,
		oneloop.UserText("hi"),
		assistant(oneloop.StopEndTurn),
		assistant(oneloop.StopRefusal, text),
		assistant(oneloop.StopMaxTokens, text, Call("t1", "Bash", `{}`)),
		assistant(oneloop.StopInterrupted),
		oneloop.UserText("go on"))
	req, err := tr.Request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range req.Messages {
		if m.Role == oneloop.Assistant {
			t.Errorf("this is sent: %q", encoded(t, req))
			break
		}
	}
	if err := CheckRequest(req); err != nil {
		t.Errorf("an API would refuse the request: %v", err)
	}
}

func olderRequest(t *testing.T, tr oneloop.Transcript) {
	add(t, tr, oneloop.UserText("hi"))
	for i := range 5 {
		req, err := tr.Request(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		before := fmt.Sprint(encoded(t, req))
		add(t, tr, round(fmt.Sprint("t", i))...)
		if after := fmt.Sprint(encoded(t, req)); after != before {
			t.Fatalf("the request was\n%s\nand is\n%s", before, after)
		}
	}
}

func prefix(t *testing.T, tr oneloop.Transcript) {
	add(t, tr, oneloop.UserText("hi"))
	var before []string
	for i := range 5 {
		now := sent(t, tr)
		if len(now) < len(before) {
			t.Fatalf("%d messages were sent, now %d", len(before), len(now))
		}
		for j := range before {
			if now[j] != before[j] {
				t.Fatalf("message %d was\n%s\nand is\n%s", j, before[j], now[j])
			}
		}
		before = now
		add(t, tr, round(fmt.Sprint("t", i))...)
	}
}

func endedContext(t *testing.T, tr oneloop.Transcript) {
	add(t, tr, oneloop.UserText("hi"))
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(oneloop.ErrShutdown)
	if _, err := tr.Request(ctx); !errors.Is(err, oneloop.ErrShutdown) {
		t.Errorf("got %v, want the cause", err)
	}
	if got := sent(t, tr); len(got) != 1 {
		t.Errorf("afterwards %d messages are there", len(got))
	}
}

func together(t *testing.T, tr oneloop.Transcript) {
	const n = 8
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			errs[i] = tr.Append(t.Context(), oneloop.UserText(fmt.Sprint(i)))
			if _, err := tr.Request(t.Context()); err != nil && errs[i] == nil {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, m := range sent(t, tr) {
		seen[m] = true
	}
	if len(seen) != n {
		t.Errorf("%d messages were appended, %d are there", n, len(seen))
	}
}
