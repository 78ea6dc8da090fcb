package session_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"oneloop"
	"oneloop/looptest"
	"oneloop/session"
)

// chance is a model that does as it likes within its contract, and looks at
// what it is sent: every API takes it, and what was sent before is its
// beginning, byte for byte, unless the conversation was made shorter.
type chance struct {
	t      *rapid.T
	luck   *rand.Rand // of what is played
	calls  int
	sent   []string // the messages of the last request
	fixed  string   // system and tools
	prompt string   // the last the user said
	faults []string
	short  bool            // the conversation was made shorter since
	sealed map[string]bool // the calls whose message had reasoning
}

func (c *chance) fault(format string, args ...any) {
	c.faults = append(c.faults, fmt.Sprintf(format, args...))
}

func rendered(blocks []oneloop.Block) string {
	var b []byte
	for _, x := range blocks {
		var err error
		if b, err = oneloop.AppendBlock(b, x); err != nil {
			return err.Error()
		}
	}
	return string(b)
}

// look compares a request with the one before it.
func (c *chance) look(req *oneloop.Request) (aside bool) {
	if err := looptest.CheckRequest(req); err != nil {
		c.fault("an API would refuse the request: %v", err)
	}
	fixed := rendered(req.System) + fmt.Sprint(req.Tools)
	if c.fixed == "" {
		c.fixed = fixed
	}
	if fixed != c.fixed {
		c.fault("system or tools have changed")
	}
	aside = wish(req.Messages[len(req.Messages)-1])
	if aside && strings.HasPrefix(req.Messages[0].Text(), "This is a conversation between") {
		return true
	}
	c.reasoned(req)
	var now []string
	prompted := c.prompt == ""
	for _, m := range req.Messages {
		now = append(now, string(m.Role)+rendered(m.Blocks))
		prompted = prompted || m.Text() == c.prompt
	}
	if !prompted {
		c.fault("the user's last words are not in a request")
	}
	if !c.short && (len(now) < len(c.sent) || !slices.Equal(now[:len(c.sent)], c.sent)) {
		c.fault("the beginning of what was sent has changed")
	}
	if !aside {
		c.sent, c.short = now, false
	}
	return aside
}

// reasoned looks that the turn that goes on has the reasoning it came with.
func (c *chance) reasoned(req *oneloop.Request) {
	for i := len(req.Messages) - 1; i >= 0; i-- {
		m := req.Messages[i]
		if m.Role == oneloop.User {
			if _, answers := m.Blocks[0].(*oneloop.ToolResult); !answers && (i == 0 || req.Messages[i-1].Role == oneloop.Assistant) {
				return
			}
			continue
		}
		if _, has := m.Blocks[0].(*oneloop.Thinking); !has && len(m.ToolUses()) > 0 && c.sealed[m.ToolUses()[0].ID] {
			c.fault("message %d lacks its reasoning", i)
		}
	}
}

func (c *chance) Generate(_ context.Context, req *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
	emit(oneloop.RequestSent{})
	aside := c.look(req)
	one := func(n int) bool { return c.luck.IntN(n) == 0 }
	switch {
	case one(14):
		return nil, &oneloop.APIError{Class: oneloop.ErrContextOverflow, Message: "prompt is too long: 20 tokens > 15 maximum"}
	case one(30):
		return nil, &oneloop.APIError{Class: oneloop.ErrOverloaded}
	}
	m := &oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopEndTurn}
	if one(2) {
		m.Blocks = append(m.Blocks, &oneloop.Thinking{Text: "so", Signature: fmt.Sprint("seal", c.calls)})
	}
	if !one(5) {
		m.Blocks = append(m.Blocks, text(strings.Repeat("said ", 1+c.luck.IntN(40))))
	}
	switch {
	case one(12):
		m.Stop = []oneloop.StopReason{oneloop.StopMaxTokens, oneloop.StopContextWindow, oneloop.StopRefusal}[c.luck.IntN(3)]
	case !aside && !one(3) || aside && one(6):
		m.Stop = oneloop.StopToolUse
		for range 1 + c.luck.IntN(3) {
			c.calls++
			m.Blocks = append(m.Blocks, call(fmt.Sprint("c", c.calls), "T"))
			_, c.sealed[fmt.Sprint("c", c.calls)] = m.Blocks[0].(*oneloop.Thinking)
		}
	}
	if one(3) {
		m.Usage = oneloop.Usage{Reported: true, Input: int64(500 + c.luck.IntN(9000)), Output: 1}
	}
	return m, nil
}

func TestWhateverIsMadeShorterTheNextRequestIsAccepted(t *testing.T) {
	shorter, again := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		luck := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "luck"), 1))
		c := &chance{t: rt, luck: luck, sealed: map[string]bool{}}
		path := filepath.Join(t.TempDir(), "s.jsonl")
		box := tools(func(context.Context, *oneloop.ToolUse, func(oneloop.Event)) (*oneloop.ToolResult, error) {
			return oneloop.TextResult(strings.Repeat("字 output", 1+luck.IntN(400))), nil
		})
		window := session.Window{Tokens: rapid.SampledFrom([]int{0, 6_000, 12_000}).Draw(rt, "window")}
		open := func(log *session.Log) (*session.Session, *session.Log) {
			log.Use(session.Setup{Model: "m", System: []oneloop.Block{text("system")}, Tools: box.Defs()})
			s := &session.Session{Model: c, Tools: box, Transcript: log, Inbox: new(session.Inbox), Window: window}
			s.Keep("list", func() string { return "of things" })
			return s, log
		}
		s, log := open(session.NewLog(path, session.LogOptions{}))
		hear := func(e oneloop.Event) {
			switch e.(type) {
			case oneloop.Compacted:
				shorter++
				c.short = true
			case oneloop.ToolEnd:
				if luck.IntN(10) == 0 {
					s.Inbox.Put(session.BeforeModel, text("and this"))
				}
			}
		}
		for i, step := range rapid.SliceOfN(rapid.SampledFrom([]string{"say", "say", "say", "shorter", "open", "back"}), 1, 12).Draw(rt, "steps") {
			switch step {
			case "say":
				c.prompt = fmt.Sprintf("prompt %d", i)
				_ = s.Turn(t.Context(), hear, text(c.prompt)) // whatever it ends with, the next can be said
			case "shorter":
				if c.prompt == "" {
					continue
				}
				_ = s.Compact(t.Context(), hear, "")
			case "back":
				all := log.Prompts()
				if len(all) == 0 {
					continue
				}
				to := luck.IntN(len(all))
				if err := log.Rewind(all[to].N - 1); err != nil {
					rt.Fatal(err)
				}
				if c.prompt, c.short = "", true; to > 0 {
					c.prompt = all[to-1].Text
				}
			case "open":
				if c.prompt == "" {
					continue
				}
				if err := log.Close(); err != nil {
					rt.Fatal(err)
				}
				reopened, damage, err := session.OpenLog(path, session.LogOptions{})
				if err != nil || len(damage) > 0 {
					rt.Fatal(err, damage)
				}
				s, log = open(reopened)
			}
			if len(c.faults) > 0 {
				rt.Fatalf("step %d, %s: %s", i, step, strings.Join(c.faults, "\n"))
			}
		}
		if err := log.Close(); err != nil && !errors.Is(err, session.ErrBusy) {
			rt.Fatal(err)
		}
		if c.prompt != "" {
			again += replays(rt, path)
		}
	})
	if again < 100 {
		t.Errorf("only %d turns were taken again", again)
	}
	if shorter < 50 {
		t.Errorf("only %d times was a conversation made shorter", shorter)
	}
}
