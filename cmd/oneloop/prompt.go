package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"

	"oneloop"
	"oneloop/policy"
	"oneloop/tool"
)

// profile is what a model is told of itself and its tools.
type profile struct {
	system    string
	defs      func(box *oneloop.Toolbox) []oneloop.ToolDef // what is offered
	aliases   map[string]oneloop.Alias
	maxTokens int  // at most; 0: the model's own limit
	leaveOn   bool // an empty line ends a conversation
}

// inSandbox is what the default system prompt says of a sandbox.
const inSandbox = "\nCommands run in a sandbox: they change the folders you work in and /tmp only, and reach only hosts the user allows. Where it stops you, say what the user would have to do."

// inPlan is what it says of the mode plan.
const inPlan = "\nThe permission mode is plan: look and think, and change nothing, until the user has accepted a plan."

// modeNotes say what a mode is to the model.
var modeNotes = [...]string{
	policy.Default:     "what neither a rule nor the sandbox decides is asked",
	policy.AcceptEdits: "edits in the folders you work in are made unasked",
	policy.Plan:        "look and think, and change nothing",
	policy.DontAsk:     "what would be asked is denied",
	policy.Bypass:      "nothing is asked; the danger list and rules that deny still hold",
}

const modeNoteBegins = "The user has changed the permission mode from "

// notedMode is the last mode that a message tells the model of, if it does.
func notedMode(m *oneloop.Message) (mode policy.Mode, is bool) {
	for _, b := range m.Blocks {
		t, text := b.(*oneloop.Text)
		if m.Role != oneloop.User || !text {
			continue
		}
		names, note := strings.CutPrefix(t.Text, modeNoteBegins)
		_, name, to := strings.Cut(names, " to ")
		name, _, ends := strings.Cut(name, ":")
		if parsed, err := policy.ParseMode(name); note && to && ends && err == nil {
			mode, is = parsed, true
		}
	}
	return mode, is
}

// modeNote tells the model of another mode in the middle of a conversation.
// offered says whether it has a tool.
func modeNote(was, is policy.Mode, offered func(tool string) bool) string {
	note := fmt.Sprintf("%s%s to %s: %s.", modeNoteBegins, was, is, modeNotes[is])
	switch {
	case is == policy.Plan && offered("ExitPlanMode"):
		note += " This holds until they accept a plan or change the mode."
	case is == policy.Plan:
		note += " This holds until they change the mode, with /mode default. Give the finished plan as your answer."
	case was == policy.Plan:
		note += " Planning is over."
	}
	return note
}

// defaultProfile offers the tools under their own names.
func defaultProfile(root string, dirs []string, confined string) profile {
	folders := root
	if len(dirs) > 0 {
		folders += ", and also in " + strings.Join(dirs, ", ") + ","
	}
	return profile{
		system: fmt.Sprintf(`You are oneloop, a coding agent in a terminal. You work in the folder %s on %s.
Use the tools to look, act and check: read before you change, run what you changed, and go on until the task is done or you need an answer only the user can give.
In a command, oneloop "subtask" prints the answer of a fresh agent.%s
Finish with a short answer in the user's language: what you did, what you saw, what is left. Say plainly what you could not check.`, folders, runtime.GOOS, confined),
		defs:    (*oneloop.Toolbox).Defs,
		aliases: tool.Aliases(),
	}
}

// seedTokens is how long a reply of the seeds' agent may be.
const seedTokens = 8000

// seedProfile is the agent the project started from: one tool, one line.
func seedProfile(root string) profile {
	return profile{
		system: fmt.Sprintf("You are a coding agent at %s. Use bash to solve tasks. Act, don't explain.", root),
		defs: func(*oneloop.Toolbox) []oneloop.ToolDef {
			return []oneloop.ToolDef{{
				Name:        "bash",
				Description: "Run a shell command.",
				Schema:      json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`),
			}}
		},
		aliases:   map[string]oneloop.Alias{"bash": {Tool: "Bash"}},
		maxTokens: seedTokens,
		leaveOn:   true,
	}
}
