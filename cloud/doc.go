// Package cloud has Anthropic's models on Amazon Bedrock and Google Vertex AI
// speak the Messages API. It is a module of its own: what these two ask of a
// caller (credentials from profiles, roles, metadata servers and key files,
// signatures, a binary stream) is done by their own libraries, which are larger
// than all of oneloop.
//
// Its program, oneloop-cloud, answers the Messages API on its standard input and
// output; oneloop starts it for models named bedrock/NAME and vertex/NAME.
package cloud

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"oneloop/internal/rawjson"
)

// MaxBody is how many bytes of a request are taken; the API takes 32 MB.
const MaxBody = 64 << 20

// Request is what was asked through the Messages API.
type Request struct {
	Model string
	Betas []string
	body  rawjson.Value
}

// ReadRequest reads a request. What cannot be one is answered with an error.
func ReadRequest(w http.ResponseWriter, r *http.Request) (*Request, bool) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" {
		Fail(w, http.StatusNotFound, "", fmt.Sprintf("%s %s is not served here, only POST /v1/messages", r.Method, r.URL.Path))
		return nil, false
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, MaxBody))
	if err != nil {
		Fail(w, http.StatusRequestEntityTooLarge, "", "read the request: "+err.Error())
		return nil, false
	}
	v := rawjson.Parse(data)
	req := &Request{Model: v.Field("model").Text(), body: v}
	if !v.IsObject() || req.Model == "" {
		Fail(w, http.StatusBadRequest, "", "the request is no JSON object that names a model")
		return nil, false
	}
	for beta := range strings.SplitSeq(strings.Join(r.Header.Values("Anthropic-Beta"), ","), ",") {
		if beta = strings.TrimSpace(beta); beta != "" {
			req.Betas = append(req.Betas, beta)
		}
	}
	return req, true
}

// Body is the request without the named fields and with others before the rest,
// which keeps its bytes.
func (r *Request) Body(without []string, with ...rawjson.Edit) []byte {
	out := append(make([]byte, 0, len(r.body)+256), '{')
	add := func(name string, value []byte) {
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = rawjson.AppendString(out, name)
		out = append(append(out, ':'), value...)
	}
	for _, e := range with {
		add(e.Name, e.Value)
	}
	for name, value := range r.body.Fields() {
		if !slices.Contains(without, string(name)) {
			add(string(name), value)
		}
	}
	return append(out, '}')
}

// Fail answers with an error in the form of the Messages API. An empty kind is
// that of the status.
func Fail(w http.ResponseWriter, status int, kind, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	w.Write(Error(status, kind, message)) // nobody is left to tell of a failure
}

// Error is an error in the form of the Messages API.
func Error(status int, kind, message string) []byte {
	if kind == "" {
		kind = kindOf(status)
	}
	var e struct {
		Type  string `json:"type"`
		Error struct {
			Type    string `json:"type"`
			Message string `json:"message"`
		} `json:"error"`
	}
	e.Type, e.Error.Type, e.Error.Message = "error", kind, message
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.Encode(e) // strings never fail
	return bytes.TrimSpace(b.Bytes())
}

func kindOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return "timeout_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusServiceUnavailable, 529:
		return "overloaded_error"
	}
	if status >= 500 {
		return "api_error"
	}
	return "invalid_request_error"
}
