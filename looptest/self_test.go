package looptest_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
)

// recorder is a test inside a test: what it is told counts as seen.
type recorder struct {
	testing.TB
	errors   []string
	logs     []string
	cleanups []func()
}

func (r *recorder) Helper()           {}
func (r *recorder) Cleanup(f func())  { r.cleanups = append(r.cleanups, f) }
func (r *recorder) Error(args ...any) { r.errors = append(r.errors, fmt.Sprint(args...)) }
func (r *recorder) Errorf(format string, a ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, a...))
}
func (r *recorder) Logf(format string, args ...any) {
	r.logs = append(r.logs, fmt.Sprintf(format, args...))
}

// end runs the clean-up and returns what was seen.
func (r *recorder) end() string {
	for i := len(r.cleanups) - 1; i >= 0; i-- {
		r.cleanups[i]()
	}
	return strings.Join(r.errors, "\n")
}

func ask(t *testing.T, m oneloop.Model, msgs ...*oneloop.Message) (*oneloop.Message, error) {
	t.Helper()
	return m.Generate(t.Context(), &oneloop.Request{Messages: msgs}, func(oneloop.Event) {})
}

func TestAScriptedModelPlaysItsRepliesAndKeepsItsRequests(t *testing.T) {
	m := looptest.Script(t,
		looptest.Answer(&oneloop.Text{Text: "I look"}, looptest.Call("t1", "Bash", `{}`)),
		looptest.Reply{Err: oneloop.ErrServer}, looptest.Say("ok"))
	first, err := ask(t, m, oneloop.UserText("hi"))
	if err != nil || first.Stop != oneloop.StopToolUse || first.Text() != "I look" {
		t.Errorf("first: %+v, %v", first, err)
	}
	if _, err := ask(t, m, oneloop.UserText("hi")); err != oneloop.ErrServer {
		t.Errorf("second: %v", err)
	}
	if last, err := ask(t, m, oneloop.UserText("ho")); err != nil || last.Text() != "ok" || last.Stop != oneloop.StopEndTurn {
		t.Errorf("third: %+v, %v", last, err)
	}
	if got := m.Requests(); len(got) != 3 || got[2].Messages[0].Text() != "ho" {
		t.Errorf("requests: %+v", got)
	}
}

func TestAHangingReplyGivesWhatIsFinished(t *testing.T) {
	started := make(chan struct{})
	r := looptest.Answer(&oneloop.Thinking{Text: "hm"}, &oneloop.Text{Text: "half"}, looptest.Call("t1", "Bash", `{}`))
	r.Hang, r.Started, r.Events = true, started, []oneloop.Event{oneloop.TextDelta{Text: "half"}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-started; cancel() }() // ends with Generate
	msg, err := looptest.Script(t, r).Generate(ctx, &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}, func(oneloop.Event) {})
	if err != nil || msg.Stop != oneloop.StopInterrupted || len(msg.Blocks) != 1 || msg.Text() != "half" {
		t.Errorf("got %+v, %v", msg, err)
	}
}

func TestAScriptedModelFailsTheTestOnWhatIsNotScripted(t *testing.T) {
	r := &recorder{TB: t}
	m := looptest.Script(r, looptest.Reply{Check: func(*oneloop.Request) error { return errors.New("not what I want") }})
	for range 2 {
		if _, err := ask(t, m, oneloop.UserText("hi")); err == nil {
			t.Error("no error")
		}
	}
	if seen := r.end(); !strings.Contains(seen, "not what I want") || !strings.Contains(seen, "request 2 is not scripted") {
		t.Errorf("seen: %s", seen)
	}
	r = &recorder{TB: t}
	looptest.Script(r, looptest.Say("ok"))
	if seen := r.end(); !strings.Contains(seen, "1 scripted replies were never asked for") {
		t.Errorf("seen: %s", seen)
	}
}

func TestRequestsThatAnAPIRefusesAreFound(t *testing.T) {
	user, call := oneloop.UserText("hi"), looptest.Answer(looptest.Call("t1", "Bash", `{}`)).Message
	answer := func(blocks ...oneloop.Block) *oneloop.Message { return oneloop.NewMessage(oneloop.User, blocks...) }
	result := &oneloop.ToolResult{ID: "t1", Content: []oneloop.Block{&oneloop.Text{Text: "ok"}}}
	said := looptest.Say("x").Message
	for _, c := range []struct {
		want string
		msgs []*oneloop.Message
	}{
		{"", []*oneloop.Message{user, call, answer(result, &oneloop.Text{Text: "and"}), said, user}},
		{"no message", nil},
		{"not the user's", []*oneloop.Message{said}},
		{"no content", []*oneloop.Message{user, answer()}},
		{"blank", []*oneloop.Message{oneloop.UserText(" \n")}},
		{"blank", []*oneloop.Message{user, call, answer(&oneloop.ToolResult{ID: "t1", Content: []oneloop.Block{&oneloop.Text{}}})}},
		{"holds *oneloop.Media", []*oneloop.Message{user, call, answer(&oneloop.ToolResult{ID: "t1", IsError: true, Content: []oneloop.Block{&oneloop.Media{}}})}},
		{"no object", []*oneloop.Message{user, looptest.Answer(looptest.Call("t1", "Bash", `[]`)).Message, answer(result)}},
		{"taken", []*oneloop.Message{user, call, answer(result), call, answer(result)}},
		{"not answered by the next", []*oneloop.Message{user, call}},
		{"not answered by the next", []*oneloop.Message{user, call, said, answer(result)}},
		{"t1 is not answered", []*oneloop.Message{user, call, user}},
		{"no open call", []*oneloop.Message{user, answer(result)}},
		{"no open call", []*oneloop.Message{user, call, answer(result, result)}},
		{"after something else", []*oneloop.Message{user, call, answer(&oneloop.Text{Text: "x"}, result)}},
	} {
		err := looptest.CheckRequest(&oneloop.Request{Messages: c.msgs})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func TestAServerFailsTheTestOnBreachesAndWhatWasNotPlayed(t *testing.T) {
	r := &recorder{TB: t}
	s := looptest.Serve(r, script.Say())
	res, err := http.Post(s.URL()+"/v1/messages", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if seen := r.end(); !strings.Contains(seen, script.RuleHeader) || !strings.Contains(seen, "never asked for") {
		t.Errorf("seen: %s", seen)
	}
}

func TestTheCensusFindsWhatIsLeft(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are looked at on Linux only")
	}
	clean := &recorder{TB: t}
	looptest.Census(clean)
	if seen := clean.end(); seen != "" || len(clean.logs) > 0 {
		t.Errorf("nothing is left, seen: %s, %q", seen, clean.logs)
	}

	r := &recorder{TB: t}
	looptest.Census(r)
	child := exec.Command("sleep", "60")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	orphan := startOrphan(t)
	release, gone := make(chan struct{}), make(chan struct{})
	go func() { <-release; close(gone) }()
	seen := r.end()
	for _, want := range []string{fmt.Sprint("process ", child.Process.Pid), fmt.Sprint("process ", orphan), "TestTheCensusFindsWhatIsLeft"} {
		if !strings.Contains(seen, want) {
			t.Errorf("the census lacks %q:\n%s", want, seen)
		}
	}
	close(release)
	<-gone
	child.Process.Kill()
	child.Wait()
	p, err := os.FindProcess(orphan) // it is ours now: this program is its subreaper
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Kill(); err != nil {
		t.Error(err)
	}
	p.Wait()
}

// startOrphan starts a process whose parent ends at once.
func startOrphan(t *testing.T) int {
	t.Helper()
	parent := exec.Command("sh", "-c", "sleep 60 >/dev/null 2>&1 & echo $!")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Wait(); err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

// faulty breaks one law of a transcript.
type faulty struct {
	oneloop.History
	fault string
	all   []*oneloop.Message
}

func (f *faulty) Append(ctx context.Context, msgs ...*oneloop.Message) error {
	if f.fault == "bytes" {
		for _, m := range msgs {
			for _, b := range m.Blocks {
				if x, ok := b.(*oneloop.Text); ok {
					x.Raw = nil
				}
			}
		}
	}
	f.all = append(f.all, msgs...)
	return f.History.Append(ctx, msgs...)
}

func (f *faulty) Request(ctx context.Context) (*oneloop.Request, error) {
	if f.fault == "cause" {
		ctx = context.WithoutCancel(ctx)
	}
	req, err := f.History.Request(ctx)
	if err != nil {
		return nil, err
	}
	switch f.fault {
	case "order":
		last := len(req.Messages) - 1
		req.Messages = append([]*oneloop.Message{req.Messages[last]}, req.Messages[:last]...)
	case "refused":
		req.Messages = f.all
	case "prefix":
		req.Messages = req.Messages[len(req.Messages)/3:]
	}
	return req, nil
}

var faults = map[string]string{
	"order":   "messages_come_back_in_order",
	"bytes":   "messages_keep_their_bytes",
	"refused": "what_no_API_takes_is_left_out",
	"prefix":  "what_was_sent_stays_the_beginning",
	"cause":   "an_ended_context_gives_its_cause",
}

const faultVariable = "LOOPTEST_FAULT"

// TestAFaultyTranscript is the test that the next one starts and sees fail.
func TestAFaultyTranscript(t *testing.T) {
	fault := os.Getenv(faultVariable)
	if fault == "" {
		t.Skip("started by TestFaultsOfTranscriptsAreFound")
	}
	looptest.TestTranscript(t, func(testing.TB) oneloop.Transcript { return &faulty{fault: fault} })
}

func TestFaultsOfTranscriptsAreFound(t *testing.T) {
	for fault, law := range faults {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFaultyTranscript$", "-test.v")
		cmd.Env = append(os.Environ(), faultVariable+"="+fault)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || !strings.Contains(string(out), "--- FAIL: TestAFaultyTranscript/"+law) {
			t.Errorf("fault %q is not found as %s: %v\n%s", fault, law, err, out)
		}
	}
}

func TestTheExampleOfATestPasses(t *testing.T) { theAgentLooksAtTheWeather(t) }
