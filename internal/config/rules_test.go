package config_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/internal/config"
	"oneloop/policy"

	"github.com/google/go-cmp/cmp"
)

func TestRulesComeFromTheFlagTheUserAndTheFolder(t *testing.T) {
	w := newWorld(t)
	w.flags.AllowedTools = "Edit, Bash(a, b:*),WebFetch(domain:x)"
	user := w.user("settings.json", `{"permissions":{"deny":["Bash(curl:*)"],"defaultMode":"plan"}}`)
	local := w.write(w.dir, ".oneloop/settings.local.json", `{"permissions":{"allow":["Bash(make x)"]}}`)
	shared := w.write(w.dir, ".oneloop/settings.json", `{"permissions":{"ask":["Bash(git push:*)"],"allow":["Bash"]}}`)
	asked := w.answering(true)
	want := []policy.File{
		{Path: "--allowed-tools", Base: w.dir, Allow: []string{"Edit", "Bash(a, b:*)", "WebFetch(domain:x)"}},
		{Path: user, Base: filepath.Dir(user), Deny: []string{"Bash(curl:*)"}},
		{Path: local, Base: w.dir, Shared: true, Approved: true, Allow: []string{"Bash(make x)"}},
		{Path: shared, Base: w.dir, Shared: true, Approved: true, Ask: []string{"Bash(git push:*)"}, Allow: []string{"Bash"}},
	}
	s := w.must()
	if d := cmp.Diff(want, s.Permissions); d != "" || len(*asked) != 1 || s.Mode != policy.Plan || len(s.Notices) > 0 {
		t.Errorf("asked %d times, said %q: %s", len(*asked), s.Notices, d)
	}
	// Another text was not approved, and the flag only uses it.
	w.write(w.dir, ".oneloop/settings.json", `{"permissions":{"deny":["Bash(x)"],"allow":["Bash(*)"]}}`)
	w.flags.Trust = true
	s = w.must()
	if f := s.Permissions[3]; f.Approved || f.Deny[0] != "Bash(x)" || !s.Permissions[2].Approved {
		t.Errorf("%+v", s.Permissions)
	}
	wantNotice(t, s, shared, "Bash(*)", "not approved")
}

func TestAMistakeInARuleNamesItsFile(t *testing.T) {
	for text, says := range map[string]string{
		`{"permissions":{"deny":["Bahs(x)"]}}`:        "Bahs",
		`{"permissions":{"allow":"Bash"}}`:            "list of rules",
		"{\n\"permissions\":{\n\"ask\":[1]}}":         ":3:",
		`{"permissions":{"allow":["Edit(x)","Ed("]}}`: "Ed(",
	} {
		w := newWorld(t)
		p := w.user("settings.json", text)
		w.fails(config.ExitConfig, p, says)
	}
}

// kept puts rules into the folder's own settings and gives what is there then.
func kept(t *testing.T, w *world, s *config.Settings, rules ...string) string {
	t.Helper()
	k := s.Keep(w.dir)
	for _, r := range rules {
		if err := k.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(k.File)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestARuleIsPutWhereItBelongsAndAllElseStays(t *testing.T) {
	for before, after := range map[string]string{
		"":   "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a <b> é)\"\n    ]\n  }\n}\n",
		" ":  "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(a <b> é)\"\n    ]\n  }\n}\n",
		"{}": `{"permissions": {"allow": ["Bash(a <b> é)"]}}`,
		"{\n  \"effort\": \"low\",\n  \"other\" : [1,\n2]\n}\n": "{\n  \"permissions\": {\"allow\": [\"Bash(a <b> é)\"]},\n  \"effort\": \"low\",\n  \"other\" : [1,\n2]\n}\n",
		`{"permissions":{}}`: `{"permissions":{"allow": ["Bash(a <b> é)"]}}`,
		`{"x":{"permissions":1},"permissions":{"deny":["Bash(x)"]}}`:                  `{"x":{"permissions":1},"permissions":{"allow": ["Bash(a <b> é)"],"deny":["Bash(x)"]}}`,
		"{\"permissions\":{\"allow\":[]}}":                                            "{\"permissions\":{\"allow\":[\"Bash(a <b> é)\"]}}",
		"{\"permissions\":{\n\t\"allow\": [\n\t\t\"Edit\",\n\t\t\"Bash(x)\"\n\t]\n}}": "{\"permissions\":{\n\t\"allow\": [\n\t\t\"Bash(a <b> é)\",\n\t\t\"Edit\",\n\t\t\"Bash(x)\"\n\t]\n}}",
	} {
		w := newWorld(t)
		if before != "" {
			w.write(w.dir, ".oneloop/settings.local.json", before)
		}
		asked := w.answering(true)
		s := w.must()
		if got := kept(t, w, s, "Bash(a <b> é)"); got != after {
			t.Errorf("%q became %q, want %q", before, got, after)
		}
		info, err := os.Stat(filepath.Join(w.dir, ".oneloop/settings.local.json"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
		questions := len(*asked)
		again := w.must() // it counts, and nothing is asked for
		f := again.Permissions[len(again.Permissions)-1]
		if len(*asked) != questions || !f.Approved || f.Allow[0] != "Bash(a <b> é)" {
			t.Errorf("%q: asked %d times, %+v", before, len(*asked)-questions, f)
		}
		if left, err := filepath.Glob(filepath.Join(w.dir, ".oneloop/.settings-*")); err != nil || len(left) > 0 {
			t.Errorf("left %v, %v", left, err)
		}
	}
}

func TestTwoRulesAreKeptOneAfterTheOther(t *testing.T) {
	w := newWorld(t)
	got := kept(t, w, w.must(), "Bash(a)", "Bash(b)")
	if !strings.Contains(got, `"Bash(a)"`) || !strings.Contains(got, `"Bash(b)"`) {
		t.Errorf("kept %s", got)
	}
}

func TestARuleIsNotPutBesideThoseThatWereNotApproved(t *testing.T) {
	w := newWorld(t)
	name := ".oneloop/settings.local.json"
	p := w.write(w.dir, name, `{"permissions":{"allow":["Bash"]}}`)
	for _, trust := range []bool{false, true} {
		w.flags.Trust = trust
		if err := w.must().Keep(w.dir).Add("Bash(a)"); err == nil || !strings.Contains(err.Error(), "not approved") {
			t.Errorf("trust %v: %v", trust, err)
		}
	}
	w.flags.Trust = false
	w.answering(true)
	s := w.must()
	w.write(w.dir, name, `{"permissions":{"allow":["Bash","Edit"]}}`) // since then
	if err := s.Keep(w.dir).Add("Bash(a)"); err == nil {
		t.Error("a file that was changed since it was approved got a rule")
	}
	if err := os.Remove(p); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(w.home, "other.json"), p); err != nil {
		t.Skip(err)
	}
	if err := s.Keep(w.dir).Add("Bash(a)"); err == nil || !strings.Contains(err.Error(), "link") {
		t.Errorf("a link: %v", err)
	}
}

func TestLintReadsRulesThatCannotBeUnderstood(t *testing.T) {
	w := newWorld(t)
	p := w.user("settings.json", `{"permissions":{"deny":["Bahs(x)"]}}`)
	files, _, err := config.Permissions(context.Background(), config.Input{Environ: append([]string{"HOME=" + w.home}, w.env...), Dir: w.dir})
	if err != nil || len(files) != 1 || files[0].Path != p || files[0].Deny[0] != "Bahs(x)" {
		t.Errorf("%+v, %v", files, err)
	}
}

func TestTheFileOfKeptRulesIsNotCommittedByMistake(t *testing.T) {
	w := newWorld(t)
	if err := w.must().Keep(w.dir).Add("Bash(a)"); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(w.dir, ".oneloop", ".gitignore")
	if got, err := os.ReadFile(name); err != nil || string(got) != "settings.local.json\n" {
		t.Errorf("%q, %v", got, err)
	}
	w = newWorld(t)
	name = w.write(w.dir, ".oneloop/.gitignore", "mine\n")
	if err := w.must().Keep(w.dir).Add("Bash(a)"); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != "mine\n" {
		t.Errorf("%q, %v", got, err)
	}
}
