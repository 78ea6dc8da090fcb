//go:build amd64 || arm64

package workspace_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace"
)

func TestSandboxLimitsMemoryAndCountsWhatIsSharedOnce(t *testing.T) {
	kit := attackKit(t)
	for _, backend := range workspace.Backends() {
		t.Run(backend, func(t *testing.T) {
			if backend == workspace.BackendBwrap {
				needBwrap(t)
			}
			t.Parallel()
			w := sandbox(t, workspace.SandboxOptions{Backend: backend, Show: []string{kit}, Limits: workspace.SandboxLimits{Memory: 64 << 20}})
			for _, c := range []struct {
				mib  int
				how  string
				much bool
			}{{100, "nobody", true}, {100, "others", true}, {100, "memfd", true}, {100, "closed", true}, {100, "file", false}, {40, "children", false}} {
				if c.how == "file" && onTmpfs(t, w.Describe().Root) {
					continue // such a file is memory
				}
				out, exit := bash(t, w, 30*time.Second, fmt.Sprintf("%s/attack share %d %s", kit, c.mib, c.how))
				over := strings.Contains(strings.Join(exit.Notes, "\n"), "the limit is 64 MiB")
				if over != c.much || c.much == (out == "SHARE\n") {
					t.Errorf("%d MiB, %s: %+v %s", c.mib, c.how, exit, out)
				}
			}
			if l := w.Status().Limits; l != (workspace.SandboxLimits{Processes: 4096, Memory: 64 << 20}) {
				t.Errorf("it says %+v", l)
			}
		})
	}
}

func onTmpfs(t *testing.T, dir string) bool {
	t.Helper()
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		t.Fatal(err)
	}
	return st.Type == unix.TMPFS_MAGIC
}

func TestSandboxCountsTemporaryFilesAndSharedMemoryAsFiles(t *testing.T) {
	inNamespaces(t, func(t *testing.T, backend string) {
		t.Parallel()
		w := sandbox(t, workspace.SandboxOptions{Backend: backend, Limits: workspace.SandboxLimits{Disk: 16 << 20}})
		if out, exit := bash(t, w, 30*time.Second, "head -c 12M /dev/zero > /tmp/left; sleep 0.05; echo through"); exit.Code != 0 || out != "through\n" {
			t.Fatalf("%+v %s", exit, out)
		}
		if out, exit := bash(t, w, 30*time.Second, "head -c 4M /dev/zero | tee /tmp/more > /dev/shm/more; sleep 0.05; echo through"); exit.Code != 0 || out != "through\n" {
			t.Errorf("what was left by another command counts: %+v %s", exit, out)
		}
		for _, command := range []string{
			"head -c 24M /dev/zero > /tmp/large",
			"head -c 24M /dev/zero > /dev/shm/large",
			"head -c 8M /dev/zero | tee /tmp/part | tee /dev/shm/part > part",
			"exec 3> /dev/shm/open; rm /dev/shm/open; head -c 24M /dev/zero >&3",
		} {
			out, exit := bash(t, w, 30*time.Second, command+" && sleep 5 && echo through")
			if exit.Code == 0 || strings.Contains(out, "through") || !strings.Contains(strings.Join(exit.Notes, "\n"), "the limit is 16 MiB") {
				t.Errorf("%s: %+v %s", command, exit, out)
			}
		}
	})
}

func TestSandboxHasCommandsEndedBeforeTheProgramWhenMemoryRunsOut(t *testing.T) {
	score := func() int {
		text, err := os.ReadFile("/proc/self/oom_score_adj")
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	here := score()
	want := fmt.Sprintf("%d\n", max(here, 500))
	for _, backend := range workspace.Backends() {
		t.Run(backend, func(t *testing.T) {
			if backend == workspace.BackendBwrap {
				needBwrap(t)
			}
			w := sandbox(t, workspace.SandboxOptions{Backend: backend})
			if out, exit := bash(t, w, 30*time.Second, "cat /proc/self/oom_score_adj"); exit.Code != 0 || out != want {
				t.Errorf("%+v %q, want %q", exit, out, want)
			}
		})
	}
	if now := score(); now != here {
		t.Errorf("that of the program was %d and is %d", here, now)
	}
}
