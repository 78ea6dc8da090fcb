package config_test

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop"
	"oneloop/internal/config"
)

// folder makes a folder and gives its real path.
func (w *world) folder(base, name string) string {
	w.t.Helper()
	p := filepath.Join(base, name)
	if err := os.MkdirAll(p, 0o755); err != nil {
		w.t.Fatal(err)
	}
	p, err := filepath.EvalSymlinks(p)
	if err != nil {
		w.t.Fatal(err)
	}
	return p
}

func TestFoldersAreAddedByFlagAndBySettings(t *testing.T) {
	w := newWorld(t)
	notes, near, flag := w.folder(w.home, "notes"), w.folder(w.dir, "near"), w.folder(t.TempDir(), "flag")
	w.user("settings.json", `{"permissions":{"additionalDirectories":["~/notes","near","~/gone","."]}}`)
	w.flags.AddDirs = []string{flag, "~/notes"}
	s := w.must()
	if d := cmp.Diff([]string{flag, notes, near}, s.Dirs); d != "" {
		t.Error(d)
	}
	wantNotice(t, s, "~/gone is left out")
	if _, dirs, err := config.Permissions(t.Context(), config.Input{Flags: w.flags, Environ: w.env, Dir: w.dir}); err != nil || len(dirs) != 3 {
		t.Errorf("for lint: %v, %v", dirs, err)
	}
}

func TestAFolderThatIsNotThereIsAnError(t *testing.T) {
	w := newWorld(t)
	file := w.write(w.home, "file", "x")
	for _, name := range []string{filepath.Join(w.home, "gone"), file} {
		w.flags.AddDirs = []string{name}
		w.fails(config.ExitUsage, "--add-dir", name)
	}
	w.flags.AddDirs = nil
	p := w.user("settings.json", `{"permissions":{"additionalDirectories":"~/notes"}}`)
	w.fails(config.ExitConfig, p+":1", "must be a list")
}

func TestAProjectAddsFoldersOnlyOnceItsFileIsApproved(t *testing.T) {
	w := newWorld(t)
	out := w.folder(w.home, "out")
	w.write(w.dir, ".oneloop/settings.json", `{"permissions":{"additionalDirectories":["~/out"]}}`)
	if s := w.must(); len(s.Dirs) > 0 {
		t.Errorf("unseen, it adds %v", s.Dirs)
	}
	w.flags.Trust = true // uses the file this once, and approves of nothing
	if s := w.must(); len(s.Dirs) > 0 {
		t.Errorf("not approved, it adds %v", s.Dirs)
	} else {
		wantNotice(t, s, "additionalDirectories is ignored")
	}
	w.flags.Trust = false
	w.ask = func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, nil
	}
	if d := cmp.Diff([]string{out}, w.must().Dirs); d != "" {
		t.Error(d)
	}
}

func TestNothingInAnAddedFolderIsReadForSettings(t *testing.T) {
	w := newWorld(t)
	dir := w.folder(w.home, "other")
	w.write(dir, ".oneloop/settings.json", `{"effort":"max","permissions":{"deny":["Bash"]}`) // broken, too
	w.write(dir, ".env", "ANTHROPIC_API_KEY=k")
	w.flags.AddDirs, w.flags.Trust = []string{dir}, true
	if s := w.must(); s.Effort != "" || len(s.Permissions) > 0 || s.HasCredential() || len(s.Notices) > 0 {
		t.Errorf("settings: %v", s)
	}
}

func TestFoldersOfSettingsAndCredentialsAreNotAdded(t *testing.T) {
	w := newWorld(t)
	own, keys := w.folder(w.home, ".config/oneloop/skills"), w.folder(w.home, ".ssh")
	w.flags.AddDirs = []string{own}
	w.fails(config.ExitUsage, own, "settings or credentials")
	w.flags.AddDirs = nil
	w.write(w.dir, ".oneloop/settings.json", `{"permissions":{"additionalDirectories":["~/.ssh","~/.config/oneloop"]}}`)
	w.ask = func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, nil
	}
	s := w.must()
	if len(s.Dirs) > 0 {
		t.Errorf("a project adds %v", s.Dirs)
	}
	wantNotice(t, s, "~/.ssh is left out", "~/.config/oneloop is left out")
	w.flags.AddDirs = []string{keys} // the user may, by name
	if d := cmp.Diff([]string{keys}, w.must().Dirs); d != "" {
		t.Error(d)
	}
}

func TestAProjectAddsNoFolderOfTheUsersOrTheSystems(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the folders of this system are others, and links need rights")
	}
	w := newWorld(t)
	w.home = w.folder(w.home, "user")
	w.env = append(w.env, "HOME="+w.home, "XDG_STATE_HOME="+w.folder(w.home, "state"))
	w.folder(w.home, ".config")
	secrets := w.folder(w.home, "secrets/ssh")
	for link, to := range map[string]string{filepath.Join(w.home, ".ssh"): secrets, filepath.Join(w.dir, "near"): w.folder(w.home, "out"), filepath.Join(w.dir, "home"): w.home} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	w.folder(w.dir, "inner")
	refused := []string{"~", w.home, w.home + "/..", w.home + "/out/..", "/", "/etc", "/usr/bin", "/tmp", "~/.config", "~/.ssh", "~/secrets", "~/secrets/ssh", "~/state", "near", "home"}
	w.write(w.dir, ".oneloop/settings.json", `{"permissions":{"additionalDirectories":["`+strings.Join(refused, `","`)+`","inner","~/out"]}}`)
	w.ask = func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, nil
	}
	s := w.must()
	if d := cmp.Diff([]string{w.folder(w.dir, "inner"), w.folder(w.home, "out")}, s.Dirs); d != "" {
		t.Error(d)
	}
	for _, name := range refused {
		wantNotice(t, s, ": "+name+" is left out", "--add-dir can name it")
	}
	w.user("settings.json", `{"permissions":{"additionalDirectories":["~"]}}`) // the user may
	w.flags.AddDirs = []string{"/etc"}
	if d := cmp.Diff([]string{"/etc", w.folder(w.home, ".")}, w.must().Dirs[:2]); d != "" {
		t.Error(d)
	}
}
