package anthropic_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	stdlog "log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"oneloop"
	"oneloop/looptest/script"
	"oneloop/model/anthropic"
)

func TestEveryShapeOfBaseURLReachesTheAPI(t *testing.T) {
	var path string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		if r.URL.Path != "/v1/messages" && r.URL.Path != "/gw/anthropic/v1/messages" {
			w.WriteHeader(404)
			fmt.Fprint(w, "<html>nothing here</html>")
			return
		}
		fmt.Fprint(w, sse(start, textStart, textDelta, blockStop, end, stop))
	}))
	defer srv.Close()
	for base, want := range map[string]string{
		srv.URL: "/v1/messages", srv.URL + "/": "/v1/messages", srv.URL + "/v1": "/v1/messages", srv.URL + "/v1/": "/v1/messages",
		srv.URL + "/gw/anthropic": "/gw/anthropic/v1/messages", srv.URL + "/gw/anthropic/v1/": "/gw/anthropic/v1/messages",
		strings.Replace(srv.URL, "http://", "HTTP://", 1) + "/?tenant=s3cret": "/v1/messages?tenant=s3cret",
		srv.URL + "/wrong?sig=s3cret":                                         "",
	} {
		m, err := anthropic.New(anthropic.Config{BaseURL: base, Key: key, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		l := &log{}
		msg, err := ask(m, t.Context(), l)
		if shown := fmt.Sprint(err, l.events); strings.Contains(shown, "s3cret") || strings.Contains(shown, key) {
			t.Errorf("%s: a secret is shown: %s", base, shown)
		}
		if want == "" {
			if !errors.Is(err, oneloop.ErrNotFound) || !strings.Contains(err.Error(), srv.URL+"/wrong/v1/messages?sig=MASKED") {
				t.Errorf("%s: %v", base, err)
			}
		} else if err != nil || msg.Text() != "ok" || path != want {
			t.Errorf("%s: asked for %s, %v", base, path, err)
		}
	}
}

func TestExactlyOneCredentialIsSentAndNeverShown(t *testing.T) {
	extra := http.Header{"x-gateway-token": {"gw-secret-1"}, "X-Plain": {"a"}}
	for _, c := range []struct {
		key, token string
		header     http.Header
		want       string // of x-api-key and authorization
	}{
		{key, "", nil, key + "|"},
		{" " + key + "\n", "", nil, key + "|"},
		{"", "tok-12345", nil, "|Bearer tok-12345"},
		{" \n", "tok-12345\r\n", nil, "|Bearer tok-12345"},
		{key, "tok-12345", nil, key + "|"},
		{key, "", http.Header{"Authorization": {"Bearer other-1"}}, key + "|"},
		{"", "tok-12345", http.Header{"x-api-key": {"other-1"}}, "|Bearer tok-12345"},
		{"", "", http.Header{"authorization": {"Custom other-1"}}, "|Custom other-1"},
		{"", "", nil, ""},
		{"\n", " ", nil, ""},
		{"two words", "", nil, ""},
		{"schlüssel", "", nil, ""},
	} {
		var got http.Header
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.Header
			return nil, fmt.Errorf("no route for %s", c.key+c.token)
		})}
		h := extra.Clone()
		for k, v := range c.header {
			h[k] = v
		}
		m, err := anthropic.New(anthropic.Config{Key: c.key, Token: c.token, Header: h, Model: "m", Client: client, Betas: []string{"a-1", "b-2"}})
		if c.want == "" {
			if err == nil || strings.Contains(err.Error(), "words") {
				t.Errorf("%q and %q: %v", c.key, c.token, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l := &log{}
		_, err = ask(m, t.Context(), l)
		if !errors.Is(err, oneloop.ErrNetwork) {
			t.Error(err)
		}
		if s := strings.Join(got.Values("X-Api-Key"), ",") + "|" + strings.Join(got.Values("Authorization"), ","); s != c.want {
			t.Errorf("%q and %q are sent as %s", c.key, c.token, s)
		}
		if got.Get("X-Gateway-Token") != "gw-secret-1" || got.Get("X-Plain") != "a" || got.Get("Anthropic-Beta") != "a-1,b-2" || got.Get("Accept-Encoding") != "identity" {
			t.Errorf("sent %v", got)
		}
		shown := fmt.Sprintf("%v %+v", err, of[oneloop.RequestSent](l)[0].Header)
		for _, secret := range []string{key, "tok-12345", "other-1", "gw-secret-1"} {
			if strings.Contains(shown, secret) {
				t.Errorf("%s is shown: %s", secret, shown)
			}
		}
	}
}

func TestTheVersionFollowsTheHostUnlessItIsSet(t *testing.T) {
	for _, c := range []struct{ base, set, want string }{
		{"", "", "2026-10-21"}, {"https://API.anthropic.com/v1", "", "2026-10-21"}, {"https://proxy.example", "", "2023-06-01"},
		{"http://[::1]:99", "", "2023-06-01"}, {"", anthropic.Version2023, "2023-06-01"}, {"https://proxy.example", "2027-01-01", "2027-01-01"},
	} {
		var got string
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			got = r.Header.Get("Anthropic-Version")
			return nil, errors.New("no route")
		})}
		m, err := anthropic.New(anthropic.Config{BaseURL: c.base, Version: c.set, Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ask(m, t.Context(), &log{}); err == nil || got != c.want {
			t.Errorf("%q, %q: version %q, %v", c.base, c.set, got, err)
		}
	}
}

func TestTheKeyFollowsNoRedirect(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Errorf("asked elsewhere, with %v", r.Header)
	}))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL+"/x?sig=s3cret", status)
		}))
		m, err := anthropic.New(anthropic.Config{BaseURL: srv.URL, Key: key, Model: "m"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(m, t.Context(), &log{})
		var e *oneloop.APIError
		if !errors.As(err, &e) || e.Class != oneloop.ErrNotAPI || e.Location != elsewhere.URL+"/x?sig=MASKED" || e.Retry != oneloop.RetryNo || !strings.Contains(e.Error(), elsewhere.URL) || strings.Contains(e.Error(), "s3cret") {
			t.Errorf("%d: %v", status, err)
		}
		srv.Close()
	}
}

func TestErrorsCarryWhatTheAPISaid(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		header http.Header
		want   oneloop.APIError
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"bad"},"request_id":"req_b"}`, nil,
			oneloop.APIError{Class: oneloop.ErrInvalidRequest, Type: "invalid_request_error", Message: "bad", RequestID: "req_b"}},
		{400, `{"error":{"type":"invalid_request_error","message":"prompt is too long: 2 tokens > 1 maximum"}}`, nil,
			oneloop.APIError{Class: oneloop.ErrContextOverflow, Type: "invalid_request_error", Message: "prompt is too long: 2 tokens > 1 maximum"}},
		{400, `{"error":{"message":"too much","type":"invalid_request_error","code":"context_length_exceeded"}}`, nil,
			oneloop.APIError{Class: oneloop.ErrContextOverflow, Type: "invalid_request_error", Message: "too much"}},
		{400, `{"error":{"message":"This model's maximum context length is 8 tokens","code":"x"}}`, nil,
			oneloop.APIError{Class: oneloop.ErrContextOverflow, Message: "This model's maximum context length is 8 tokens"}},
		{429, `{"error":{"type":"rate_limit_error","message":"slow"}}`, http.Header{"Retry-After": {"1.5"}, "Request-Id": {"req_h"}},
			oneloop.APIError{Class: oneloop.ErrRateLimited, Type: "rate_limit_error", Message: "slow", RequestID: "req_h", RetryAfter: 15e8}},
		{429, `{"error":{"type":"rate_limit_error","message":"no","details":{"error_code":"enforced_spend_limit_reached"}}}`, nil,
			oneloop.APIError{Class: oneloop.ErrBilling, Type: "rate_limit_error", Code: "enforced_spend_limit_reached", Message: "no", Retry: oneloop.RetryNo}},
		{500, `{"error":{"type":"overloaded_error","message":"x"}}`, http.Header{"X-Should-Retry": {"false"}},
			oneloop.APIError{Class: oneloop.ErrOverloaded, Type: "overloaded_error", Message: "x", Retry: oneloop.RetryNo}},
		{409, `{"message":"conflict"}`, http.Header{"X-Should-Retry": {"true"}}, oneloop.APIError{Class: oneloop.ErrServer, Message: "conflict", Retry: oneloop.RetryYes}},
		{401, `{"error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`, nil,
			oneloop.APIError{Class: oneloop.ErrAuth, Type: "authentication_error", Message: "invalid x-api-key MASKED"}},
		{529, ``, nil, oneloop.APIError{Class: oneloop.ErrOverloaded, Message: "status 529, no content type, an empty body"}},
		{402, `{"error":{"message":"pay"}}`, nil, oneloop.APIError{Class: oneloop.ErrBilling, Message: "pay"}},
		{413, `{"error":{"type":"request_too_large","message":"big"}}`, nil, oneloop.APIError{Class: oneloop.ErrTooLarge, Type: "request_too_large", Message: "big"}},
		{404, `{"error":{"type":"not_found_error","message":"model: m"}}`, nil,
			oneloop.APIError{Class: oneloop.ErrNotFound, Type: "not_found_error", Message: "model: m (asked: POST https://api.anthropic.com/v1/messages)"}},
		{501, `{}`, nil, oneloop.APIError{Class: oneloop.ErrInvalidRequest, Message: "status 501, no content type: {}"}},
	} {
		client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			rec := httptest.NewRecorder()
			for k, v := range c.header {
				rec.Header()[k] = v
			}
			rec.WriteHeader(c.status)
			rec.WriteString(c.body)
			resp := rec.Result()
			resp.Header.Del("Content-Type")
			return resp, nil
		})}
		m, err := anthropic.New(anthropic.Config{Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(m, t.Context(), &log{})
		var got *oneloop.APIError
		if !errors.As(err, &got) {
			t.Fatalf("%d: %v", c.status, err)
		}
		if strings.Contains(string(got.Body), key) || c.body != "" && len(got.Body) == 0 {
			t.Errorf("%d: body %q", c.status, got.Body)
		}
		c.want.API, c.want.URL, c.want.Status, c.want.Body = anthropic.API, "https://api.anthropic.com/v1/messages", c.status, got.Body
		if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", c.want) {
			t.Errorf("%d %s:\ngot  %+v\nwant %+v", c.status, c.body, *got, c.want)
		}
	}
}

func TestAConnectionThatIsRefusedSaysWhere(t *testing.T) {
	srv := httptest.NewServer(nil)
	srv.Close()
	m, err := anthropic.New(anthropic.Config{BaseURL: srv.URL + "?sig=s3cret", Key: key, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(m, t.Context(), &log{})
	if !errors.Is(err, oneloop.ErrNetwork) || !strings.Contains(err.Error(), srv.URL) || !strings.Contains(err.Error(), "refused") || strings.Contains(err.Error(), "s3cret") {
		t.Error(err)
	}
}

// sent returns the body of a request, from an API that cannot be reached.
func sent(t *testing.T, m *anthropic.Model, req *oneloop.Request) (oneloop.Parts, []oneloop.Notice, error) {
	t.Helper()
	l := &log{}
	_, err := m.Generate(t.Context(), req, l.emit)
	if all := of[oneloop.RequestSent](l); len(all) == 1 {
		return all[0].Body, of[oneloop.Notice](l), nil
	}
	return nil, of[oneloop.Notice](l), err
}

func unreachable(t *testing.T, model string) *anthropic.Model {
	t.Helper()
	client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) { return nil, errors.New("no route") })}
	m, err := anthropic.New(anthropic.Config{Key: key, Model: model, Client: client})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestParametersFollowTheModel(t *testing.T) {
	const adaptive = `,"thinking":{"type":"adaptive","display":"summarized"}`
	for _, c := range []struct {
		model  string
		params oneloop.Params
		want   string // between the model and the messages
		notice bool
	}{
		{"claude-3-haiku-20240307", oneloop.Params{}, `"max_tokens":4096,"stream":true`, false},
		{"claude-3-haiku-20240307", oneloop.Params{MaxTokens: 8000, Effort: "low"}, `"max_tokens":4096,"stream":true`, true},
		{"claude-opus-4-8", oneloop.Params{MaxTokens: 8000}, `"max_tokens":8000,"stream":true` + adaptive, false},
		{"claude-sonnet-5", oneloop.Params{Effort: "max"}, `"max_tokens":128000,"stream":true` + adaptive + `,"output_config":{"effort":"max"}`, false},
		{"claude-sonnet-4-6", oneloop.Params{}, `"max_tokens":128000,"stream":true`, false},
		{"aws-claude-sonnet-4-6", oneloop.Params{Effort: "medium"}, `"max_tokens":128000,"stream":true,"output_config":{"effort":"medium"}`, false},
		{"mock-model", oneloop.Params{}, `"max_tokens":8192,"stream":true`, false},
		{"mock-model", oneloop.Params{MaxTokens: 50000, Effort: "high"}, `"max_tokens":50000,"stream":true`, true},
		{"claude-opus-5-5", oneloop.Params{}, `"max_tokens":128000,"stream":true` + adaptive, false},
	} {
		req := hi()
		req.Params = c.params
		body, notices, err := sent(t, unreachable(t, c.model), req)
		if err != nil {
			t.Error(err)
			continue
		}
		want := `{"model":"` + c.model + `",` + c.want + `,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]}]}`
		if got := strip(body.Bytes()); got != want {
			t.Errorf("%s %+v:\ngot  %s\nwant %s", c.model, c.params, got, want)
		}
		if (len(notices) == 1) != c.notice {
			t.Errorf("%s %+v: notices %v", c.model, c.params, notices)
		}
	}
	req := hi()
	req.Params.Effort = "xhigh"
	if _, _, err := sent(t, unreachable(t, "claude-opus-4-6"), req); !errors.Is(err, oneloop.ErrInvalidRequest) || !strings.Contains(err.Error(), "only low, medium, high, max") {
		t.Errorf("a level that the model does not take: %v", err)
	}
}

func TestARequestThatCannotBeMadeIsAClearError(t *testing.T) {
	for want, req := range map[string]*oneloop.Request{
		"no message with content": {Messages: []*oneloop.Message{oneloop.UserText(" ")}},
		`cache lifetime "2h"`:     {Messages: hi().Messages, Params: oneloop.Params{CacheTTL: "2h"}},
		`schema of tool "x"`:      {Messages: hi().Messages, Tools: []oneloop.ToolDef{{Name: "x", Schema: []byte("[")}}},
		"raw definition":          {Messages: hi().Messages, Tools: []oneloop.ToolDef{{Raw: []byte("{")}}},
		"block 0 of user message 0": {Messages: []*oneloop.Message{oneloop.NewMessage(oneloop.User,
			&oneloop.Text{Wire: oneloop.Wire{Raw: []byte(`{"type":`)}, Text: "x"})}},
	} {
		m := unreachable(t, "m")
		if _, _, err := sent(t, m, req); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
		if body, _, err := sent(t, m, hi()); err != nil || !json.Valid(body.Bytes()) {
			t.Errorf("after it: %s, %v", body.Bytes(), err)
		}
	}
}

func TestCacheMarksStandAtTheEndsOfWhatIsSentAgain(t *testing.T) {
	for ttl, mark := range map[string]string{"": `{"type":"ephemeral"}`, "5m": `{"type":"ephemeral"}`, "1h": `{"type":"ephemeral","ttl":"1h"}`, "off": ""} {
		s := serve(t, script.Say(script.Text("x"), script.Tool("t1", "Bash", "{}"), script.Tool("t2", "Bash", "{}")), script.Say(script.Thinking("y", "c2ln"), script.Text("ok")), script.Say(script.Text("ok")))
		h := &oneloop.History{System: []oneloop.Block{&oneloop.Text{Text: "Be brief."}}, Params: oneloop.Params{CacheTTL: ttl}}
		tools := echoTools("Bash", "Other")
		h.Tools = tools.box.Defs()
		m := newModel(t, s, nil)
		for _, p := range []string{"one", "two"} {
			if err := h.Append(t.Context(), oneloop.UserText(p)); err != nil {
				t.Fatal(err)
			}
			if err := oneloop.Run(t.Context(), m, &tools.box, h, (&log{}).emit); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []string{"tools.1 system.0 0.0", "tools.1 system.0 0.0 2.1", "tools.1 system.0 2.1 4.0"} {
			r := s.Requests()[i]
			var got []string
			add := func(at string, cache json.RawMessage) {
				if cache != nil {
					got = append(got, at)
					if string(cache) != mark {
						t.Errorf("%q: a mark is %s", ttl, cache)
					}
				}
			}
			for j, tool := range r.Tools {
				add(fmt.Sprint("tools.", j), tool.Cache)
			}
			for j, b := range r.System {
				add(fmt.Sprint("system.", j), b.Cache)
			}
			for j, msg := range r.Messages {
				for k, b := range msg.Content {
					add(fmt.Sprint(j, ".", k), b.Cache)
				}
			}
			if mark == "" {
				want = ""
			}
			if strings.Join(got, " ") != want {
				t.Errorf("%q, request %d: marks at %v, want %s", ttl, i+1, got, want)
			}
		}
	}
}

func TestTheMarkOfThePreviousRequestStaysWhenSeveralMessagesFollow(t *testing.T) {
	msgs := append(conversation(2), oneloop.UserText("and one more thing"))
	body, _, err := sent(t, unreachable(t, "m"), &oneloop.Request{Messages: msgs})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"text":"go","cache_control"`, `"text":"and one more thing","cache_control"`} {
		if !bytes.Contains(body.Bytes(), []byte(want)) {
			t.Errorf("no %s in %s", want, body.Bytes())
		}
	}
}

func TestACallerWhoMarksMarksAlone(t *testing.T) {
	own := `{"type":"text","text":"hi","cache_control":{"type":"ephemeral","ttl":"1h"}}`
	for name, req := range map[string]*oneloop.Request{
		"a message": {System: []oneloop.Block{&oneloop.Text{Text: "x"}}, Messages: []*oneloop.Message{oneloop.NewMessage(oneloop.User, &oneloop.Text{Wire: oneloop.Wire{Raw: []byte(own)}, Text: "hi"}, &oneloop.Text{Text: "there"})}},
		"a system":  {System: []oneloop.Block{&oneloop.Text{Wire: oneloop.Wire{Raw: []byte(own)}, Text: "hi"}}, Messages: hi().Messages, Tools: echoTools("a").box.Defs()},
		"a tool":    {Tools: []oneloop.ToolDef{{Raw: []byte(`{"type":"bash_20250124","name":"bash","cache_control":{"type":"ephemeral"}}`)}}, Messages: hi().Messages},
	} {
		body, _, err := sent(t, unreachable(t, "m"), req)
		if n := bytes.Count(body.Bytes(), []byte("cache_control")); err != nil || n != 1 {
			t.Errorf("%s: %d marks, %v in %s", name, n, err, body.Bytes())
		}
	}
}

// randomMessages makes a conversation of n messages.
func randomMessages(rng *rand.Rand, n int) []*oneloop.Message {
	var msgs []*oneloop.Message
	for i := range n {
		m := &oneloop.Message{Role: oneloop.User}
		if i > 0 && rng.IntN(3) > 0 {
			m.Role, m.Origin = oneloop.Assistant, oneloop.Origin{API: anthropic.API, Model: "m"}
		}
		for range rng.IntN(4) {
			id := fmt.Sprint("t", rng.IntN(50))
			raw := func(s string) oneloop.Wire { return oneloop.Wire{Raw: []byte(s)} }
			switch rng.IntN(5) {
			case 0:
				m.Blocks = append(m.Blocks, &oneloop.Text{Text: strings.Repeat("a", rng.IntN(30)) + strings.Repeat(" ", rng.IntN(3))})
			case 1:
				m.Blocks = append(m.Blocks, &oneloop.ToolResult{ID: id, Content: []oneloop.Block{&oneloop.Text{Text: "r"}}})
			case 2:
				m.Blocks = append(m.Blocks, &oneloop.ToolUse{Wire: raw(`{"type":"tool_use","id":"` + id + `","name":"n","input":{}}`), ID: id, Name: "n", Input: []byte("{}")})
			case 3:
				m.Blocks = append(m.Blocks, &oneloop.Thinking{Wire: raw(`{"type":"thinking","thinking":"","signature":"s"}`), Signature: "s"})
			case 4:
				m.Blocks = append(m.Blocks, &oneloop.Text{Wire: raw(`{"type":"text","text":"b \n"}`), Text: "b \n"})
			}
		}
		msgs = append(msgs, m)
	}
	return msgs
}

func TestARequestIsTheSameWhateverWasSentBeforeAndItsPartsNeverChange(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := unreachable(t, "m")
	type kept struct {
		parts oneloop.Parts
		bytes []byte
	}
	var all []kept
	msgs := randomMessages(rng, 3)
	for range 400 {
		switch rng.IntN(5) {
		case 0: // the conversation takes another way from some message on
			cut := rng.IntN(len(msgs)) + 1
			msgs = append(slices.Clone(msgs[:cut]), randomMessages(rng, rng.IntN(4))...)
		case 1: // sent again
		default:
			msgs = append(slices.Clone(msgs), randomMessages(rng, 1+rng.IntN(3))...)
		}
		req := &oneloop.Request{Messages: msgs, Tools: []oneloop.ToolDef{{Name: "n"}}}
		if rng.IntN(9) == 0 {
			req.Params.CacheTTL = "off"
		}
		got, _, err1 := sent(t, m, req)
		want, _, err2 := sent(t, unreachable(t, "m"), req)
		if fmt.Sprint(err1) != fmt.Sprint(err2) || !bytes.Equal(got.Bytes(), want.Bytes()) {
			t.Fatalf("errors %v and %v\ngot  %s\nwant %s", err1, err2, got.Bytes(), want.Bytes())
		}
		if err1 == nil && !json.Valid(got.Bytes()) {
			t.Fatalf("not JSON: %s", got.Bytes())
		}
		if n := bytes.Count(got.Bytes(), []byte("cache_control")); n > 4 {
			t.Fatalf("%d marks in %s", n, got.Bytes())
		}
		all = append(all, kept{got, got.Bytes()})
	}
	for i, k := range all {
		if !bytes.Equal(k.parts.Bytes(), k.bytes) {
			t.Errorf("the parts of request %d changed after it was sent", i)
		}
	}
}

func TestConversationsSideBySideDoNotMix(t *testing.T) {
	const n = 8
	s := script.New()
	for i := range n {
		s.Route(fmt.Sprint("agent ", i, "."), script.Turns(
			script.Say(script.Tool("t1", "Bash", fmt.Sprintf(`{"agent":%d}`, i))), script.Say(script.Tool("t2", "Bash", `{}`)), script.Say(script.Text(fmt.Sprint("done ", i)))))
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	m := newModel(t, s, nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			l, tools := &log{}, echoTools("Bash")
			h := converse(t, m, tools, l, fmt.Sprint("agent ", i, "."))
			if h.Last().Text() != fmt.Sprint("done ", i) || fmt.Sprint(tools.ran) != fmt.Sprintf(`[Bash{"agent":%d} Bash{}]`, i) {
				t.Errorf("agent %d: %q after %v", i, h.Last().Text(), tools.ran)
			}
		})
	}
	wg.Wait()
	if b := s.Breaches(); len(b) > 0 {
		t.Error(b)
	}
}

func TestForksOfOneConversationDoNotMix(t *testing.T) {
	m := unreachable(t, "m")
	base := conversation(20)
	req := &oneloop.Request{Messages: base}
	if _, _, err := sent(t, m, req); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 6 {
		wg.Go(func() {
			msgs := slices.Clone(base)
			for range 20 {
				msgs = append(msgs, oneloop.UserText(fmt.Sprint("fork ", i)))
				got, _, err1 := sent(t, m, &oneloop.Request{Messages: msgs})
				want, _, err2 := sent(t, unreachable(t, "m"), &oneloop.Request{Messages: msgs})
				if err1 != nil || err2 != nil || !bytes.Equal(got.Bytes(), want.Bytes()) {
					t.Errorf("fork %d: %v, %v, %d bytes instead of %d", i, err1, err2, len(got.Bytes()), len(want.Bytes()))
					return
				}
			}
		})
	}
	wg.Wait()
}

// raw answers every connection with bytes, and then ends it.
func raw(t *testing.T, answer string) string {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body) // else the client may fail at sending it
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		io.WriteString(conn, answer)
		if answer == "" {
			conn.(*net.TCPConn).SetLinger(0) // ends in a reset
		}
		conn.Close()
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

func TestWhatAnsweredInAnotherWayIsNotSaidToBeUnreachable(t *testing.T) {
	head := "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n"
	tls := httptest.NewUnstartedServer(nil)
	tls.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	client := &http.Client{Transport: &http.Transport{MaxResponseHeaderBytes: 4 << 10, DisableKeepAlives: true}}
	plain := httptest.NewServer(nil)
	defer plain.Close()
	for _, c := range []struct {
		name, url string
		class     error
		want      string
	}{
		{"no HTTP", raw(t, "220 mail.example ESMTP\r\n"), oneloop.ErrNotAPI, "malformed"},
		{"a broken head", raw(t, "HTTP/1.1 200 OK\r\nno header\r\n\r\n"), oneloop.ErrNotAPI, "malformed"},
		{"a head without end", raw(t, "HTTP/1.1 200 OK\r\nX: "+strings.Repeat("x", 64<<10)), oneloop.ErrNotAPI, "headers exceeded"},
		{"HTTP behind https", "https://" + strings.TrimPrefix(plain.URL, "http://"), oneloop.ErrNotAPI, "HTTP response to HTTPS client"},
		{"a reset", raw(t, ""), oneloop.ErrNetwork, ""},
		{"a certificate nobody knows", tls.URL, oneloop.ErrNetwork, "certificate"},
		{"gzip that is none", raw(t, head+"Content-Length: 12\r\n\r\nhello, hello"), oneloop.ErrNotAPI, "said to be compressed with gzip and is not"},
		{"gzip that is cut in its head", raw(t, head+"Content-Length: 12\r\n\r\n\x1f\x8b\x08"), oneloop.ErrStreamCut, "a body that cannot be read: unexpected EOF"},
		{"an error in gzip that is none", raw(t, strings.Replace(head, "200", "400", 1)+"Content-Length: 12\r\n\r\nhello, hello"), oneloop.ErrInvalidRequest, "said to be compressed with gzip and is not"},
	} {
		m, err := anthropic.New(anthropic.Config{BaseURL: c.url, Key: key, Model: "m", Client: client})
		if err != nil {
			t.Fatal(err)
		}
		_, err = ask(m, t.Context(), &log{})
		var e *oneloop.APIError
		if !errors.As(err, &e) || e.Class != c.class || !strings.Contains(e.Error(), c.want) || e.URL != c.url+"/v1/messages" ||
			strings.Contains(e.Error(), "empty") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestGzipThatIsDamagedOnTheWayIsACutReply(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	io.WriteString(z, sse(start, textStart, textDelta))
	z.Flush()
	b.WriteString("\xff\xff\xff\xff")
	url := raw(t, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n"+b.String())
	m, err := anthropic.New(anthropic.Config{BaseURL: url, Key: key, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(m, t.Context(), &log{}); !errors.Is(err, oneloop.ErrStreamCut) || !strings.Contains(err.Error(), "cannot be read to its end") {
		t.Error(err)
	}
}
