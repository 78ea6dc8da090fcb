package ollama_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"oneloop"
	"oneloop/model/ollama"

	"github.com/google/go-cmp/cmp"
)

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// fake is an Ollama server.
type fake struct {
	show        string // what it answers; empty: that it does not know
	status      int    // of a chat; 0: 200
	contentType string
	chat        func() io.Reader

	asked []string // paths
	sent  []string // bodies of chats
}

func (f *fake) RoundTrip(r *http.Request) (*http.Response, error) {
	f.asked = append(f.asked, r.URL.Path)
	answer := func(status int, kind string, body io.Reader) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(body), Request: r}, nil
	}
	body := ""
	switch {
	case strings.HasSuffix(r.URL.Path, "/api/chat"):
		sent, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		f.sent = append(f.sent, string(sent))
		kind := f.contentType
		if kind == "" {
			kind = "application/x-ndjson"
		}
		return answer(max(f.status, 200), kind, f.chat())
	case strings.HasSuffix(r.URL.Path, "/api/show"):
		body = f.show
	}
	if body == "" {
		return answer(404, "text/plain", strings.NewReader("404 page not found"))
	}
	return answer(200, "application/json", strings.NewReader(body))
}

func says(lines ...string) func() io.Reader {
	return func() io.Reader { return strings.NewReader(strings.Join(lines, "\n") + "\n") }
}

// end is the last line of a reply.
func end(reason string, prompt, out int) string {
	return fmt.Sprintf(`{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":""},"done_reason":%q,"done":true,"total_duration":1,"prompt_eval_count":%d,"eval_count":%d}`, reason, prompt, out)
}

func piece(message string) string {
	return `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant",` + message + `},"done":false}`
}

// result is all that can be seen of one Generate.
type result struct {
	Message *oneloop.Message
	Err     error
	Events  []oneloop.Event // without those that tell of the transport
}

func generate(t testing.TB, m oneloop.Model, req *oneloop.Request) result {
	var out result
	out.Message, out.Err = m.Generate(t.Context(), req, func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.RequestSent, oneloop.ResponseStarted, oneloop.Received:
		default:
			out.Events = append(out.Events, e)
		}
	})
	return out
}

func open(t testing.TB, f *fake, c ollama.Config) *ollama.Model {
	t.Helper()
	c.Client = &http.Client{Transport: f}
	if c.Model == "" {
		c.Model = "m"
	}
	m, err := ollama.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func ask(t testing.TB, f *fake, req *oneloop.Request) result {
	t.Helper()
	return generate(t, open(t, f, ollama.Config{}), req)
}

func hi() *oneloop.Request {
	return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}
}

// stored is m as it comes back from a log.
func stored(t *testing.T, m *oneloop.Message) *oneloop.Message {
	t.Helper()
	j, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again oneloop.Message
	if err := again.UnmarshalJSON(j); err != nil {
		t.Fatalf("%v in %s", err, j)
	}
	return &again
}

func answered(m *oneloop.Message) *oneloop.Request {
	next := oneloop.UserText("go on")
	if calls := m.ToolUses(); len(calls) > 0 {
		next = &oneloop.Message{Role: oneloop.User}
		for _, c := range calls {
			next.Blocks = append(next.Blocks, &oneloop.ToolResult{ID: c.ID, Content: []oneloop.Block{&oneloop.Text{Text: "done: " + c.Name}}})
		}
	}
	return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), m, next}}
}

// sent is the request that these messages make.
func sent(t *testing.T, f *fake, c ollama.Config, req *oneloop.Request) string {
	t.Helper()
	f.chat = says(piece(`"content":"ok"`), end("stop", 50, 1))
	f.sent = nil
	if got := generate(t, open(t, f, c), req); got.Err != nil {
		t.Fatal(got.Err)
	}
	if !json.Valid([]byte(f.sent[0])) {
		t.Fatalf("no JSON: %s", f.sent[0])
	}
	return f.sent[0]
}

func messages(body string) string {
	_, after, _ := strings.Cut(body, `"messages":`)
	return strings.TrimSuffix(after, "}")
}

// recordings are the bodies of real replies in the folder that
// ONELOOP_RECORDINGS names. Without it the test ends here and says so where it
// is seen.
func recordings(t *testing.T) map[string]string {
	dir := os.Getenv("ONELOOP_RECORDINGS")
	if dir == "" {
		const text = "CONFORMANCE DID NOT RUN: set ONELOOP_RECORDINGS to the folder of recorded API traffic"
		fmt.Fprintln(os.Stderr, text)
		t.Log(text)
		return nil
	}
	file, err := os.Open(filepath.Join(dir, "ollama", "responses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	all, skipped := map[string]string{}, 0
	for dec := json.NewDecoder(bufio.NewReader(file)); ; {
		var x struct{ File, URL, Body string }
		if err := dec.Decode(&x); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(x.URL, "/api/chat") {
			skipped++ // Chat Completions, which is another adapter's
			continue
		}
		all[x.File] = x.Body
	}
	t.Logf("%d replies of this API, %d of Chat Completions", len(all), skipped)
	if len(all) < 2 {
		t.Errorf("%d replies, fewer than there were when this was written", len(all))
	}
	return all
}

func TestRecordedRepliesAreDecodedHoweverTheirBytesAreSplitAndGoBack(t *testing.T) {
	for name, body := range recordings(t) {
		t.Run(name, func(t *testing.T) {
			want := ""
			for line := range strings.Lines(body) {
				var x struct{ Message struct{ Content string } }
				if strings.TrimSpace(line) == "" {
					continue
				}
				if err := json.Unmarshal([]byte(line), &x); err != nil {
					t.Fatal(err)
				}
				want += x.Message.Content
			}
			f := &fake{chat: says(body)}
			whole := ask(t, f, hi())
			if whole.Err != nil || whole.Message.Text() != want || whole.Message.Stop != oneloop.StopEndTurn || !whole.Message.Usage.Reported {
				t.Fatalf("%+v, %v", whole.Message, whole.Err)
			}
			for how, r := range map[string]func() io.Reader{
				"byte by byte": func() io.Reader { return iotest.OneByteReader(strings.NewReader(body)) },
				"halves":       func() io.Reader { return iotest.HalfReader(strings.NewReader(body)) },
			} {
				if got := ask(t, &fake{chat: r}, hi()); !reflect.DeepEqual(whole, got) {
					t.Errorf("%s:\n%s", how, cmp.Diff(whole, got))
				}
			}
			quoted, err := json.Marshal(want)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []*oneloop.Message{whole.Message, stored(t, whole.Message)} {
				back := messages(sent(t, &fake{}, ollama.Config{}, answered(m)))
				if part := `{"role":"assistant","content":` + string(quoted) + `}`; !strings.Contains(back, part) {
					t.Errorf("sent\n%s\nwithout\n%s", back, part)
				}
			}
			complete := strings.LastIndexByte(body, '}') + 1
			stride := 29
			if os.Getenv("ONELOOP_SOAK") == "1" {
				stride = 1
			}
			for n := 1; n < complete; n += stride {
				got := ask(t, &fake{chat: func() io.Reader { return strings.NewReader(body[:n]) }}, hi())
				if got.Message != nil || !errors.Is(got.Err, oneloop.ErrStreamCut) {
					t.Fatalf("after %d of %d bytes: %+v, %v", n, complete, got.Message, got.Err)
				}
			}
		})
	}
}

func TestAReplyWithReasoningAndCallsGoesBackAsItCame(t *testing.T) {
	call1 := `{"function":{"index":0,"name":"Read","arguments":{"b":1.10,"a":{"z":1}}}}`
	call2 := `{"id":"call_x","function":{"index":1,"name":"Read","arguments":{}}}`
	f := &fake{chat: says(piece(`"content":"","thinking":"let "`), piece(`"content":"","thinking":"me\n"`), piece(`"content":"你\ud83c"`), piece(`"content":"\udf0d"`),
		piece(`"content":"","tool_calls":[`+call1+`]`), piece(`"content":"","tool_calls":[`+call2+`]`), end("stop", 30, 9))}
	got := ask(t, f, hi())
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	m := got.Message
	calls := m.ToolUses()
	if m.Stop != oneloop.StopToolUse || m.Text() != "你🌍" || len(calls) != 2 || calls[0].ID == "" || calls[1].ID != "call_x" || string(calls[0].Input) != `{"b":1.10,"a":{"z":1}}` {
		t.Fatalf("%+v", m)
	}
	var text, thought, input string
	for _, e := range got.Events {
		switch e := e.(type) {
		case oneloop.TextDelta:
			text += e.Text
		case oneloop.ThinkingDelta:
			thought += e.Text
		case oneloop.InputDelta:
			input += e.JSON
		}
	}
	if text != "你🌍" || thought != "let me\n" || input != string(calls[0].Input) {
		t.Errorf("shown %q, %q, %q", text, thought, input)
	}
	want := `[{"role":"user","content":"hi"},{"role":"assistant","thinking":"let me\n","content":"你\ud83c\udf0d","tool_calls":[` + call1 + `,` + call2 + `]},` +
		`{"role":"tool","content":"done: Read","tool_name":"Read"},{"role":"tool","content":"done: Read","tool_name":"Read","tool_call_id":"call_x"}]`
	if back := messages(sent(t, &fake{}, ollama.Config{}, answered(stored(t, m)))); back != want {
		t.Errorf("got\n%s\nwant\n%s", back, want)
	}
	two := *m
	two.Blocks = append([]oneloop.Block{&oneloop.Text{Text: "more"}}, m.Blocks...)
	if back := messages(sent(t, &fake{}, ollama.Config{}, answered(&two))); strings.Count(back, `"content":"more\n你🌍"`) != 1 || strings.Count(back, `"content"`) != 4 {
		t.Errorf("a text more: %s", back)
	}
	other := `[{"role":"user","content":"hi"},{"role":"assistant","content":"你🌍","tool_calls":[{"function":{"name":"Read","arguments":{"b":1.10,"a":{"z":1}}}},{"function":{"name":"Read","arguments":{}}}]},` +
		`{"role":"tool","content":"done: Read","tool_name":"Read"},{"role":"tool","content":"done: Read","tool_name":"Read"}]`
	if back := messages(sent(t, &fake{}, ollama.Config{Model: "another"}, answered(m))); back != other {
		t.Errorf("to another model:\n%s\nwant\n%s", back, other)
	}
}

func TestWhatAnotherAPISaidAndImagesAreRendered(t *testing.T) {
	image := &oneloop.Media{Type: "image", MIME: "image/png", Data: []byte("png")}
	req := &oneloop.Request{
		System: []oneloop.Block{&oneloop.Text{Text: "be"}, &oneloop.Text{Text: "brief"}},
		Tools:  []oneloop.ToolDef{{Name: "Read", Description: "reads", Schema: []byte(`{"type":"object"}`)}},
		Messages: []*oneloop.Message{
			oneloop.NewMessage(oneloop.User, &oneloop.Text{Text: "look"}, image, &oneloop.Text{Text: " "}),
			{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Origin: oneloop.Origin{API: "anthropic", Model: "m"}, Blocks: []oneloop.Block{
				&oneloop.Thinking{Text: "hm", Signature: "s"}, &oneloop.Text{Text: "a"}, &oneloop.Text{Text: "b"}, &oneloop.ToolUse{ID: "t1", Name: "Read", Input: []byte(`{"n":1}`)}}},
			oneloop.NewMessage(oneloop.User,
				&oneloop.ToolResult{ID: "t1", Content: []oneloop.Block{image, &oneloop.Media{Type: "document", MIME: "application/pdf"}}},
				&oneloop.Text{Text: "go on"}),
			{Role: oneloop.Assistant, Stop: oneloop.StopToolUse, Blocks: []oneloop.Block{&oneloop.ToolUse{ID: "t2", Name: "Read"}}},
			oneloop.NewMessage(oneloop.User, &oneloop.ToolResult{ID: "t2", IsError: true, Content: []oneloop.Block{&oneloop.Text{Text: "no file"}}}),
		}}
	head := `"tools":[{"type":"function","function":{"name":"Read","description":"reads","parameters":{"type":"object"}}}],"messages":[{"role":"system","content":"be\n\nbrief"},`
	rest := `{"role":"assistant","content":"ab","tool_calls":[{"function":{"name":"Read","arguments":{"n":1}}}]},`
	last := `{"role":"assistant","content":"","tool_calls":[{"function":{"name":"Read","arguments":{}}}]},{"role":"tool","content":"Error: no file","tool_name":"Read"}]}`
	pdf := `[document of type application/pdf stood here, which this model cannot be sent]`
	want := head + `{"role":"user","content":"look","images":["cG5n"]},` + rest +
		`{"role":"tool","content":"` + pdf + `","tool_name":"Read"},{"role":"user","content":"Images of the result of Read: 1\ngo on","images":["cG5n"]},` + last
	if got := sent(t, &fake{}, ollama.Config{}, req); !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	blind := `[an image stood here, which this model cannot see]`
	want = head + `{"role":"user","content":"look\n` + blind + `"},` + rest +
		`{"role":"tool","content":"` + blind + `\n` + pdf + `","tool_name":"Read"},{"role":"user","content":"go on"},` + last
	if got := sent(t, &fake{show: show(8192, "tools")}, ollama.Config{}, req); !strings.HasSuffix(got, want) {
		t.Errorf("to a model that does not see: got\n%s\nwant\n%s", got, want)
	}
}

func show(context int, abilities ...string) string {
	return fmt.Sprintf(`{"parameters":"stop \"x\"\nnum_ctx   2048","details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":%d},"capabilities":["completion","%s"]}`,
		context, strings.Join(abilities, `","`))
}

func TestTheContextIsAskedForAndNeverMoreThanTheModelHas(t *testing.T) {
	for _, c := range []struct {
		show   string
		config ollama.Config
		want   string
	}{
		{"", ollama.Config{}, `"num_ctx":32768`},
		{show(40_960, "tools"), ollama.Config{}, `"num_ctx":32768`},
		{show(8192, "tools"), ollama.Config{}, `"num_ctx":8192`},
		{show(8192, "tools"), ollama.Config{Context: 100_000}, `"num_ctx":8192`},
		{show(131_072, "tools"), ollama.Config{Context: 100_000}, `"num_ctx":100000`},
		{show(131_072, "tools"), ollama.Config{Context: 4096}, `"num_ctx":4096`},
		{show(262_144, "tools"), ollama.Config{Model: "glm-5:cloud"}, `"num_ctx":262144`},
	} {
		got := sent(t, &fake{show: c.show}, c.config, hi())
		if !strings.Contains(got, c.want) || !strings.Contains(got, `"truncate":false,"shift":false`) || strings.Contains(got, "think") {
			t.Errorf("%+v: %s", c.config, got)
		}
	}
	f := &fake{show: show(16_384, "thinking"), chat: says(piece(`"content":"x"`), end("stop", 20, 1))}
	m := open(t, f, ollama.Config{Context: 20_000})
	var notices int
	for range 3 {
		for _, e := range generate(t, m, hi()).Events {
			if _, ok := e.(oneloop.Notice); ok {
				notices++
			}
		}
	}
	if !strings.Contains(f.sent[0], `"think":true`) || notices != 1 || m.Window(t.Context()) != 16_384 {
		t.Errorf("%d notices, sent %s", notices, f.sent)
	}
	if want := "/api/show /api/chat /api/chat /api/chat"; strings.Join(f.asked, " ") != want {
		t.Errorf("asked %v", f.asked)
	}
	f = &fake{chat: says(piece(`"content":"x"`), end("stop", 20, 1))}
	m = open(t, f, ollama.Config{})
	for range 6 {
		generate(t, m, hi())
	}
	if n := strings.Count(strings.Join(f.asked, " "), "/api/show"); n != 3 {
		t.Errorf("a server that does not say was asked %d times", n)
	}
}

func TestEffortIsForModelsThatHaveOne(t *testing.T) {
	req := hi()
	req.Params = oneloop.Params{Effort: "max", MaxTokens: 77}
	oss := strings.ReplaceAll(show(131_072, "thinking"), "qwen3", "gptoss")
	if got := sent(t, &fake{show: oss}, ollama.Config{}, req); !strings.Contains(got, `"think":"high"`) || !strings.Contains(got, `"num_predict":77`) {
		t.Error(got)
	}
	if got := sent(t, &fake{show: show(131_072, "thinking")}, ollama.Config{}, req); !strings.Contains(got, `"think":true`) {
		t.Error(got)
	}
}

func TestAConversationThatDoesNotFitIsAnOverflowAndNeverCutInSilence(t *testing.T) {
	long := func(bytes int) *oneloop.Request {
		return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText(strings.Repeat("0123456789abcde\n", bytes/17))}}
	}
	small := ollama.Config{Context: 4096}
	reply := func(prompt int) func() io.Reader { return says(piece(`"content":"x"`), end("stop", prompt, 1)) }

	// It plainly cannot fit: nothing is sent.
	f := &fake{chat: reply(2050)}
	got := generate(t, open(t, f, small), long(20_000))
	if !errors.Is(got.Err, oneloop.ErrContextOverflow) || len(f.sent) != 0 {
		t.Errorf("%v, %d sent", got.Err, len(f.sent))
	}
	// It may fit, and the count says that it was cut.
	for prompt, cut := range map[int]bool{2050: false, 4095: true, 4096: true, 1500: true, 3900: false} {
		f := &fake{chat: reply(prompt)}
		got := generate(t, open(t, f, small), long(15_000))
		if errors.Is(got.Err, oneloop.ErrContextOverflow) != cut {
			t.Errorf("%d tokens counted: %v", prompt, got.Err)
		}
		if _, discarded := got.Events[len(got.Events)-1].(oneloop.Discard); cut && !discarded {
			t.Errorf("%d: what was shown is not taken back", prompt)
		}
	}
	// What was counted before tells more: 3 bytes a token.
	counts := []int{4000, 2050}
	f = &fake{chat: func() io.Reader { n := counts[0]; counts = counts[1:]; return reply(n)() }}
	m := open(t, f, small)
	if got := generate(t, m, long(11_000)); got.Err != nil {
		t.Fatal(got.Err)
	}
	if got := generate(t, m, long(11_200)); !errors.Is(got.Err, oneloop.ErrContextOverflow) || len(f.sent) != 2 {
		t.Errorf("cut to half: %v", got.Err)
	}
	if got := generate(t, m, long(14_000)); !errors.Is(got.Err, oneloop.ErrContextOverflow) || len(f.sent) != 2 {
		t.Errorf("too long by what was counted before: %v, %d sent", got.Err, len(f.sent))
	}
	// The server says it.
	for _, text := range []string{"the input length exceeds the context length", "the prompt is longer than the context length currently available to the model", "prompt too long; exceeded max context length by 4 tokens"} {
		got := generate(t, open(t, &fake{status: 400, contentType: "application/json", chat: says(`{"error":"` + text + `"}`)}, small), hi())
		if !errors.Is(got.Err, oneloop.ErrContextOverflow) {
			t.Errorf("%s: %v", text, got.Err)
		}
	}
	// A server that counts only what it did not hold already cuts nothing.
	f = &fake{chat: reply(5)}
	if got := generate(t, open(t, f, ollama.Config{}), long(9000)); got.Err != nil || got.Message.Usage.Reported {
		t.Errorf("%+v, %v", got.Message, got.Err)
	}
	// Images are no text.
	req := hi()
	req.Messages[0].Blocks = append(req.Messages[0].Blocks, &oneloop.Media{Type: "image", MIME: "image/png", Data: make([]byte, 100_000)})
	if got := generate(t, open(t, &fake{chat: reply(800)}, small), req); got.Err != nil || !got.Message.Usage.Reported {
		t.Errorf("an image: %v", got.Err)
	}
}

func TestEveryReasonToStopHasItsMeaning(t *testing.T) {
	call := piece(`"content":"x","tool_calls":[{"function":{"name":"Bash","arguments":{}}}]`)
	for _, c := range []struct {
		reason string
		line   string
		out    int
		stop   oneloop.StopReason
	}{
		{"stop", piece(`"content":"x"`), 1, oneloop.StopEndTurn}, {"", piece(`"content":"x"`), 1, oneloop.StopEndTurn}, {"stop", call, 1, oneloop.StopToolUse},
		{"length", call, 1, oneloop.StopMaxTokens}, {"length", piece(`"content":"x"`), 32_000, oneloop.StopContextWindow}, {"new", call, 1, "new"},
	} {
		got := ask(t, &fake{chat: says(c.line, end(c.reason, 20, c.out))}, hi())
		if got.Err != nil || got.Message.Stop != c.stop {
			t.Errorf("%+v: %+v, %v", c, got.Message, got.Err)
		}
	}
	limited := hi()
	limited.Params.MaxTokens = 32_000
	if got := ask(t, &fake{chat: says(piece(`"content":"x"`), end("length", 200, 32_000))}, limited); got.Err != nil || got.Message.Stop != oneloop.StopMaxTokens {
		t.Errorf("at the limit that was asked for: %+v, %v", got.Message, got.Err)
	}
	for _, reason := range []string{"load", "unload"} {
		got := ask(t, &fake{chat: says(end(reason, 0, 0))}, hi())
		var e *oneloop.APIError
		if !errors.As(got.Err, &e) || e.Class != oneloop.ErrServer || e.Retry != oneloop.RetryYes {
			t.Errorf("%s: %v", reason, got.Err)
		}
	}
}

func TestErrorsHaveAClass(t *testing.T) {
	half := piece(`"content":"Half"`)
	for _, c := range []struct {
		status int
		body   string
		class  error
	}{
		{404, `{"error":"model 'x' not found"}`, oneloop.ErrNotFound},
		{404, `404 page not found`, oneloop.ErrNotFound},
		{400, `{"error":"registry/x does not support tools"}`, oneloop.ErrInvalidRequest},
		{500, `{"error":"model requires more system memory (9 GiB) than is available (4 GiB)"}`, oneloop.ErrServer},
		{500, `{"error":"failed to process inputs: image: unknown format"}`, oneloop.ErrInvalidRequest},
		{500, `{"error":"error parsing tool call: raw='x'"}`, oneloop.ErrServer},
		{503, `{"error":"server busy, please try again.  maximum pending requests exceeded"}`, oneloop.ErrOverloaded},
		{401, `{"error":"unauthorized","signin_url":"https://x"}`, oneloop.ErrAuth},
		{429, `{"error":"you have reached your hourly usage limit"}`, oneloop.ErrRateLimited},
		{200, half + "\n" + `{"error":"an error was encountered while running the model: unexpected EOF"}`, oneloop.ErrServer},
		{200, `{"error":"server busy"}`, oneloop.ErrOverloaded},
		{200, half + "\nno JSON\n", oneloop.ErrServer},
		{200, half, oneloop.ErrStreamCut},
		{200, `<html>`, oneloop.ErrNotAPI},
		{200, `{"hello":1}`, oneloop.ErrNotAPI},
		{200, ``, oneloop.ErrNotAPI},
		{502, `<html>`, oneloop.ErrServer},
	} {
		f := &fake{status: c.status, contentType: "application/json", chat: func() io.Reader { return strings.NewReader(c.body) }}
		if got := ask(t, f, hi()); !errors.Is(got.Err, c.class) || got.Message != nil {
			t.Errorf("%d %s: %v", c.status, c.body, got.Err)
		}
	}
}

func TestAWaitThatTheTextNamesIsKept(t *testing.T) {
	f := &fake{status: 429, contentType: "application/json", chat: func() io.Reader {
		return strings.NewReader(`{"error":"you have reached your hourly usage limit, please try again in 12m0s"}`)
	}}
	if e, ok := errors.AsType[*oneloop.APIError](ask(t, f, hi()).Err); !ok || e.RetryAfter != 12*time.Minute {
		t.Errorf("%+v", e)
	}
}

func TestTheFourRepairsAreMadeAndGoBack(t *testing.T) {
	f := &fake{chat: says(piece(`"content":" \n"`), piece(`"tool_calls":[{"function":{"name":"a b","arguments":{}}},{"id":"i","function":{"name":"Bash","arguments":[1]}},{"id":"i","function":{"name":"Bash"}},{"function":{"name":"Bash","arguments":"{\"a\":1}"}},7]`), end("stop", 20, 3))}
	got := ask(t, f, hi())
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	var what []string
	for _, r := range got.Message.Meta.Repairs {
		what = append(what, fmt.Sprint(r.Block, " ", r.What))
	}
	if want := []string{"0 blank", "1 id", "1 name", "2 input", "3 id", "4 id", "5 id", "5 name", "5 input"}; !reflect.DeepEqual(what, want) {
		t.Errorf("repairs %v, want %v", what, want)
	}
	calls := got.Message.ToolUses()
	if len(calls) != 5 || calls[1].Broken == "" || string(calls[3].Input) != `{"a":1}` || calls[3].Broken != "" {
		t.Fatalf("calls %+v", calls)
	}
	back := messages(sent(t, &fake{}, ollama.Config{}, answered(stored(t, got.Message))))
	want := `"tool_calls":[{"function":{"name":"a_b","arguments":{}}},{"id":"i","function":{"name":"Bash","arguments":{"INVALID_JSON":"[1]"}}},{"id":"` + calls[2].ID + `","function":{"name":"Bash"}},{"function":{"name":"Bash","arguments":"{\"a\":1}"}}`
	if !strings.Contains(back, want) {
		t.Errorf("sent\n%s\nwithout\n%s", back, want)
	}
}

func TestAnEmptyIDOrInputComesBackAsOneThatCanBeTaken(t *testing.T) {
	got := ask(t, &fake{chat: says(piece(`"tool_calls":[{"id":"","function":{"name":"Bash","arguments":""}}]`), end("stop", 20, 3))}, hi())
	if got.Err != nil {
		t.Fatal(got.Err)
	}
	id := got.Message.ToolUses()[0].ID
	back := messages(sent(t, &fake{}, ollama.Config{}, answered(stored(t, got.Message))))
	if want := `"tool_calls":[{"id":"` + id + `","function":{"name":"Bash","arguments":{}}}]`; !strings.Contains(back, want) || !strings.Contains(back, `"tool_call_id":"`+id+`"`) {
		t.Errorf("sent\n%s\nwithout\n%s", back, want)
	}
}

func TestUsageThatIsOddIsNotReported(t *testing.T) {
	for counts, reported := range map[string]bool{`"prompt_eval_count":20,"eval_count":3`: true, `"prompt_eval_count":20.0`: true, `"eval_count":3`: false,
		`"prompt_eval_count":-1`: false, `"prompt_eval_count":"20"`: false, `"prompt_eval_count":20,"eval_count":1e30`: false, `"prompt_eval_count":null`: false} {
		got := ask(t, &fake{chat: says(`{"message":{"content":"x"},"done":true,` + counts + `}`)}, hi())
		if got.Err != nil || got.Message.Usage.Reported != reported {
			t.Errorf("%s: %+v, %v", counts, got.Message.Usage, got.Err)
		}
	}
}

func TestAnInterruptedReplyKeepsItsTextAlone(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	r, w := io.Pipe()
	client := &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
		if !strings.HasSuffix(req.URL.Path, "chat") {
			return nil, errors.New("not here")
		}
		context.AfterFunc(req.Context(), func() { w.CloseWithError(req.Context().Err()) })
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: r, Request: req}, nil
	})}
	m, err := ollama.New(ollama.Config{Model: "m", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	go io.Copy(w, says(piece(`"thinking":"hm"`), piece(`"content":"I will "`), piece(`"content":"look"`), piece(`"tool_calls":[{"function":{"name":"Bash"}}]`))())
	msg, err := m.Generate(ctx, hi(), func(e oneloop.Event) {
		if _, ok := e.(oneloop.InputDelta); ok {
			cancel(oneloop.ErrInterrupted)
		}
	})
	if err != nil || msg.Stop != oneloop.StopInterrupted || msg.Text() != "I will look" || len(msg.Blocks) != 1 {
		t.Errorf("%+v, %v", msg, err)
	}
}
