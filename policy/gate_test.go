package policy_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"oneloop"
	"oneloop/policy"
)

// bash is a tool that notes what it was asked to run.
func bash(ran *[]string, effect oneloop.Effect) oneloop.Tool {
	return oneloop.Tool{
		ToolDef: oneloop.ToolDef{Name: "Bash"},
		Effect:  func(*oneloop.ToolUse) oneloop.Effect { return effect },
		Run: func(_ context.Context, call *oneloop.ToolUse, _ func(oneloop.Event)) (*oneloop.ToolResult, error) {
			var in struct{ Command string }
			if err := json.Unmarshal(call.Input, &in); err != nil {
				return nil, err
			}
			*ran = append(*ran, in.Command)
			return oneloop.TextResult("done"), nil
		},
	}
}

// ask sends one call through the gate and returns the answer and the denial.
func ask(t *testing.T, tool oneloop.Tool, o policy.GateOptions, name, input string) (*oneloop.ToolResult, *oneloop.Denied) {
	t.Helper()
	if o.Dir == "" {
		o.Dir, o.Home = "/home/ada/app", "/home/ada"
	}
	var denied *oneloop.Denied
	call := &oneloop.ToolUse{ID: "1", Name: name, Input: json.RawMessage(input)}
	r, err := policy.Gate(o)(tool).Run(t.Context(), call, func(e oneloop.Event) {
		if d, is := e.(oneloop.Denied); is {
			if denied != nil {
				t.Error("denied twice")
			}
			denied = &d
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	return r, denied
}

// boxed is a sandbox.
func boxed() policy.Isolation { return policy.Isolation{Sandboxed: true, Text: "a box, no network"} }

func command(s string) string {
	b, _ := json.Marshal(map[string]string{"command": s})
	return string(b)
}

func TestTheDenyTierHoldsInEveryMode(t *testing.T) {
	for _, mode := range []policy.Mode{policy.Default, policy.AcceptEdits, policy.Plan, policy.DontAsk, policy.Bypass} {
		var ran []string
		r, d := ask(t, bash(&ran, oneloop.ReadOnly), policy.GateOptions{Mode: mode}, "Bash", command("ls && rm -rf /"))
		if len(ran) > 0 || !r.IsError || d == nil || d.Nobody || d.Rule != "" {
			t.Errorf("mode %v: ran %q, answered %q, event %+v", mode, ran, r.Text(), d)
		}
		for _, want := range []string{"Not run", "`rm -rf /`", "root folder", "inside the workspace"} {
			if !strings.Contains(r.Text(), want) {
				t.Errorf("the answer does not say %q: %s", want, r.Text())
			}
		}
	}
}

func TestTheAskTierRunsOnlyWherePermissionsAreBypassed(t *testing.T) {
	for _, mode := range []policy.Mode{policy.Default, policy.AcceptEdits, policy.DontAsk, policy.Bypass} {
		var ran []string
		r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Mode: mode}, "Bash", command("git push --force"))
		if mode == policy.Bypass {
			if len(ran) != 1 || d != nil || r.IsError {
				t.Errorf("bypass: ran %q, event %+v", ran, d)
			}
			continue
		}
		if len(ran) > 0 || !r.IsError || d == nil || !d.Nobody || d.Rule != "--permission-mode bypassPermissions" {
			t.Errorf("mode %v: ran %q, event %+v", mode, ran, d)
		}
		if !strings.Contains(r.Text(), "--permission-mode bypassPermissions") || !strings.Contains(r.Text(), "Not run") {
			t.Errorf("the answer does not help: %s", r.Text())
		}
	}
}

func TestTheZeroValueIsJudgedWhereTheProgramIs(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, c := range []struct{ dir, option, command string }{
		{home, "", "rm -rf *"},
		{home + "/app", "", "rm -rf " + home},
		{home + "/app", "", "rm -rf " + home + "/app"},
		{home + "/app", "..", "rm -rf *"},
		{"/", "", "rm -rf *"},
		{"/", "", "rm -rf ./etc"},
	} {
		if err := os.MkdirAll(c.dir, 0o700); err != nil {
			t.Fatal(err)
		}
		t.Chdir(c.dir)
		gate := policy.Gate(policy.GateOptions{Dir: c.option})
		t.Chdir(t.TempDir()) // it counts where Gate was called
		var ran []string
		call := &oneloop.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(command(c.command))}
		r, err := gate(bash(&ran, oneloop.Once)).Run(t.Context(), call, func(oneloop.Event) {})
		if err != nil || len(ran) > 0 || !r.IsError {
			t.Errorf("%+v: ran %q, %v", c, ran, err)
		}
	}
}

func TestWhereTheWorkingDirectoryIsGoneCommandsAreJudgedAsAtTheRoot(t *testing.T) {
	gone := t.TempDir() + "/gone"
	if err := os.Mkdir(gone, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(gone)
	if err := os.Remove(gone); err != nil {
		t.Skip("a working directory cannot be removed here: ", err)
	}
	if _, err := os.Getwd(); err == nil {
		t.Skip("a working directory that is gone still has a name here")
	}
	gate := policy.Gate(policy.GateOptions{})
	t.Chdir(t.TempDir())
	var ran []string
	call := &oneloop.ToolUse{ID: "1", Name: "Bash", Input: json.RawMessage(command("rm -rf *"))}
	if r, err := gate(bash(&ran, oneloop.Once)).Run(t.Context(), call, func(oneloop.Event) {}); err != nil || len(ran) > 0 || !r.IsError {
		t.Errorf("ran %q, %v", ran, err)
	}
}

func TestHarmlessCommandsReachTheTool(t *testing.T) {
	for _, c := range []string{"grep sudo .", `echo "> /dev/null"`, "make 2> /dev/null", ""} {
		var ran []string
		r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Isolation: boxed}, "Bash", command(c))
		if len(ran) != 1 || ran[0] != c || d != nil || r.IsError {
			t.Errorf("%q: ran %q, event %+v, answer %q", c, ran, d, r.Text())
		}
	}
}

func TestInPlanModeOnlyCallsRunThatChangeNothing(t *testing.T) {
	for _, effect := range []oneloop.Effect{oneloop.Once, oneloop.Idempotent, oneloop.ReadOnly} {
		var ran []string
		_, d := ask(t, bash(&ran, effect), policy.GateOptions{Mode: policy.Plan}, "Bash", command("ls"))
		if runs := len(ran) == 1; runs != (effect == oneloop.ReadOnly) || runs != (d == nil) {
			t.Errorf("%v: ran %q, event %+v", effect, ran, d)
		}
	}
	var ran []string
	tool := bash(&ran, oneloop.ReadOnly)
	tool.Effect = nil // means Once
	if _, d := ask(t, tool, policy.GateOptions{Mode: policy.Plan}, "Bash", command("ls")); d == nil || len(ran) > 0 {
		t.Errorf("a tool without an effect ran in plan mode")
	}
}

func TestWhatCannotBeJudgedDoesNotRun(t *testing.T) {
	for _, in := range []string{"", "null", "[]", `{}`, `{"command":null}`, `{"command":1}`, `{"cmd":"ls"}`, `{"command":`} {
		var ran []string
		r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Mode: policy.Bypass}, "Bash", in)
		if len(ran) > 0 || d == nil || !r.IsError {
			t.Errorf("input %s: ran %q, event %+v", in, ran, d)
		}
	}
	var ran []string
	if _, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{Mode: 77}, "Bash", command("ls")); d == nil || len(ran) > 0 {
		t.Error("an unknown mode lets commands run")
	}
}

func TestTheSeriesNameOfBashIsJudgedToo(t *testing.T) {
	var ran []string
	if _, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{}, "bash", command("rm -rf /")); d == nil || len(ran) > 0 {
		t.Error("bash is not judged as Bash is")
	}
}

func TestOtherToolsAreNotJudgedAsCommands(t *testing.T) {
	var ran []string
	note := bash(&ran, oneloop.Once)
	note.Name = "Note"
	if _, d := ask(t, note, policy.GateOptions{}, "Note", command("rm -rf /")); d != nil || len(ran) != 1 {
		t.Errorf("ran %q, event %+v", ran, d)
	}
}

func TestModesAreKnownByName(t *testing.T) {
	for _, m := range []policy.Mode{policy.Default, policy.AcceptEdits, policy.Plan, policy.DontAsk, policy.Bypass} {
		if got, err := policy.ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v is read as %v, %v", m, got, err)
		}
	}
	if m, err := policy.ParseMode("manual"); err != nil || m != policy.Default {
		t.Errorf("manual is %v, %v", m, err)
	}
	for _, bad := range []string{"", "Plan", "bypass", "yolo"} {
		if _, err := policy.ParseMode(bad); err == nil || !strings.Contains(err.Error(), "bypassPermissions") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestARenamedShellIsJudgedAllTheSame(t *testing.T) {
	var ran []string
	tool := bash(&ran, oneloop.Once)
	tool.Name = "terminal"
	tool.Touches = func(call *oneloop.ToolUse) ([]oneloop.Touch, error) {
		var in struct{ Command string }
		err := json.Unmarshal(call.Input, &in)
		return []oneloop.Touch{{Kind: oneloop.TouchCommand, Name: in.Command}}, err
	}
	gated := policy.Gate(policy.GateOptions{})(tool)
	gated.Name = "again" // also behind the gate
	r, err := gated.Run(t.Context(), &oneloop.ToolUse{Name: "again", Input: json.RawMessage(command("rm -rf /"))}, func(oneloop.Event) {})
	if err != nil || !r.IsError || len(ran) > 0 {
		t.Errorf("it ran: %v, %v, %v", ran, r, err)
	}
	if r, _ := gated.Run(t.Context(), &oneloop.ToolUse{Name: "again", Input: json.RawMessage(`{"command":7}`)}, func(oneloop.Event) {}); !r.IsError {
		t.Error("a command that cannot be read ran")
	}
}

func TestACommandThatDoesNotParseIsToBeCorrected(t *testing.T) {
	var ran []string
	r, d := ask(t, bash(&ran, oneloop.Once), policy.GateOptions{}, "Bash", command("if then"))
	if len(ran) > 0 || d == nil || d.Nobody || d.Rule != "" || !strings.Contains(r.Text(), "Correct it") || strings.Contains(r.Text(), "bypass") {
		t.Errorf("ran %q, event %+v, answer %q", ran, d, r.Text())
	}
	r, d = ask(t, bash(&ran, oneloop.Once), policy.GateOptions{}, "Bash", command("rm -rf /\nif then"))
	if len(ran) > 0 || d == nil || !strings.Contains(r.Text(), "danger list") {
		t.Errorf("ran %q, event %+v, answer %q", ran, d, r.Text())
	}
}
