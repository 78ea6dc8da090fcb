package main

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
)

func TestAnImageThatTheAPIRefusesDoesNotEndTheSession(t *testing.T) {
	picture := []byte("\x89PNG\r\n\x1a\n and nothing more")
	p := newProduct(t, script.Reply{Repeat: true, React: func(r script.Request) script.Reply {
		if strings.Contains(string(r.Body), base64.StdEncoding.EncodeToString(picture)) {
			return script.Fail(400, "invalid_request_error", "messages.0.content.0.image.source.base64.data: Could not process image")
		}
		return say("without it then")
	}})
	if err := os.WriteFile(filepath.Join(p.dir, "a.png"), picture, 0o600); err != nil {
		t.Fatal(err)
	}
	o := p.done("--image", "a.png", "what is this?")
	contains(t, o.stderr, "Could not process image", "sent again without an image")
	contains(t, string(p.request(2).Body), "no longer sent", "what is this?")
	p.done("-c", "and now?")
	if n := len(p.server.Requests()); n != 3 {
		t.Errorf("it took %d requests, not 3", n)
	}
}
