package ollama_test

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	"oneloop/model/ollama"
)

func TestAnAddressIsWhatPeopleWrite(t *testing.T) {
	for host, want := range map[string]string{
		"":                          "http://127.0.0.1:11434",
		"127.0.0.1":                 "http://127.0.0.1:11434",
		"0.0.0.0":                   "http://127.0.0.1:11434",
		"0.0.0.0:8080":              "http://127.0.0.1:8080",
		":8080":                     "http://127.0.0.1:8080",
		" \"box:1234\" ":            "http://box:1234",
		"box":                       "http://box:11434",
		"http://box":                "http://box",
		"https://ollama.com/":       "https://ollama.com",
		"http://box:1/gw/":          "http://box:1/gw",
		"http://box:1/v1":           "http://box:1",
		"http://box:1/api":          "http://box:1",
		"[::1]":                     "http://[::1]:11434",
		"http://[::1]:9/v1/":        "http://[::1]:9",
		"https://[fe80::1]":         "https://[fe80::1]",
		"http://box:1/gw/ollama/v1": "http://box:1/gw/ollama",
	} {
		if got := ollama.Address(host); got != want {
			t.Errorf("%q: %s, want %s", host, got, want)
		}
	}
}

func TestAServerSaysWhatItIs(t *testing.T) {
	answers := map[string]string{
		"GET /api/version": `{"version":"0.14.0-rc1"}`,
		"GET /api/tags":    `{"models":[{"name":"qwen3:latest","size":5},{"model":"llama3:8b"}]}`,
		"GET /api/ps":      `{"models":[{"name":"qwen3:latest","context_length":4096}]}`,
		"POST /api/show":   show(40_960, "tools", "thinking", "vision"),
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if a, ok := answers[r.Method+" "+r.URL.Path]; ok {
			w.Write([]byte(a))
			return
		}
		http.NotFound(w, r)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	got, err := ollama.Probe(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	if want := []ollama.Local{{Name: "qwen3:latest", Size: 5, Held: 4096}, {Name: "llama3:8b"}}; !reflect.DeepEqual(got.Models, want) || got.Base() != s.URL || !got.Messages() {
		t.Errorf("%+v", got)
	}
	info, err := got.Show(t.Context(), "qwen3")
	if want := (ollama.Info{Context: 40_960, NumCtx: 2048, Family: "qwen3", Known: true, Tools: true, Thinking: true, Vision: true}); err != nil || info != want {
		t.Errorf("%+v, %v", info, err)
	}
	if got.Held(t.Context(), "qwen3") != 4096 || got.Held(t.Context(), "llama3:8b") != 0 {
		t.Error("what is held of a conversation is wrong")
	}
	for version, speaks := range map[string]bool{"0.13.5": false, "0.14.0": true, "v0.15": true, "1.0.0": true, "0.9.2": false, "0": false, "dev": false} {
		answers["GET /api/version"] = `{"version":"` + version + `"}`
		if err := got.Refresh(t.Context()); err != nil || got.Messages() != speaks {
			t.Errorf("%s: %v, %v", version, got.Messages(), err)
		}
	}
	for _, no := range []string{`{}`, `<html>`, ``} {
		answers["GET /api/version"] = no
		if _, err := ollama.Probe(t.Context(), host); err == nil {
			t.Errorf("what says %q is taken for a server", no)
		}
	}
	s.Close()
	if _, err := ollama.Probe(t.Context(), host); err == nil {
		t.Error("a server that is not there")
	}
}
