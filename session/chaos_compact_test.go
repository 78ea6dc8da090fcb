//go:build unix

package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop/looptest/script"
	"oneloop/session"
)

// shorter makes the conversation shorter now and then, where its window is
// known.
func (c *life) shorter(ctx context.Context, s *session.Session, random *rand.Rand) error {
	if c.Window == 0 || random.IntN(4) > 0 {
		return nil
	}
	if err := s.Compact(ctx, nil, ""); !errors.Is(err, session.ErrNothing) {
		return err
	}
	return nil
}

// TestKilledWhileItIsMadeShorterTheConversationGoesOn is the same with
// conversations that outgrow their window again and again.
func TestKilledWhileItIsMadeShorterTheConversationGoesOn(t *testing.T) {
	conversations, kills := 2, 10
	if os.Getenv("ONELOOP_SOAK") != "" {
		conversations = 20
	} else {
		t.Logf("%d kills; ONELOOP_SOAK=1 makes it 200", conversations*kills)
	}
	var shorter atomic.Int64
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for i := range conversations {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			c := &chaos{T: t, dir: t.TempDir(), server: talk(seed + uint64(i)), random: rand.New(rand.NewPCG(seed, uint64(i))), window: 8_000, shorter: &shorter}
			c.play(kills)
		})
	}
	t.Cleanup(func() { // behind the conversations
		if n := shorter.Load(); n == 0 && !t.Failed() {
			t.Error("no conversation was ever made shorter")
		}
	})
}

// judgeShorter judges requests that need not have all in them: what was done
// was told at some time, what is told was done, and what was sent stays the
// beginning of what is sent until a summary takes its place.
func (c *chaos) judgeShorter(done map[string]int) {
	var told bytes.Buffer
	var last *script.Request
	summaries := 0
	for _, r := range c.sent() {
		told.Write(r.Body)
		for _, m := range r.Messages {
			for _, x := range m.Content {
				if x.Type == "tool_result" && strings.Contains(x.FullText(), "did ") && done[x.ID] == 0 {
					c.Errorf("%s was not done, and the model is told %q", x.ID, x.FullText())
				}
			}
		}
		text := r.Last().Text()
		if strings.Contains(text, "summary now, as plain text") {
			continue
		}
		if last != nil && !c.follows(*last, r) {
			if summaries++; !strings.Contains(r.FirstText(), "<summary>") || r.FirstText() == last.FirstText() {
				c.Errorf("request %d neither goes on from the one before nor begins with another summary", r.N)
			}
		}
		last = &r
	}
	for id := range done {
		if !knows(told.String(), id) {
			c.Errorf("%s was done, and the model never knew of it", id)
		}
	}
	c.shorter.Add(int64(summaries))
}

// knows reports whether a model that was told all that knows of a call. Told as
// text, what is not known of a call has no id beside it.
func knows(told, id string) bool {
	return strings.Contains(told, `"`+id+`"`) || strings.Contains(told, "did "+id) || strings.Contains(told, "It failed: Interrupted; outcome unknown")
}
