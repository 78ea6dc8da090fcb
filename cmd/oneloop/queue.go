package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/session"
)

// waits is what the person typed that nobody has taken yet. Lines for the model
// wait in the session's inbox, which has them delivered.
type waits struct {
	later []string // what is done after the turn
	held  bool     // the inbox waits for the next prompt: the turn before failed

	mu    sync.Mutex
	lines map[string]bool // the person's, of what was put into the inbox
}

// attend takes what the person types while the turn of ctx runs.
func (c *conversation) attend(ctx context.Context) {
	for {
		line, err := c.front.Typed(ctx)
		if err != nil {
			return
		}
		c.meanwhile(ctx, line)
	}
}

// meanwhile takes a line typed during a turn. Words for the model go to it
// after the calls that run now; what is for the program is done at once where
// a turn does not mind, else after it, and what was typed behind that too.
func (c *conversation) meanwhile(ctx context.Context, line string) {
	name, args, command := slash(line)
	_, mine := own(line)
	word := strings.TrimSpace(line)
	switch {
	case word == "!":
		c.front.Say(c.words.OwnHow)
	case command && slices.Contains([]string{"/queue", "/help", "/cost", "/mode", "/todo", "/agents", "/jobs"}, name):
		c.command(ctx, name, args)
	case command, mine, word == "q", word == "exit", len(c.waits.later) > 0:
		c.waits.later = append(c.waits.later, line)
		c.front.Say(fmt.Sprintf(c.words.Next, tui.Head(line)))
	default:
		if err := c.checkPrompt(line); err != nil {
			c.front.Say(err.Error())
			return
		}
		c.front.Say(fmt.Sprintf(c.words.Queued, c.put(line), tui.Head(line)))
	}
}

// put has a line of the person wait for the model.
func (c *conversation) put(line string) int {
	c.waits.note(line)
	return c.agent.Inbox.Put(session.BeforeModel, &oneloop.Text{Text: line})
}

func (w *waits) note(line string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lines == nil {
		w.lines = map[string]bool{}
	}
	w.lines[line] = true
}

// delivered shows lines of the person where the model gets them.
func (c *conversation) delivered(e oneloop.Event) {
	added, ok := e.(oneloop.MessageAdded)
	if !ok || added.Message.Meta.Source != "inbox" {
		return
	}
	for _, b := range added.Message.Blocks {
		t, ok := b.(*oneloop.Text)
		c.waits.mu.Lock()
		ok = ok && c.waits.lines[t.Text]
		if ok {
			delete(c.waits.lines, t.Text)
		}
		c.waits.mu.Unlock()
		if ok {
			c.echo(t.Text)
		}
	}
}

// echo shows what is said to the model, as a prompt is shown.
func (c *conversation) echo(line string) {
	c.front.Say("> " + strings.ReplaceAll(line, "\n", "\n  "))
}

// next is the line that the conversation goes on with. It is empty when what
// waits for the model is to be said.
func (c *conversation) next(ctx context.Context) (string, error) {
	w := &c.waits
	idle, up := ctx, func() {}
	if !w.held {
		idle, up = c.agent.idle.sleep(ctx)
	}
	defer up()
	if !w.held && len(c.agent.Inbox.List()) > 0 {
		return "", nil
	}
	if len(w.later) > 0 {
		line := w.later[0]
		w.later = w.later[1:]
		c.echo(line)
		return line, nil
	}
	line, err := c.front.Prompt(idle)
	if errors.Is(err, errRoused) {
		return "", nil
	}
	return line, err
}

// speak is what a turn says: line, behind what waits for the model. Nothing is
// left of that then, and the session says it.
func (c *conversation) speak(line string) []oneloop.Block {
	waiting := c.agent.Inbox.List()
	if len(waiting) == 0 {
		return []oneloop.Block{&oneloop.Text{Text: line}}
	}
	for _, w := range waiting {
		if !c.agent.idle.said(w.Text()) { // else it was told when it came
			c.echo(w.Text())
		}
	}
	if line != "" {
		c.agent.Inbox.Put(session.BeforeModel, &oneloop.Text{Text: line})
	}
	return nil
}

// hold keeps what waits until the person says more. It is not sent into what
// may fail again.
func (c *conversation) hold() {
	n := len(c.agent.Inbox.List())
	if c.waits.held = n > 0; c.waits.held {
		c.front.Say(c.words.Held(n))
	}
}

// takeUp has the log of the conversation keep what waits, and offers what waited
// in it when it was left.
func (c *conversation) takeUp() {
	c.agent.Inbox.Resume(c.agent.log.Load())
	list := c.agent.Inbox.List()
	if c.waits.held = len(list) > 0; c.waits.held {
		c.front.Say(c.words.QueueOffered)
		c.front.Say(c.listed(list))
	}
}

func (c *conversation) listed(list []session.Waiting) string {
	var lines []string
	for _, w := range list {
		lines = append(lines, fmt.Sprintf("  %d  %s", w.ID, strings.ReplaceAll(w.Text(), "\n", "\n     ")))
	}
	return strings.Join(lines, "\n")
}

// left tells what the person typed that nobody got.
func (c *conversation) left() {
	for _, line := range c.waits.later {
		name, _, command := slash(line)
		if _, mine := own(line); (!command || c.theirs(name)) && !mine {
			c.put(line)
		}
	}
	if list := c.agent.Inbox.List(); len(list) > 0 {
		head := c.words.QueueLeft
		if c.agent.log.Load().Kept() != nil {
			head = c.words.QueueLost
		}
		c.front.Say(head)
		c.front.Say(c.listed(list))
	}
}

// undelivered tells that lines wait in a session that a task goes on with; empty:
// there are none.
func (p *program) undelivered(a *agent) string {
	var texts []string
	for _, w := range a.log.Load().Undelivered() {
		texts = append(texts, strconv.Quote(w.Text()))
	}
	if len(texts) == 0 {
		return ""
	}
	return fmt.Sprintf(p.words.QueueTask, strings.Join(texts, ", "))
}

// queue is /queue: what waits for the model, and changes to it.
func (c *conversation) queue(words string) {
	box, w := c.agent.Inbox, c.words
	verb, rest, _ := strings.Cut(words, " ")
	number, text, _ := strings.Cut(strings.TrimSpace(rest), " ")
	text = strings.TrimSpace(text)
	list := box.List()
	id, err := strconv.Atoi(number)
	i := slices.IndexFunc(list, func(x session.Waiting) bool { return x.ID == id })
	switch {
	case words == "" && len(list) == 0:
		c.front.Say(w.QueueEmpty)
	case words == "":
		c.front.Say(c.listed(list) + "\n" + w.QueueHint)
	case verb == "drop" && number == "all" && text == "":
		for _, x := range list {
			box.Drop(x.ID)
		}
		c.front.Say(w.QueueEmpty)
	case verb != "drop" && verb != "edit", err != nil, verb == "edit" && text == "", verb == "drop" && text != "":
		c.front.Say(w.QueueHint)
	case i >= 0 && verb == "drop" && box.Drop(id):
		c.front.Say(fmt.Sprintf(w.QueueDropped, tui.Head(list[i].Text())))
	case i >= 0 && verb == "edit" && c.edit(id, text):
		c.front.Say(fmt.Sprintf(w.Queued, id, tui.Head(text)))
	default:
		c.front.Say(fmt.Sprintf(w.QueueGone, id))
	}
}

func (c *conversation) edit(id int, text string) bool {
	c.waits.note(text)
	return c.agent.Inbox.Edit(id, &oneloop.Text{Text: text})
}
