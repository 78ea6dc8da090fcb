//go:build unix

package policy_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"oneloop"
	"oneloop/policy"
	"oneloop/workspace"
)

// hooked is a folder with hooks.
type hooked struct {
	*policy.Hooks
	t    *testing.T
	dir  string
	mu   sync.Mutex
	told []string // notices
}

// newHooked has the hooks of a section of settings. FIXTURES in it is the
// folder of the scripts of this test.
func newHooked(t *testing.T, section string) *hooked {
	t.Helper()
	fixtures, err := filepath.Abs("testdata/hooks")
	if err != nil {
		t.Fatal(err)
	}
	list, notices, err := policy.ParseHooks(json.RawMessage(strings.ReplaceAll(section, "FIXTURES", fixtures)), policy.HookSource{File: "settings.json", Own: true})
	if err != nil || len(notices) > 0 {
		t.Fatalf("%v, %q", err, notices)
	}
	dir := t.TempDir()
	ws, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	h := &hooked{t: t, dir: ws.Describe().Root}
	h.Hooks = &policy.Hooks{List: list, Workspace: ws, Session: "s1", Emit: func(e oneloop.Event) {
		h.mu.Lock()
		defer h.mu.Unlock()
		if n, ok := e.(oneloop.Notice); ok {
			h.told = append(h.told, n.Text)
		}
	}}
	return h
}

// one is settings with one hook.
func one(event, matcher, command string, more ...string) string {
	c, err := json.Marshal(command)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"%s":[{"matcher":"%s","hooks":[{"type":"command","command":%s%s}]}]}`, event, matcher, c, strings.Join(more, ""))
}

// call makes a call of Bash through the gate with hooks and gives the
// commands that ran, the answer and the events.
func (h *hooked) call(cmd string) ([]string, *oneloop.ToolResult, []oneloop.Event) {
	h.t.Helper()
	var ran []string
	var events []oneloop.Event
	t := bash(&ran, oneloop.Once)
	t.Check = func(in json.RawMessage) error {
		if !strings.Contains(string(in), `"command"`) {
			return errors.New("command is missing")
		}
		return nil
	}
	t = h.Gate(policy.GateOptions{Mode: policy.Bypass, Dir: h.dir})(t)
	r, err := t.Run(h.t.Context(), &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command(cmd))}, func(e oneloop.Event) { events = append(events, e) })
	if err != nil {
		h.t.Fatal(err)
	}
	return ran, r, events
}

func denial(events []oneloop.Event) *oneloop.Denied {
	for _, e := range events {
		if d, ok := e.(oneloop.Denied); ok {
			return &d
		}
	}
	return nil
}

func saidNotices(events []oneloop.Event) string {
	var all []string
	for _, e := range events {
		if n, ok := e.(oneloop.Notice); ok {
			all = append(all, n.Text)
		}
	}
	return strings.Join(all, "\n")
}

func TestScriptsWrittenForThisContractWork(t *testing.T) {
	section := `{"PreToolUse":[
		{"matcher":"Bash","hooks":[{"type":"command","command":"FIXTURES/block.sh","timeout":30},{"type":"command","command":"FIXTURES/deny.sh"}]},
		{"matcher":"Edit|Bash","hooks":[{"type":"command","command":"FIXTURES/rewrite.sh","statusMessage":"one moment"}]}]}`
	for _, c := range []struct {
		command string
		ran     string // empty: nothing
		says    string
	}{
		{"ls", "ls", ""},
		{"git push origin main", "", "the main branch is pushed to by people only"},
		{"git push origin topic", "git push origin topic", ""},
		{"cat production.json", "", "production settings are off limits"},
		{"make all", "nice make all", "builds run with low priority"},
		{"make production", "", "off limits"}, // no beats the change
	} {
		ran, r, events := newHooked(t, section).call(c.command)
		if got := strings.Join(ran, ";"); got != c.ran || !strings.Contains(r.Text(), c.says) {
			t.Errorf("%q: ran %q, answer %q", c.command, got, r.Text())
		}
		d := denial(events)
		if (c.ran == "") != (d != nil) || d != nil && (!strings.Contains(d.Reason, c.says) || d.Nobody) || r.IsError != (c.ran == "") {
			t.Errorf("%q: event %+v", c.command, d)
		}
	}
}

func TestAModelIsToldThatItsInputWasChanged(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", "FIXTURES/rewrite.sh"))
	_, r, _ := h.call("make all")
	if !strings.Contains(r.Text(), `changed the input of this call before it was judged and run. It ran as: {"command":"nice make all"}`) {
		t.Errorf("the answer is %q", r.Text())
	}
}

func TestInputFromAHookIsCheckedAndJudgedAgain(t *testing.T) {
	for input, says := range map[string]string{
		`{"command":"rm -rf /"}`:      "rm -rf /", // the gate
		`{"cmd":"ls"}`:                "command is missing",
		`{"command":1,"command":"x"}`: "twice",
		`[]`:                          "refused",
	} {
		h := newHooked(t, one("PreToolUse", "Bash", `echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":`+input+`}}'`))
		ran, r, events := h.call("ls")
		if len(ran) > 0 || !r.IsError || denial(events) == nil || !strings.Contains(r.Text(), says) {
			t.Errorf("%s: ran %q, answer %q", input, ran, r.Text())
		}
	}
}

func TestTwoHooksThatChangeTheInputDifferentlyAreANo(t *testing.T) {
	change := func(cmd string) string {
		return fmt.Sprintf(`{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"updatedInput\":{\"command\":\"%s\"}}}'"}`, cmd)
	}
	for second, want := range map[string]string{"a": "a", "b": ""} {
		h := newHooked(t, `{"PreToolUse":[{"hooks":[`+change("a")+`]},{"hooks":[`+change(second)+`,{"type":"command","command":"true"}]}]}`)
		if ran, r, _ := h.call("x"); strings.Join(ran, ";") != want {
			t.Errorf("a and %s: ran %q, %s", second, ran, r.Text())
		}
	}
}

func TestAHookThatFailsGuardsAllTheSame(t *testing.T) {
	for cmd, says := range map[string]string{
		"exit 1":                          "exit code 1",
		"echo broken >&2; exit 3":         "broken",
		"/no/such/program":                "exit code 127",
		"kill -9 $$":                      "SIGKILL",
		"echo '{'":                        "no answer",
		"echo '{\"decision\":\"maybe\"}'": "maybe",
		`echo '{"hookSpecificOutput":{"permissionDecision":"defer"}}'`:                        "defer",
		`echo '{"hookSpecificOutput":{"hookEventName":"Stop","permissionDecision":"allow"}}'`: "hookEventName",
		`echo '{"continue":"no"}'`:               "no answer",
		`echo '{"continue":1,"continue":2}'`:     "no answer",
		"head -c 2000000 /dev/zero | tr '\\0' x": "more than",
	} {
		h := newHooked(t, one("PreToolUse", "Bash", cmd))
		ran, r, events := h.call("ls")
		if d := denial(events); len(ran) > 0 || d == nil || !r.IsError || !strings.Contains(r.Text(), says) || !strings.Contains(r.Text(), "onFailure") {
			t.Errorf("%s: ran %q, answer %q", cmd, ran, r.Text())
		}
		h = newHooked(t, one("PreToolUse", "Bash", cmd, `,"onFailure":"ignore"`))
		if ran, r, events := h.call("ls"); len(ran) != 1 || r.IsError || !strings.Contains(saidNotices(events), says) {
			t.Errorf("%s, ignored: ran %q, said %q", cmd, ran, saidNotices(events))
		}
		h = newHooked(t, one("PostToolUse", "Bash", cmd))
		if strings.Contains(cmd, "hookEventName") || strings.Contains(cmd, "defer") {
			continue
		}
		if ran, r, events := h.call("ls"); len(ran) != 1 || r.IsError || !strings.Contains(saidNotices(events), says) {
			t.Errorf("%s after the call: ran %q, said %q", cmd, ran, saidNotices(events))
		}
	}
}

func TestAHookThatTakesTooLongIsEndedWithAllItStarted(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `(trap '' TERM; echo started > mark; sleep 1000; echo late > late) & wait`, `,"timeout":0.3`))
	ran, r, _ := h.call("ls")
	if len(ran) > 0 || !strings.Contains(r.Text(), "took longer than 300ms") {
		t.Errorf("ran %q, answer %q", ran, r.Text())
	}
	if _, err := os.Stat(filepath.Join(h.dir, "mark")); err != nil {
		t.Errorf("it was never started: %v", err)
	}
}

func TestDenyBeatsAskBeatsAllow(t *testing.T) {
	answer := func(p string) string {
		return fmt.Sprintf(`{"type":"command","command":"echo '{\"hookSpecificOutput\":{\"permissionDecision\":\"%s\",\"permissionDecisionReason\":\"because %s\"}}'"}`, p, p)
	}
	for _, c := range []struct {
		hooks []string
		runs  bool
		says  string
	}{
		{[]string{"allow"}, true, ""},
		{[]string{"allow", "ask"}, false, "because ask"},
		{[]string{"allow", "deny", "ask"}, false, "because deny"},
	} {
		var list []string
		for _, p := range c.hooks {
			list = append(list, answer(p))
		}
		h := newHooked(t, `{"PreToolUse":[{"hooks":[`+strings.Join(list, ",")+`]}]}`)
		if ran, r, events := h.call("ls"); (len(ran) == 1) != c.runs || !strings.Contains(r.Text(), c.says) || (denial(events) == nil) != c.runs {
			t.Errorf("%v: ran %q, %q", c.hooks, ran, r.Text())
		}
	}
	// A hook that allows is no way around the deny tier.
	h := newHooked(t, `{"PreToolUse":[{"hooks":[`+answer("allow")+`]}]}`)
	if ran, _, events := h.call("rm -rf /"); len(ran) > 0 || denial(events) == nil {
		t.Errorf("ran %q", ran)
	}
	// The older form of the same.
	h = newHooked(t, one("PreToolUse", "", `echo '{"decision":"block","reason":"old words"}'`))
	if ran, r, _ := h.call("ls"); len(ran) > 0 || !strings.Contains(r.Text(), "old words") {
		t.Errorf("ran %q, %s", ran, r.Text())
	}
}

func TestMatchersAreNamesListsAndExpressions(t *testing.T) {
	for matcher, want := range map[string]bool{
		"": true, "*": true, "Bash": true, "bash": false, "Edit|Bash": true, "Edit, Bash": true, "Edit": false, "Bas": false,
		"^B.*h$": true, "B.": true, "mcp__.*": false, "(Edit|Write)": false,
	} {
		h := newHooked(t, one("PreToolUse", matcher, "echo no >&2; exit 2"))
		if ran, _, _ := h.call("ls"); (len(ran) == 0) != want {
			t.Errorf("%q: ran %q", matcher, ran)
		}
	}
}

func TestHooksRunSideBySideAndTheSameOneOnce(t *testing.T) {
	// Each waits until the other is there, for as long as its time allows.
	meet := func(own, other string) string {
		return fmt.Sprintf(`{"type":"command","command":"echo >> %s; until [ -e %s ]; do sleep 0.01; done","timeout":30}`, own, other)
	}
	h := newHooked(t, `{"PreToolUse":[{"hooks":[`+meet("a", "b")+`,`+meet("b", "a")+`]},{"matcher":"Bash","hooks":[`+meet("a", "b")+`]}]}`)
	if ran, r, _ := h.call("ls"); len(ran) != 1 {
		t.Fatalf("ran %q: %s", ran, r.Text())
	}
	if text, err := os.ReadFile(filepath.Join(h.dir, "a")); err != nil || string(text) != "\n" {
		t.Errorf("the same hook ran more than once: %q, %v", text, err)
	}
}

func TestAHookIsToldTheCallAndWhereItIs(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `cat > input; printf '%s %s' "$CLAUDE_PROJECT_DIR" "$ONELOOP_PROJECT_DIR" > dirs; pwd > pwd`))
	h.Mode = func() policy.Mode { return policy.Plan }
	h.call("echo <北京> $'\\n'")
	var in struct {
		Session    string          `json:"session_id"`
		Cwd        string          `json:"cwd"`
		Mode       string          `json:"permission_mode"`
		Event      string          `json:"hook_event_name"`
		Tool       string          `json:"tool_name"`
		ID         string          `json:"tool_use_id"`
		Input      json.RawMessage `json:"tool_input"`
		Transcript *string         `json:"transcript_path"`
	}
	data, err := os.ReadFile(filepath.Join(h.dir, "input"))
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	if err != nil {
		t.Fatal(err)
	}
	if in.Session != "s1" || in.Cwd != h.dir || in.Mode != "plan" || in.Event != "PreToolUse" || in.Tool != "Bash" || in.ID != "t1" ||
		string(in.Input) != command("echo <北京> $'\\n'") || in.Transcript == nil {
		t.Errorf("told %s", data)
	}
	for name, want := range map[string]string{"dirs": h.dir + " " + h.dir, "pwd": h.dir + "\n"} {
		if got, err := os.ReadFile(filepath.Join(h.dir, name)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestArgumentsGoToAProgramWithoutAShell(t *testing.T) {
	h := newHooked(t, `{"PreToolUse":[{"hooks":[{"type":"command","command":"bash","args":["-c","echo \"$1\" >&2; exit 2","x","$(no shell) *"]}]}]}`)
	if _, r, _ := h.call("ls"); !strings.Contains(r.Text(), "$(no shell) *") {
		t.Errorf("the answer is %q", r.Text())
	}
}

func TestHooksAfterACallSeeAndChangeWhatTheModelIsTold(t *testing.T) {
	for cmd, check := range map[string]func(r *oneloop.ToolResult) bool{
		"echo format it >&2; exit 2": func(r *oneloop.ToolResult) bool {
			return strings.Contains(r.Text(), "done") && strings.Contains(r.Text(), "format it") && !r.IsError
		},
		`echo '{"decision":"block","reason":"lint fails"}'`: func(r *oneloop.ToolResult) bool { return strings.Contains(r.Text(), "lint fails") },
		`echo '{"hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"by the way"}}'`: func(r *oneloop.ToolResult) bool {
			return strings.Contains(r.Text(), "done") && strings.Contains(r.Text(), "by the way")
		},
		`echo '{"hookSpecificOutput":{"updatedToolOutput":"other"}}'`: func(r *oneloop.ToolResult) bool { return r.Text() == "other" },
		`echo '{"continue":false,"stopReason":"enough"}'`:             func(r *oneloop.ToolResult) bool { return r.EndTurn },
		`grep -q '"tool_response":{"text":"done' || exit 2`:           func(r *oneloop.ToolResult) bool { return r.Text() == "done" },
		"exit 0":               func(r *oneloop.ToolResult) bool { return r.Text() == "done" && !r.EndTurn },
		"echo just some words": func(r *oneloop.ToolResult) bool { return r.Text() == "done" },
	} {
		h := newHooked(t, one("PostToolUse", "Bash", cmd))
		if ran, r, _ := h.call("ls"); len(ran) != 1 || !check(r) {
			t.Errorf("%s: ran %q, answer %q, end %v", cmd, ran, r.Text(), r.EndTurn)
		}
	}
	h := newHooked(t, one("PostToolUse", "", "touch mark"))
	h.call("rm -rf /") // denied
	if _, err := os.Stat(filepath.Join(h.dir, "mark")); err == nil {
		t.Error("a call that was denied is said to have run")
	}
}

func TestAHookCanEndTheTurnBeforeACall(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `echo '{"continue":false,"stopReason":"enough for today"}'`))
	ran, r, events := h.call("ls")
	if d := denial(events); len(ran) > 0 || !r.EndTurn || !r.IsError || d == nil || !strings.Contains(d.Reason, "enough for today") {
		t.Errorf("ran %q, %q, %+v", ran, r.Text(), events)
	}
}

func TestASystemMessageIsForTheUser(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `echo '{"systemMessage":"mind the gap"}'`))
	_, r, events := h.call("ls")
	if saidNotices(events) != "mind the gap" || strings.Contains(r.Text(), "gap") {
		t.Errorf("said %q, answer %q", saidNotices(events), r.Text())
	}
}

func TestAnInterruptedHookMeansThatTheCallDidNotRun(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", "echo > ready; sleep 1000"))
	ready := filepath.Join(h.dir, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		f, err := os.Open(ready) // waits for the hook
		if err == nil {
			f.Close()
		}
		cancel(oneloop.ErrInterrupted)
	}()
	var ran []string
	tool := h.Gate(policy.GateOptions{Dir: h.dir})(bash(&ran, oneloop.Once))
	r, err := tool.Run(ctx, &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command("ls"))}, func(oneloop.Event) {})
	if err != nil || len(ran) > 0 || !r.IsError || !strings.Contains(r.Text(), "not started") {
		t.Errorf("ran %q, %v, %v", ran, r, err)
	}
}

func TestHooksThatCannotBeRunAsTheyAsk(t *testing.T) {
	const h = `{"type":"command","command":"x"`
	for hook, says := range map[string]string{
		`{"type":"prompt","prompt":"x"}`: "only command",
		`{"type":"http","url":"x"}`:      "known here",
		`{"type":"command"}`:             "command is missing",
		h + `,"if":"Bash(git *"}`:        "its if",
		h + `,"if":"Bsh"}`:               "its if",
		h + `,"if":"Write(/x)"}`:         "its if",
		h + `,"async":true}`:             "sets async",
		h + `,"shell":"powershell"}`:     "only bash",
		h + `,"timeout":0}`:              "timeout",
		h + `,"timeout":"10s"}`:          "timeout",
		h + `,"onFailure":"explode"}`:    "block or ignore",
		h + `,"sandbox":"none"}`:         "the user's own settings",
		h + `,"sandbox":"ns"}`:           "only be none",
		`"x"`:                            "must be an object",
	} {
		for event, guards := range map[string]bool{"PreToolUse": true, "UserPromptSubmit": true, "PermissionRequest": true, "PostToolUse": false, "SessionStart": false, "Stop": false} {
			list, notices, err := policy.ParseHooks(json.RawMessage(`{"`+event+`":[{"hooks":[`+hook+`]}]}`), policy.HookSource{File: "project"})
			text := strings.Join(notices, "\n")
			if err != nil {
				text = err.Error()
			}
			if len(list) > 0 || (err != nil) != guards || !strings.Contains(text, says) || !strings.Contains(text, "hooks."+event+"[0].hooks[0]") {
				t.Errorf("%s, %s: %v, %q, %v", event, hook, list, notices, err)
			}
		}
	}
	for section, says := range map[string]string{`[]`: "object of events", `{"PreToolUse":{}}`: "list", `{"Stop":[{"matcher":"(","hooks":[]}]}`: "matcher"} {
		if _, _, err := policy.ParseHooks(json.RawMessage(section), policy.HookSource{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", section, err)
		}
	}
	list, notices, err := policy.ParseHooks(json.RawMessage(`{"FileChanged":[{"hooks":[]}],"Stop":[{"hooks":[`+h+`,"async":false}]}]}`), policy.HookSource{})
	if err != nil || len(list) != 1 || len(notices) != 1 || !strings.Contains(notices[0], "FileChanged") {
		t.Errorf("%v, %q, %v", list, notices, err)
	}
}

func TestAnUnconfinedHookRunsOnlyWhereTheUserSaysSo(t *testing.T) {
	h := newHooked(t, `{"PreToolUse":[{"hooks":[{"type":"command","command":"pwd > \"$OUT\"/plain","sandbox":"none"},{"type":"command","command":"pwd > \"$OUT\"/confined"}]}]}`)
	out := t.TempDir()
	var err error
	env := append(os.Environ(), "OUT="+out)
	if h.Workspace, err = workspace.Local(h.dir, workspace.LocalOptions{Env: append(env, "MARK=in")}); err != nil {
		t.Fatal(err)
	}
	other := t.TempDir()
	if h.Unconfined, err = workspace.Local(other, workspace.LocalOptions{Env: env}); err != nil {
		t.Fatal(err)
	}
	if ran, r, _ := h.call("ls"); len(ran) != 1 {
		t.Fatal(r.Text())
	}
	for name, ws := range map[string]workspace.Workspace{"plain": h.Unconfined, "confined": h.Workspace} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != ws.Describe().Root+"\n" {
			t.Errorf("%s ran in %q, %v", name, got, err)
		}
	}
}

func TestNoHooksChangeNothing(t *testing.T) {
	for _, h := range []*policy.Hooks{nil, {}} {
		var ran []string
		tool := h.Gate(policy.GateOptions{})(bash(&ran, oneloop.Once))
		r, err := tool.Run(t.Context(), &oneloop.ToolUse{Name: "Bash", Input: json.RawMessage(command("ls"))}, func(oneloop.Event) {})
		if err != nil || !slices.Equal(ran, []string{"ls"}) || r.Text() != "done" {
			t.Errorf("ran %q, %v, %v", ran, r, err)
		}
		if h.Ask(nil) != nil {
			t.Error("somebody is there who was not")
		}
	}
}

func TestAHookDoesNotGetOurKeys(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "canary-canary")
	t.Setenv("COPY_OF_IT", "x canary-canary x")
	t.Setenv("OTHER", "kept")
	h := newHooked(t, one("PreToolUse", "", "env > dump; echo $OTHER > other"))
	ws, err := workspace.Local(h.dir, workspace.LocalOptions{Secrets: []string{"canary-canary"}})
	if err != nil {
		t.Fatal(err)
	}
	h.Workspace = ws
	h.call("ls")
	if dump, err := os.ReadFile(filepath.Join(h.dir, "dump")); err != nil || strings.Contains(string(dump), "canary") {
		t.Errorf("it got %s, %v", dump, err)
	}
	if other, err := os.ReadFile(filepath.Join(h.dir, "other")); err != nil || string(other) != "kept\n" {
		t.Errorf("another variable is %q, %v", other, err)
	}
}

// Programs of the folder's own on PATH do not run in the place of bash.
func TestAttackA14ABashInTheWorkspaceRunsNoHook(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", "echo real > ran"))
	put(t, h.dir, "bash", "#!/bin/sh\necho fake > ran\n")
	if err := os.Chmod(filepath.Join(h.dir, "bash"), 0o700); err != nil {
		t.Fatal(err)
	}
	ws, err := workspace.Local(h.dir, workspace.LocalOptions{Env: []string{"PATH=.:" + h.dir + ":" + os.Getenv("PATH")}})
	if err != nil {
		t.Fatal(err)
	}
	h.Workspace = ws
	h.call("ls")
	if ran, err := os.ReadFile(filepath.Join(h.dir, "ran")); err != nil || string(ran) != "real\n" {
		t.Errorf("it was the %q, %v", ran, err)
	}
}

func TestAHookThatAllowsIsNoWayAroundARule(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `echo '{"hookSpecificOutput":{"permissionDecision":"allow"}}'`))
	o := with(t, h.dir, "ask Bash(git push:*)", "deny Bash(curl:*)")
	for cmd, runs := range map[string]bool{"touch x": true, "git push x": false, "curl x": false, "sudo x": false, "cat .env": false} {
		var ran []string
		gated := h.Gate(o)(bash(&ran, oneloop.Once))
		r, err := gated.Run(t.Context(), &oneloop.ToolUse{ID: "1", Name: "Bash", Input: []byte(command(cmd))}, func(oneloop.Event) {})
		if err != nil || (len(ran) == 1) != runs || r.IsError == runs {
			t.Errorf("%s: ran %q, %v, %v", cmd, ran, r.Text(), err)
		}
	}
}

func TestAHookCanHaveTheUserAsked(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "", `echo '{"hookSpecificOutput":{"permissionDecision":"ask","permissionDecisionReason":"look twice"}}'`))
	for _, mode := range []policy.Mode{policy.Default, policy.Bypass} {
		p := &person{answers: []oneloop.Answer{{Allow: true}}}
		o := policy.GateOptions{Dir: h.dir, Mode: mode, Ask: p.ask}
		var ran []string
		gated := h.Gate(o)(bash(&ran, oneloop.Once))
		if _, err := gated.Run(t.Context(), &oneloop.ToolUse{ID: "1", Name: "Bash", Input: []byte(command("ls"))}, func(oneloop.Event) {}); err != nil || len(ran) != 1 || len(p.asked) != 1 {
			t.Fatalf("%v: ran %q, asked %d, %v", mode, ran, len(p.asked), err)
		}
		if q := p.asked[0]; !strings.Contains(q.Reason, "look twice") || q.Rule != "" {
			t.Errorf("the question is %+v", q)
		}
	}
}

// A hook that prints a line too much guards all the same; one that shows what
// it was given does not say yes.
func TestAnAnswerBehindOtherTextCountsWhereItIsNoYes(t *testing.T) {
	const no, yes = `{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not this"}}`, `{"hookSpecificOutput":{"permissionDecision":"allow"}}`
	for printed, says := range map[string]string{
		"\ufeff" + no:                        "not this",
		"starting\n" + no:                    "not this",
		"\ufeffstarting\n  " + no + "\ndone": "not this",
		"{not json\n" + no:                   "not this",
		"x\n{\"level\":\"info\"}\n" + no:     "not this",
		"x\n" + yes + "\n" + no + "\n" + yes: "not this",
		"x\n{\n  \"decision\": \"block\",\n  \"reason\": \"not this\"\n}": "not this",
		"x\n{\"continue\":false,\"stopReason\":\"not this\"}":             "not this",
		"x\n{\"decision\":\"block\"":                                      "no answer",
		"x\n{\"decision\":\"perhaps\"}":                                   "perhaps",
	} {
		if strings.HasPrefix(printed, "{not") { // an answer that is broken: a failure, which is a no
			says = "no answer"
		}
		h := newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed)))
		if ran, r, _ := h.call("ls"); len(ran) > 0 || !strings.Contains(r.Text(), says) && !strings.Contains(printed, "continue") {
			t.Errorf("%q: ran %q, answer %q", printed, ran, r.Text())
		}
	}
	for _, printed := range []string{"x\n" + yes, "x\n{\"level\":\"info\"}", "just text", "x\n{ braces", `x {"decision":"block"}`} {
		h := newHooked(t, one("PreToolUse", "Bash", "printf %s "+quote(printed)))
		if ran, r, _ := h.call("ls"); len(ran) != 1 || r.IsError {
			t.Errorf("%q: ran %q, answer %q", printed, ran, r.Text())
		}
	}
	h := newHooked(t, one("PermissionRequest", "Bash", "printf %s "+quote("x\n"+`{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}`)))
	asked := false
	ask := h.Ask(func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		asked = true
		return oneloop.Answer{}, nil
	})
	q := oneloop.Question{Kind: "tool", Call: &oneloop.ToolUse{ID: "t1", Name: "Bash", Input: json.RawMessage(command("ls"))}}
	if a, err := ask(t.Context(), q); err != nil || !asked || a.Allow {
		t.Errorf("a yes behind other text is taken: %+v, %v", a, err)
	}
	h = newHooked(t, one("UserPromptSubmit", "", "printf %s "+quote("x\n"+`{"decision":"block","reason":"not this"}`)))
	if err := h.BeforePrompt(t.Context(), oneloop.UserText("hello")); !blocked(err, "not this") {
		t.Errorf("a no behind other text is not heard: %v", err)
	}
	h = newHooked(t, one("PostToolUse", "Bash", "printf %s "+quote("x\n"+`{"decision":"perhaps"}`)))
	if ran, r, _ := h.call("ls"); len(ran) != 1 || r.IsError {
		t.Errorf("after a call: ran %q, answer %q", ran, r.Text())
	}
}

// quote is a word for bash.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// broken is a workspace that meets a fault of its own: where commands are
// waited for, or before there is one.
type broken struct {
	workspace.Workspace
	early bool
}

func (b broken) Describe() workspace.Info {
	if b.early {
		panic("the workspace is broken")
	}
	return b.Workspace.Describe()
}

func (b broken) Start(ctx context.Context, cmd workspace.Cmd) (workspace.Process, error) {
	p, err := b.Workspace.Start(ctx, cmd)
	return brokenProcess{p}, err
}

type brokenProcess struct{ workspace.Process }

func (p brokenProcess) Wait() (workspace.Exit, error) {
	p.Process.Wait()
	panic("the process is broken")
}

func TestAFaultWhileAHookRunsIsAHookThatFailed(t *testing.T) {
	h := newHooked(t, one("PreToolUse", "Bash", "true"))
	h.Workspace = broken{Workspace: h.Workspace}
	ran, r, _ := h.call("make")
	if len(ran) > 0 || !r.IsError || !strings.Contains(r.Text(), "internal error: the process is broken") {
		t.Errorf("ran %q: %s", ran, r.Text())
	}
}

func TestAFaultBesideAQuestionIsToldAndLeavesTheAnswer(t *testing.T) {
	h := newHooked(t, one("Notification", "permission_prompt", "true"))
	h.Workspace = broken{Workspace: h.Workspace, early: true}
	ask := h.Ask(func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, nil
	})
	a, err := ask(t.Context(), oneloop.Question{Kind: "tool", Title: "Run this?"})
	if told := strings.Join(h.told, "\n"); err != nil || !a.Allow || told != "internal error: tell hooks of Notification: the workspace is broken" {
		t.Errorf("%+v, %v, told %q", a, err, told)
	}
}
