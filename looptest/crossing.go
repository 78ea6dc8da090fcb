package looptest

import (
	"fmt"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
)

// TestCrossing checks that a conversation begun on one adapter goes on with
// another, in the middle of a turn, and comes back: both APIs take it, and no
// text, call, result or image is lost on the way. What is stored in between
// is read again.
func TestCrossing(t *testing.T, from, to Subject) {
	a, b := bench{from}, bench{to}
	sa, ma := a.serve(t, begun(a, b), script.Say(script.Thinking("back", "c2ln/B+="), script.Text("A is back"), script.Tool("t9", "Bash", `{"n":1.0}`)), script.Say(script.Text("end")))
	sb, mb := b.serve(t, script.Say(script.Thinking("B thinks", "c2ln/C+="), script.Text("B looks"), script.Tool("t1", "Bash", `{"command":"pwd"}`), script.Tool("functions.Bash:0", "Bash", ``)),
		script.Say(script.Text("B is done")))
	c := crossing{t: t, msgs: []*oneloop.Message{oneloop.UserText("hi")}}

	first := c.say(ma, sa)
	answers := results(first, &oneloop.Text{Text: "see"}, image())
	failed := oneloop.ErrorResult("it broke")
	failed.ID = first.ToolUses()[1].ID
	answers.Blocks[1] = failed
	c.hear(answers)
	c.hear(results(c.say(mb, sb)))
	c.say(mb, sb)
	c.hear(oneloop.UserText("and now?"))
	c.hear(&oneloop.Message{Role: oneloop.Assistant, Stop: oneloop.StopInterrupted, Origin: first.Origin, Blocks: []oneloop.Block{&oneloop.Text{Text: "A was stopped"}}})
	c.hear(oneloop.UserText("go on"))
	c.hear(results(c.say(ma, sa)))
	c.say(ma, sa)
}

// begun is the first reply, with a block that is the API's own where it has
// such and another one is crossed to: the server of the same API would have to
// know it.
func begun(b, to bench) script.Reply {
	r := script.Say(script.Thinking("A thinks", "c2ln/A+="), script.Text("A looks"),
		script.Tool("t1", "Bash", `{"command":"ls","n":1.10}`), script.Tool("t2", "Bash", `{"command":"cat x"}`))
	if own := b.speaks().Traits.Own; own != nil && b.speaks().Name != to.speaks().Name {
		r.Blocks = append(r.Blocks[:1:1], append([]script.Block{script.Raw(own)}, r.Blocks[1:]...)...)
	}
	return r
}

type crossing struct {
	t    *testing.T
	msgs []*oneloop.Message
}

// hear adds a message, as it is once it was stored and read again.
func (c *crossing) hear(m *oneloop.Message) {
	c.t.Helper()
	stored, err := m.AppendJSON(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	again := &oneloop.Message{}
	if err := again.UnmarshalJSON(stored); err != nil {
		c.t.Fatal(err)
	}
	c.msgs = append(c.msgs, again)
}

// say asks for the next reply and sees that the request told everything.
func (c *crossing) say(m oneloop.Model, s *script.Server) *oneloop.Message {
	c.t.Helper()
	req := asking()
	req.Messages = c.msgs
	_, msg, err := generate(c.t.Context(), m, req)
	sent := s.Requests()
	if len(sent) == 0 {
		c.t.Fatal("no request came")
	}
	last := sent[len(sent)-1]
	if err != nil {
		c.t.Fatalf("with %d messages: %v\n%s", len(c.msgs), err, last.Body)
	}
	if want, got := told(c.msgs), retold(c.t, last); strings.Join(got, "\n") != strings.Join(want, "\n") {
		c.t.Errorf("with %d messages the request tells\n  %s\nwant\n  %s\n%s", len(c.msgs), strings.Join(got, "\n  "), strings.Join(want, "\n  "), last.Body)
	}
	c.hear(msg)
	return c.msgs[len(c.msgs)-1]
}

// told is what a conversation says, one line for everything that must not be
// lost.
func told(msgs []*oneloop.Message) []string {
	var out []string
	for _, m := range msgs {
		images := 0
		for _, b := range m.Blocks {
			switch b := b.(type) {
			case *oneloop.Text:
				out = says(out, string(m.Role), b.Text)
			case *oneloop.ToolUse:
				out = append(out, "call "+b.Name+compact(b.Input))
			case *oneloop.ToolResult:
				for _, inner := range b.Content {
					if _, ok := inner.(*oneloop.Media); ok {
						images++
					}
				}
				out = append(out, fmt.Sprintf("result %s, failed: %v", known(b.Text()), b.IsError))
			}
		}
		if images > 0 {
			out = append(out, fmt.Sprint("images: ", images))
		}
	}
	return out
}

// says adds a line that says text, or adds text to the last line when that is
// of the same message: some APIs take text apart.
func says(lines []string, role, text string) []string {
	begin := role + " says "
	if n := len(lines); n > 0 && strings.HasPrefix(lines[n-1], begin) {
		lines[n-1] += text
		return lines
	}
	return append(lines, begin+text)
}

// known is which of the results of these tests a text holds.
func known(text string) string {
	for _, r := range []string{"see", "it broke", "result 0", "result 1"} {
		if strings.Contains(text, r) {
			return r
		}
	}
	return text
}

// retold is the same of a request. What an adapter adds by itself, such as
// text that leads to an image, is left out.
func retold(t *testing.T, r script.Request) []string {
	t.Helper()
	var out, open []string
	for _, m := range r.Messages {
		images, results := 0, 0
		for _, c := range m.Content {
			switch c.Type {
			case "text":
				if results == 0 {
					out = says(out, m.Role, c.Text)
				}
			case "tool_use":
				open = append(open, c.ID)
				out = append(out, "call "+c.Name+compact(c.Input))
			case "image":
				images++
			case "tool_result":
				results++
				text := c.FullText()
				for _, inner := range c.Content {
					if inner.Type == "image" {
						images++
					}
				}
				if len(open) == 0 || open[0] != c.ID {
					t.Errorf("the result of %q answers none of %q at its place", c.ID, open)
				} else {
					open = open[1:]
				}
				failed := c.IsError || strings.Contains(strings.ToLower(text), "error")
				out = append(out, fmt.Sprintf("result %s, failed: %v", known(text), failed))
			}
		}
		if images > 0 {
			out = append(out, fmt.Sprint("images: ", images))
		}
	}
	return out
}
