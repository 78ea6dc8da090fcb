// Bash is a coding agent: one tool, one loop, a conversation on standard input.
// q, exit, an empty line or the end of input leave.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"

	"oneloop"
	"oneloop/model/anthropic"
	"oneloop/policy"
	"oneloop/tool"
	"oneloop/workspace"
)

func main() {
	workspace.Helper()
	ctx := context.Background()
	model, err := anthropic.New(anthropic.Config{
		BaseURL: os.Getenv("ANTHROPIC_BASE_URL"), Key: os.Getenv("ANTHROPIC_API_KEY"), Model: "claude-sonnet-4-6"})
	if err != nil {
		log.Fatal(err)
	}
	ws, err := workspace.Sandboxed(".", workspace.SandboxOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer ws.Close()
	root := ws.Describe().Root
	gate := policy.Gate(policy.GateOptions{Workspace: ws})
	tools := &oneloop.Toolbox{Tools: []oneloop.Tool{gate(tool.Bash(ws, tool.BashOptions{}))}}
	system := "You work on the code in " + root + ". Do the work with the shell and keep talk short."
	history := &oneloop.History{System: []oneloop.Block{&oneloop.Text{Text: system}}, Tools: tools.Defs()}

	input := bufio.NewScanner(os.Stdin)
	for fmt.Print("> "); input.Scan(); fmt.Print("> ") {
		if line := input.Text(); line == "" || line == "q" || line == "exit" {
			break
		}
		history.Append(ctx, oneloop.UserText(input.Text()))
		if err := oneloop.Run(ctx, model, tools, history, show); err != nil {
			log.Fatal(err)
		}
		fmt.Println(history.Last().Text())
	}
}

// show prints each command and the beginning of what it gave.
func show(e oneloop.Event) {
	switch e := e.(type) {
	case oneloop.ToolStart:
		fmt.Printf("$ %s\n", e.Call.Input)
	case oneloop.ToolEnd:
		fmt.Printf("%.200s\n", e.Result.Text())
	}
}
