package openai_test

import (
	"bufio"
	"bytes"
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

	"oneloop"
	"oneloop/model/openai"

	"github.com/google/go-cmp/cmp"
)

const key = "openai-key-of-the-tests"

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exchange is one line of responses.jsonl.
type exchange struct {
	File, URL, Request string
	N, Status          int
	ContentType        string `json:"content_type"`
	Body               string
	Events             []json.RawMessage
}

func (x *exchange) name() string { return fmt.Sprintf("%s#%d", x.File, x.N) }

// stream is the body as it goes over the wire.
func (x *exchange) stream() []byte {
	if len(x.Events) == 0 {
		return []byte(x.Body)
	}
	var b bytes.Buffer
	for _, e := range x.Events {
		fmt.Fprintf(&b, "data: %s\n\n", e)
	}
	return append(b.Bytes(), "data: [DONE]\n\n"...)
}

// recordings returns the real exchanges in a folder of those that
// ONELOOP_RECORDINGS names. Without it the test ends here and says so where it is
// seen.
func recordings(t *testing.T, folder string) []*exchange {
	dir := os.Getenv("ONELOOP_RECORDINGS")
	if dir == "" {
		const text = "CONFORMANCE DID NOT RUN: set ONELOOP_RECORDINGS to the folder of recorded API traffic"
		fmt.Fprintln(os.Stderr, text)
		t.Skip(text)
	}
	f, err := os.Open(filepath.Join(dir, folder, "responses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*exchange
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		x := &exchange{}
		if err := dec.Decode(x); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	if len(all) == 0 {
		t.Fatal("there are no recordings")
	}
	return all
}

// asked is what came of an answer.
type asked struct {
	msg    *oneloop.Message
	err    error
	events []oneloop.Event
}

// play gives a model's next request an answer and returns what it made of it, and
// the request.
func play(t *testing.T, open func(*http.Client) oneloop.Model, x *exchange, body io.Reader, msgs ...*oneloop.Message) (asked, []byte) {
	var sent []byte
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		var err error
		if sent, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		return &http.Response{StatusCode: x.Status, Header: http.Header{"Content-Type": {x.ContentType}}, Body: io.NopCloser(body), Request: r}, nil
	})}
	var a asked
	req := &oneloop.Request{Messages: append([]*oneloop.Message{oneloop.UserText("hi")}, msgs...)}
	a.msg, a.err = open(client).Generate(t.Context(), req, func(e oneloop.Event) {
		switch e.(type) {
		case oneloop.RequestSent, oneloop.ResponseStarted, oneloop.Received:
		default:
			a.events = append(a.events, e)
		}
	})
	return a, sent
}

func chatOf(t *testing.T, x *exchange) func(*http.Client) oneloop.Model {
	base, _, _ := strings.Cut(x.URL, "/chat/completions")
	if base == "" {
		base = map[bool]string{true: "https://api.deepseek.com/v1", false: "https://dashscope.aliyuncs.com/compatible-mode/v1"}[strings.Contains(x.File, "deepseek")]
	}
	return func(c *http.Client) oneloop.Model {
		m, err := openai.NewChat(openai.Config{BaseURL: base, Key: key, Model: "m", Client: c})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
}

func chatRecordings(t *testing.T) []*exchange {
	all := recordings(t, "openai-chat")
	for _, x := range recordings(t, "ollama") {
		if strings.Contains(x.URL, "/v1/") {
			all = append(all, x)
		}
	}
	return all
}

// withoutIDs leaves out what is drawn anew each time.
func withoutIDs(a asked) asked {
	if a.msg == nil {
		return a
	}
	m := *a.msg
	m.Blocks = nil
	for _, b := range a.msg.Blocks {
		if c, ok := b.(*oneloop.ToolUse); ok && len(a.msg.Meta.Repairs) > 0 {
			again := *c
			again.ID, again.Raw = "", nil
			b = &again
		}
		m.Blocks = append(m.Blocks, b)
	}
	m.Meta.Repairs = nil
	return asked{&m, a.err, a.events}
}

func TestEveryRecordedExchangeOfChatIsDecodedHoweverItIsSplit(t *testing.T) {
	calls := 0
	for _, x := range chatRecordings(t) {
		whole, _ := play(t, chatOf(t, x), x, bytes.NewReader(x.stream()))
		if strings.Contains(x.File, "stream_error") {
			// It comes behind the word that the limit was reached, and says the same.
			if whole.err != nil || whole.msg.Stop != oneloop.StopMaxTokens || whole.msg.Usage.Output != 10 {
				t.Errorf("%s: %v, %+v", x.name(), whole.err, whole.msg)
			}
			early := bytes.ReplaceAll(x.stream(), []byte(`"finish_reason":"length"`), []byte(`"finish_reason":null`))
			got, _ := play(t, chatOf(t, x), x, bytes.NewReader(early))
			if api, ok := errors.AsType[*oneloop.APIError](got.err); !ok || api.Message != "Token limit reached" || !errors.Is(got.err, oneloop.ErrInvalidRequest) {
				t.Errorf("%s: %v", x.name(), got.err)
			}
			continue
		}
		if whole.err != nil {
			t.Errorf("%s: %v", x.name(), whole.err)
			continue
		}
		calls += len(whole.msg.ToolUses())
		if len(whole.msg.Blocks) == 0 || !whole.msg.Usage.Reported && !strings.HasPrefix(x.File, "vercel_alibaba") {
			t.Errorf("%s: %d blocks, usage %+v", x.name(), len(whole.msg.Blocks), whole.msg.Usage)
		}
		for _, c := range whole.msg.ToolUses() {
			if c.Broken != "" || c.Name == "" {
				t.Errorf("%s: call %+v", x.name(), c)
			}
		}
		parts, _ := play(t, chatOf(t, x), x, iotest.OneByteReader(bytes.NewReader(x.stream())))
		if d := cmp.Diff(withoutIDs(whole), withoutIDs(parts), cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
			t.Errorf("%s by the byte: %s", x.name(), d)
		}
	}
	if calls < 15 {
		t.Errorf("there are %d calls in all", calls)
	}
}

func TestAnyPrefixOfARecordedStreamOfChatIsCut(t *testing.T) {
	for _, x := range chatRecordings(t) {
		body := x.stream()
		finish := bytes.Index(body, []byte(`"finish_reason":"`))
		if !strings.Contains(x.ContentType, "event-stream") || strings.Contains(x.File, "stream_error") || finish < 0 {
			continue
		}
		for end := 0; end < finish; end += 97 {
			if got, _ := play(t, chatOf(t, x), x, bytes.NewReader(body[:end])); got.err == nil {
				t.Errorf("%s: a reply of %d bytes of %d is whole: %+v", x.name(), end, len(body), got.msg)
			}
		}
	}
}

// TestARecordedReplyOfChatGoesBackAsItsClientSentIt compares with the second
// request of the same recording, where that gave back what came.
func TestARecordedReplyOfChatGoesBackAsItsProviderWantsIt(t *testing.T) {
	for _, x := range chatRecordings(t) {
		got, _ := play(t, chatOf(t, x), x, bytes.NewReader(x.stream()))
		if got.err != nil || got.msg.Stop != oneloop.StopToolUse {
			continue
		}
		results := &oneloop.Message{Role: oneloop.User}
		for _, c := range got.msg.ToolUses() {
			results.Blocks = append(results.Blocks, &oneloop.ToolResult{ID: c.ID, Content: []oneloop.Block{&oneloop.Text{Text: "ok"}}})
		}
		_, sent := play(t, chatOf(t, x), x, bytes.NewReader(x.stream()), got.msg, results)
		var body struct{ Messages []map[string]json.RawMessage }
		if err := json.Unmarshal(sent, &body); err != nil {
			t.Fatalf("%s: %v in %s", x.name(), err, sent)
		}
		back := body.Messages[1]
		for i, c := range got.msg.ToolUses() {
			if !bytes.Contains(back["tool_calls"], c.Raw) || string(body.Messages[2+i]["tool_call_id"]) != fmt.Sprintf("%q", c.ID) {
				t.Errorf("%s: call %s went back as %s", x.name(), c.Raw, back["tool_calls"])
			}
		}
		for _, name := range []string{"reasoning_content", "reasoning", "reasoning_details"} {
			came := bytes.Contains(x.stream(), []byte(`"`+name+`":"`)) || bytes.Contains(x.stream(), []byte(`"`+name+`":[{`))
			if strings.Contains(x.name(), "thinking") || strings.Contains(x.ContentType, "json") {
				came = came && !bytes.Contains(x.stream(), []byte(`"`+name+`":""`))
			}
			if _, went := back[name]; came && !went && got.msg.Text() == "" {
				t.Errorf("%s: %s did not go back: %s", x.name(), name, sent)
			}
		}
	}
}
