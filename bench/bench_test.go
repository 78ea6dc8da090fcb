package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const tools = `[{"name":"Bash","input_schema":{"type":"object","properties":{"command":{"type":"string"}}}}]`

func ask(t *testing.T, url, body string) (status int, answer string) {
	t.Helper()
	resp, err := http.Post(url+"/v1/messages", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func serving(t *testing.T, s script) *api {
	t.Helper()
	a, err := serve(s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	return a
}

func TestTheModelCallsTheDeclaredToolAndThenStops(t *testing.T) {
	var last []int
	a := serving(t, script{Turns: 1, Command: nothing, Last: func() { last = append(last, 1) }})
	_, first := ask(t, a.URL(), `{"tools":`+tools+`,"messages":[]}`)
	if len(last) != 0 {
		t.Error("Last was called before the last request")
	}
	_, second := ask(t, a.URL(), `{"tools":`+tools+`,"messages":[{"tool_use_id":"toolu_000001","content":"a \"tool_use_id\" in a text"}]}`)

	type reply struct {
		Stop    string `json:"stop_reason"`
		Content []struct {
			Type, Name, Text string
			Input            map[string]string
		}
	}
	var got [2]reply
	for i, text := range []string{first, second} {
		if err := json.Unmarshal([]byte(text), &got[i]); err != nil {
			t.Fatalf("%v in %s", err, text)
		}
	}
	var want [2]reply
	want[0].Stop, want[1].Stop = "tool_use", "end_turn"
	type block = struct {
		Type, Name, Text string
		Input            map[string]string
	}
	want[0].Content = []block{{Type: "tool_use", Name: "Bash", Input: map[string]string{"command": "true 1"}}}
	want[1].Content = []block{{Type: "text", Text: "Done."}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if len(last) != 1 {
		t.Errorf("Last was called %d times", len(last))
	}
}

func TestAStreamedReplySaysTheSameAsAWholeOne(t *testing.T) {
	command := "echo 'long enough for several pieces of input' \"\\\""
	a := serving(t, script{Turns: 1, Command: func(int) string { return command }})
	_, body := ask(t, a.URL(), `{"stream":true,"tools":`+tools+`,"messages":[]}`)

	var kinds []string
	var input, stop strings.Builder
	for lines := bufio.NewScanner(strings.NewReader(body)); lines.Scan(); {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e struct {
			Type  string
			Delta struct {
				Piece string `json:"partial_json"`
				Stop  string `json:"stop_reason"`
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		if len(kinds) == 0 || kinds[len(kinds)-1] != e.Type {
			kinds = append(kinds, e.Type)
		}
		input.WriteString(e.Delta.Piece)
		stop.WriteString(e.Delta.Stop)
	}
	want := []string{"message_start", "content_block_start", "ping", "content_block_delta", "content_block_stop", "message_delta", "message_stop"}
	if d := cmp.Diff(want, kinds); d != "" {
		t.Error(d)
	}
	var got map[string]string
	if err := json.Unmarshal([]byte(input.String()), &got); err != nil || got["command"] != command {
		t.Errorf("the pieces make %s (%v)", input.String(), err)
	}
	if stop.String() != "tool_use" {
		t.Errorf("the stop reason is %q", stop.String())
	}
}

func TestTheServerCountsPromptBytesAndTimesEachVisit(t *testing.T) {
	a := serving(t, script{Turns: 1, Command: nothing})
	before := time.Now()
	ask(t, a.URL(), `{"tools": `+tools+`, "system": "four", "messages": []}`)
	ask(t, a.URL(), `{"messages":[{"tool_use_id":"1"}]}`)
	visits, err := a.Close()
	if err != nil {
		t.Fatal(err)
	}
	if len(visits) != 2 {
		t.Fatalf("%d visits", len(visits))
	}
	if want := len(tools) - len("[]") + len(`"four"`); visits[0].Prompt != want {
		t.Errorf("system prompt and tools take %d bytes, want %d", visits[0].Prompt, want)
	}
	at := before
	for i, v := range visits {
		if v.Turn != i || !v.Read.After(at) || !v.Answered.After(v.Read) {
			t.Errorf("visit %d: %+v after %v", i, v, at)
		}
		at = v.Answered
	}
}

func TestAProgramThatLeavesTheScriptIsRefused(t *testing.T) {
	for name, body := range map[string]string{
		"no shell tool":     `{"tools":[{"name":"Read"}],"messages":[]}`,
		"a skipped request": `{"tools":` + tools + `,"messages":[{"tool_use_id":"1"}]}`,
		"no JSON":           `{`,
	} {
		t.Run(name, func(t *testing.T) {
			a := serving(t, script{Turns: 1, Command: nothing})
			if status, answer := ask(t, a.URL(), body); status != http.StatusBadRequest {
				t.Errorf("answered %d %s", status, answer)
			}
			if _, err := a.Close(); err == nil {
				t.Error("the run counts as good")
			}
		})
	}
}

func TestTheFloorPlaysAScriptToItsEnd(t *testing.T) {
	dir := t.TempDir()
	p, err := build(t.Context(), dir, "floor", "./floor")
	if err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "mark")
	r, err := p.play(t.Context(), script{Turns: 3, Command: func(int) string { return "printf x >> $MARK" }, Env: []string{"MARK=" + mark}})
	if err != nil {
		t.Fatal(err)
	}
	if b, err := os.ReadFile(mark); err != nil || string(b) != "xxx" {
		t.Errorf("the commands wrote %q (%v)", b, err)
	}
	if r.Start <= 0 || len(r.Gaps) != 3 || slices.Min(r.Gaps) <= 0 || r.Prompt == 0 || r.Wire <= r.Prompt {
		t.Errorf("measured %+v", r)
	}
	if runtime.GOOS == "linux" && (r.Peak < 1e6 || r.Peak > 100e6) {
		t.Errorf("a peak of %d bytes", r.Peak)
	}
	if _, err := p.play(t.Context(), script{Turns: 1, Command: func(int) string { return "kill -9 $PPID" }}); err == nil {
		t.Error("a program that died counts as a good run")
	}
}

func TestAProgramThatEndsEarlyIsNoGoodRun(t *testing.T) {
	path, err := exec.LookPath("true")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := (program{Name: "true", Path: path}).play(t.Context(), script{Turns: 1, Command: nothing}); err == nil {
		t.Error("a program that asked nothing counts as a good run")
	}
}

func TestTheTableMarksWhatIsOverItsLimit(t *testing.T) {
	var b strings.Builder
	over := show(&b, []figure{
		{Name: "fast", Ours: "1 ms", Against: "1 ms", Value: 1, Limit: 1.5, Unit: "×"},
		{Name: "big", Ours: "16 MB", Value: 16, Limit: 15, Unit: "MB"},
	})
	if over != 1 {
		t.Errorf("%d are over", over)
	}
	for line := range strings.Lines(b.String()) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "fast") && !strings.HasSuffix(line, " ok") || strings.HasPrefix(line, "big") && !strings.HasSuffix(line, " OVER") {
			t.Error(line)
		}
	}
}

func TestTheGapAtATurnIsTheMedianOfTheTenAroundIt(t *testing.T) {
	var r run
	for i := range 30 {
		r.Gaps = append(r.Gaps, time.Duration(i+1)*time.Millisecond)
	}
	r.Gaps[15] = time.Hour
	if got := gap([]run{r}, 20); got != 22*time.Millisecond {
		t.Errorf("%v", got)
	}
}
