package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"oneloop"
	"oneloop/policy"
	danger "oneloop/policy/shell"
	"oneloop/session"
	"oneloop/tool"
	"oneloop/workspace"
)

// ownTime is how long a command of the person's own may take: as long as they
// let it.
const ownTime = 7 * 24 * time.Hour

// own is the command in a line that begins with !; such a line has no second
// one, as a text that is pasted may.
func own(line string) (command string, ok bool) {
	command, ok = strings.CutPrefix(strings.TrimRight(line, " \t\r\n"), "!")
	command = strings.TrimSpace(command)
	return command, ok && command != "" && !strings.Contains(command, "\n")
}

// ownRefused is what the danger list denies of a command, also to the person:
// what is never meant may be a slip of the finger. Nil: nothing.
func ownRefused(command string, info workspace.Info) *oneloop.Denied {
	v := danger.Judge(command, danger.Place{Dir: info.Root, Home: info.Home})
	if v.Tier != danger.Deny {
		return nil
	}
	call := ownCall(command)
	return &oneloop.Denied{Call: call, Reason: v.Reason.String(), Why: policy.Told(v.Reason)}
}

func ownCall(command string) *oneloop.ToolUse {
	input, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		input = []byte("{}") // a string always has a form
	}
	return &oneloop.ToolUse{ID: "own", Name: "Bash", Input: input}
}

// runOwn runs a command of the person's own, at once and with their rights:
// outside of the sandbox, and without a question. What it prints is shown, and
// the model reads it with the next prompt.
func (c *conversation) runOwn(ctx context.Context, command string) {
	if no := ownRefused(command, c.agent.ws.Describe()); no != nil {
		c.front.Show(*no)
		return
	}
	bash, err := c.ownShell()
	if err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, err))
		return
	}
	turn, end := c.front.Turn(ctx)
	var meanwhile sync.WaitGroup
	typing, enough := context.WithCancel(turn)
	meanwhile.Go(func() { c.attend(typing) })
	var shown strings.Builder // the pieces come one at a time
	result, err := bash.Run(turn, ownCall(command), func(e oneloop.Event) {
		if piece, ok := e.(oneloop.ToolOutput); ok {
			shown.WriteString(piece.Text)
			c.front.Write([]byte(piece.Text))
		}
	})
	enough()
	meanwhile.Wait()
	stopped := turn.Err() != nil
	end()
	if err != nil {
		result = oneloop.ErrorResult(err.Error())
	}
	if rest := unshown(result.Text(), shown.String()); rest != "" {
		c.front.Say(rest)
	}
	if stopped {
		c.front.Say(c.words.Interrupted)
	}
	said := session.Aside(&oneloop.Text{Text: fmt.Sprintf("The user ran a command of their own, outside of your sandbox, in %s:\n$ %s\n%s", c.agent.dir, command, result.Text())})
	if err := c.agent.log.Load().Append(context.WithoutCancel(ctx), said); err != nil {
		c.front.Say(fmt.Sprintf(c.words.ErrorLine, c.explain(err)))
		return
	}
	c.trace.show(oneloop.MessageAdded{Message: said})
}

// ownShell is the shell for such commands: Bash without a sandbox. Our own
// credentials are kept from it, for what it prints is sent.
func (c *conversation) ownShell() (oneloop.Tool, error) {
	ws := c.agent.ws
	if c.agent.box != nil {
		local, err := workspace.Local(c.agent.dir, workspace.LocalOptions{Secrets: c.settings.Secrets(), Dirs: c.besides(c.agent.dir)})
		if err != nil {
			return oneloop.Tool{}, err
		}
		ws = local
	}
	return tool.Bash(ws, tool.BashOptions{Timeout: ownTime, SpillDir: c.agent.scratch, Files: c.agent.files}), nil
}

// unshown is what of a result was not shown while it came; all of it when some
// of that was left out.
func unshown(result, shown string) string {
	shown = strings.TrimRight(shown, "\n")
	rest, whole := strings.CutPrefix(result, shown)
	if !whole { // how it ended early stands in front
		_, rest, whole = strings.Cut(result, "\n"+shown)
	}
	if shown == "" || !whole {
		return result
	}
	return strings.TrimLeft(rest, "\n")
}
