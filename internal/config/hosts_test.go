package config_test

import (
	"strings"
	"testing"

	"oneloop/internal/config"
)

func TestOnlyTheUserWidensTheNetworkOfTheSandbox(t *testing.T) {
	w := newWorld(t)
	w.user("settings.json", `{"sandbox":{"mode":"ns","network":{"allowedDomains":["a.example.org","localhost:4873"],"deniedDomains":["b.example.org"],"allowLocalBinding":true}}}`)
	shared := w.write(w.dir, ".oneloop/settings.json", `{"sandbox":{"network":{"allowedDomains":["c.example.org"],"deniedDomains":["d.example.org"],"strictAllowlist":true}}}`)
	w.answering(true)
	s := w.must()
	n := s.Network
	if s.Sandbox != "ns" || len(n.Allowed) != 2 || n.Allowed[0].Text != "a.example.org" || strings.Join(n.Near(), " ") != "localhost:4873" {
		t.Errorf("%+v", n)
	}
	if len(n.Denied) != 2 || n.Denied[1].Text != "d.example.org" || n.Denied[1].File != shared || n.Strict != shared {
		t.Errorf("%+v", n)
	}
	wantNotice(t, s, shared, "sandbox.network.allowedDomains", "only the user's own")
	wantNotice(t, s, "sandbox.network.allowLocalBinding", "does not know")
}

func TestAFolderWithoutTrustSaysNothingOfTheNetwork(t *testing.T) {
	w := newWorld(t)
	w.write(w.dir, ".oneloop/settings.json", `{"sandbox":{"network":{"deniedDomains":["d.example.org"],"strictAllowlist":true}}}`)
	if n := w.must().Network; len(n.Denied) > 0 || n.Strict != "" {
		t.Errorf("%+v", n)
	}
}

func TestAMistakeInTheNetworkNamesItsFile(t *testing.T) {
	for text, says := range map[string]string{
		`{"sandbox":{"network":{"allowedDomains":"a.example.org"}}}`:                  "list of hosts",
		"{\"sandbox\":{\"network\":{\n\"deniedDomains\":[\"https://example.org\"]}}}": ":2:",
		`{"sandbox":{"network":{"strictAllowlist":"yes"}}}`:                           "true or false",
		`{"sandbox":{"network":["a.example.org"]}}`:                                   "must be an object",
		"{\"sandbox\":{\"network\":{\"allowedDomains\":[\"127.1:80\"]}}}":             "127.1",
		"{\"sandbox\":{\"network\":{\"allowedDomains\":[\"example.org:70000\"]}}}":    "70000",
		"{\"sandbox\":{\"network\":{\"allowedDomains\":[\"*ample.org\"]}}}":           "star",
	} {
		w := newWorld(t)
		p := w.user("settings.json", text)
		w.fails(config.ExitConfig, p, says)
	}
}
