package config_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"oneloop"
	"oneloop/internal/config"
)

const dotenv = "# of the app\nDATABASE_URL=postgres://x\nANTHROPIC_API_KEY=canary-key\nANTHROPIC_BASE_URL=https://p.example\nMODEL_ID=m\n"

// answering counts the questions and answers all of them alike.
func (w *world) answering(allow bool) *[]oneloop.Question {
	asked := &[]oneloop.Question{}
	w.ask = func(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
		*asked = append(*asked, q)
		return oneloop.Answer{Allow: allow}, nil
	}
	return asked
}

func TestADotEnvIsUsedOnceTheUserSaysSo(t *testing.T) {
	w := newWorld(t)
	p := w.write(w.dir, ".env", dotenv)
	asked := w.answering(true)
	s := w.must()
	if s.Key.Reveal() != "canary-key" || s.BaseURL != "https://p.example" || s.Model.Name != "m" || s.From["key"] != p || s.From["model"] != p {
		t.Errorf("settings: %v", s)
	}
	if len(*asked) != 1 {
		t.Fatalf("asked %d times", len(*asked))
	}
	q := (*asked)[0]
	b, err := json.Marshal(q)
	if err != nil || q.Kind != "trust" {
		t.Errorf("%+v, %v", q, err)
	}
	for _, want := range []string{p, "\n  ANTHROPIC_API_KEY\n  ANTHROPIC_BASE_URL\n  MODEL_ID"} {
		if !strings.Contains(q.Title+q.Detail, want) {
			t.Errorf("the question does not name %s: %s", want, b)
		}
	}
	for _, not := range []string{"canary", "p.example", "DATABASE_URL"} {
		if strings.Contains(string(b), not) {
			t.Errorf("the question shows %s: %s", not, b)
		}
	}
}

func TestTrustIsRememberedForTheSameTextInTheSameFolder(t *testing.T) {
	w := newWorld(t)
	w.write(w.dir, ".env", dotenv)
	asked := w.answering(true)
	w.must()
	s := w.must()
	if len(*asked) != 1 || s.Key.Reveal() != "canary-key" {
		t.Errorf("asked %d times, %v", len(*asked), s)
	}
	records, err := filepath.Glob(filepath.Join(s.StateDir, "trust", "*"))
	if err != nil || len(records) != 1 {
		t.Fatalf("kept %q, %v", records, err)
	}
	store := records[0]
	info, err := os.Stat(store)
	if err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	if data, _ := os.ReadFile(store); strings.Contains(string(data), "canary") {
		t.Errorf("the record holds the key: %s", data)
	}

	link := filepath.Join(t.TempDir(), "link") // the same folder by another path
	if err := os.Symlink(w.dir, link); err == nil {
		dir := w.dir
		w.dir = link
		if w.must(); len(*asked) != 1 {
			t.Error("a link to the folder is asked about again")
		}
		w.dir = dir
	}

	w.write(w.dir, ".env", dotenv+"#\n")
	if w.must(); len(*asked) != 2 {
		t.Errorf("a changed file is not asked about again")
	}
	first, other := w.dir, t.TempDir()
	w.write(other, ".env", dotenv+"#\n")
	w.dir = other
	if w.must(); len(*asked) != 3 {
		t.Errorf("the same file in another folder is not asked about")
	}
	w.dir = first
	w.write(w.dir, ".env", dotenv)
	if err := os.WriteFile(store, []byte("{broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	if w.must(); len(*asked) != 4 {
		t.Errorf("a damaged record counts as trust")
	}
}

func TestAWorktreeHasTheDotEnvOfTheMainCheckout(t *testing.T) {
	w := newWorld(t)
	main := w.dir
	w.write(main, ".env", dotenv)
	asked := w.answering(true)
	w.must()
	w.dir, w.like = t.TempDir(), main
	if s := w.must(); len(*asked) != 1 || s.Key.Reveal() != "canary-key" || s.From["key"] != filepath.Join(main, ".env") {
		t.Errorf("asked %d times, %v from %s", len(*asked), s, s.From["key"])
	}
	w.write(w.dir, ".env", strings.ReplaceAll(dotenv, "canary", "other"))
	if s := w.must(); len(*asked) != 2 || s.Key.Reveal() != "other-key" {
		t.Errorf("with one of its own: asked %d times, %v", len(*asked), s)
	}
	w.write(main, ".env", strings.ReplaceAll(dotenv, "canary", "third"))
	w.dir, w.ask = t.TempDir(), nil
	if s := w.must(); s.HasCredential() {
		t.Errorf("one that was changed is used: %v", s)
	}
}

func TestNoMeansNothingOfTheDotEnvIsUsed(t *testing.T) {
	w := newWorld(t)
	p := w.write(w.dir, ".env", dotenv)
	asked := w.answering(false)
	s := w.must()
	if s.HasCredential() || s.BaseURL != "" || s.Model.Name != "" {
		t.Errorf("used: %v", s)
	}
	wantNotice(t, s, p, "ignored")
	w.must()
	if len(*asked) != 2 {
		t.Errorf("asked %d times", len(*asked))
	}
	w.ask = func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, errors.New("the terminal is gone")
	}
	if s := w.must(); s.HasCredential() {
		t.Error("an answer that failed counts as yes")
	}
}

func TestWithNobodyThereADotEnvNeedsTheFlag(t *testing.T) {
	w := newWorld(t)
	p := w.write(w.dir, ".env", dotenv)
	s := w.must()
	if s.HasCredential() || s.BaseURL != "" || s.Model.Name != "" || len(s.Notices) != 1 {
		t.Errorf("used: %v", s)
	}
	wantNotice(t, s, p, "--trust", "ANTHROPIC_API_KEY, ANTHROPIC_BASE_URL, MODEL_ID")
	w.flags.Trust = true
	s = w.must()
	if s.Key.Reveal() != "canary-key" || s.BaseURL != "https://p.example" || len(s.Notices) > 0 {
		t.Errorf("with --trust: %v", s)
	}
	w.flags.Trust = false
	if s := w.must(); s.HasCredential() {
		t.Error("--trust is remembered")
	}
}

func TestWhenTrustCannotBeKeptItHoldsAndThatIsSaid(t *testing.T) {
	w := newWorld(t)
	w.env = nil // no home
	w.write(w.dir, ".env", dotenv)
	w.answering(true)
	s := w.must()
	if s.Key.Reveal() != "canary-key" || len(s.Notices) != 2 {
		t.Errorf("%v", s)
	}
	wantNotice(t, s, "asked again next time")
}

func TestTheEnvironmentWinsOverADotEnv(t *testing.T) {
	w := newWorld(t, "MODEL_ID=mine", "ANTHROPIC_API_KEY=own")
	w.write(w.dir, ".env", dotenv)
	w.flags.Trust = true
	s := w.must()
	if s.Model.Name != "mine" || s.Key.Reveal() != "own" {
		t.Errorf("%v", s)
	}
	if s.BaseURL != "" {
		t.Error("the user's key would be sent to an address of the folder's choice")
	}
	wantNotice(t, s, "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY")
}

func TestAnAddressOfTheFolderNeverMeetsACredentialFromElsewhere(t *testing.T) {
	for _, c := range []struct {
		env, file, folder string
		url               string
	}{
		{"ANTHROPIC_AUTH_TOKEN=own", "", "ANTHROPIC_API_KEY=f", ""},
		{"", "ANTHROPIC_API_KEY=own", "ANTHROPIC_API_KEY=f", ""},
		{"", "ANTHROPIC_API_KEY=own", "", ""},
		{"", "", "", ""},
		{"", "", "OPENAI_API_KEY=f", ""},
		{"", "", "ANTHROPIC_AUTH_TOKEN=f", "https://f.example"},
		{"ANTHROPIC_BASE_URL=https://own.example", "", "ANTHROPIC_API_KEY=f", "https://own.example"},
	} {
		w := newWorld(t, c.env)
		if c.file != "" {
			w.user("config.env", c.file)
		}
		w.write(w.dir, ".env", c.folder+"\nANTHROPIC_BASE_URL=https://f.example\n")
		w.flags.Trust = true
		if s := w.must(); s.BaseURL != c.url {
			t.Errorf("%+v: %v", c, s)
		}
	}
}

func TestNoQuestionIsAskedWhenTheAnswerChangesNothing(t *testing.T) {
	for env, text := range map[string]string{
		"":                    "DATABASE_URL=x\nOPENAI_KEY=y\nANTHROPIC_API_KEY=\n",
		"ANTHROPIC_API_KEY=k": "ANTHROPIC_API_KEY=x\nANTHROPIC_AUTH_TOKEN=y\n",
		"MODEL_ID=m":          "MODEL_ID=x\n",
		"X=":                  "",
	} {
		w := newWorld(t, env)
		w.write(w.dir, ".env", text)
		asked := w.answering(true)
		if s := w.must(); len(*asked) > 0 || len(s.Notices) > 0 {
			t.Errorf("%q: asked %v, said %q", text, *asked, s.Notices)
		}
	}
}

func TestADotEnvCannotMoveAnythingElse(t *testing.T) {
	w := newWorld(t)
	w.write(w.dir, ".env", "ANTHROPIC_API_KEY=k\nHOME=/x\nXDG_CONFIG_HOME=/x\nONELOOP_LANG=zh\nONELOOP_MAX_RETRIES=0\nHTTPS_PROXY=http://x\nPATH=/x\n")
	w.flags.Trust = true
	s := w.must()
	if s.ConfigDir != filepath.Join(w.home, ".config/oneloop") || s.Language != "en" || s.MaxRetries != 8 {
		t.Errorf("%v", s)
	}
}

func TestADotEnvThatCannotBeReadIsOneLine(t *testing.T) {
	broken := map[string]func(w *world) string{
		"a folder": func(w *world) string {
			p := filepath.Join(w.dir, ".env")
			if err := os.Mkdir(p, 0o700); err != nil {
				t.Fatal(err)
			}
			return p
		},
		"no text":     func(w *world) string { return w.write(w.dir, ".env", "A=\xff\xfe") },
		"no quote":    func(w *world) string { return w.write(w.dir, ".env", "A=\"canary\nB=1\n") },
		"no = at all": func(w *world) string { return w.write(w.dir, ".env", "X=1\ncanary\n") },
	}
	if os.Getuid() > 0 {
		broken["no right"] = func(w *world) string {
			p := w.write(w.dir, ".env", "A=1")
			if err := os.Chmod(p, 0); err != nil {
				t.Fatal(err)
			}
			return p
		}
	}
	for name, make := range broken {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.t = t
			p := make(w)
			w.fails(config.ExitConfig, p, "correct it", "ANTHROPIC_API_KEY") // the key can be nowhere else
			w.env = append(w.env, "ANTHROPIC_API_KEY=k")
			s := w.must()
			wantNotice(t, s, p, "ignored")
			if len(s.Notices) != 1 || strings.Contains(notices(s), "canary") {
				t.Errorf("said %q", s.Notices)
			}
			w.flags.Trust = true
			w.fails(config.ExitConfig, p)
		})
	}
}

func TestAnEnvFileIsReadAsItsWritersMeanIt(t *testing.T) {
	for text, want := range map[string]string{
		"ANTHROPIC_API_KEY=k":                      "k",
		"  export ANTHROPIC_API_KEY = k  \n":       "k",
		"ANTHROPIC_API_KEY=k # mine\n":             "k",
		"ANTHROPIC_API_KEY=k#1":                    "k#1",
		"ANTHROPIC_API_KEY=k\t# x # y":             "k",
		"ANTHROPIC_API_KEY='k # 1' # mine":         "k # 1",
		`ANTHROPIC_API_KEY="a\"b\\c\$d\qe"`:        `a"b\c$d\qe`,
		`ANTHROPIC_API_KEY=a$b${C}`:                `a$b${C}`,
		`ANTHROPIC_API_KEY='a\nb$c'`:               `a\nb$c`,
		"ANTHROPIC_API_KEY=a=b==":                  "a=b==",
		"\ufeffANTHROPIC_API_KEY=k\r\nX=1\r\n":     "k",
		"X=\"a\nb\"\nANTHROPIC_API_KEY=k\n":        "k",
		"ANTHROPIC_API_KEY=1\nANTHROPIC_API_KEY=2": "2",
		"ANTHROPIC_API_KEY=1\nANTHROPIC_API_KEY=":  "",
		"ANTHROPIC_API_KEY=# none":                 "",
		"#ANTHROPIC_API_KEY=k":                     "",
		"":                                         "",
		"\n\n  # x\n":                              "",
	} {
		w := newWorld(t)
		w.user("settings.json", `{"auth":"key"}`)
		w.user("config.env", text)
		s, err := w.load()
		if strings.ContainsAny(want, " ") { // a blank cannot be sent, but was read
			if err == nil {
				t.Errorf("%q: %v", text, s)
			}
			continue
		}
		if err != nil || s.Key.Reveal() != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	for _, bad := range []string{"A", "=x", "1A=x", "A B=x", "A='x", `A="x" y`, "A=\"x\nB=1"} {
		w := newWorld(t)
		w.user("config.env", "\n# two lines\n"+bad)
		w.fails(config.ExitConfig, "line 3")
	}
}

func FuzzEnvFile(f *testing.F) {
	f.Add(dotenv)
	f.Add("A=\"x\\")
	f.Add("A='")
	home, dir := f.TempDir(), f.TempDir()
	p := filepath.Join(home, "oneloop", "config.env")
	if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := config.Load(t.Context(), config.Input{Environ: []string{"HOME=" + home, "XDG_CONFIG_HOME=" + home}, Dir: dir})
		var e *config.Error
		if err != nil && !errors.As(err, &e) {
			t.Errorf("%v", err)
		}
	})
}
