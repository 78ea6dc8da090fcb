package anthropic_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"oneloop"
	"oneloop/model/anthropic"

	"github.com/google/go-cmp/cmp"
)

// exchange is one line of responses.jsonl.
type exchange struct {
	File        string
	N           int
	Status      int
	ContentType string `json:"content_type"`
	URL         string
	Body        string
	BodyBase64  string `json:"body_base64"`
	Events      []json.RawMessage
	Headers     map[string]string
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
	f, err := os.Open(filepath.Join(dir, "anthropic", "responses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []*exchange
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		x := &exchange{}
		if err := dec.Decode(x); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		for i, e := range x.Events { // recorded without its framing, several replies in a row
			if i > 0 && bytes.Contains(e, []byte(`"message_start"`)) {
				all = append(all, x)
				next := *x
				x = &next
				x.Body = ""
				x.N++
			}
			x.Body += "data: " + string(e) + "\n\n"
		}
		all = append(all, x)
	}
}

// result is all that can be seen of one Generate.
type result struct {
	Message *oneloop.Message
	Err     error
	Events  []oneloop.Event // without those that tell of the transport
	Sent    []byte
}

// play asks a model whose API answers with this body in these pieces.
func play(t *testing.T, x *exchange, req *oneloop.Request, body io.Reader) result {
	t.Helper()
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		h := http.Header{"Content-Type": {x.ContentType}}
		for k, v := range x.Headers {
			h.Set(k, v)
		}
		h.Del("Content-Encoding") // the recording was decoded
		return &http.Response{StatusCode: x.Status, Header: h, Body: io.NopCloser(body), Request: r}, nil
	})}
	m, err := anthropic.New(anthropic.Config{Key: key, Model: "recorded-model", Client: client})
	if err != nil {
		t.Fatal(err)
	}
	var out result
	out.Message, out.Err = m.Generate(t.Context(), req, func(e oneloop.Event) {
		switch e := e.(type) {
		case oneloop.RequestSent:
			out.Sent = e.Body.Bytes()
		case oneloop.ResponseStarted, oneloop.Received:
		default:
			out.Events = append(out.Events, e)
		}
	})
	if out.Message != nil {
		out.Message.Meta.RequestID = ""
	}
	return out
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func hi() *oneloop.Request {
	return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi")}}
}

func TestRecordedRepliesAreDecodedAndSentBackByteForByte(t *testing.T) {
	ran := map[string]int{}
	for _, x := range recordings(t) {
		kind := "stream"
		switch {
		case x.BodyBase64 != "":
			t.Logf("skipped: %s is in Bedrock's binary framing, which this adapter does not read", x.name())
			ran["skipped"]++
			continue
		case strings.Contains(x.URL, "count_tokens"):
			t.Logf("skipped: %s counts tokens and holds no message", x.name())
			ran["skipped"]++
			continue
		case x.Status != 200:
			kind = "error"
		case strings.HasPrefix(strings.TrimSpace(x.Body), "{"):
			kind = "object"
		}
		ran[kind]++
		t.Run(x.name(), func(t *testing.T) {
			got := play(t, x, hi(), strings.NewReader(x.Body))
			if kind == "error" {
				checkError(t, x, got)
				return
			}
			if got.Err != nil {
				t.Fatal(got.Err)
			}
			want := wantStream
			if kind == "object" {
				want = wantObject
			}
			checkMessage(t, want(t, x.Body), got)
			checkSentBack(t, x, got.Message)
		})
	}
	if len(ran) > 0 {
		t.Logf("exchanges: %v", ran)
		if ran["stream"] < 20 || ran["object"] < 8 || ran["error"] < 2 {
			t.Errorf("fewer than there were when this was written: %v", ran)
		}
	}
}

func checkError(t *testing.T, x *exchange, got result) {
	var e *oneloop.APIError
	if !errors.As(got.Err, &e) {
		t.Fatalf("error %v", got.Err)
	}
	var want struct {
		Error struct{ Type, Message string }
		ID    string `json:"request_id"`
	}
	if err := json.Unmarshal([]byte(x.Body), &want); err != nil {
		t.Fatal(err)
	}
	class := map[int]error{400: oneloop.ErrInvalidRequest, 401: oneloop.ErrAuth}[x.Status]
	if e.Status != x.Status || e.Type != want.Error.Type || e.Message != want.Error.Message || e.Class != class ||
		want.ID != "" && e.RequestID != want.ID {
		t.Errorf("got %+v\nwant %+v", e, want)
	}
}

// wanted is what a recording says, read in another way than the adapter does.
type wanted struct {
	ID, Stop string
	Raw      []string
	Blank    int
	Unpaid   bool // all counts are 0
}

var holes = map[string]*regexp.Regexp{
	"text":      regexp.MustCompile(`"text":\s*""`),
	"thinking":  regexp.MustCompile(`"thinking":\s*""`),
	"signature": regexp.MustCompile(`"signature":\s*""`),
	"input":     regexp.MustCompile(`"input":\s*\{\}`),
	"citations": regexp.MustCompile(`"citations":\s*(\[\]|null)`),
	"content":   regexp.MustCompile(`"content":\s*null`),
}

// recorded is one event of a stream.
type recorded struct {
	Type    string
	Index   int
	Message struct {
		ID      string
		Stop    string `json:"stop_reason"`
		Content []json.RawMessage
	}
	Block json.RawMessage `json:"content_block"`
	Delta map[string]json.RawMessage
}

// wantStream fills the hole that the start of each block leaves for what its
// deltas bring.
func wantStream(t *testing.T, body string) wanted {
	var w wanted
	stubs, fill := map[int]string{}, map[int]map[string]string{}
	order := []int{}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(line, "data: ")
		if !ok {
			continue
		}
		var e recorded
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatal(err)
		}
		switch e.Type {
		case "message_start":
			w.ID = e.Message.ID
			for _, raw := range e.Message.Content { // whole from the start
				w.Stop, w.Unpaid = e.Message.Stop, true
				w.add(t, string(raw))
			}
		case "content_block_start":
			order = append(order, e.Index)
			stubs[e.Index], fill[e.Index] = string(e.Block), map[string]string{}
		case "content_block_delta":
			f := fill[e.Index]
			for field, raw := range e.Delta {
				switch s := string(raw); field {
				case "text", "thinking", "signature":
					f[field] += s[1 : len(s)-1]
				case "partial_json":
					var piece string
					if err := json.Unmarshal(raw, &piece); err != nil {
						t.Fatal(err)
					}
					f["input"] += piece
				case "citation":
					f["citations"] += "," + s
				case "content":
					f["content"] = s
				}
			}
		case "message_delta":
			if err := json.Unmarshal(e.Delta["stop_reason"], &w.Stop); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, i := range order {
		raw := stubs[i]
		for field, value := range fill[i] {
			switch field {
			case "text", "thinking", "signature":
				value = `"` + value + `"`
			case "citations":
				value = "[" + value[1:] + "]"
			}
			if value != "" {
				raw = holes[field].ReplaceAllLiteralString(raw, `"`+field+`":`+value)
			}
		}
		w.add(t, raw)
	}
	return w
}

func wantObject(t *testing.T, body string) wanted {
	var m struct {
		ID      string
		Stop    string `json:"stop_reason"`
		Content []json.RawMessage
	}
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		t.Fatal(err)
	}
	w := wanted{ID: m.ID, Stop: m.Stop}
	for _, raw := range m.Content {
		w.add(t, string(raw))
	}
	return w
}

func (w *wanted) add(t *testing.T, raw string) {
	var b struct{ Type, Text string }
	if err := json.Unmarshal([]byte(raw), &b); err != nil {
		t.Fatalf("%v in %s", err, raw)
	}
	if b.Type == "text" && strings.TrimSpace(b.Text) == "" {
		w.Blank++
		return
	}
	w.Raw = append(w.Raw, raw)
}

func checkMessage(t *testing.T, want wanted, got result) {
	m := got.Message
	if m.ID != want.ID || string(m.Stop) != want.Stop {
		t.Errorf("id %q and stop %q, want %q and %q", m.ID, m.Stop, want.ID, want.Stop)
	}
	var raws []string
	for _, b := range m.Blocks {
		raws = append(raws, string(b.RawJSON()))
	}
	// White space after a colon is the recorder's in recordings of events.
	space := func(s string) string { return strings.ReplaceAll(s, `": `, `":`) }
	for i := range max(len(raws), len(want.Raw)) {
		if i >= len(raws) || i >= len(want.Raw) {
			t.Fatalf("%d blocks, want %d", len(raws), len(want.Raw))
		}
		if space(raws[i]) != space(want.Raw[i]) {
			t.Errorf("block %d:\n%s\nwant\n%s", i, raws[i], want.Raw[i])
		}
	}
	if len(m.Meta.Repairs) != want.Blank {
		t.Errorf("repairs %+v", m.Meta.Repairs)
	}
	if m.Usage.Reported == want.Unpaid {
		t.Errorf("usage %+v", m.Usage)
	}
	var shown, said strings.Builder
	for _, e := range got.Events {
		switch e := e.(type) {
		case oneloop.TextDelta:
			shown.WriteString(e.Text)
		case oneloop.ThinkingDelta, oneloop.InputDelta:
		default:
			t.Errorf("event %T %+v", e, e)
		}
	}
	said.WriteString(m.Text())
	if want.Blank == 0 && shown.String() != said.String() {
		t.Errorf("shown %q, said %q", shown.String(), said.String())
	}
}

// checkSentBack sends the message back, alone and as JSON that was stored.
func checkSentBack(t *testing.T, x *exchange, m *oneloop.Message) {
	var raws [][]byte
	for _, b := range m.Blocks {
		raws = append(raws, b.RawJSON())
	}
	want := append([]byte(`{"role":"assistant","content":[`), bytes.Join(raws, []byte(","))...)
	stored, err := m.AppendJSON(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again oneloop.Message
	if err := again.UnmarshalJSON(stored); err != nil {
		t.Fatal(err)
	}
	for _, msg := range []*oneloop.Message{m, &again} {
		req := &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("hi"), msg, oneloop.UserText("go on")}}
		sent := play(t, x, req, strings.NewReader(x.Body)).Sent
		if !json.Valid(sent) {
			t.Errorf("what is sent is no JSON:\n%s", sent)
		}
		if !strings.Contains(strip(sent), string(want)) {
			t.Errorf("sent\n%s\nwithout\n%s", sent, want)
		}
	}
}

// samples is how many places of a recording are tried where not all of them
// are. ONELOOP_SOAK=1 tries all in those of up to 8 KB and more in the others.
func samples(n int) []int {
	count := 20
	if n > 64<<10 {
		count = 3
	}
	if os.Getenv("ONELOOP_SOAK") == "1" {
		count = 100 * count
		if n <= 8<<10 {
			count = n
		}
	}
	count = min(count, n)
	seed := uint64(n)
	rng := rand.New(rand.NewPCG(seed, seed))
	return rng.Perm(n)[:count]
}

func TestARecordedStreamCutBeforeItsStopReasonIsNeverAReply(t *testing.T) {
	for _, x := range recordings(t) {
		if x.Status != 200 || x.BodyBase64 != "" || strings.HasPrefix(x.Body, "{") {
			continue
		}
		at := strings.Index(x.Body, `"stop_reason":"`)
		if at < 0 {
			at = strings.Index(x.Body, `"stop_reason": "`)
		}
		whole := at + strings.IndexByte(x.Body[at:], '\n')
		whole = strings.LastIndexByte(x.Body[:whole], '}') + 1 // padding may follow
		t.Run(x.name(), func(t *testing.T) {
			for _, n := range append(samples(len(x.Body)), 0, at, whole-1, whole, whole+1, len(x.Body)-3) {
				got := play(t, x, hi(), strings.NewReader(x.Body[:n]))
				if n >= whole {
					if got.Err != nil {
						t.Errorf("after %d bytes, stop reason included: %v", n, got.Err)
					}
					continue
				}
				if got.Message != nil || !errors.Is(got.Err, oneloop.ErrStreamCut) {
					t.Fatalf("after %d of %d bytes: %+v, %v", n, len(x.Body), got.Message, got.Err)
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

func TestARecordedReplyIsTheSameHoweverItsBytesAreSplit(t *testing.T) {
	for _, x := range recordings(t) {
		if x.Status != 200 || x.BodyBase64 != "" || strings.Contains(x.URL, "count_tokens") {
			continue
		}
		t.Run(x.name(), func(t *testing.T) {
			whole := play(t, x, hi(), strings.NewReader(x.Body))
			check := func(how string, r io.Reader) {
				if got := play(t, x, hi(), r); !reflect.DeepEqual(whole, got) {
					t.Fatalf("%s:\n%s", how, cmp.Diff(whole, got))
				}
			}
			for _, n := range samples(len(x.Body)) {
				check(fmt.Sprint("split at ", n), io.MultiReader(strings.NewReader(x.Body[:n]), strings.NewReader(x.Body[n:])))
			}
			for seed := range uint64(5) {
				check(fmt.Sprint("pieces by seed ", seed), &pieces{x.Body, rand.New(rand.NewPCG(seed, 1))})
			}
		})
	}
}

// pieces gives its bytes in pieces of random length, mostly short ones.
type pieces struct {
	rest string
	rng  *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := min(len(b), len(p.rest), 1+p.rng.IntN(1<<p.rng.IntN(12)))
	copy(b, p.rest[:n])
	p.rest = p.rest[n:]
	return n, nil
}
