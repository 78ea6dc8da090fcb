package vertex_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
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

	"oneloop"
	"oneloop/cloud/vertex"
	"oneloop/model/anthropic"
)

const stream = `event: message_start
data: {"type":"message_start","message":{"id":"m1","role":"assistant","content":[],"usage":{"input_tokens":3}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"你好"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}

event: message_stop
data: {"type":"message_stop"}

`

// service is Vertex AI and Google's token service on the loopback interface.
type service struct {
	*httptest.Server
	asked  []*http.Request
	bodies []string
	tokens int
}

func serve(t *testing.T, answer http.HandlerFunc) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/token" {
			s.tokens++
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"access_token":"token-1","token_type":"Bearer","expires_in":3600}`)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		s.asked, s.bodies = append(s.asked, r), append(s.bodies, string(body))
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	key := filepath.Join(t.TempDir(), "key.json")
	writeKey(t, key, s.URL+"/token")
	for name, value := range map[string]string{
		"HOME": t.TempDir(), "GOOGLE_APPLICATION_CREDENTIALS": key, "ANTHROPIC_VERTEX_BASE_URL": s.URL + "/v1", "GCE_METADATA_HOST": "127.0.0.1:1",
		"ANTHROPIC_VERTEX_PROJECT_ID": "", "GOOGLE_CLOUD_PROJECT": "", "CLOUD_ML_REGION": "europe-west1", "GOOGLE_CLOUD_LOCATION": "",
	} {
		t.Setenv(name, value)
	}
	return s
}

// writeKey writes the key file of an account of the test's own.
func writeKey(t *testing.T, path, tokens string) {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(k)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": "of-the-key", "private_key_id": "1", "client_email": "a@example.invalid", "token_uri": tokens,
		"private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func ask(t *testing.T, front *httptest.Server) (*oneloop.Message, error) {
	m, err := anthropic.New(anthropic.Config{BaseURL: front.URL, Key: "none", Model: "claude-opus-4-5@20251101", Betas: []string{"one-1"}})
	if err != nil {
		t.Fatal(err)
	}
	return m.Generate(t.Context(), &oneloop.Request{Messages: []*oneloop.Message{oneloop.UserText("a < b")}}, nil)
}

func front(t *testing.T) *httptest.Server {
	f := httptest.NewServer(vertex.New())
	t.Cleanup(f.Close)
	return f
}

func TestARequestIsThatOfVertexAndTheStreamIsHandedOn(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream)
	})
	f := front(t)
	for range 2 {
		msg, err := ask(t, f)
		if err != nil {
			t.Fatal(err)
		}
		if msg.Text() != "你好" || msg.Usage.Output != 2 {
			t.Errorf("got %+v", msg)
		}
	}
	r, body := s.asked[0], s.bodies[0]
	want := "/v1/projects/of-the-key/locations/europe-west1/publishers/anthropic/models/claude-opus-4-5@20251101:streamRawPredict"
	if r.URL.Path != want || r.Header.Get("Authorization") != "Bearer token-1" || r.Header.Get("Anthropic-Beta") != "one-1" || r.Header.Get("X-Api-Key") != "" {
		t.Errorf("asked %s with %v", r.URL.Path, r.Header)
	}
	if !strings.HasPrefix(body, `{"anthropic_version":"vertex-2023-10-16","max_tokens":`) || strings.Contains(body, `"model"`) || !strings.Contains(body, `"stream":true`) || !strings.Contains(body, "a < b") {
		t.Errorf("the body is %s", body)
	}
	if s.tokens != 1 {
		t.Errorf("%d tokens were asked for, one lasts an hour", s.tokens)
	}
}

func TestWhatGoogleRefusesHasTheClassOfTheMessagesAPI(t *testing.T) {
	for _, x := range []struct {
		status int
		body   string
		want   error
		text   string
	}{
		{429, `{"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED"}}`, oneloop.ErrRateLimited, "RESOURCE_EXHAUSTED: Quota exceeded"},
		{403, `[{"error":{"code":403,"message":"not enabled","status":"PERMISSION_DENIED"}}]`, oneloop.ErrAuth, "not enabled"},
		{404, `<html>no</html>`, oneloop.ErrNotFound, "no"},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`, oneloop.ErrContextOverflow, "too long"},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, oneloop.ErrOverloaded, "Overloaded"},
	} {
		serve(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(x.status)
			fmt.Fprint(w, x.body)
		})
		_, err := ask(t, front(t))
		var api *oneloop.APIError
		if !errors.As(err, &api) || !errors.Is(err, x.want) || !strings.Contains(err.Error(), x.text) || api.RetryAfter != 7*time.Second {
			t.Errorf("%s: %v, want %v", x.body, err, x.want)
		}
	}
}

func TestWithoutGoogleCredentialsTheAnswerSaysWhatToDo(t *testing.T) {
	serve(t, nil)
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", filepath.Join(t.TempDir(), "none.json"))
	if _, err := ask(t, front(t)); !errors.Is(err, oneloop.ErrAuth) || !strings.Contains(err.Error(), "gcloud auth application-default login") {
		t.Errorf("without credentials: %v", err)
	}
}

func TestAStreamThatBreaksIsCut(t *testing.T) {
	serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, stream[:300])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	if _, err := ask(t, front(t)); !errors.Is(err, oneloop.ErrStreamCut) {
		t.Errorf("got %v", err)
	}
}
