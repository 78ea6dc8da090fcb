package wires_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
)

// recorded is one line of responses.jsonl.
type recorded struct {
	File    string
	N       int
	Status  int
	URL     string
	Request json.RawMessage
}

func recordings(t *testing.T, folder string) []recorded {
	t.Helper()
	dir := os.Getenv("ONELOOP_RECORDINGS")
	if dir == "" {
		const text = "CONFORMANCE DID NOT RUN: set ONELOOP_RECORDINGS to the folder of recorded API traffic"
		fmt.Fprintln(os.Stderr, text)
		t.Log(text)
		return nil
	}
	f, err := os.Open(filepath.Join(dir, folder, "responses.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []recorded
	for dec := json.NewDecoder(bufio.NewReader(f)); ; {
		var r recorded
		if err := dec.Decode(&r); err == io.EOF {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
}

func TestTheGatesTakeWhatTheRealServersTook(t *testing.T) {
	ran := 0
	for _, folder := range []string{"openai-chat", "openai-responses", "gemini", "ollama"} {
		for _, r := range recordings(t, folder) {
			body := r.Request
			if kind := strings.TrimSpace(string(body)); r.Status != 200 || kind == "" || kind == "null" {
				continue
			}
			var text string
			if json.Unmarshal(body, &text) == nil {
				body = json.RawMessage(text)
			}
			wire, path, header := speaks(r)
			s := start(t, wire, script.Say(script.Text("ok")))
			post(t, s, path, string(body), header...)
			ran++
			for _, b := range s.Breaches() {
				if !stricter(r, b) {
					t.Errorf("%s#%d: %s: %s\n%.3000s", r.File, r.N, b.Rule, b.Text, body)
				}
			}
		}
	}
	if ran > 0 {
		t.Logf("%d requests", ran)
		if ran < 40 {
			t.Errorf("fewer than there were when this was written")
		}
	}
}

// stricter reports whether a gate is meant to refuse what a server took.
func stricter(r recorded, b script.Breach) bool {
	snake := strings.HasPrefix(r.File, "llm_gemini3") || strings.HasPrefix(r.File, "pyd_streaming_tool_call")
	switch {
	case b.Rule == script.RuleThinking, strings.Contains(b.Text, "not found"):
		return true // what was sent before is not known here
	case snake:
		return b.Rule == script.RuleFields || b.Rule == script.RuleContent // it reads names_like_this, too
	case strings.Contains(r.URL, "/api/chat"):
		return b.Rule == script.RuleLimit || strings.Contains(b.Text, "tool_name") // it guesses
	}
	return b.Rule == script.RuleFields && (strings.Contains(r.URL, "ollama") || strings.Contains(r.URL, "OLLAMA")) // it takes any key
}

// speaks is the API that a recording is of.
func speaks(r recorded) (wire *script.Wire, path string, header []string) {
	switch {
	case strings.Contains(r.URL, "generateContent") || strings.Contains(r.URL, "GenerateContent"):
		_, path, _ = strings.Cut(r.URL, "googleapis.com")
		return wires.Gemini(), path, googleKey
	case strings.Contains(r.URL, "/api/chat"):
		return newOllama(), ollamaPath, nil
	case strings.Contains(r.URL, "/responses"):
		return wires.Responses(), responsesPath, bearer
	}
	for host, d := range map[string]wires.Dialect{"deepseek": wires.DeepSeek, "openrouter": wires.OpenRouter, "groq": wires.Groq, "z.ai": wires.GLM,
		"localhost": wires.LlamaCPP, "googleapis": wires.GeminiCompatible, "ollama": wires.LlamaCPP, "OLLAMA": wires.LlamaCPP} {
		if strings.Contains(r.URL, host) {
			return wires.Chat(d), chatPath, bearer
		}
	}
	return wires.Chat(wires.OpenAI), chatPath, bearer
}
