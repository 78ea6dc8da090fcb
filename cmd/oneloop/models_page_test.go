package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"oneloop/looptest/script"
	"oneloop/looptest/wires"
	"oneloop/model/catalog"
)

// wireOf is the API of a provider as the commands of the pages reach it: at an
// address of their own.
func wireOf(t *testing.T, p catalog.Provider) *script.Wire {
	switch p.API {
	case catalog.Anthropic:
		return nil
	case catalog.Gemini:
		return wires.Gemini()
	case catalog.Ollama:
		return wires.Ollama(wires.OllamaServer{})
	case catalog.Responses: // at another address
		return wires.Chat(wires.OpenAI)
	}
	plain := strings.NewReplacer(" ", "", ".", "")
	for _, d := range wires.Dialects() {
		if strings.EqualFold(plain.Replace(d.Name), p.Dialect) {
			return wires.Chat(d)
		}
	}
	t.Fatalf("no scripted server is like %s", p.Name)
	return nil
}

// blocksOf are the blocks of a page with this language.
func blocksOf(t *testing.T, name, language string) []string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$").FindAllStringSubmatch(string(data), -1) {
		if m[1] == language {
			blocks = append(blocks, m[2])
		}
	}
	return blocks
}

// TestEveryCommandOfTheModelPagesWorks runs each line as it stands, but that the
// provider is a scripted server which is as strict as the real one.
func TestEveryCommandOfTheModelPagesWorks(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`--model (\S+)`)
	for _, name := range modelPages {
		var seen []string
		for _, block := range blocksOf(t, name, "") {
			exports := ""
			for line := range strings.Lines(block) {
				line = strings.TrimSpace(strings.Split(line, " #")[0])
				switch m := named.FindStringSubmatch(line); {
				case strings.HasPrefix(line, "make "):
					if !strings.Contains(string(makefile), "\n"+strings.TrimPrefix(line, "make ")+":") {
						t.Errorf("%s: no %s in the Makefile", name, line)
					}
				case strings.HasPrefix(line, "export "):
					exports += line + "\n"
				case m != nil:
					seen = append(seen, asksAsWritten(t, name, exports, line, m[1]))
				default:
					p := newProduct(t)
					p.env = append(p.env, "DEEPSEEK_BASE_URL=http://127.0.0.1:9/v1", "OLLAMA_HOST=127.0.0.1:9", "ANTHROPIC_API_KEY=")
					if out, err := p.bash(exports + line); err != nil || !strings.Contains(out, "DEEPSEEK_API_KEY") && !strings.Contains(out, "deepseek") {
						t.Errorf("%s: %s: %v\n%s", name, line, err, out)
					}
				}
			}
		}
		for _, p := range catalog.Providers() {
			if again := p.Name == "openai-chat" || p.Name == "openai-responses"; !again && !slices.Contains(seen, p.Name) {
				t.Errorf("%s has no command for %s", name, p.Name)
			}
		}
	}
}

// bash runs a line in the product's folder, with nobody to answer.
func (p *product) bash(line string) (string, error) {
	cmd := exec.CommandContext(p.t.Context(), "bash", "-c", line)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// asksAsWritten runs a command that names a model, and returns its provider.
func asksAsWritten(t *testing.T, page, exports, line, model string) string {
	provider, _, ok := strings.Cut(model, "/")
	if !ok {
		provider = "anthropic"
	}
	known, ok := catalog.FindProvider(provider)
	if !ok {
		t.Errorf("%s: %s: there is no provider %q", page, line, provider)
		return ""
	}
	p := newProduct(t)
	other := p.second(wireOf(t, known), say("as written"))
	p.env = append(p.env, "ANTHROPIC_API_KEY=", "SERVER="+other.URL())
	if !strings.Contains(line, "\"") {
		line += " hello"
	}
	if known.Address != "" {
		exports += fmt.Sprintf("export %s=%s\n", known.Address, other.URL())
	}
	out, err := p.bash(exports + line)
	if err != nil || !strings.Contains(out, "as written") || len(other.Requests()) != 1 {
		t.Errorf("%s: %s: %v, %d requests\n%s", page, line, err, len(other.Requests()), out)
	}
	return provider
}

// TestTheFilesOfTheModelPagesAreRead has both JSON blocks, with the address and
// the command of the key in place of the reader's own.
func TestTheFilesOfTheModelPagesAreRead(t *testing.T) {
	for _, name := range modelPages {
		blocks := blocksOf(t, name, "json")
		if len(blocks) != 2 {
			t.Fatalf("%s has %d blocks of JSON", name, len(blocks))
		}
		p := newProduct(t)
		other := p.second(wires.Chat(wires.DeepSeek), say("of the provider"), say("by the bare name"))
		settings := strings.NewReplacer("https://llm.example.com", other.URL(), `["pass", "show", "llm/work"]`, `["printf", "printed"]`).Replace(blocks[0])
		dir := filepath.Dir(p.settings(settings))
		if err := os.WriteFile(filepath.Join(dir, "models.json"), []byte(blocks[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		contains(t, p.done("--model", "work/fast", "--output-format", "json", "hello").stdout, "of the provider", `"contextWindow":128000`)
		contains(t, p.done("--model", "fast", "hello").stdout, "by the bare name")
		for _, r := range other.Requests() {
			if r.Header.Get("Authorization") != "Bearer printed" || r.Header.Get("X-Team") != "blue" {
				t.Errorf("%s: %v", name, r.Header)
			}
		}
		contains(t, p.run("models", "work").stdout, "work/fast", "128k / 16k", "$0.5 / $2")
	}
}
