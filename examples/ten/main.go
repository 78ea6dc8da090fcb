// Ten is an agent in ten lines: a model, a shell in a sandbox, and the loop.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/policy"
	"oneloop/tool"
	"oneloop/workspace"
)

func main() {
	workspace.Helper()
	model, err := anthropic.New(anthropic.Config{BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Token: os.Getenv("ANTHROPIC_AUTH_TOKEN"), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: "claude-sonnet-5"})
	check(err)
	ws, err := workspace.Sandboxed(".", workspace.SandboxOptions{})
	check(err)
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{policy.Gate(policy.GateOptions{Workspace: ws})(tool.Bash(ws, tool.BashOptions{}))}}
	history := &oneloop.History{Tools: tools.Defs()}
	history.Append(context.Background(), oneloop.UserText(strings.Join(os.Args[1:], " ")))
	check(oneloop.Run(context.Background(), model, tools, history, nil))
	fmt.Println(history.Last().Text())
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "ten:", err)
		os.Exit(1)
	}
}
