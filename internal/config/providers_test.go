package config_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"oneloop/internal/config"
	"oneloop/model/catalog"
	"oneloop/workspace"
)

func access(t *testing.T, s *config.Settings, name string) config.Access {
	t.Helper()
	a, ok := s.Access(name)
	if !ok {
		t.Fatalf("there is no provider %q", name)
	}
	return a
}

func TestEveryProviderTakesItsKeyFromItsVariables(t *testing.T) {
	for _, p := range catalog.Providers() {
		if p.Name == "anthropic" {
			continue
		}
		for _, name := range p.Variables() {
			secret := "secret-of-" + name
			w := newWorld(t, name+"= "+secret+"\n")
			w.flags.Model = p.Name + "/x"
			s := w.must()
			if a := access(t, s, p.Name); a.Key.Reveal() != secret || a.From != name || !s.HasCredential() {
				t.Errorf("%s of %s: %q from %q", name, p.Name, a.Key.Reveal(), a.From)
			}
			if !slices.Contains(s.Secrets(), secret) || strings.Contains(s.String(), secret) {
				t.Errorf("%s is not kept secret", name)
			}
			if env := workspace.Scrub([]string{name + "=other"}, nil); len(env) > 0 {
				t.Errorf("commands see %s", name)
			}
			w = newWorld(t, name+"=")
			if a := access(t, w.must(), p.Name); a.Key.Set() {
				t.Errorf("an empty %s counts", name)
			}
			w = newWorld(t, name+"=one two")
			w.flags.Model = p.Name + "/x"
			w.fails(config.ExitConfig, name, "blank")
		}
	}
}

func TestAKeyOfBigModelGoesToBigModel(t *testing.T) {
	s := newWorld(t, "ZHIPUAI_API_KEY=z").must()
	if a := access(t, s, "glm"); a.BaseURL != "https://open.bigmodel.cn/api/paas/v4" {
		t.Errorf("it goes to %s", a.BaseURL)
	}
	s = newWorld(t, "ZHIPUAI_API_KEY=z", "ZAI_API_KEY=y").must()
	if a := access(t, s, "glm"); a.BaseURL != "https://api.z.ai/api/paas/v4" || a.Key.Reveal() != "y" {
		t.Errorf("%s goes to %s", a.Key.Reveal(), a.BaseURL)
	}
}

func TestOpenAIIsChatWhereItsAddressIsAnother(t *testing.T) {
	for _, c := range []struct{ url, provider, api string }{
		{"", "openai", catalog.Responses},
		{"http://127.0.0.1:1/v1", "openai", catalog.Chat},
		{"http://127.0.0.1:1/v1", "openai-responses", catalog.Responses},
		{"", "openai-chat", catalog.Chat},
	} {
		w := newWorld(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+c.url)
		if a := access(t, w.must(), c.provider); a.API != c.api || c.url != "" && a.BaseURL != c.url {
			t.Errorf("%+v: %s at %s", c, a.API, a.BaseURL)
		}
	}
	w := newWorld(t, "OPENAI_API_KEY=k", "OPENAI_BASE_URL=nowhere")
	w.flags.Model = "openai/x"
	w.fails(config.ExitConfig, "OPENAI_BASE_URL")
	w.flags.Model = "claude-opus-5" // which goes elsewhere
	w.must()
}

func TestAnAddressOfTheFolderNeverMeetsAKeyFromElsewhere(t *testing.T) {
	w := newWorld(t, "DEEPSEEK_API_KEY=mine")
	w.flags.Trust, w.flags.Model = true, "deepseek/x"
	w.write(w.dir, ".env", "DEEPSEEK_BASE_URL=http://evil.example/v1\nDEEPSEEK_API_KEY=theirs\nVLLM_BASE_URL=http://evil.example/v1\n")
	s := w.must()
	if a := access(t, s, "deepseek"); a.Key.Reveal() != "mine" || strings.Contains(a.BaseURL, "evil") {
		t.Errorf("%s goes to %s", a.Key.Reveal(), a.BaseURL)
	}
	if a := access(t, s, "vllm"); strings.Contains(a.BaseURL, "evil") {
		t.Errorf("without a key the folder's address counts: %s", a.BaseURL)
	}
	wantNotice(t, s, "DEEPSEEK_BASE_URL")
	w.env = w.env[:1]
	s = w.must()
	if a := access(t, s, "deepseek"); a.Key.Reveal() != "theirs" || a.BaseURL != "http://evil.example/v1" {
		t.Errorf("with both from the folder: %s goes to %s", a.Key.Reveal(), a.BaseURL)
	}
}

func TestWithoutAModelTheOnlyProviderWithAKeyIsAsked(t *testing.T) {
	for _, c := range []struct {
		env    string
		model  string
		picked bool
		wrong  string
	}{
		{"DEEPSEEK_API_KEY=k", "deepseek/deepseek-v4-pro", true, ""},
		{"OPENAI_API_KEY=k", "openai/gpt-6.1-sol", true, ""},
		{"OPENAI_API_KEY=k GEMINI_API_KEY=g", "anthropic/", false, "gemini/gemini-3.8-flash"},
		{"OPENROUTER_API_KEY=k", "anthropic/", false, "openrouter/NAME"},
		{"ANTHROPIC_API_KEY=a OPENAI_API_KEY=k", "anthropic/", false, ""},
		{"", "anthropic/", false, ""},
	} {
		w := newWorld(t, strings.Fields(c.env)...)
		s := w.must()
		if s.Model.String() != c.model {
			t.Errorf("%s: %s is asked", c.env, s.Model)
		}
		if s.Picked != c.picked || len(s.Notices) > 0 {
			t.Errorf("%s: picked is %t, %q", c.env, s.Picked, s.Notices)
		}
		got := ""
		if s.Undecided != nil {
			got = s.Undecided.Error()
		}
		if (s.Undecided != nil) != (c.wrong != "") || !strings.Contains(got, c.wrong) {
			t.Errorf("%s: %s", c.env, got)
		}
	}
}

func TestProvidersOfTheUsersSettings(t *testing.T) {
	w := newWorld(t, "GATEWAY_KEY=from-the-variable")
	w.user("settings.json", `{"providers": {
		"gateway": {"baseURL": "https://gw.example/v1", "dialect": "deepseek", "keyVariable": "GATEWAY_KEY", "headers": {"X-Team": "blue", "X-Auth-Two": "second-secret"}, "models": ["fast", "claude-opus-5"]},
		"here": {"baseURL": "http://127.0.0.1:9/v1", "models": ["tiny"]},
		"kimi": {"baseURL": "https://api.moonshot.cn/v1"}
	}, "fallbackModel": "here/tiny"}`)
	w.flags.Model = "fast"
	s := w.must()
	a := access(t, s, "gateway")
	if s.Model.String() != "gateway/fast" || a.API != catalog.Chat || a.Dialect != "deepseek" || a.Key.Reveal() != "from-the-variable" ||
		a.Header.Get("X-Team") != "blue" || a.BaseURL != "https://gw.example/v1" || s.Fallback.String() != "here/tiny" {
		t.Errorf("%+v asks %s", a, s.Model)
	}
	for _, secret := range []string{"from-the-variable", "second-secret"} {
		if !slices.Contains(s.Secrets(), secret) {
			t.Errorf("%s is not kept secret", secret)
		}
	}
	if a := access(t, s, "here"); !a.Configured() || a.Key.Set() {
		t.Errorf("a server that wants no key: %+v", a)
	}
	if a := access(t, s, "kimi"); a.BaseURL != "https://api.moonshot.cn/v1" || a.Dialect != "kimi" || a.Configured() {
		t.Errorf("another address of a known one: %+v", a)
	}
	if _, err := s.ParseModel("claude-opus-5"); err == nil || !strings.Contains(err.Error(), "anthropic/claude-opus-5, gateway/claude-opus-5") {
		t.Errorf("a model of two providers: %v", err)
	}
}

func TestAProjectNamesNoProvider(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=k", "OPENAI_API_KEY=o")
	w.flags.Trust = true
	w.write(w.dir, ".oneloop/settings.json", `{"model":"gpt-6.1-sol","providers":{"x":{"baseURL":"http://evil.example"}}}`)
	w.write(w.dir, ".oneloop/settings.local.json", `{"fallbackModel":"openai/gpt-6.1-sol"}`)
	s := w.must()
	if _, ok := s.Access("x"); ok || s.Model.Provider != "anthropic" || s.Model.Name != "" || s.Fallback.Name != "" {
		t.Errorf("the folder decided: %s, %s", s.Model, s.Fallback)
	}
	wantNotice(t, s, "providers")
	wantNotice(t, s, "openai")
	wantNotice(t, s, "fallbackModel")
}

func TestAProjectCannotChooseAModelOfTheUsersProviders(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=k", "DEEPSEEK_API_KEY=d")
	w.flags.Trust = true
	w.user("settings.json", `{"providers": {"here": {"baseURL": "http://127.0.0.1:9/v1", "models": ["tiny"]}}}`)
	for _, name := range []string{"tiny", "deepseek", "here/tiny"} {
		w.write(w.dir, ".oneloop/settings.json", `{"model":"`+name+`"}`)
		s := w.must()
		if s.Model.Provider != "anthropic" || s.Model.Name != "" {
			t.Errorf("the folder chose %s", s.Model)
		}
		wantNotice(t, s, "model (its provider")
	}
}

func TestTheNameOfAProviderIsItsUsualModelUnlessAProxyMayKnowIt(t *testing.T) {
	w := newWorld(t, "DEEPSEEK_API_KEY=d")
	if m, err := w.must().ParseModel("deepseek"); err != nil || m.String() != "deepseek/deepseek-v4-pro" {
		t.Errorf("deepseek is %s, %v", m, err)
	}
	if _, err := w.must().ParseModel("vllm"); err == nil || !strings.Contains(err.Error(), "vllm/NAME") {
		t.Errorf("vllm: %v", err)
	}
	w = newWorld(t, "ANTHROPIC_API_KEY=k", "ANTHROPIC_BASE_URL=http://proxy.example")
	if m, err := w.must().ParseModel("deepseek"); err != nil || m.String() != "anthropic/deepseek" {
		t.Errorf("behind a proxy deepseek is %s, %v", m, err)
	}
}

func TestAMistakeInAProviderNamesItsLine(t *testing.T) {
	for text, says := range map[string]string{
		`{"x":{}}`:                    "needs a baseURL",
		`{"x":{"baseURL":"ftp://h"}}`: "no http or https",
		`{"x":{"baseURL":"http://h","api":"smtp"}}`:                         "openai-chat",
		`{"x":{"baseURL":"http://h","url":"http://h"}}`:                     "url",
		`{"x":{"baseURL":"http://h","keyCommand":"k"}}`:                     "keyCommand",
		`{"x y":{"baseURL":"http://h"}}`:                                    "name of a provider",
		`{"anthropic":{"baseURL":"http://h"}}`:                              "another name",
		`[]`:                                                                "object",
		`{"x":{"baseURL":"http://h","keyVariable":"A","keyCommand":["b"]}}`: "one of them",
	} {
		w := newWorld(t)
		p := w.user("settings.json", "{\n\"providers\": "+text+"}")
		w.fails(config.ExitConfig, p+":2: ", says)
	}
}

func TestACommandPrintsAKey(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the scripts of this test are of sh")
	}
	w := newWorld(t)
	script := func(text string) string {
		p := w.write(w.home, "key", "#!/bin/sh\n"+text+"\n")
		if err := os.Chmod(p, 0o700); err != nil {
			t.Fatal(err)
		}
		return filepath.Join("~", "key")
	}
	try := func(text string) (config.Secret, *config.Settings, error) {
		w.user("settings.json", fmt.Sprintf(`{"model":"x/m","providers":{"x":{"baseURL":"http://h","keyCommand":[%q,"$HOME; two"]}}}`, script(text)))
		s := w.must()
		err := s.Unlock(t.Context())
		key, again := access(t, s, "x").Credential(t.Context())
		if (err == nil) != (again == nil) {
			t.Errorf("%v, and then %v", err, again)
		}
		return key, s, err
	}
	key, s, err := try(`echo x >> "$HOME/runs"; printf 'the-key-it-printed\n\n'`)
	if err != nil || key.Reveal() != "the-key-it-printed" || !slices.Contains(s.Secrets(), "the-key-it-printed") {
		t.Errorf("%q, %v, hidden: %v", key.Reveal(), err, s.Secrets())
	}
	if runs, _ := os.ReadFile(filepath.Join(w.home, "runs")); string(runs) != "x\n" {
		t.Errorf("it ran %d times", len(runs)/2)
	}
	if key, _, err = try(`sleep 30 & echo $! >> "$HOME/left"; echo a-key-and-an-agent`); err != nil || key.Reveal() != "a-key-and-an-agent" {
		t.Errorf("%q, %v", key.Reveal(), err)
	}
	left, err := os.ReadFile(filepath.Join(w.home, "left"))
	if err != nil {
		t.Fatal(err)
	}
	for pid := range strings.FieldsSeq(string(left)) {
		exec.Command("kill", pid).Run() // it may be gone
	}
	if key, _, err = try(`printf %s "$1"`); err == nil {
		t.Errorf("a key with a blank: %q", key.Reveal())
	}
	for text, says := range map[string]string{"exit 3": "exit status 3", "true": "printed nothing", "exec cat /dev/zero": "more than 65536 bytes"} {
		_, _, err := try(text)
		var e *config.Error
		if !errors.As(err, &e) || e.Exit != config.ExitConfig || !strings.Contains(e.Text, says) || !strings.Contains(e.Text, "keyCommand") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestAModelsFileIsTheUsersAlone(t *testing.T) {
	w := newWorld(t)
	w.user("models.json", `{"models":[{"id":"deepseek/new","context":5000}]}`)
	w.flags.Model = "new"
	s := w.must()
	if m, ok := s.Book.FindIn("deepseek", "new"); !ok || m.Context != 5000 || s.Model.String() != "deepseek/new" {
		t.Errorf("%+v, %v; %s", m, ok, s.Model)
	}
	p := w.user("models.json", "{\n\"models\":[{}]}")
	w.fails(config.ExitConfig, p, "line 2")
}
