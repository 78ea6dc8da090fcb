package trace_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/looptest"
	"oneloop/looptest/script"
	"oneloop/model"
	"oneloop/model/anthropic"
	"oneloop/session"
	"oneloop/trace"
)

// record is a session over a real adapter whose answers are recorded.
func record(t *testing.T, replies ...script.Reply) *taken {
	server := looptest.Serve(t, replies...)
	k := keep(t)
	rec := &trace.Recorder{Log: func() *session.Log { return k.log }}
	api, err := anthropic.New(anthropic.Config{BaseURL: server.URL(), Key: "k", Model: "claude-sonnet-4-6", Client: &http.Client{Transport: rec}})
	if err != nil {
		t.Fatal(err)
	}
	k.Model = model.Retry(model.Pause(rec.Model(api), model.PauseOptions{}), model.RetryOptions{Retries: 2, Delay: time.Microsecond})
	return k
}

func recorded(name string, by http.RoundTripper) (oneloop.Model, error) {
	return anthropic.New(anthropic.Config{Key: "none", Model: "claude-sonnet-4-6", Client: &http.Client{Transport: by}})
}

// pieces are those that were told, put together.
func pieces(events []oneloop.Event) (all string) {
	for _, e := range events {
		switch e := e.(type) {
		case oneloop.TextDelta:
			all += e.Text
		case oneloop.ThinkingDelta:
			all += e.Text
		case oneloop.InputDelta:
			all += e.JSON
		case oneloop.Discard, oneloop.Retry, oneloop.MessageAdded:
			all += "\n" + string(e.Kind()) + "\n"
		}
	}
	return all
}

func recordedSession(t *testing.T) *taken {
	k := record(t,
		script.Reply{Blocks: []script.Block{script.Thinking("hm", "c2ln"), script.Text("I look 看看."), script.Tool("a", "Look", `{"of":"a"}`)}, Chunk: 7},
		script.Fail(529, "overloaded_error", "busy"),
		script.Reply{Blocks: []script.Block{script.Text("half of "), script.Text("it")}, Error: &script.Error{Type: "overloaded_error", Message: "busy"}},
		script.Reply{Blocks: []script.Block{script.Text("one")}},
		script.Reply{Blocks: []script.Block{script.Text("well")}, Gzip: true},
		script.Reply{Blocks: []script.Block{script.Text("a summary")}},
		script.Reply{Blocks: []script.Block{script.Text("two and more words")}},
	)
	if err := k.say(t.Context(), "look "+strings.Repeat("at everything ", 2000)); err != nil {
		t.Fatal(err)
	}
	if err := k.say(t.Context(), "go on"); err != nil {
		t.Fatal(err)
	}
	if err := k.Compact(t.Context(), k.hear, ""); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	k.Turn(ctx, func(e oneloop.Event) {
		if k.hear(e); e.Kind() == oneloop.KindTextDelta {
			cancel()
		}
	}, words("and"))
	k.close()
	return k
}

func TestWhatWasRecordedIsToldInThePiecesItCameIn(t *testing.T) {
	k := recordedSession(t)
	stream := session.RecordingPath(k.path)
	if info, err := os.Stat(stream); err != nil || info.Mode().Perm() != 0o600 && runtime.GOOS != "windows" {
		t.Fatalf("%v %v", info, err)
	}
	var events []oneloop.Event
	r := replay(t, k.path, trace.ReplayOptions{Adapter: recorded, Emit: func(e oneloop.Event) { events = append(events, e) }})
	if r.Differs != nil || len(r.LeftOut) > 0 || r.Recorded < 5 {
		t.Fatalf("%v %q %d", r.Differs, r.LeftOut, r.Recorded)
	}
	want, got := pieces(k.events), pieces(events)
	if cut := strings.LastIndex(want, "two"); cut < 0 || !strings.HasPrefix(got, want[:cut]) {
		t.Errorf("it was\n%s\nand is\n%s", want, got)
	}

	if err := (session.Store{Dir: filepath.Dir(filepath.Dir(k.path))}).Remove(k.path); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(stream); !os.IsNotExist(err) {
		t.Errorf("the recording is left: %v", err)
	}
}

func TestAReplyThatIsNotTheRecordedOneIsTold(t *testing.T) {
	k := recordedSession(t)
	change(t, k.path, swap("message", 4, "one", "once"))
	r := replay(t, k.path, trace.ReplayOptions{Adapter: recorded})
	if r.Differs == nil || !matches(t, `turn 1, entry \d+: expected a reply .*once.*, came what is recorded: a reply .*one`, r.Differs.Error()) {
		t.Errorf("%v", r.Differs)
	}
	change(t, k.path, swap("message", 4, "once", "one"))
	stream := session.RecordingPath(k.path)
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	os.WriteFile(stream, []byte(strings.Replace(string(text), `"text":"half of it"`, `"text":"half of that"`, 1)), 0o600)
	r = replay(t, k.path, trace.ReplayOptions{Adapter: recorded})
	if r.Differs == nil || !matches(t, `turn 1, entry \d+: expected the pieces .*half of that.*, came the pieces .*half of it`, r.Differs.Error()) {
		t.Errorf("%v", r.Differs)
	}
}

func TestWhatARecordingLacksIsSaid(t *testing.T) {
	k := recordedSession(t)
	stream := session.RecordingPath(k.path)
	text, err := os.ReadFile(stream)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	without := func(i int) string { return strings.Join(slices.Delete(slices.Clone(lines), i, i+1), "") }
	for _, c := range []struct{ what, left, want string }{
		{"half of it", string(text[:len(text)/2]), `lacks requests.*: those for the entries \d+`},
		{"nothing", "", `lacks requests.*: those for the entries \d+, \d+, \d+`},
		{"all but the first reply", without(0), `lacks requests.*: those for the entries \d+$`},
		{"all but a try", without(1), `lacks requests.*: those for the entries \d+$`},
		{"all but the last", without(len(lines) - 1), `lacks requests.*: those for the entries \d+$`},
	} {
		if err := os.WriteFile(stream, []byte(c.left), 0o600); err != nil {
			t.Fatal(err)
		}
		r := replay(t, k.path, trace.ReplayOptions{Adapter: recorded})
		if r.Differs != nil || len(r.LeftOut) != 1 || !matches(t, c.want, r.LeftOut[0]) {
			t.Errorf("%s is left: %v %q", c.what, r.Differs, r.LeftOut)
		}
	}
}

// The adapter makes ids where there are none, or the same twice: others at each
// reading.
func TestAReplyWhoseCallsHadNoIdsOfTheirOwnIsTheRecordedOne(t *testing.T) {
	k := record(t,
		script.Reply{Blocks: []script.Block{script.Tool("a", "Look", `{"of":"a"}`), script.Tool("a", "Look", `{"of":"b"}`), script.Tool("", "Look", `{"of":"c"}`)}},
		script.Reply{Blocks: []script.Block{script.Tool("a", "Look", `{"of":"d"}`)}},
		script.Reply{Blocks: []script.Block{script.Text("done")}})
	if err := k.say(t.Context(), "look"); err != nil {
		t.Fatal(err)
	}
	k.close()
	if r := replay(t, k.path, trace.ReplayOptions{Adapter: recorded}); r.Differs != nil || r.Recorded != 3 || r.Calls != 4 {
		t.Fatalf("%v, %d requests, %d calls", r.Differs, r.Recorded, r.Calls)
	}
	change(t, k.path, swap("message", 2, `"of":"c"`, `"of":"x"`))
	if r := replay(t, k.path, trace.ReplayOptions{Adapter: recorded}); r.Differs == nil || !matches(t, `came what is recorded: `, r.Differs.Error()) {
		t.Errorf("a call that was changed: %v", r.Differs)
	}
}

func TestWhatCannotBeRecordedDisturbsNothing(t *testing.T) {
	k := record(t, script.Reply{Repeat: true, Blocks: []script.Block{script.Text("one")}})
	if err := os.Mkdir(session.RecordingPath(k.path), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := k.say(t.Context(), "again"); err != nil {
			t.Fatal(err)
		}
	}
	k.close()
	notices := 0
	for _, e := range k.events {
		if n, ok := e.(oneloop.Notice); ok && strings.Contains(n.Text, "cannot be recorded") {
			notices++
		}
	}
	if notices != 1 {
		t.Errorf("%d notices", notices)
	}
}

// sender is a transport that answers with so many bytes.
type sender int

func (n sender) RoundTrip(req *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(strings.Repeat("x", int(n)))), Request: req}, nil
}

func TestARecordingIsBounded(t *testing.T) {
	k := keep(t)
	k.Model = nil
	stream := session.RecordingPath(k.path)
	send := func(size int) (notices []string) {
		rec := &trace.Recorder{Log: func() *session.Log { return k.log }, Base: sender(size)}
		m := rec.Model(oneloop.ModelFunc(func(ctx context.Context, _ *oneloop.Request, emit func(oneloop.Event)) (*oneloop.Message, error) {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1:1/", nil)
			if err != nil {
				return nil, err
			}
			resp, err := (&http.Client{Transport: rec}).Do(req)
			if err != nil {
				return nil, err
			}
			emit(oneloop.TextDelta{Text: "x"})
			_, err = io.Copy(io.Discard, resp.Body)
			return &oneloop.Message{Role: oneloop.Assistant}, err
		}))
		if _, err := m.Generate(t.Context(), &oneloop.Request{}, func(e oneloop.Event) {
			if n, ok := e.(oneloop.Notice); ok {
				notices = append(notices, n.Text)
			}
		}); err != nil {
			t.Fatal(err)
		}
		return notices
	}
	size := func() int64 {
		info, err := os.Stat(stream)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	if n := send(trace.RecordedReply + 1); len(n) > 0 || size() > 1000 {
		t.Errorf("of a long answer %d bytes are kept, %q", size(), n)
	}
	if n := send(1000); len(n) > 0 || size() < 1000 {
		t.Errorf("of another one %d bytes are kept, %q", size(), n)
	}
	if err := os.Truncate(stream, trace.RecordedFile); err != nil { // a hole, which takes no place
		t.Fatal(err)
	}
	if n := send(1000); len(n) != 1 || !strings.Contains(n[0], "as large as it may be") || size() != trace.RecordedFile {
		t.Errorf("the file has %d bytes, %q", size(), n)
	}
	k.close()
}
