//go:build unix

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/session"
)

// TestKilledWhileItGoesBackTheConversationGoesOn is the same with lives in which
// the conversation goes back to before a prompt, in its log or in a fork of it,
// beside being made shorter.
func TestKilledWhileItGoesBackTheConversationGoesOn(t *testing.T) {
	conversations, kills := 2, 10
	if os.Getenv("ONELOOP_SOAK") != "" {
		conversations = 20
	} else {
		t.Logf("%d kills; ONELOOP_SOAK=1 makes it 200", conversations*kills)
	}
	var shorter, back atomic.Int64
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range conversations {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := &chaos{T: t, dir: t.TempDir(), server: talk(seed + uint64(i)), random: rand.New(rand.NewPCG(seed, uint64(i))),
				window: 8_000, shorter: &shorter, back: &back}
			c.play(kills)
		})
	}
	t.Cleanup(func() { // behind the conversations
		if t.Logf("it went back %d times, and was made shorter %d times", back.Load(), shorter.Load()); back.Load() < int64(conversations) && !t.Failed() {
			t.Error("that is too few")
		}
	})
}

// back takes the conversation to before a prompt, in its log or in a fork of it,
// and looks whether it is then as it was.
func (c *life) back(l *session.Log, s *session.Session, random *rand.Rand) (*session.Log, *session.Session, error) {
	prompts := l.Prompts()
	if len(prompts) == 0 {
		return l, s, nil
	}
	i := random.IntN(len(prompts))
	p := prompts[i]
	if random.IntN(2) == 0 {
		if err := l.Rewind(p.N - 1); err != nil {
			return nil, nil, err
		}
	} else {
		path := l.Path()
		made, err := session.Fork(path, p.N-1, session.LogOptions{})
		if err == nil {
			err = errors.Join(l.Close(), c.goOnIn(made))
		}
		if err == nil {
			l, _, err = session.OpenLog(made, session.LogOptions{})
		}
		if err == nil {
			s, err = c.agent(l)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if left := l.Prompts(); !slices.EqualFunc(left, prompts[:i], func(a, b session.Prompt) bool { return a.N == b.N && a.Text == b.Text }) {
		return nil, nil, fmt.Errorf("back before %q the prompts are %v", p.Text, left)
	}
	if _, was, ok := strings.Cut(p.Text, " after "); ok && " after "+was != c.mark(l) {
		return nil, nil, fmt.Errorf("back before %q the conversation is%s", p.Text, c.mark(l))
	}
	return l, s, nil
}

// mark tells what a prompt is said behind: the first message, which a summary
// changes, and all of it.
func (c *life) mark(l *session.Log) string {
	if !c.Back {
		return ""
	}
	req, err := l.Request(context.Background())
	if err != nil {
		return err.Error() // matches nothing
	}
	first, all := "", fnv.New64a()
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			words := ""
			switch b := b.(type) {
			case *oneloop.Text:
				words = b.Text
			case *oneloop.ToolUse:
				words = b.ID
			case *oneloop.ToolResult:
				words = b.ID + b.Text()
			default:
				continue // what is bound to a place may be left out
			}
			if all.Write([]byte(words + "\n")); first == "" {
				first = fmt.Sprintf("%x", all.Sum64())
			}
		}
	}
	return fmt.Sprintf(" after %s %x", first, all.Sum64())
}

// judgeBack judges requests of a conversation that went back: before each prompt
// stands what stood there when it was said, unless a summary does.
func (c *chaos) judgeBack(done map[string]int) {
	var told bytes.Buffer
	for _, r := range c.sent() {
		told.Write(r.Body)
		for _, m := range r.Messages {
			for _, x := range m.Content {
				if x.Type == "tool_result" && strings.Contains(x.FullText(), "did ") && done[x.ID] == 0 {
					c.Errorf("%s was not done, and the model is told %q", x.ID, x.FullText())
				}
			}
		}
		if strings.HasPrefix(r.FirstText(), "[The earlier part") {
			c.shorter.Add(1)
		}
		c.stands(r)
	}
	c.judgeLogs(done, told.String())
}

// stands judges what stands before the prompts of a request.
func (c *chaos) stands(r script.Request) {
	first, all := "", fnv.New64a()
	for _, m := range r.Messages {
		for _, x := range m.Content {
			words := x.FullText()
			switch x.Type {
			case "text":
			case "tool_use", "tool_result":
				words = x.ID + words
			default:
				continue
			}
			if _, was, ok := strings.Cut(words, " after "); ok && m.Role == "user" && strings.HasPrefix(words, "turn ") {
				if begun, _, _ := strings.Cut(was, " "); begun == first && was != fmt.Sprintf("%s %x", first, all.Sum64()) {
					c.Errorf("in request %s something else stands before %q:\n%.1500s", r.Header.Get("X-Sent"), words, shape(r))
				}
			}
			if all.Write([]byte(words + "\n")); first == "" {
				first = fmt.Sprintf("%x", all.Sum64())
			}
		}
	}
}

// judgeLogs looks for what was done in the logs: it was written before, and who
// was never told of it went back to before it.
func (c *chaos) judgeLogs(done map[string]int, told string) {
	written, undone := map[string]bool{}, map[string]bool{}
	name, err := os.ReadFile(filepath.Join(c.dir, "current"))
	if err != nil {
		c.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(c.dir, "*.jsonl"))
	if err != nil {
		c.Fatal(err)
	}
	for at, upTo := string(name), int64(math.MaxInt64); at != ""; {
		paths = slices.DeleteFunc(paths, func(path string) bool { return filepath.Base(path) == at })
		at, upTo = c.readLog(at, upTo, written, undone)
	}
	for _, path := range paths { // no part of the conversation any more
		c.readLog(filepath.Base(path), 0, written, undone)
	}
	for id := range done {
		if !written[id] {
			c.Errorf("%s was done, and no log knows of it", id)
		}
		if !undone[id] && !knows(told, id) {
			c.Errorf("%s was done, and the model never knew of it", id)
		}
	}
}

// readLog takes note of the calls in a log that were about to run, and of those
// from before which the conversation went on otherwise: in this log, or, if they
// are behind the entry upTo, in another. It returns the log that it was forked
// from, and what is upTo there.
func (c *chaos) readLog(name string, upTo int64, written, undone map[string]bool) (from string, at int64) {
	text, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		c.Fatal(err)
	}
	begun := map[string]int64{}
	for line := range bytes.Lines(text) {
		var e struct {
			N int64
			K string
			D struct {
				Call   string
				To     int64
				Parent *session.Place
			}
		}
		if json.Unmarshal(line, &e) != nil {
			continue // torn
		}
		switch {
		case e.K == "session" && e.D.Parent != nil:
			from, at = e.D.Parent.ID+".jsonl", min(e.D.Parent.N, upTo)
			c.back.Add(1)
		case e.K == "intent":
			written[e.D.Call] = true
			begun[e.D.Call] = e.N
		case e.K == "rewind":
			c.back.Add(1)
			at = min(at, e.D.To)
			for id, n := range begun {
				undone[id] = undone[id] || n > e.D.To
			}
		}
	}
	for id, n := range begun {
		undone[id] = undone[id] || n > upTo
	}
	return from, at
}
