package workspace_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace"
)

// acl is an access list as the kernel holds it: mode 0640, and read and write
// for one more user.
const acl = "\x02\x00\x00\x00" +
	"\x01\x00\x06\x00\xff\xff\xff\xff" + // owner rw
	"\x02\x00\x06\x00\x39\x30\x00\x00" + // user 12345 rw
	"\x04\x00\x04\x00\xff\xff\xff\xff" + // group r
	"\x10\x00\x06\x00\xff\xff\xff\xff" + // mask rw
	"\x20\x00\x00\x00\xff\xff\xff\xff" // others none

const (
	accessList  = "system.posix_acl_access"
	defaultList = "system.posix_acl_default"
)

func attribute(path, name string) string {
	buf := make([]byte, 4096)
	n, err := unix.Lgetxattr(path, name, buf)
	if err != nil {
		return err.Error()
	}
	return string(buf[:n])
}

func TestReplaceKeepsAccessListsAndAttributes(t *testing.T) {
	both(t, nil, func(t *testing.T, dir string) {
		files := at(t, dir)
		put(t, dir+"/listed", "old", 0o640)
		put(t, dir+"/plain", "old", 0o644)
		put(t, dir+"/inherits/f", "old", 0o644)
		for _, set := range []struct{ path, name, value string }{
			{"/listed", accessList, acl}, {"/listed", "user.note", "kept"}, {"/listed", "user.empty", ""}, {"/inherits", defaultList, acl},
		} {
			if err := unix.Lsetxattr(dir+set.path, set.name, []byte(set.value), 0); err != nil {
				t.Skipf("NOT TRIED: this file system has no %s: %v", set.name, err)
			}
		}
		for _, name := range []string{"listed", "plain", "inherits/f"} {
			before, _ := os.Stat(dir + "/" + name)
			done, err := files.Replace(name, []byte("new"), 0)
			if err != nil || done.InPlace {
				t.Errorf("%s: %+v, %v", name, done, err)
			}
			if after, _ := os.Stat(dir + "/" + name); after.Mode() != before.Mode() || os.SameFile(before, after) {
				t.Errorf("%s had %v and has %v", name, before.Mode(), after.Mode())
			}
			holds(t, dir+"/"+name, "new")
		}
		for _, want := range []struct{ path, name, value string }{
			{"/listed", accessList, acl}, {"/listed", "user.note", "kept"}, {"/listed", "user.empty", ""},
			{"/plain", accessList, unix.ENODATA.Error()},
			{"/inherits/f", accessList, unix.ENODATA.Error()}, // it was there before the folder had a list
		} {
			if got := attribute(dir+want.path, want.name); got != want.value {
				t.Errorf("%s of %s is %q, want %q", want.name, want.path, got, want.value)
			}
		}
		// A new file has what the folder gives it.
		f, err := os.OpenFile(dir+"/inherits/usual", os.O_CREATE|os.O_WRONLY, 0o666)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		if _, err := files.Replace("inherits/new", nil, 0o666); err != nil {
			t.Error(err)
		}
		if got, want := attribute(dir+"/inherits/new", accessList), attribute(dir+"/inherits/usual", accessList); got != want {
			t.Errorf("a new file's access list is %q, want %q", got, want)
		}
	})
}

func TestAPlantedTemporaryNameIsNotFollowed(t *testing.T) {
	for _, alwaysNamed := range []bool{false, true} {
		w := open(t, workspace.LocalOptions{})
		root, out := w.Describe().Root, t.TempDir()
		put(t, out+"/victim", "victim", 0o644)
		put(t, root+"/f", "old", 0o644)
		put(t, root+"/one", "old", 0o644)
		os.Link(root+"/one", root+"/two") // written in place, with a copy
		link(t, out+"/victim", root+"/planted")
		link(t, out+"/made", root+"/dangling")
		next := 0
		back := workspace.NameTemp(func() string {
			next++
			return []string{"planted", "dangling", "free"}[next%3]
		}, alwaysNamed)
		for _, name := range []string{"f", "one", "new"} {
			if _, err := w.Files().Replace(name, []byte("new"), 0o644); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			holds(t, root+"/"+name, "new")
		}
		back()
		back = workspace.NameTemp(func() string { return "planted" }, alwaysNamed)
		if _, err := w.Files().Replace("f", []byte("newer"), 0o644); !errors.Is(err, fs.ErrExist) {
			t.Errorf("with every name taken: %v", err)
		}
		back()
		holds(t, root+"/f", "new")
		holds(t, out+"/victim", "victim")
		if got := names(t, out) + " " + names(t, root); got != "victim dangling f new one planted two" {
			t.Errorf("there are %s", got)
		}
	}
}

func TestAKilledProgramLeavesTheOldFileOrTheNew(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	kills := 3
	if os.Getenv("ONELOOP_SOAK") != "" {
		kills = 100
	}
	contents := [][]byte{large(0), large(1)}
	put(t, dir+"/f", string(contents[1]), 0o644)
	for n := range kills {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), "WORKSPACE_TEST_REPLACE="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// In the middle of the first write or of the second.
		lines := bufio.NewScanner(out)
		for range 1 + n%2 {
			lines.Scan()
		}
		from := written(cmd.Process.Pid)
		part := int64(50<<20) * int64(n+1) / int64(kills+1)
		for deadline := time.Now().Add(2 * time.Second); written(cmd.Process.Pid) < from+part && time.Now().Before(deadline); {
		}
		cmd.Process.Kill()
		cmd.Wait()
		got, err := os.ReadFile(dir + "/f")
		if err != nil || !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
			t.Fatalf("after kill %d it holds %d bytes, beginning %.10q, %v", n, len(got), got, err)
		}
		if got := names(t, dir); got != "f" {
			t.Errorf("after kill %d the folder holds %s", n, got)
			os.Remove(filepath.Join(dir, strings.Fields(got)[0]))
		}
	}
}

// written is how many bytes a process has given to the disk so far.
func written(pid int) (n int64) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	_, rest, _ := strings.Cut(string(text), "\nwrite_bytes: ")
	fmt.Sscan(rest, &n)
	return n
}

func TestAFullDiskLeavesTheOldFile(t *testing.T) {
	if dir := os.Getenv("WORKSPACE_TEST_FULL"); dir != "" {
		onFullDisk(t, dir)
		return
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-test.run=^TestAFullDiskLeavesTheOldFile$", "-test.v")
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_FULL="+t.TempDir(), "TMPDIR="+t.TempDir(), "GORACE=atexit_sleep_ms=0")
	one := func(id int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: id, Size: 1}} }
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS, UidMappings: one(os.Getuid()), GidMappings: one(os.Getgid()),
	}
	out, err := cmd.CombinedOutput()
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) || bytes.Contains(out, []byte("NOT TRIED")) {
		t.Skipf("NOT TRIED: no small file system can be mounted here: %v\n%s", err, out)
	}
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestAFull")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func onFullDisk(t *testing.T, dir string) {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=4m"); err != nil {
		t.Skipf("NOT TRIED: %v", err)
	}
	old := strings.Repeat("o", 3<<20)
	put(t, dir+"/f", old, 0o644)
	files := at(t, dir)
	check := func(what string, err error, want string) {
		t.Helper()
		if !errors.Is(err, unix.ENOSPC) {
			t.Errorf("%s: %v", what, err)
		}
		if got := names(t, dir); got != want {
			t.Errorf("%s: the folder holds %s", what, got)
		}
	}
	for _, alwaysNamed := range []bool{false, true} {
		back := workspace.NameTemp(nil, alwaysNamed)
		_, err := files.Replace("f", []byte(strings.Repeat("n", 3<<20)), 0)
		check("by a rename", err, "f")
		holds(t, dir+"/f", old)
		_, err = files.Replace("new", []byte(strings.Repeat("n", 3<<20)), 0o644)
		check("a new file", err, "f")
		back()
	}
	if err := os.Link(dir+"/f", dir+"/g"); err != nil {
		t.Fatal(err)
	}
	// The copy finds room elsewhere, the longer content does not.
	_, err := files.Replace("f", []byte(strings.Repeat("n", 6<<20)), 0)
	check("in place", err, "f g")
	holds(t, dir+"/g", old)
	if got := names(t, os.TempDir()); strings.Contains(got, "oneloop-") {
		t.Errorf("left: %s", got)
	}
	if done, err := files.Replace("f", []byte(strings.Repeat("n", 3<<20)), 0); err != nil || !done.InPlace {
		t.Errorf("what has room in place: %+v, %v", done, err)
	}
	// No room for the copy anywhere: the file is not touched.
	was := os.Getenv("TMPDIR")
	os.Setenv("TMPDIR", dir)
	_, err = files.Replace("f", []byte("short"), 0)
	check("without a copy", err, "f g")
	holds(t, dir+"/g", strings.Repeat("n", 3<<20))
	os.Setenv("TMPDIR", was)
	// A file of holes that fill up: neither the new content fits nor the old.
	os.Remove(dir + "/f")
	os.Truncate(dir+"/g", 0)
	os.Truncate(dir+"/g", 6<<20)
	os.Link(dir+"/g", dir+"/h")
	_, err = files.Replace("g", []byte(strings.Repeat("n", 6<<20)), 0)
	check("a file of holes", err, "g h")
	_, kept, _ := strings.Cut(fmt.Sprint(err), "what it held is in ")
	holds(t, kept, strings.Repeat("\x00", 6<<20))
	os.Remove(kept)
}

func TestWhatIsSwappedMeanwhileLeadsNowhereElse(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root, out := w.Describe().Root, t.TempDir()
	for _, dir := range []string{root + "/a", root + "/.git/hooks"} {
		os.MkdirAll(dir, 0o755)
	}
	put(t, out+"/f", "victim", 0o644)
	put(t, root+"/a/f", "0", 0o644)
	for n, target := range []string{out, root + "/.git/hooks"} {
		other := fmt.Sprint(root, "/other", n)
		link(t, target, other)
		stop, stopped := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(stopped)
			for {
				select {
				case <-stop:
					return
				default:
					for range 2 { // there and back
						unix.Renameat2(unix.AT_FDCWD, root+"/a", unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
					}
				}
			}
		}()
		var worked, failed int
		for i := 0; i < 300 || (worked == 0 || failed == 0) && i < 5000; i++ {
			_, err := w.Files().Replace("a/f", []byte("ours"), 0o644)
			if f, err := w.Files().Create(fmt.Sprint("a/new", i), 0o600); err == nil {
				f.Close()
			}
			if f, err := w.Files().Open("a/f"); err == nil {
				text := make([]byte, 10)
				if n, _ := f.Read(text); string(text[:n]) == "victim" {
					t.Error("it read what is outside")
				}
				f.Close()
			}
			if err == nil {
				worked++
			} else {
				failed++
			}
		}
		close(stop)
		<-stopped
		if worked == 0 || failed == 0 {
			t.Errorf("it worked %d times and failed %d times: nothing was tried", worked, failed)
		}
	}
	holds(t, out+"/f", "victim")
	if got := names(t, out) + names(t, root+"/.git/hooks"); got != "f" {
		t.Errorf("elsewhere there are now: %s", got)
	}
}
