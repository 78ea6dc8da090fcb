// Package bedrock answers the Messages API with Anthropic's models on Amazon
// Bedrock (InvokeModelWithResponseStream).
//
// Credentials and region come from where the AWS command line looks for them:
// environment, profile, single sign-on, role. AWS_BEARER_TOKEN_BEDROCK, a key of
// Bedrock's own, wins. AWS_ENDPOINT_URL_BEDROCK_RUNTIME names another address.
package bedrock

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	"github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"oneloop/cloud"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// version is what stands in the body in place of the header of that name.
const version = `"bedrock-2023-05-31"`

// Handler answers requests of the Messages API. It is safe for concurrent use.
type Handler struct {
	client *http.Client

	mu     sync.Mutex
	loaded *aws.Config // nil: not yet
}

// New returns a handler. It looks for credentials with the first request.
func New() *Handler { return &Handler{client: wire.Client(nil)} }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, ok := cloud.ReadRequest(w, r)
	if !ok {
		return
	}
	edits := []rawjson.Edit{{Name: "anthropic_version", Value: []byte(version)}}
	if len(req.Betas) > 0 {
		list, err := json.Marshal(req.Betas)
		if err != nil {
			cloud.Fail(w, http.StatusBadRequest, "", err.Error())
			return
		}
		edits = append(edits, rawjson.Edit{Name: "anthropic_beta", Value: list})
	}
	out, err := h.request(r.Context(), req.Model, req.Body([]string{"model", "stream"}, edits...))
	if err != nil {
		cloud.Fail(w, http.StatusUnauthorized, "", err.Error())
		return
	}
	resp, err := h.client.Do(out)
	if err != nil {
		cloud.Fail(w, http.StatusBadGateway, "", "ask "+out.URL.Host+": "+err.Error())
		return
	}
	defer resp.Body.Close()
	w.Header().Set("Request-Id", resp.Header.Get("X-Amzn-Requestid"))
	if resp.StatusCode != http.StatusOK {
		refuse(w, resp)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	if err := copyEvents(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // the client sees a reply that was cut
	}
}

// request is the signed request for a model.
func (h *Handler) request(ctx context.Context, model string, body []byte) (*http.Request, error) {
	cfg, err := h.config(ctx)
	if err != nil {
		return nil, err
	}
	base := os.Getenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME")
	if base == "" {
		base = os.Getenv("AWS_ENDPOINT_URL")
	}
	if base == "" {
		base = "https://bedrock-runtime." + cfg.Region + ".amazonaws.com"
		if strings.HasPrefix(cfg.Region, "cn-") {
			base += ".cn"
		}
	}
	url := strings.TrimRight(base, "/") + "/model/" + escape(model) + "/invoke-with-response-stream"
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address of Bedrock cannot be used: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/vnd.amazon.eventstream")
	if token := strings.TrimSpace(os.Getenv("AWS_BEARER_TOKEN_BEDROCK")); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
		return req, nil
	}
	who, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("no AWS credentials: %w. Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_BEARER_TOKEN_BEDROCK", err)
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, who, req, hex.EncodeToString(sum[:]), "bedrock", cfg.Region, time.Now()); err != nil {
		return nil, fmt.Errorf("sign the request: %w", err)
	}
	return req, nil
}

// config is loaded once; after a failure it is tried again, as someone may have
// logged in since.
func (h *Handler) config(ctx context.Context) (aws.Config, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loaded != nil {
		return *h.loaded, nil
	}
	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		return aws.Config{}, fmt.Errorf("read the AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return aws.Config{}, errors.New("no AWS region is set: set AWS_REGION, or region in the profile")
	}
	h.loaded = &cfg
	return cfg, nil
}

// escape is a model's id, which may be an ARN, as one part of a path.
func escape(id string) string {
	var b strings.Builder
	for _, c := range []byte(id) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~", c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// refuse answers with an error of Bedrock's.
func refuse(w http.ResponseWriter, resp *http.Response) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what came is told
	name, _, _ := strings.Cut(resp.Header.Get("X-Amzn-Errortype"), ":")
	v := rawjson.Parse(data)
	message := v.Field("message").Text()
	if message == "" {
		message = v.Field("Message").Text()
	}
	if message == "" {
		message = fmt.Sprintf("status %d: %s", resp.StatusCode, wire.Printable(data, 200))
	}
	if name != "" {
		message = name + ": " + message
	}
	if wait := resp.Header.Get("Retry-After"); wait != "" {
		w.Header().Set("Retry-After", wait)
	}
	cloud.Fail(w, resp.StatusCode, kindOf(name), message)
}

// kindOf is what the Messages API calls an exception of Bedrock's; empty: what
// it calls the status.
func kindOf(exception string) string {
	switch strings.ToLower(strings.TrimSuffix(strings.ToLower(exception), "exception")) {
	case "throttling", "servicequotaexceeded":
		return "rate_limit_error"
	case "serviceunavailable", "modelnotready":
		return "overloaded_error"
	case "modeltimeout":
		return "timeout_error"
	case "validation":
		return "invalid_request_error"
	case "accessdenied", "unrecognizedclient", "expiredtoken", "invalidsignature":
		return "permission_error"
	case "resourcenotfound":
		return "not_found_error"
	case "internalserver", "modelstreamerror", "modelerror":
		return "api_error"
	}
	return ""
}

// copyEvents writes the frames of a stream as server-sent events, each as soon
// as it came. An error means that the stream did not come to its end.
func copyEvents(w http.ResponseWriter, frames io.Reader) error {
	flush := http.NewResponseController(w)
	decoder := eventstream.NewDecoder()
	var buf []byte
	for {
		frame, err := decoder.Decode(frames, buf[:0])
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read a frame: %w", err)
		}
		buf = frame.Payload
		event, err := eventOf(frame)
		if err != nil {
			return err
		}
		if event == nil {
			continue
		}
		name := rawjson.Value(event).Field("type").Text()
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, event); err != nil {
			return err
		}
		if err := flush.Flush(); err != nil {
			return err
		}
	}
}

// eventOf is the event of the Messages API that a frame holds, nil for a frame
// of another kind.
func eventOf(frame eventstream.Message) ([]byte, error) {
	header := func(name string) string {
		if v := frame.Headers.Get(name); v != nil {
			return v.String()
		}
		return ""
	}
	switch header(":message-type") {
	case "exception":
		name := header(":exception-type")
		return cloud.Error(500, kindOf(name), name+": "+rawjson.Parse(frame.Payload).Field("message").Text()), nil
	case "error":
		return cloud.Error(500, "", header(":error-code")+": "+header(":error-message")), nil
	}
	var chunk struct {
		Bytes []byte `json:"bytes"`
	}
	if header(":event-type") != "chunk" {
		return nil, nil
	}
	if err := json.Unmarshal(frame.Payload, &chunk); err != nil {
		return nil, fmt.Errorf("read a chunk: %w", err)
	}
	event := rawjson.Parse(chunk.Bytes)
	if event == nil || bytes.ContainsAny(event, "\r\n") {
		return nil, errors.New("a chunk holds no event")
	}
	return event, nil
}
