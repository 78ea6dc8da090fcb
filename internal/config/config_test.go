package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/internal/config"
	"oneloop/policy"
)

// world is a home and a folder to work in, both new.
type world struct {
	t         *testing.T
	home, dir string
	like      string
	env       []string
	flags     config.Flags
	ask       oneloop.Ask
}

func newWorld(t *testing.T, env ...string) *world {
	t.Helper()
	w := &world{t: t, home: t.TempDir(), dir: t.TempDir()}
	w.env = append([]string{"HOME=" + w.home}, env...)
	return w
}

// write puts a file below the home or the folder and returns its path.
func (w *world) write(base, name, text string) string {
	w.t.Helper()
	p := filepath.Join(base, name)
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return p
}

func (w *world) user(name, text string) string {
	return w.write(w.home, filepath.Join(".config/oneloop", name), text)
}

func (w *world) load() (*config.Settings, error) {
	return config.Load(w.t.Context(), config.Input{Flags: w.flags, Environ: w.env, Dir: w.dir, Like: w.like, Ask: w.ask})
}

func (w *world) must() *config.Settings {
	w.t.Helper()
	s, err := w.load()
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

// fails wants an error of this exit code that says all of these, on one line.
func (w *world) fails(exit int, says ...string) {
	w.t.Helper()
	s, err := w.load()
	var e *config.Error
	if !errors.As(err, &e) {
		w.t.Fatalf("got %v, %v instead of an error", s, err)
	}
	if e.Exit != exit || strings.ContainsAny(e.Error(), "\n\x1b") {
		w.t.Errorf("exit %d: %q", e.Exit, e)
	}
	for _, want := range says {
		if !strings.Contains(e.Error(), want) {
			w.t.Errorf("%q does not say %q", e, want)
		}
	}
}

func notices(s *config.Settings) string { return strings.Join(s.Notices, "\n") }

func wantNotice(t *testing.T, s *config.Settings, says ...string) {
	t.Helper()
	for _, want := range says {
		if !strings.Contains(notices(s), want) {
			t.Errorf("the notices do not say %q:\n%s", want, notices(s))
		}
	}
}

func TestWithNothingSetTheDefaultsHold(t *testing.T) {
	s := newWorld(t).must()
	if s.Model != (config.Model{Provider: "anthropic"}) || s.HasCredential() || s.BaseURL != "" || s.Mode != policy.Default ||
		s.Sandbox != "auto" || s.Language != "en" || s.MaxRetries != 8 || s.RetryDelay != 500*time.Millisecond ||
		s.IdleTimeout != 5*time.Minute || s.ProgressTimeout != 10*time.Minute || s.ContextWindow != 0 {
		t.Errorf("defaults: %v", s)
	}
	if len(s.Notices) > 0 || len(s.From) > 0 {
		t.Errorf("said %q, from %v", s.Notices, s.From)
	}
}

func TestTheStrongerSourceWins(t *testing.T) {
	w := newWorld(t)
	w.flags.Trust = true
	local := filepath.Join(w.dir, ".oneloop/settings.local.json")
	steps := []struct {
		name, from string
		do         func()
	}{
		{"project", filepath.Join(w.dir, ".oneloop/settings.json"), func() { w.write(w.dir, ".oneloop/settings.json", `{"model":"project"}`) }},
		{"local", local, func() { w.write(w.dir, ".oneloop/settings.local.json", `{"model":"local"}`) }},
		{"user", filepath.Join(w.home, ".config/oneloop/settings.json"), func() { w.user("settings.json", `{"model":"user"}`) }},
		{"userenv", filepath.Join(w.home, ".config/oneloop/config.env"), func() { w.user("config.env", "ONELOOP_MODEL=userenv\n") }},
		{"model-id", "MODEL_ID", func() { w.env = append(w.env, "MODEL_ID=model-id") }},
		{"oneloop-model", "ONELOOP_MODEL", func() { w.env = append(w.env, "ONELOOP_MODEL=oneloop-model") }},
		{"flag", "--model", func() { w.flags.Model = "flag" }},
	}
	for _, step := range steps {
		step.do()
		s := w.must()
		if s.Model.Name != step.name || s.From["model"] != step.from {
			t.Errorf("%s: the model is %v from %s", step.name, s.Model, s.From["model"])
		}
	}
}

func TestAProjectDecidesNothingThatIsTheUsers(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=k")
	w.flags.Trust = true
	p := w.write(w.dir, ".oneloop/settings.json", `{"baseURL":"https://evil.example","auth":"token","apiVersion":"1",
		"permissions":{"defaultMode":"bypassPermissions"},"sandbox":{"mode":"none"},"model":"anthropic/x","effort":"high"}`)
	s := w.must()
	if s.BaseURL != "" || s.Token.Set() || s.APIVersion != "" || s.Mode != policy.Default || s.Sandbox != "auto" || s.Model.Name != "" {
		t.Errorf("the project decided: %v", s)
	}
	if s.Effort != "high" {
		t.Errorf("effort is %q", s.Effort)
	}
	wantNotice(t, s, p, "apiVersion", "auth", "baseURL", "permissions.defaultMode", "sandbox", "model (its provider anthropic)")
}

func TestTheUsersSettingsCount(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=k")
	p := w.user("settings.json", `{"$schema":"x","baseURL":"https://p.example/v1/","auth":"token","apiVersion":"2023-06-01",
		"permissions":{"defaultMode":"plan"},"sandbox":"none","language":"zh-CN","effort":"max","model":null}`)
	s := w.must()
	if s.BaseURL != "https://p.example/v1/" || s.Key.Set() || s.Token.Reveal() != "k" || s.APIVersion != "2023-06-01" ||
		s.Mode != policy.Plan || s.Sandbox != "none" || s.Language != "zh" || s.Effort != "max" {
		t.Errorf("settings: %v", s)
	}
	if s.From["base_url"] != p || s.From["permission_mode"] != p || len(s.Notices) > 0 {
		t.Errorf("from %v, said %q", s.From, s.Notices)
	}
	w.flags.PermissionMode, w.flags.Sandbox, w.flags.Effort = "manual", "auto", "low"
	s = w.must()
	if s.Mode != policy.Default || s.Sandbox != "auto" || s.Effort != "low" || s.From["permission_mode"] != "--permission-mode" {
		t.Errorf("with flags: %v", s)
	}
}

func TestUnknownKeysAreNamedAndPassedOver(t *testing.T) {
	w := newWorld(t)
	p := w.user("settings.json", `{"modle":"x","permissions":{"denied":["Bash(rm:*)"]},"Model":"y"}`)
	s := w.must()
	wantNotice(t, s, p, "Model", "modle", "permissions.denied")
	if s.Model.Name != "" {
		t.Errorf("the model is %v", s.Model)
	}
}

func TestABrokenSettingsFileIsNamedWithItsLine(t *testing.T) {
	for text, says := range map[string]string{
		"{\n \"model\": \"x\",\n}":  ":3: ",
		"{\n\n \"effort\": 3}":      ":3: effort must be text",
		"[]":                        "JSON object",
		`{"model":"a","model":"b"}`: `"model" twice`,
		"{\"permissions\":\n{\"defaultMode\":1}}": ":2: permissions.defaultMode must be text",
		`{"effort":"extreme"}`:                    "low, medium, high",
		`{"permissions":{"defaultMode":"x"}}`:     "acceptEdits",
		`{"sandbox":"magic"}`:                     "auto, ns, bwrap, ll, none",
		`{"auth":"basic"}`:                        "x-api-key",
		`{"model":"gpt/x"}`:                       "known: anthropic",
	} {
		w := newWorld(t)
		p := w.user("settings.json", text)
		w.fails(config.ExitConfig, p, says)
	}
	w := newWorld(t)
	w.flags.Trust = true
	p := w.write(w.dir, ".oneloop/settings.json", "{")
	w.fails(config.ExitConfig, p+":1: ")
	w = newWorld(t)
	w.user("settings.json", "\ufeff \n")
	if s := w.must(); len(s.Notices) > 0 {
		t.Errorf("an empty file is said to be wrong: %q", s.Notices)
	}
}

func TestAWrongFlagIsAnErrorOfUsage(t *testing.T) {
	for _, f := range []struct {
		flags config.Flags
		says  string
	}{
		{config.Flags{Model: "closedai/gpt-5"}, "known: anthropic"},
		{config.Flags{Model: "anthropic/"}, "anthropic/NAME"},
		{config.Flags{Model: "a b"}, "no model name"},
		{config.Flags{Effort: "huge"}, "xhigh"},
		{config.Flags{PermissionMode: "yolo"}, "bypassPermissions"},
		{config.Flags{Sandbox: "docker"}, "auto, ns, bwrap, ll, none"},
	} {
		w := newWorld(t)
		w.flags = f.flags
		w.fails(config.ExitUsage, "--", f.says)
	}
}

func TestModelsAreNamedWithOrWithoutTheirProvider(t *testing.T) {
	for in, want := range map[string]config.Model{
		"claude-sonnet-5":            {Provider: "anthropic", Name: "claude-sonnet-5"},
		"anthropic/claude-sonnet-5":  {Provider: "anthropic", Name: "claude-sonnet-5"},
		"anthropic/deepseek/chat-v3": {Provider: "anthropic", Name: "deepseek/chat-v3"},
		"deepseek/deepseek-v4-pro":   {Provider: "deepseek", Name: "deepseek-v4-pro"},
		"deepseek-v4-pro":            {Provider: "deepseek", Name: "deepseek-v4-pro"},
		"gpt-6.1-sol":                {Provider: "openai", Name: "gpt-6.1-sol"},
		"nobodys-model":              {Provider: "anthropic", Name: "nobodys-model"},
		"openrouter/qwen/qwen3-max":  {Provider: "openrouter", Name: "qwen/qwen3-max"},
	} {
		if m, err := config.ParseModel(in); err != nil || m != want {
			t.Errorf("%s: %v, %v", in, m, err)
		}
	}
	if _, err := config.ParseModel("deepsea/chat"); err == nil || !strings.Contains(err.Error(), "anthropic/deepsea/chat") {
		t.Errorf("an unknown provider: %v", err)
	}
}

func TestExactlyOneCredentialIsUsed(t *testing.T) {
	const none, key, token = "", "key", "token"
	for _, c := range []struct {
		env, file  string
		used, text string
		notice     bool
	}{
		{"", "", none, "", false},
		{"ANTHROPIC_API_KEY=", "", none, "", false},
		{"ANTHROPIC_API_KEY=\n", "ANTHROPIC_AUTH_TOKEN=", none, "", false},
		{"ANTHROPIC_API_KEY=k", "", key, "k", false},
		{"ANTHROPIC_API_KEY=k\n", "", key, "k", false},
		{"ANTHROPIC_API_KEY= k\r\n", "", key, "k", false},
		{"ANTHROPIC_AUTH_TOKEN=t\n", "", token, "t", false},
		{"ANTHROPIC_API_KEY=,ANTHROPIC_AUTH_TOKEN=t", "", token, "t", false},
		{"ANTHROPIC_API_KEY=k,ANTHROPIC_AUTH_TOKEN=", "", key, "k", false},
		{"ANTHROPIC_API_KEY=k,ANTHROPIC_AUTH_TOKEN=t", "", key, "k", true},
		{"", "ANTHROPIC_API_KEY=f", key, "f", false},
		{"ANTHROPIC_API_KEY=k", "ANTHROPIC_API_KEY=f", key, "k", false},
		{"ANTHROPIC_API_KEY=", "ANTHROPIC_API_KEY=f", key, "f", false},
		{"ANTHROPIC_AUTH_TOKEN=t", "ANTHROPIC_API_KEY=f", key, "f", true},
		{"ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=f", key, "k", true},
		{"", "ANTHROPIC_API_KEY=f\nANTHROPIC_AUTH_TOKEN=g", key, "f", true},
	} {
		w := newWorld(t, strings.Split(c.env, ",")...)
		if c.file != "" {
			w.user("config.env", c.file+"\n")
		}
		s := w.must()
		got, text := none, ""
		switch {
		case s.Key.Set() && s.Token.Set():
			got = "both"
		case s.Key.Set():
			got, text = key, s.Key.Reveal()
		case s.Token.Set():
			got, text = token, s.Token.Reveal()
		}
		if got != c.used || text != c.text || s.HasCredential() != (c.used != none) {
			t.Errorf("%q with %q: %s %q", c.env, c.file, got, text)
		}
		if n := len(s.Notices); n > 1 || (n == 1) != c.notice {
			t.Errorf("%q with %q: said %q", c.env, c.file, s.Notices)
		}
	}
}

func TestAnExplicitHeaderBeatsTheOrder(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=k", "ANTHROPIC_AUTH_TOKEN=t")
	w.user("settings.json", `{"auth":"token"}`)
	s := w.must()
	if s.Key.Set() || s.Token.Reveal() != "t" || len(s.Notices) != 1 {
		t.Errorf("auth token: %v", s)
	}
	w = newWorld(t, "ANTHROPIC_AUTH_TOKEN=t")
	w.user("settings.json", `{"auth":"key"}`)
	if s := w.must(); s.Token.Set() || s.Key.Reveal() != "t" {
		t.Errorf("auth key: %v", s)
	}
}

func TestACredentialThatCannotBeSentIsRefused(t *testing.T) {
	for _, bad := range []string{"canary x", "canary\nx", "canary\x00x", "canäry-canary"} {
		w := newWorld(t, "ANTHROPIC_API_KEY="+bad)
		w.fails(config.ExitConfig, "ANTHROPIC_API_KEY")
		if _, err := w.load(); strings.Contains(err.Error(), "canary") {
			t.Errorf("the error shows the key: %v", err)
		}
	}
}

func TestNoFormOfTheSettingsShowsACredential(t *testing.T) {
	w := newWorld(t, "ANTHROPIC_API_KEY=canary1", "OPENAI_API_KEY=canary2", "ANTHROPIC_BASE_URL=http://u:canary5@h")
	w.user("config.env", "ANTHROPIC_AUTH_TOKEN=canary3\nGEMINI_API_KEY=canary4\n")
	s := w.must()
	s.BaseURL = "" // an address may be shown
	b, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(b), s.String(), fmt.Sprintf("%v %+v %s", s, s.Key, s.Key), fmt.Sprintf("%#v %d %x %q", s.Key, s.Key, s.Key, s.Key), notices(s)} {
		if strings.Contains(text, "canary") || strings.Contains(text, fmt.Sprintf("%x", "canary")) {
			t.Errorf("a credential is shown: %s", text)
		}
	}
	if got := len(s.Secrets()); got != 5 {
		t.Errorf("%d secrets: %q", got, s.Secrets())
	}
}

func TestTimesAreReadAsGoWritesThemOrInSeconds(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "5m": 5 * time.Minute, "1.5": 1500 * time.Millisecond, "30": 30 * time.Second, "250ms": 250 * time.Millisecond, " 7\n": 7 * time.Second,
	} {
		s := newWorld(t, "ONELOOP_IDLE_TIMEOUT="+text).must()
		if s.IdleTimeout != want || s.From["idle_timeout_ns"] != "ONELOOP_IDLE_TIMEOUT" {
			t.Errorf("%q is %v", text, s.IdleTimeout)
		}
	}
	for _, name := range []string{"ONELOOP_IDLE_TIMEOUT", "ONELOOP_PROGRESS_TIMEOUT", "ONELOOP_RETRY_DELAY"} {
		for _, bad := range []string{"soon", "-1", "-5s", "NaN", "Inf", "1e300", "5 m"} {
			newWorld(t, name+"="+bad).fails(config.ExitConfig, name, "plain seconds")
		}
	}
	newWorld(t, "ONELOOP_IDLE_TIMEOUT=0").fails(config.ExitConfig, "ONELOOP_IDLE_TIMEOUT")
	s := newWorld(t, "ONELOOP_RETRY_DELAY=0", "ONELOOP_PROGRESS_TIMEOUT=1h", "ONELOOP_MAX_RETRIES=0", "ONELOOP_CONTEXT_WINDOW=32000").must()
	if s.RetryDelay != 0 || s.ProgressTimeout != time.Hour || s.MaxRetries != 0 || s.ContextWindow != 32000 {
		t.Errorf("numbers: %v", s)
	}
	for _, bad := range []string{"ONELOOP_MAX_RETRIES=-1", "ONELOOP_MAX_RETRIES=many", "ONELOOP_CONTEXT_WINDOW=0", "ONELOOP_CONTEXT_WINDOW=1.5", "ONELOOP_CONTEXT_WINDOW=200k"} {
		newWorld(t, bad).fails(config.ExitConfig, strings.SplitN(bad, "=", 2)[0])
	}
}

func TestABaseURLIsAnAddress(t *testing.T) {
	for _, good := range []string{"http://127.0.0.1:8080", "https://p.example/api/", "http://[::1]:1/v1"} {
		if s := newWorld(t, "ANTHROPIC_BASE_URL="+good+"\n").must(); s.BaseURL != good || s.From["base_url"] != "ANTHROPIC_BASE_URL" {
			t.Errorf("%s: %v", good, s)
		}
	}
	for _, bad := range []string{"localhost:8080", "api.example.com", "ftp://x", "http://", "http://u:canary@", "http://a b", "//x", "http://127.0.0.1:99999", "http://127.0.0.1:0"} {
		w := newWorld(t, "ANTHROPIC_BASE_URL="+bad)
		w.fails(config.ExitConfig, "ANTHROPIC_BASE_URL", "https://")
		if _, err := w.load(); strings.Contains(err.Error(), "canary") {
			t.Errorf("a password is shown: %v", err)
		}
	}
}

func TestTheLanguageComesFromTheLocaleUnlessSomebodySays(t *testing.T) {
	for env, want := range map[string]string{
		"":                          "en",
		"LANG=zh_CN.UTF-8":          "zh",
		"LANG=de_DE.UTF-8":          "en",
		"LANG=C":                    "en",
		"LC_MESSAGES=zh_TW,LANG=en": "zh",
		"LC_ALL=C,LANG=zh_CN":       "en",
		"LC_ALL=,LANG=zh_CN":        "zh",
		"LC_ALL=en_US.UTF-8,LC_MESSAGES=zh_CN,LANG=zh_CN": "en",
		"LANG=zh_CN,ONELOOP_LANG=en":                      "en",
		"LANG=en_US,ONELOOP_LANG=zh-Hans":                 "zh",
		"LANG=zhuang":                                     "en",
	} {
		pairs := strings.Split(env, ",")
		if got := config.Language(pairs); got != want {
			t.Errorf("%q: %s", env, got)
		}
		if s := newWorld(t, pairs...).must(); s.Language != want || len(s.Notices) > 0 {
			t.Errorf("%q: %s, %q", env, s.Language, s.Notices)
		}
	}
	s := newWorld(t, "LANG=zh_CN", "ONELOOP_LANG=fr").must()
	if s.Language != "zh" {
		t.Errorf("an unknown language gives %s", s.Language)
	}
	wantNotice(t, s, "ONELOOP_LANG", "en, zh")
	w := newWorld(t, "LANG=en_US.UTF-8")
	w.user("settings.json", `{"language":"zh"}`)
	if s := w.must(); s.Language != "zh" {
		t.Errorf("the settings do not beat the locale: %s", s.Language)
	}
}

func TestConfigEnvThatOthersMayReadIsPointedOut(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no such modes")
	}
	w := newWorld(t)
	p := w.user("config.env", "ANTHROPIC_API_KEY=k\n")
	if s := w.must(); len(s.Notices) > 0 {
		t.Errorf("0600 is said to be wrong: %q", s.Notices)
	}
	for _, mode := range []os.FileMode{0o444, 0o640, 0o604, 0o666} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
		s := w.must()
		wantNotice(t, s, p, "chmod 600")
		if s.Key.Reveal() != "k" {
			t.Error("the key is not used")
		}
	}
}

func TestABrokenConfigEnvIsNamedWithItsLineOnly(t *testing.T) {
	w := newWorld(t)
	p := w.user("config.env", "A=1\ncanary\n")
	w.fails(config.ExitConfig, p, "line 2")
	if _, err := w.load(); strings.Contains(err.Error(), "canary") {
		t.Errorf("the error shows what is in the file: %v", err)
	}
}

func TestWithoutAHomeThatCanBeWrittenTheWorkGoesOn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(t.TempDir(), "missing")
	closed := t.TempDir()
	if err := os.Chmod(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	cases := map[string][]string{
		"HOME is not set":                 nil,
		missing + "/.local/state/oneloop": {"HOME=" + missing},
		file + "/.local/state/oneloop":    {"HOME=" + file},
		"HOME is not set ":                {"HOME=relative"},
		file + "/oneloop":                 {"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + file},
	}
	if os.Getuid() > 0 { // root may write anywhere
		cases[closed+"/.local/state/oneloop"] = []string{"HOME=" + closed}
	}
	for says, env := range cases {
		w := newWorld(t)
		w.env = append(env, "ANTHROPIC_API_KEY=k")
		s := w.must()
		if s.StateDir != "" || s.Key.Reveal() != "k" || len(s.Notices) != 1 {
			t.Errorf("%v: state %q, said %q", env, s.StateDir, s.Notices)
		}
		wantNotice(t, s, strings.TrimSpace(says), "XDG_STATE_HOME")
		if list, err := os.ReadDir(w.dir); err != nil || len(list) > 0 {
			t.Errorf("something was left in the working folder: %v, %v", list, err)
		}
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a home was made that was not there")
	}
}

func TestTheStateFolderIsTheUsersAloneAndNotMadeByLooking(t *testing.T) {
	w := newWorld(t)
	s := w.must()
	if want := filepath.Join(w.home, ".local/state/oneloop"); s.StateDir != want {
		t.Errorf("state is %q", s.StateDir)
	}
	if _, err := os.Stat(filepath.Join(w.home, ".local")); err == nil {
		t.Error("it was made")
	}
	w.env = append(w.env, "XDG_STATE_HOME="+filepath.Join(w.home, "s"), "XDG_CONFIG_HOME=relative")
	if err := os.MkdirAll(filepath.Join(w.home, "s/oneloop"), 0o755); err != nil {
		t.Fatal(err)
	}
	s = w.must()
	info, err := os.Stat(s.StateDir)
	if err != nil || s.StateDir != filepath.Join(w.home, "s/oneloop") {
		t.Fatalf("%q: %v", s.StateDir, err)
	}
	if runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if list, err := os.ReadDir(s.StateDir); err != nil || len(list) > 0 {
		t.Errorf("looking left %v, %v", list, err)
	}
	if s.ConfigDir != filepath.Join(w.home, ".config/oneloop") {
		t.Errorf("a relative XDG_CONFIG_HOME counts: %s", s.ConfigDir)
	}
}

func TestOnlyOrdinaryFilesAreRead(t *testing.T) {
	w := newWorld(t)
	if err := os.MkdirAll(filepath.Join(w.home, ".config/oneloop/settings.json"), 0o700); err != nil {
		t.Fatal(err)
	}
	w.fails(config.ExitConfig, "settings.json", "no ordinary file")
	w = newWorld(t)
	w.user("config.env", strings.Repeat("#", 2<<20))
	w.fails(config.ExitConfig, "config.env", "larger")
}

func TestTheEndOfTheContextEndsTheQuestion(t *testing.T) {
	w := newWorld(t)
	w.write(w.dir, ".env", "ANTHROPIC_API_KEY=k\n")
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := config.Load(ctx, config.Input{Environ: w.env, Dir: w.dir, Ask: func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		cancel(oneloop.ErrInterrupted)
		return oneloop.Answer{}, ctx.Err()
	}})
	if !errors.Is(err, oneloop.ErrInterrupted) {
		t.Errorf("got %v", err)
	}
}
