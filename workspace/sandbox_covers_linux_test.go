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
