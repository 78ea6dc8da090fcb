package bedrock_test

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"oneloop"
	"oneloop/cloud/bedrock"
	"oneloop/model/anthropic"
)

// service is Bedrock on the loopback interface.
type service struct {
	*httptest.Server
	requests []*http.Request
	bodies   [][]byte
	answer   http.HandlerFunc
}

func serve(t *testing.T, answer http.HandlerFunc) *service {
	s := &service{answer: answer}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.requests, s.bodies = append(s.requests, r), append(s.bodies, body)
		s.answer(w, r)
	}))
	t.Cleanup(s.Close)
	home := t.TempDir()
	for name, value := range map[string]string{
		"HOME": home, "AWS_CONFIG_FILE": filepath.Join(home, "config"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(home, "credentials"),
		"AWS_EC2_METADATA_DISABLED": "true", "AWS_PROFILE": "", "AWS_REGION": "eu-west-1", "AWS_BEARER_TOKEN_BEDROCK": "", "AWS_SESSION_TOKEN": "",
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret-of-the-test", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": s.URL,
	} {
		t.Setenv(name, value)
	}
	return s
}

// ask sends a request through the handler with the adapter of the Messages API.
func ask(t *testing.T, req *oneloop.Request) (*oneloop.Message, []oneloop.Event, error) {
	front := httptest.NewServer(bedrock.New())
	t.Cleanup(front.Close)
	m, err := anthropic.New(anthropic.Config{BaseURL: front.URL, Key: "none", Model: "anthropic.claude-opus-4-6-v1:0", Betas: []string{"one-1", "two-2"}})
	if err != nil {
		t.Fatal(err)
	}
	var events []oneloop.Event
	msg, err := m.Generate(t.Context(), req, func(e oneloop.Event) { events = append(events, e) })
	return msg, events, err
}

func hello() *oneloop.Request {
	return &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("a < b & 12345678901234567890")}}
}

// frame is one of the binary stream.
func frame(t *testing.T, kind, what string, payload []byte) []byte {
	headers := eventstream.Headers{}
	headers.Set(":message-type", eventstream.StringValue(kind))
	headers.Set(":"+kind+"-type", eventstream.StringValue(what))
	var b bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&b, eventstream.Message{Headers: headers, Payload: payload}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func chunk(t *testing.T, event string) []byte {
	return frame(t, "event", "chunk", fmt.Appendf(nil, `{"bytes":%q,"p":"abcd"}`, base64.StdEncoding.EncodeToString([]byte(event))))
}

func reply(t *testing.T) [][]byte {
	return [][]byte{
		chunk(t, `{"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":3}}}`),
		chunk(t, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`),
		frame(t, "event", "later-kind", []byte(`{}`)),
		chunk(t, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"你好"}}`),
		chunk(t, `{"type":"content_block_stop","index":0}`),
		chunk(t, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`),
		chunk(t, `{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":3}}`),
	}
}

func TestARequestIsThatOfBedrockAndItsFramesAreTheReply(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Amzn-Requestid", "req-1")
		w.Write(bytes.Join(reply(t), nil))
	})
	msg, _, err := ask(t, hello())
	if err != nil {
		t.Fatal(err)
	}
	if msg.Text() != "你好" || msg.Stop != oneloop.StopEndTurn || msg.Usage.Output != 2 || msg.Meta.RequestID != "req-1" {
		t.Errorf("got %+v", msg)
	}
	r, body := s.requests[0], s.bodies[0]
	if want := "/model/anthropic.claude-opus-4-6-v1%3A0/invoke-with-response-stream"; r.URL.EscapedPath() != want {
		t.Errorf("asked %s, want %s", r.URL.EscapedPath(), want)
	}
	var top map[string]json.RawMessage
	if err := json.Unmarshal(body, &top); err != nil {
		t.Fatal(err)
	}
	if string(top["anthropic_version"]) != `"bedrock-2023-05-31"` || string(top["anthropic_beta"]) != `["one-1","two-2"]` ||
		top["model"] != nil || top["stream"] != nil || top["max_tokens"] == nil {
		t.Errorf("the body is %s", body)
	}
	if !bytes.Contains(body, []byte(`a < b & 12345678901234567890`)) {
		t.Errorf("the text was written anew: %s", body)
	}
	checkSignature(t, r, body)
}

// checkSignature signs the request once more and compares.
func checkSignature(t *testing.T, r *http.Request, body []byte) {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.EscapedPath(), bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"Content-Type", "Accept"} {
		again.Header.Set(name, r.Header.Get(name))
	}
	sum := sha256.Sum256(body)
	who := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "secret-of-the-test"}
	if err := v4.NewSigner().SignHTTP(t.Context(), who, again, hex.EncodeToString(sum[:]), "bedrock", "eu-west-1", at); err != nil {
		t.Fatal(err)
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want || !strings.Contains(got, "/eu-west-1/bedrock/") {
		t.Errorf("signed %s\nwant   %s", got, want)
	}
}

func TestAKeyOfBedrocksOwnIsUsedAlone(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(bytes.Join(reply(t), nil)) })
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "token-1")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, _, err := ask(t, hello()); err != nil {
		t.Fatal(err)
	}
	if got := s.requests[0].Header.Get("Authorization"); got != "Bearer token-1" {
		t.Errorf("sent %q", got)
	}
}

func TestWhatBedrockRefusesHasTheClassOfTheMessagesAPI(t *testing.T) {
	for _, x := range []struct {
		status    int
		exception string
		want      error
	}{
		{400, "ValidationException:http://internal.example/", oneloop.ErrInvalidRequest},
		{403, "AccessDeniedException", oneloop.ErrAuth},
		{404, "ResourceNotFoundException", oneloop.ErrNotFound},
		{429, "ThrottlingException", oneloop.ErrRateLimited},
		{503, "ServiceUnavailableException", oneloop.ErrOverloaded},
		{500, "InternalServerException", oneloop.ErrServer},
		{400, "ThrottlingException", oneloop.ErrRateLimited},
	} {
		serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Amzn-Errortype", x.exception)
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(x.status)
			fmt.Fprint(w, `{"message":"because"}`)
		})
		_, _, err := ask(t, hello())
		var api *oneloop.APIError
		if !errors.As(err, &api) || !errors.Is(err, x.want) || !strings.Contains(err.Error(), "because") || api.RetryAfter != 7*time.Second {
			t.Errorf("%s: %v, want %v", x.exception, err, x.want)
		}
	}
	serve(t, nil)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	if _, _, err := ask(t, hello()); !errors.Is(err, oneloop.ErrAuth) || !strings.Contains(err.Error(), "AWS_PROFILE") {
		t.Errorf("without credentials: %v", err)
	}
	t.Setenv("AWS_REGION", "")
	if _, _, err := ask(t, hello()); !errors.Is(err, oneloop.ErrAuth) || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Errorf("without a region: %v", err)
	}
}

func TestAnExceptionInAStreamIsAnErrorAndACutOneIsCut(t *testing.T) {
	whole := bytes.Join(reply(t), nil)
	half := bytes.Join(reply(t)[:4], nil)
	broken := bytes.Clone(whole)
	broken[len(half)-3] ^= 1
	for name, x := range map[string]struct {
		body []byte
		want error
	}{
		"throttled": {append(bytes.Clone(half), frame(t, "exception", "throttlingException", []byte(`{"message":"slow down"}`))...), oneloop.ErrRateLimited},
		"failed":    {append(bytes.Clone(half), frame(t, "exception", "modelStreamErrorException", []byte(`{"message":"x"}`))...), oneloop.ErrServer},
		"cut":       {half, oneloop.ErrStreamCut},
		"cut in it": {whole[:len(half)-1], oneloop.ErrStreamCut},
		"flipped":   {broken, oneloop.ErrStreamCut},
	} {
		serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(x.body) })
		if _, _, err := ask(t, hello()); !errors.Is(err, x.want) {
			t.Errorf("%s: %v, want %v", name, err, x.want)
		}
	}
}

func TestEachFrameIsHandedOnWhenItComes(t *testing.T) {
	frames := append(reply(t)[:2:2], reply(t)[3:]...) // those that hold an event
	next := make(chan struct{})
	serve(t, func(w http.ResponseWriter, r *http.Request) {
		for _, f := range frames {
			w.Write(f)
			w.(http.Flusher).Flush()
			select {
			case <-next: // the event has come out at the other end
			case <-r.Context().Done():
				return
			}
		}
	})
	front := httptest.NewServer(bedrock.New())
	t.Cleanup(front.Close)
	client := &http.Client{Timeout: 30 * time.Second}
	resp, err := client.Post(front.URL+"/v1/messages", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for i := range frames {
		for lines.Scan() && !strings.HasPrefix(lines.Text(), "data:") {
		}
		if err := lines.Err(); err != nil {
			t.Fatalf("event %d did not come before the next one was sent: %v", i, err)
		}
		next <- struct{}{}
	}
}

// TestARecordedStreamIsDecoded plays what the real service sent.
func TestARecordedStreamIsDecoded(t *testing.T) {
	dir := os.Getenv("ONELOOP_RECORDINGS")
	if dir == "" {
		t.Skip("NOT RUN without ONELOOP_RECORDINGS: the recorded stream of Bedrock")
	}
	f, err := os.Open(filepath.Join(dir, "anthropic", "responses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	played := 0
	for dec := json.NewDecoder(f); ; {
		var x struct {
			File string
			Body []byte `json:"body_base64"`
		}
		if err := dec.Decode(&x); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if len(x.Body) == 0 {
			continue
		}
		played++
		serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(x.Body) })
		msg, events, err := ask(t, hello())
		if err != nil {
			t.Errorf("%s: %v", x.File, err)
			continue
		}
		deltas := 0
		for _, e := range events {
			switch e.(type) {
			case oneloop.TextDelta, oneloop.InputDelta:
				deltas++
			}
		}
		if len(msg.Blocks) == 0 || !msg.Usage.Reported || deltas == 0 {
			t.Errorf("%s: %d blocks, %d deltas, usage %+v", x.File, len(msg.Blocks), deltas, msg.Usage)
		}
		for end := 0; end < len(x.Body)-2000; end += 701 {
			serve(t, func(w http.ResponseWriter, r *http.Request) { w.Write(x.Body[:end]) })
			if msg, _, err := ask(t, hello()); err == nil && len(msg.ToolUses()) > 0 {
				t.Errorf("%s cut at %d has calls", x.File, end)
			}
		}
	}
	if played == 0 {
		t.Error("there is no recording of a binary stream")
	}
}
