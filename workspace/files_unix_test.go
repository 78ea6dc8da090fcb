//go:build unix

package workspace_test

import (
	"errors"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"oneloop/workspace"
)

// ordinary is a uid that may nothing special.
const ordinary = 65534

// both runs body as whoever runs the tests and, when that is root, once more
// as an ordinary user, for whom it prepares what only root can. The folder is
// one that the user of body can write.
func both(t *testing.T, prepare func(dir string), body func(t *testing.T, dir string)) {
	t.Helper()
	if dir := os.Getenv("WORKSPACE_TEST_PREPARED"); dir != "" {
		body(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		if prepare != nil {
			t.Log("NOT TRIED: what only root can prepare")
		}
		body(t, t.TempDir())
		return
	}
	for _, uid := range []int{0, ordinary} {
		t.Run(map[int]string{0: "as root", ordinary: "as an ordinary user"}[uid], func(t *testing.T) {
			dir, err := os.MkdirTemp("", "prepared")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			if err := errors.Join(os.Chown(dir, uid, uid), os.Chmod(dir, 0o755)); err != nil {
				t.Fatal(err)
			}
			if prepare != nil {
				prepare(dir)
			}
			if uid == 0 {
				body(t, dir)
				return
			}
			test, _, _ := strings.Cut(t.Name(), "/")
			// The program lies where only root can look for it.
			cmd := exec.Command("/proc/self/exe", "-test.run=^"+test+"$", "-test.v")
			cmd.Dir = "/"
			cmd.Env = append(os.Environ(), "WORKSPACE_TEST_PREPARED="+dir, "HOME="+dir, "GORACE=atexit_sleep_ms=0")
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "--- PASS: "+test+" ") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

func at(t *testing.T, dir string) workspace.Files {
	t.Helper()
	w, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return w.Files()
}

// renames reports whether files can be replaced by a rename here.
const renames = runtime.GOOS == "linux" || runtime.GOOS == "darwin"

func TestReplaceKeepsModesAndLinks(t *testing.T) {
	both(t, nil, func(t *testing.T, dir string) {
		files := at(t, dir)
		for name, perm := range map[string]fs.FileMode{"run.sh": 0o755, "secret": 0o600, "odd": 0o641, "write-only": 0o200, "group": 0o660} {
			path := filepath.Join(dir, name)
			put(t, path, "old content", perm)
			before, _ := os.Stat(path)
			done, err := files.Replace(name, []byte("new"), 0o777)
			if err != nil || done.Created || done.InPlace == renames {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
			after, err := os.Stat(path)
			if err != nil || after.Mode() != before.Mode() || after.Sys().(*syscall.Stat_t).Uid != before.Sys().(*syscall.Stat_t).Uid {
				t.Errorf("%s had %v and has %v, %v", name, before.Mode(), after.Mode(), err)
			}
			os.Chmod(path, 0o600)
			holds(t, path, "new")
		}
		put(t, dir+"/one", "long old content", 0o644)
		if err := os.Link(dir+"/one", dir+"/two"); err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{"short", "much longer than the old content", ""} {
			done, err := files.Replace("two", []byte(text), 0o644)
			if err != nil || !done.InPlace || !strings.Contains(done.Why, "2 names") {
				t.Errorf("a file with two names: %+v, %v", done, err)
			}
			holds(t, dir+"/one", text)
			holds(t, dir+"/two", text)
		}
		put(t, dir+"/setuid", "old", 0o755)
		os.Chmod(dir+"/setuid", 0o755|fs.ModeSetuid)
		if done, err := files.Replace("setuid", []byte("new"), 0o644); err != nil || !done.InPlace {
			t.Errorf("a setuid file: %+v, %v", done, err)
		}
		if got := names(t, dir); got != "group odd one run.sh secret setuid two write-only" {
			t.Errorf("the folder holds %s", got)
		}
	})
}

func TestReplaceRefusesWhatMayNotBeWritten(t *testing.T) {
	theirs := func(dir string) {
		put(t, dir+"/theirs", "theirs", 0o644)
	}
	both(t, theirs, func(t *testing.T, dir string) {
		files := at(t, dir)
		put(t, dir+"/ro.txt", "old", 0o444)
		put(t, dir+"/none", "old", 0)
		for _, name := range []string{"ro.txt", "none"} {
			if done, err := files.Replace(name, []byte("new"), 0o644); !errors.Is(err, workspace.ErrReadOnly) || !strings.Contains(err.Error(), "chmod") {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
		}
		holds(t, dir+"/ro.txt", "old")
		if _, err := os.Lstat(dir + "/theirs"); err == nil && os.Geteuid() != 0 {
			// The folder is ours, so that a rename would succeed.
			if done, err := files.Replace("theirs", []byte("new"), 0o644); !errors.Is(err, fs.ErrPermission) {
				t.Errorf("somebody else's file: %+v, %v", done, err)
			}
			holds(t, dir+"/theirs", "theirs")
		}
		os.Remove(dir + "/theirs")
		if got := names(t, dir); got != "none ro.txt" {
			t.Errorf("the folder holds %s", got)
		}
	})
}

func TestReplaceWritesInPlaceWhatItCannotReproduce(t *testing.T) {
	theirs := func(dir string) {
		put(t, dir+"/theirs", "theirs", 0o666)
		put(t, dir+"/closed/f", "old", 0o666)
		if err := os.Chmod(dir+"/closed", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	both(t, theirs, func(t *testing.T, dir string) {
		t.Setenv("TMPDIR", t.TempDir())
		files := at(t, dir)
		for name, why := range map[string]string{"theirs": "owner", "closed/f": "no file can be made in its folder"} {
			path := filepath.Join(dir, name)
			if _, err := os.Lstat(path); err != nil {
				continue // only root can prepare it
			}
			before, _ := os.Stat(path)
			done, err := files.Replace(name, []byte("new"), 0o600)
			holds(t, path, "new")
			after, _ := os.Stat(path)
			if err != nil || before.Mode() != after.Mode() || before.Sys().(*syscall.Stat_t).Uid != after.Sys().(*syscall.Stat_t).Uid {
				t.Errorf("%s: %+v, %v; from %v to %v", name, done, err, before.Mode(), after.Mode())
			}
			if inPlace := os.Geteuid() != 0 || !renames; done.InPlace != inPlace || inPlace && !strings.Contains(done.Why, why) || inPlace != os.SameFile(before, after) {
				t.Errorf("%s as uid %d: %+v", name, os.Geteuid(), done)
			}
			if got := names(t, filepath.Dir(path)) + names(t, os.Getenv("TMPDIR")); strings.Contains(got, "oneloop") {
				t.Errorf("left: %s", got)
			}
		}
	})
}

func TestReplaceKeepsTheOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT TRIED: only root can give files away")
	}
	dir := t.TempDir()
	put(t, dir+"/f", "old", 0o640)
	if err := os.Chown(dir+"/f", ordinary, 12345); err != nil {
		t.Fatal(err)
	}
	done, err := at(t, dir).Replace("f", []byte("new"), 0)
	info, _ := os.Stat(dir + "/f")
	if st := info.Sys().(*syscall.Stat_t); err != nil || done.InPlace == renames || st.Uid != ordinary || st.Gid != 12345 || info.Mode() != 0o640 {
		t.Errorf("%+v, %v: uid %d, gid %d, %v", done, err, st.Uid, st.Gid, info.Mode())
	}
}

func TestSocketsAndDevicesAreNotOpened(t *testing.T) {
	device := func(dir string) {
		if err := syscall.Mknod(dir+"/zero", syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
			t.Logf("NOT TRIED: a device in the workspace: %v", err)
		}
	}
	both(t, device, func(t *testing.T, dir string) {
		l, err := net.Listen("unix", dir+"/s")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		files := at(t, dir)
		for name, kind := range map[string]string{"s": "socket", "zero": "device"} {
			if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
				continue
			}
			_, err := files.Open(name)
			if !errors.Is(err, workspace.ErrNotRegular) || !strings.Contains(err.Error(), kind) {
				t.Errorf("opening the %s gives %v", kind, err)
			}
			if _, err := files.Replace(name, nil, 0); !errors.Is(err, workspace.ErrNotRegular) {
				t.Errorf("replacing the %s gives %v", kind, err)
			}
			if _, err := files.ReadDir(name); !errors.Is(err, workspace.ErrNotRegular) {
				t.Errorf("listing the %s gives %v", kind, err)
			}
		}
	})
}
