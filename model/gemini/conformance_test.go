package gemini_test

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
	"time"

	"oneloop"
	"oneloop/model/gemini"

	"github.com/google/go-cmp/cmp"
)

const key = "gemini-key-of-the-tests"

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// exchange is one line of responses.jsonl.
type exchange struct {
	File        string
	N           int
	Status      int
	ContentType string `json:"content_type"`
	Body        string
	Events      []json.RawMessage
}

func (x *exchange) name() string { return fmt.Sprintf("%s#%d", x.File, x.N) }

// recordings returns the real exchanges in the folder that ONELOOP_RECORDINGS
// names. Without it the test ends here and says so where it is seen.
func recordings(t *testing.T) []*exchange {
	dir := os.Getenv("ONELOOP_RECORDINGS")
	if dir == "" {
		const text = "CONFORMANCE DID NOT RUN: set ONELOOP_RECORDINGS to the folder of recorded API traffic"
		fmt.Fprintln(os.Stderr, text)
		t.Log(text)
		return nil
	}
	f, err := os.Open(filepath.Join(dir, "gemini", "responses.jsonl"))
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
		for _, e := range x.Events { // recorded without its framing
			x.Body += "data: " + string(e) + "\n\n"
		}
		all = append(all, x)
	}
	if len(all) < 10 {
		t.Errorf("%d exchanges, fewer than there were when this was written", len(all))
	}
	return all
}

// result is all that can be seen of one Generate.
type result struct {
	Message *oneloop.Message
	Err     error
	Events  []oneloop.Event // without those that tell of the transport
	Sent    []string
}

// ask asks a model whose API answers with these bodies in turn.
func ask(t testing.TB, name string, req *oneloop.Request, status int, contentType string, bodies ...io.Reader) result {
	t.Helper()
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body := bodies[0]
		if len(bodies) > 1 {
			bodies = bodies[1:]
		}
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, Body: io.NopCloser(body), Request: r}, nil
	})}
	m, err := gemini.New(gemini.Config{Key: key, Model: name, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	var out result
	out.Message, out.Err = m.Generate(t.Context(), req, func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.RequestSent:
			out.Sent = append(out.Sent, string(e.Body.Bytes()))
		case oneloop.ResponseStarted, oneloop.Received:
		default:
			out.Events = append(out.Events, e)
		}
	})
	return out
}

func play(t testing.TB, x *exchange, req *oneloop.Request, body io.Reader) result {
	t.Helper()
	return ask(t, "gemini-3-pro", req, x.Status, x.ContentType, body)
}

func hi() *oneloop.Request {
	return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}
}

// recordedParts reads a recording in another way than the adapter does: the
// parts of all its responses, plain texts that follow one another as one.
func recordedParts(t *testing.T, body string) (parts []string) {
	var list []json.RawMessage
	if body[0] != 'd' {
		if body[0] == '{' {
			body = "[" + body + "]"
		}
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
	}
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			list = append(list, json.RawMessage(data))
		}
	}
	joined := false
	for _, item := range list {
		var r struct {
			Candidates []struct {
				Content struct{ Parts []json.RawMessage }
			}
		}
		if err := json.Unmarshal(item, &r); err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Candidates[0].Content.Parts {
			s := compact(string(p))
			text, plain := strings.CutPrefix(s, `{"text":"`)
			plain = plain && strings.HasSuffix(text, `"}`) && !strings.Contains(text, `","`)
			if plain && joined {
				last := &parts[len(parts)-1]
				*last = strings.TrimSuffix(*last, `"}`) + text
				continue
			}
			if s == `{"text":""}` {
				continue
			}
			parts, joined = append(parts, s), plain
		}
	}
	return parts
}

func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return s
	}
	return b.String()
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

// answered is a request with a reply in it and what has to follow the reply.
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

func TestRecordedRepliesAreDecodedAndGoBackPartByPart(t *testing.T) {
	ran := map[string]int{}
	for _, x := range recordings(t) {
		t.Run(x.name(), func(t *testing.T) {
			got := play(t, x, hi(), strings.NewReader(x.Body))
			if x.Status != 200 {
				ran["error"]++
				var e *oneloop.APIError
				if !errors.As(got.Err, &e) || e.Class != oneloop.ErrRateLimited || e.RetryAfter != 34400*time.Millisecond || e.Type != "RESOURCE_EXHAUSTED" {
					t.Errorf("got %+v", e)
				}
				return
			}
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			m := got.Message
			if m.ID == "" || !m.Usage.Reported || m.Usage.Output == 0 || !m.Origin.Same(oneloop.Origin{API: gemini.API, Model: "gemini-3-pro"}) || m.Origin.Host == "" {
				t.Errorf("message %+v", m)
			}
			want := recordedParts(t, x.Body)
			if x.File == "vercel_stream_tool_call_arguments.chunks.txt" {
				sign := want[0][strings.Index(want[0], `"thoughtSignature"`):]
				want = []string{`{"functionCall":{"name":"getWeather","args":{"location":"Boston"}},` + sign,
					`{"functionCall":{"name":"getWeather","args":{"location":"San Francisco"}}}`}
				ran["pieces"]++
			}
			ran[map[bool]string{true: "stream", false: "list"}[strings.HasPrefix(x.Body, "data")]]++
			if stop := m.Stop == oneloop.StopToolUse; stop != strings.Contains(strings.Join(want, ""), "functionCall") {
				t.Errorf("stop %q for %s", m.Stop, want)
			}
			for _, msg := range []*oneloop.Message{m, stored(t, m)} {
				sent := play(t, x, answered(msg), strings.NewReader(x.Body)).Sent[0]
				if !json.Valid([]byte(sent)) {
					t.Fatalf("no JSON: %s", sent)
				}
				if part := `{"role":"model","parts":[` + strings.Join(want, ",") + `]}`; !strings.Contains(compact(sent), part) {
					t.Errorf("sent\n%s\nwithout\n%s", compact(sent), part)
				}
				for _, c := range msg.ToolUses() {
					has := strings.Contains(x.Body, `"id": "`+c.ID+`"`)
					if has != strings.Contains(sent, c.ID) {
						t.Errorf("the id %s came: %v; sent: %s", c.ID, has, sent)
					}
				}
			}
		})
	}
	if len(ran) > 0 && (ran["stream"] < 5 || ran["list"] < 4 || ran["error"] < 1 || ran["pieces"] < 1) {
		t.Errorf("fewer than there were when this was written: %v", ran)
	}
}

// masked has no ids in it that were made at random.
func masked(r result) result {
	if r.Message != nil {
		n := 0
		for _, c := range r.Message.ToolUses() {
			if strings.HasPrefix(c.ID, "call_") {
				c.ID = fmt.Sprint("call ", n)
				n++
			}
		}
		for i := range r.Message.Meta.Repairs {
			r.Message.Meta.Repairs[i].To = ""
		}
	}
	return r
}

func TestARecordedReplyIsTheSameHoweverItsBytesAreSplit(t *testing.T) {
	for _, x := range recordings(t) {
		t.Run(x.name(), func(t *testing.T) {
			whole := masked(play(t, x, hi(), strings.NewReader(x.Body)))
			check := func(how string, r io.Reader) {
				if got := masked(play(t, x, hi(), r)); !reflect.DeepEqual(whole, got) {
					t.Fatalf("%s:\n%s", how, cmp.Diff(whole, got))
				}
			}
			check("byte by byte", iotest.OneByteReader(strings.NewReader(x.Body)))
			for n := 0; n < len(x.Body); n += 97 {
				check(fmt.Sprint("split at ", n), io.MultiReader(strings.NewReader(x.Body[:n]), strings.NewReader(x.Body[n:])))
			}
		})
	}
}

func TestARecordedReplyCutBeforeItsReasonToStopIsNoReply(t *testing.T) {
	for _, x := range recordings(t) {
		if x.Status != 200 {
			continue
		}
		at := strings.Index(x.Body, `"finishReason"`)
		whole := len(x.Body)
		if x.Body[0] == 'd' {
			whole = at + strings.Index(x.Body[at:], "\n")
			whole = strings.LastIndexByte(x.Body[:whole], '}') + 1
		} else {
			whole = len(strings.TrimSpace(x.Body))
		}
		t.Run(x.name(), func(t *testing.T) {
			places := []int{at, whole - 2, whole - 1, whole}
			stride := 23
			if os.Getenv("ONELOOP_SOAK") == "1" {
				stride = 1
			}
			for n := 1; n < whole; n += stride {
				places = append(places, n)
			}
			for _, n := range places {
				got := play(t, x, hi(), strings.NewReader(x.Body[:n]))
				if n == whole {
					if got.Err != nil {
						t.Errorf("whole: %v", got.Err)
					}
					continue
				}
				if got.Message != nil || !errors.Is(got.Err, oneloop.ErrStreamCut) {
					t.Fatalf("after %d of %d bytes: %+v, %v\n%s", n, len(x.Body), got.Message, got.Err, x.Body[max(0, n-40):n])
				}
				if len(got.Events) > 0 {
					if _, ok := got.Events[len(got.Events)-1].(oneloop.Discard); !ok {
						t.Errorf("after %d bytes what was shown is not taken back", n)
					}
				}
			}
		})
	}
}
