package cloud_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"oneloop/cloud"
	"oneloop/internal/rawjson"
)

func TestABodyKeepsTheBytesOfWhatItTakesOver(t *testing.T) {
	r := httptest.NewRequest("POST", "/v1/messages", strings.NewReader(`{ "model" : "m", "n":1.0,"big":12345678901234567890 , "stream":true,"messages":[ {"a<b":"\u00e9"} ]}`))
	r.Header["Anthropic-Beta"] = []string{"a, b", "c"}
	req, ok := cloud.ReadRequest(httptest.NewRecorder(), r)
	if !ok || req.Model != "m" || strings.Join(req.Betas, "|") != "a|b|c" {
		t.Fatalf("%v %+v", ok, req)
	}
	got := string(req.Body([]string{"model", "stream"}, rawjson.Edit{Name: "v", Value: []byte(`"1"`)}))
	if want := `{"v":"1","n":1.0,"big":12345678901234567890,"messages":[ {"a<b":"\u00e9"} ]}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestWhatIsNoRequestIsRefusedInTheFormOfTheAPI(t *testing.T) {
	for _, x := range []struct {
		method, path, body string
		status             int
	}{
		{"GET", "/v1/messages", "", 404}, {"POST", "/v1/other", "{}", 404}, {"POST", "/v1/messages", "{", 400},
		{"POST", "/v1/messages", "[]", 400}, {"POST", "/v1/messages", "{}", 400},
	} {
		w := httptest.NewRecorder()
		if _, ok := cloud.ReadRequest(w, httptest.NewRequest(x.method, x.path, strings.NewReader(x.body))); ok || w.Code != x.status ||
			rawjson.Parse(w.Body.Bytes()).Field("error").Field("message").Text() == "" {
			t.Errorf("%v: %d %s", x, w.Code, w.Body)
		}
	}
}
