// Package vertex answers the Messages API with Anthropic's models on Google
// Vertex AI (streamRawPredict).
//
// Credentials are Google's application default ones: a key file, the login of
// gcloud, the machine's own account. The project is ANTHROPIC_VERTEX_PROJECT_ID,
// GOOGLE_CLOUD_PROJECT or that of the credentials, the region CLOUD_ML_REGION or
// GOOGLE_CLOUD_LOCATION, else "global". ANTHROPIC_VERTEX_BASE_URL names another
// address.
package vertex

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"golang.org/x/oauth2/google"

	"oneloop/cloud"
	"oneloop/internal/rawjson"
	"oneloop/internal/wire"
)

// version is what stands in the body in place of the header of that name.
const version = `"vertex-2023-10-16"`

// scope is what the credentials are asked for.
const scope = "https://www.googleapis.com/auth/cloud-platform"

// Handler answers requests of the Messages API. It is safe for concurrent use.
type Handler struct {
	client *http.Client

	mu  sync.Mutex
	who *google.Credentials // nil: not yet
}

// New returns a handler. It looks for credentials with the first request.
func New() *Handler { return &Handler{client: wire.Client(nil)} }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	req, ok := cloud.ReadRequest(w, r)
	if !ok {
		return
	}
	body := req.Body([]string{"model"}, rawjson.Edit{Name: "anthropic_version", Value: []byte(version)})
	out, err := h.request(r.Context(), req.Model, body)
	if err != nil {
		cloud.Fail(w, http.StatusUnauthorized, "", err.Error())
		return
	}
	if len(req.Betas) > 0 {
		out.Header.Set("Anthropic-Beta", strings.Join(req.Betas, ","))
	}
	resp, err := h.client.Do(out)
	if err != nil {
		cloud.Fail(w, http.StatusBadGateway, "", "ask "+out.URL.Host+": "+err.Error())
		return
	}
	defer resp.Body.Close()
	for _, name := range []string{"Content-Type", "Request-Id", "Retry-After"} {
		if v := resp.Header.Get(name); v != "" {
			w.Header().Set(name, v)
		}
	}
	if resp.StatusCode != http.StatusOK {
		refuse(w, resp)
		return
	}
	if err := copyStream(w, resp.Body); err != nil {
		panic(http.ErrAbortHandler) // the client sees a reply that was cut
	}
}

// request is the request for a model, with a token.
func (h *Handler) request(ctx context.Context, model string, body []byte) (*http.Request, error) {
	who, err := h.credentials(ctx)
	if err != nil {
		return nil, err
	}
	project := cmp.Or(os.Getenv("ANTHROPIC_VERTEX_PROJECT_ID"), os.Getenv("GOOGLE_CLOUD_PROJECT"), who.ProjectID)
	if project == "" {
		return nil, errors.New("no Google Cloud project is set: set ANTHROPIC_VERTEX_PROJECT_ID")
	}
	region := cmp.Or(os.Getenv("CLOUD_ML_REGION"), os.Getenv("GOOGLE_CLOUD_LOCATION"), "global")
	base := os.Getenv("ANTHROPIC_VERTEX_BASE_URL")
	switch {
	case base != "":
	case region == "global":
		base = "https://aiplatform.googleapis.com/v1"
	default:
		base = "https://" + region + "-aiplatform.googleapis.com/v1"
	}
	address := fmt.Sprintf("%s/projects/%s/locations/%s/publishers/anthropic/models/%s:streamRawPredict",
		strings.TrimRight(base, "/"), url.PathEscape(project), url.PathEscape(region), url.PathEscape(model))
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("the address of Vertex cannot be used: %w", err)
	}
	token, err := who.TokenSource.Token()
	if err != nil {
		return nil, fmt.Errorf("get a token of Google: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	token.SetAuthHeader(req)
	return req, nil
}

// credentials are looked for once; after a failure again, as someone may have
// logged in since.
func (h *Handler) credentials(ctx context.Context) (*google.Credentials, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.who != nil {
		return h.who, nil
	}
	// Tokens are renewed long after the request that asked for the first one.
	who, err := google.FindDefaultCredentials(context.WithoutCancel(ctx), scope)
	if err != nil {
		return nil, fmt.Errorf("no Google credentials: %w. Run gcloud auth application-default login, or set GOOGLE_APPLICATION_CREDENTIALS", err)
	}
	h.who = who
	return who, nil
}

// refuse answers with an error, which is the model's own or one of Google's.
func refuse(w http.ResponseWriter, resp *http.Response) {
	data, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // what came is told
	v := rawjson.Parse(data)
	for first := range v.Items() { // Google's come in a list at times
		v = first
		break
	}
	if v.Field("type").Text() == "error" {
		w.WriteHeader(resp.StatusCode)
		w.Write(v) // nobody is left to tell of a failure
		return
	}
	said := v.Field("error")
	message := said.Field("message").Text()
	if message == "" {
		message = fmt.Sprintf("status %d: %s", resp.StatusCode, wire.Printable(data, 200))
	}
	if status := said.Field("status").Text(); status != "" {
		message = status + ": " + message
	}
	cloud.Fail(w, resp.StatusCode, "", message)
}

// copyStream hands on what comes as soon as it came.
func copyStream(w http.ResponseWriter, from io.Reader) error {
	flush := http.NewResponseController(w)
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
			if err := flush.Flush(); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
