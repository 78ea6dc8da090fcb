//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"oneloop"
	"oneloop/policy"
	"oneloop/session"
	"oneloop/tool"
	"oneloop/workspace"
)

// One set of hooks around the tools and the turns of an agent.
func ExampleHooks() {
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ws, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	list, _, err := policy.ParseHooks(json.RawMessage(`{
		"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "if grep -q deploy; then echo 'ask the team first' >&2; exit 2; fi"}]}],
		"UserPromptSubmit": [{"hooks": [{"type": "command", "command": "echo the branch is topic"}]}]
	}`), policy.HookSource{File: "settings.json", Own: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	hooks := &policy.Hooks{List: list, Workspace: ws, Session: "1"}
	gate := hooks.Gate(policy.GateOptions{Mode: policy.Bypass, Dir: dir})

	turns := 0
	model := oneloop.ModelFunc(func(_ context.Context, req *oneloop.Request, _ func(oneloop.Event)) (*oneloop.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		if turns++; turns == 1 {
			fmt.Println(last.Text())
			m := oneloop.NewMessage(oneloop.Assistant, &oneloop.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(`{"command":"./deploy"}`)})
			m.Stop = oneloop.StopToolUse
			return m, nil
		}
		fmt.Println(last.Blocks[0].(*oneloop.ToolResult).Text())
		m := oneloop.NewMessage(oneloop.Assistant, &oneloop.Text{Text: "I see."})
		m.Stop = oneloop.StopEndTurn
		return m, nil
	})
	s := &session.Session{
		Model: model, Tools: &oneloop.Toolbox{Tools: []oneloop.Tool{gate(tool.Bash(ws, tool.BashOptions{}))}},
		AtStart: hooks.AtStart, BeforePrompt: hooks.BeforePrompt, AtStop: hooks.AtStop, AtEnd: hooks.AtEnd,
	}
	for _, err := range s.Send(context.Background(), &oneloop.Text{Text: "Deploy it. "}) {
		if err != nil {
			fmt.Println(err)
		}
	}
	if err := s.Close(context.Background()); err != nil {
		fmt.Println(err)
	}
	// Output:
	// Deploy it. From a hook of the user's: the branch is topic
	// Not run: a hook denies it: ask the team first
	// Do not try it in another way; do what the hook asks for, or tell the user.
}
