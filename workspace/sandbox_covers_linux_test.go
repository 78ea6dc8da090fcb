//go:build amd64 || arm64

package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
	"oneloop/workspace/confine"
)

// inBackends runs a test in each backend.
func inBackends(t *testing.T, test func(t *testing.T, backend string)) {
	inNamespaces(t, test)
	t.Run(workspace.BackendLL, func(t *testing.T) { test(t, workspace.BackendLL) })
}

// secretHome is a home folder with credentials in it. It lies outside the
// folder for temporary files, of which commands have their own.
func secretHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp(".", "home-")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(home) })
		home, err = filepath.Abs(home)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{".netrc": "SECRET", ".ssh/id": "SECRET", ".config/other/file": "open", "seen": "seen"} {
		place(t, filepath.Join(home, name), text)
	}
	return home
}

func place(t *testing.T, path, text string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// logIn is what programs do that get credentials.
func logIn(t *testing.T, home string) {
	t.Helper()
	place(t, home+"/.netrc.new", "SECRET")
	err := os.Rename(home+"/.netrc.new", home+"/.netrc")
	if err == nil {
		err = os.Rename(home+"/.ssh", home+"/.ssh-old")
	}
	if err == nil {
		err = os.RemoveAll(home + "/.ssh-old")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".ssh/id", ".pypirc", ".kube/config", ".config/oneloop/config.env", ".config/gh/hosts.yml", "dots/npmrc"} {
		place(t, filepath.Join(home, name), "SECRET")
	}
	if err := os.Symlink("dots/npmrc", home+"/.npmrc"); err != nil {
		t.Fatal(err)
	}
}

const readAll = `cd "$HOME" && cat .netrc .ssh/* .pypirc .kube/* .config/oneloop/* .config/gh/* .npmrc dots/npmrc; cat seen .config/other/file`

func TestSandboxHidesWhatCameSinceTheLastCommand(t *testing.T) {
	inBackends(t, func(t *testing.T, backend string) {
		home := secretHome(t)
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}, Show: []string{home}})
		for range 2 {
			out, _ := bash(t, w, 10*time.Second, readAll)
			if strings.Contains(out, "SECRET") || !strings.HasSuffix(out, "seenopen") {
				t.Errorf("it reads %s", out)
			}
			if _, err := os.Lstat(home + "/.npmrc"); err != nil {
				logIn(t, home)
			}
		}
		if backend == workspace.BackendLL {
			return
		}
		if out, exit := bash(t, w, 10*time.Second, `cat ~/.netrc ~/.npmrc ~/.pypirc && ls -A ~/.ssh ~/.kube`); exit.Code != 0 {
			t.Errorf("what is hidden is not empty but closed: %s", out)
		}
	})
}

func TestSandboxHidesWhatComesWhileACommandRuns(t *testing.T) {
	inBackends(t, func(t *testing.T, backend string) {
		home := secretHome(t)
		if strings.HasPrefix(home, "/tmp/") || confine.Landlock() == 0 {
			t.Skip("that takes Landlock, and a home folder outside that for temporary files")
		}
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
		root := w.Describe().Root
		for range 2 { // the second finds rules that were made before
			var out buffer
			p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "touch up; until [ -e go ]; do sleep 0.01; done; rm up go; " + readAll}, Output: &out})
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the command", func() bool { _, err := os.Lstat(root + "/up"); return err == nil })
			os.Remove(home + "/.npmrc")
			logIn(t, home)
			place(t, root+"/go", "")
			if _, err := p.Wait(); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(out.String(), "SECRET") || !strings.HasSuffix(out.String(), "seenopen") {
				t.Errorf("it reads %s", out.String())
			}
		}
	})
}

func TestSandboxShowsWhatLiesInAHiddenFolderThatWasReplaced(t *testing.T) {
	home := secretHome(t)
	hidden := home + "/.config"
	w := sandbox(t, workspace.SandboxOptions{Show: []string{home, hidden + "/other"}, Hide: []string{hidden}})
	for _, text := range []string{"open", "changed", "changed"} {
		out, exit := bash(t, w, 10*time.Second, "cat "+hidden+"/other/file; ls -A "+hidden)
		if out != text+"other\n" || len(exit.Notes) > 1 || len(exit.Notes) == 1 && !strings.Contains(exit.Notes[0], hidden+" is another folder than before") {
			t.Errorf("it prints %q, %+v", out, exit)
		}
		if text == "open" {
			err := os.RemoveAll(hidden)
			if err != nil {
				t.Fatal(err)
			}
			place(t, hidden+"/other/file", "changed")
			place(t, hidden+"/secret", "SECRET")
		}
	}
}

func TestSandboxAtHomeHidesAndProtects(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		for _, above := range []string{"", ".."} {
			home := secretHome(t)
			for name, text := range map[string]string{".npmrc": "SECRET", ".config/gh/hosts.yml": "SECRET", ".docker/config.json": "SECRET", ".bashrc": "", "work/file": "seen", ".ssh/.vscode/x": ""} {
				place(t, filepath.Join(home, name), text)
			}
			root := home
			if above != "" {
				root = filepath.Join(home, "..", "around-"+filepath.Base(home))
				t.Cleanup(func() { os.RemoveAll(root) })
				if err := os.Mkdir(root, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(home, root+"/home"); err != nil {
					t.Fatal(err)
				}
				home = root + "/home"
			}
			t.Setenv("HOME", home)
			w := sandboxAt(t, root, workspace.SandboxOptions{Backend: backend, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
			out, exit := bash(t, w, 30*time.Second, `cd ~; cat .netrc .npmrc .ssh/* .config/gh/* .docker/config.json; mv .config c; mv .docker d; mv .netrc n; mv .ssh s; rm -f .npmrc; echo pwn >> .bashrc; echo pwn > .zshrc
cp work/file work/copy && cat work/copy`)
			if strings.Contains(out, "SECRET") || !strings.HasSuffix(out, "seen") || exit.Code != 0 {
				t.Errorf("%+v, it prints %s", exit, out)
			}
			if err := os.Rename(home+"/work/copy", home+"/.netrc"); err != nil {
				t.Fatal(err)
			}
			place(t, home+"/.netrc", "SECRET")
			place(t, home+"/.pypirc", "SECRET")
			if out, _ := bash(t, w, 30*time.Second, "cd ~; cat .netrc .npmrc .pypirc d/* c/gh/* s/*; mv .pypirc p; cat p"); strings.Contains(out, "SECRET") {
				t.Errorf("the next command reads %s", out)
			}
			text, err := os.ReadFile(home + "/.bashrc")
			if err != nil || len(text) > 0 {
				t.Errorf(".bashrc has %q, %v", text, err)
			}
			if _, err := os.Lstat(home + "/.zshrc"); err == nil {
				t.Error(".zshrc was made")
			}
			for _, name := range []string{".config/gh/hosts.yml", ".docker/config.json", ".ssh/id", ".npmrc"} {
				if text, err := os.ReadFile(filepath.Join(home, name)); string(text) != "SECRET" {
					t.Errorf("%s has %q, %v", name, text, err)
				}
			}
		}
	})
}

func TestSandboxOfLandlockIsNoneWhereItCannotHide(t *testing.T) {
	home := secretHome(t)
	t.Setenv("HOME", home)
	for _, root := range []string{home, filepath.Dir(home), home + "/.config"} {
		place(t, home+"/.config/gh/hosts.yml", "SECRET")
		w := sandboxAt(t, root, workspace.SandboxOptions{Backend: workspace.BackendLL, Env: []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}})
		if err := w.Prepare(); err == nil || !strings.Contains(err.Error(), "choose a folder below it") {
			t.Errorf("in %s: %v", root, err)
		}
	}
}

func TestSandboxTellsWhatWasReplacedUnderACommand(t *testing.T) {
	for _, added := range []string{"#", "[core]\n\tfsmonitor = ./x"} {
		inNamespaces(t, func(t *testing.T, backend string) { replacedUnder(t, backend, added) })
	}
}

// replacedUnder has a command add something to the settings of git once the
// user has replaced them.
func replacedUnder(t *testing.T, backend, added string) {
	w := sandbox(t, workspace.SandboxOptions{Backend: backend})
	root := w.Describe().Root
	bash(t, w, 30*time.Second, "git init -q .")
	place(t, root+"/.envrc", "mine")
	p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", "echo x >> .git/config; echo x > .envrc; touch up; until [ -e go ]; do sleep 0.01; done; echo '" + added + "' >> .git/config"}})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the command", func() bool { _, err := os.Lstat(root + "/up"); return err == nil })
	text, err := os.ReadFile(root + "/.git/config")
	if err != nil {
		t.Fatal(err)
	}
	place(t, root+"/.git/config.lock", string(text)+"[user]\n\tname = zed\n")
	if err := os.Rename(root+"/.git/config.lock", root+"/.git/config"); err != nil {
		t.Fatal(err)
	}
	place(t, root+"/.envrc", "mine too") // the same file
	place(t, root+"/go", "")
	exit, err := p.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if notes := strings.Join(exit.Notes, "\n"); !strings.Contains(notes, "while this command ran, after which the command could change it: "+root+"/.git/config. Say") {
		t.Errorf("it says %q", exit.Notes)
	}
	now, err := os.ReadFile(root + "/.git/config")
	if err != nil || strings.Contains(string(now), "fsmonitor") {
		t.Errorf("git would run %s, %v", now, err)
	}
	kept, _ := filepath.Glob(root + "/.git/config?*")
	for _, path := range kept {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		now = append(now, text...)
	}
	if !strings.Contains(string(now), "zed") {
		t.Errorf("the user's change is gone: %s %q", now, kept)
	}
	if _, exit := bash(t, w, 30*time.Second, "true"); len(exit.Notes) > 0 {
		t.Errorf("afterwards it says %q", exit.Notes)
	}
}
