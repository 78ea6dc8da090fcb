//go:build amd64 || arm64

package confine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnotherPlaceThanAMountIsToldFromOne(t *testing.T) {
	if _, err := mounted("/", "/proc", false); err != nil {
		t.Errorf("/proc: %v", err)
	}
	dir := t.TempDir()
	if err := os.Symlink("/proc", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ root, name, want string }{
		{dir, "link", "nothing is mounted"},
		{dir, "link/sys", "not a directory"},
		{dir, ".", "nothing is mounted"},
		{dir, "missing", "no such file"},
		{"/", "/proc", ""},
	} {
		_, err := mounted(c.root, c.name, false)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s in %s: %v, want %q", c.name, c.root, err, c.want)
		}
	}
	if _, err := mounted("/", "/dev", true); err == nil {
		t.Error("/dev counts as read-only")
	}
}

// TestWhatIsHiddenIsCoveredLast makes sure that no other mount comes after it.
func TestWhatIsHiddenIsCoveredLast(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"ws", "around/show"} {
		if err := os.MkdirAll(filepath.Join(home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	key := filepath.Join(home, "key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	around := filepath.Join(home, "around")
	w := &Wrapper{Empty: "/empty", Policy: Policy{Tmp: "/tmp/x", Write: []string{home + "/ws"}, Show: []string{around + "/show"}, Hide: []string{around, key, home + "/missing"}}}
	words := strings.Join(w.words(Order{Guard: []Guard{{home + "/ws", "hooks", ReadOnly}}}, Covered(w.Policy.Hide, w.Policy.Write)), " ")
	at := 0
	for _, want := range []string{
		"--cap-drop ALL --seccomp 6", "--remount-ro /proc", "--bind /tmp/x /tmp", "--bind " + home + "/ws", "--tmpfs " + around + " ", "--ro-bind-try " + around + "/show",
		"--ro-bind " + home + "/ws/hooks", "--ro-bind /empty " + key, "--remount-ro " + around,
	} {
		next := strings.Index(words[at:], want)
		if next < 0 {
			t.Fatalf("%q is missing, or comes too early:\n%s", want, words)
		}
		at += next
	}
	if strings.Contains(words, "missing") {
		t.Error("what does not exist is covered")
	}
}
