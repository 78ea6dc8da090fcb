package workspace_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// put writes a file and the folders on the way, as somebody else would.
func put(t testing.TB, path, text string, perm fs.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, perm); err != nil {
		t.Fatal(err)
	}
}

func link(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
}

func holds(t testing.TB, path, want string) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s holds %.80q, %v; want %.80q", path, got, err, want)
	}
}

// names gives what a folder holds.
func names(t testing.TB, dir string) string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range list {
		all = append(all, e.Name())
	}
	return strings.Join(all, " ")
}

func real(t testing.TB, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// two returns a workspace with a further folder, and a folder outside.
func two(t testing.TB) (w *workspace.LocalWorkspace, root, further, out string) {
	t.Helper()
	root, further, out = real(t, t.TempDir()), real(t, t.TempDir()), real(t, t.TempDir())
	w, err := workspace.Local(root, workspace.LocalOptions{Dirs: []string{further}})
	if err != nil {
		t.Fatal(err)
	}
	return w, root, further, out
}

func TestALinkIsJudgedByWhereItLeads(t *testing.T) {
	w, root, further, out := two(t)
	put(t, root+"/dir/f", "inside", 0o644)
	put(t, further+"/g", "further", 0o644)
	put(t, out+"/secret", "secret", 0o644)
	link(t, root+"/dir/f", root+"/absolute")
	link(t, "dir/../dir/f", root+"/relative")
	link(t, "absolute", root+"/chain")
	link(t, further, root+"/across")
	link(t, root+"/dir", further+"/back")
	link(t, root+"/dir/new", root+"/dangling")
	link(t, root+"/dir", out+"/return")
	link(t, out+"/return", root+"/detour")
	link(t, out, root+"/away")
	link(t, out+"/none", root+"/away-dangling")
	link(t, "../"+filepath.Base(out)+"/secret", root+"/up")
	link(t, "circle", root+"/circle")
	for name, want := range map[string]string{
		"absolute": root + "/dir/f", "relative": root + "/dir/f", "chain": root + "/dir/f",
		"across/g": further + "/g", "across/back/f": root + "/dir/f", "detour/f": root + "/dir/f",
		"dangling": root + "/dir/new", "dir/../away/../dir/f": root + "/dir/f",
		further + "/back/f": root + "/dir/f", "": root, "no/such": root + "/no/such", "dir/f/x": root + "/dir/f/x",
	} {
		if got, err := w.Files().Resolve(name); got != want || err != nil {
			t.Errorf("%s leads to %s, %v; want %s", name, got, err, want)
		}
	}
	for name, leads := range map[string]string{
		"away/secret": out + "/secret", "away-dangling": out + "/none", "up": "",
		"away/return/../secret": out + "/secret", out + "/secret": out + "/secret", "..": filepath.Dir(root), root + "2/f": root + "2/f",
	} {
		_, err := w.Files().Resolve(name)
		if !errors.Is(err, workspace.ErrOutside) || !strings.Contains(err.Error(), leads) || !strings.Contains(err.Error(), root) {
			t.Errorf("%s gives %v, want ErrOutside and %s", name, err, leads)
		}
		if _, err := w.Files().Replace(name, []byte("x"), 0o644); !errors.Is(err, workspace.ErrOutside) {
			t.Errorf("replacing %s gives %v", name, err)
		}
	}
	if _, err := w.Files().Resolve("circle"); err == nil || errors.Is(err, workspace.ErrOutside) {
		t.Errorf("a circle gives %v", err)
	}
	holds(t, out+"/secret", "secret")
	if got := names(t, out); got != "return secret" {
		t.Errorf("outside there are now: %s", got)
	}
}

func TestReplaceFollowsALinkThatStaysInside(t *testing.T) {
	w, root, further, _ := two(t)
	put(t, root+"/real.txt", "old", 0o644)
	put(t, further+"/g", "old", 0o644)
	link(t, "real.txt", root+"/link")
	link(t, further+"/g", root+"/across")
	link(t, root+"/made", root+"/dangling")
	for name, target := range map[string]string{"link": root + "/real.txt", "across": further + "/g", "dangling": root + "/made"} {
		done, err := w.Files().Replace(name, []byte("new"), 0o644)
		if err != nil || done.Path != target || done.InPlace != (runtime.GOOS == "windows" && !done.Created) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		holds(t, target, "new")
		if info, err := os.Lstat(root + "/" + name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v, %v", name, info, err)
		}
	}
	if got := names(t, root) + " " + names(t, further); got != "across dangling link made real.txt g" {
		t.Errorf("the folders hold %s", got)
	}
}

func TestAProtectedFileIsChangedByItsOwnNameOnly(t *testing.T) {
	w, root, _, _ := two(t)
	put(t, root+"/.git/config", "mine", 0o644)
	link(t, ".git", root+"/g")
	link(t, ".git/config", root+"/c")
	files := w.Files()
	for _, name := range []string{"g/config", "c", "g/hooks"} {
		_, err := files.Replace(name, []byte("x"), 0o644)
		if !errors.Is(err, workspace.ErrHidden) {
			t.Errorf("replacing %s gives %v", name, err)
		}
	}
	for what, err := range map[string]error{
		"chmod":       files.Chmod("c", 0o777),
		"remove":      files.Remove("g/config"),
		"rename":      files.Rename("g/config", "x"),
		"rename into": files.Rename("c", "g/config"),
		"mkdir":       files.MkdirAll("g/hooks", 0o755),
	} {
		if !errors.Is(err, workspace.ErrHidden) {
			t.Errorf("%s gives %v", what, err)
		}
	}
	if f, err := files.Create("g/new", 0o600); !errors.Is(err, workspace.ErrHidden) {
		t.Errorf("create gives %v", err)
		if err == nil {
			f.Close()
		}
	}
	holds(t, root+"/.git/config", "mine")
	path, err := files.Resolve("c")
	if err != nil || !w.Describe().Protected(path) {
		t.Errorf("it leads to %s, %v, which is not protected", path, err)
	}
	if _, err := files.Replace(path, []byte("asked"), 0o644); err != nil {
		t.Error(err)
	}
	holds(t, root+"/.git/config", "asked")
	if err := files.Remove("c"); err != nil { // the link itself is nobody's configuration
		t.Error(err)
	}
}

func TestProtectedGoesByTheNameInAnySpelling(t *testing.T) {
	for _, name := range []string{
		".git", ".git/config", ".GIT/config", ".git//hooks/x", "./.git/./config", "sub/.git/config", "a/.Git/HEAD", ".git/hooks",
		".g\u200cit/config", ".git./config", ".git ./x", "GIT~1/config", ".git::$INDEX_ALLOCATION/config", `sub\.git\config`,
		".oneloop/settings.json", ".claude", ".mcp.json", ".MCP.json", ".v\u017fcode/tasks.json", ".vscode/tasks.json", ".idea/x", ".envrc", "sub/.envrc", ".gitmodules",
	} {
		if !workspace.Protected(name) {
			t.Errorf("%q is not protected", name)
		}
	}
	for _, name := range []string{".gitignore", ".github/x.yml", ".gitattributes", "git", "a.git", ".git2", "src/config", "hooks/x", ".env", "", ".", ".bashrc"} {
		if workspace.Protected(name) {
			t.Errorf("%q is protected", name)
		}
	}
}

func TestStartUpFilesAreProtectedWhereTheWorkspaceIsAHome(t *testing.T) {
	home := workspace.Info{Root: "/home/u", Home: "/home/u"}
	wide := workspace.Info{Root: "/", Home: "/home/u"}
	project := workspace.Info{Root: "/home/u/p", Dirs: []string{"/home/u/bin"}, Home: "/home/u"}
	for _, row := range []struct {
		at   workspace.Info
		path string
		want bool
	}{
		{home, "/home/u/.bashrc", true}, {home, "/home/u/.BashRC", true}, {home, "/home/u/.ssh", true}, {home, "/home/u/.ssh/authorized_keys", true},
		{home, "/home/u/.config/git/config", true}, {home, "/home/u/.config/x", false}, {home, "/home/u/p/.bashrc", false}, {home, "/home/u/.sshx", false},
		{wide, "/home/u/.profile", true}, {wide, "/etc/x", false}, {wide, "/srv/.git/config", true},
		{project, "/home/u/p/.bashrc", false}, {project, "/home/u/p/.git/config", true}, {project, "/home/u/bin/tool", false}, {project, "/home/u/bin/.git", true},
		{workspace.Info{Root: "/r/.git"}, "/r/.git/config", true}, {workspace.Info{Root: "/h/.claude/worktrees/a"}, "/h/.claude/worktrees/a/f", false},
	} {
		if got := row.at.Protected(filepath.FromSlash(row.path)); got != row.want {
			t.Errorf("%s in %s: %v", row.path, row.at.Root, got)
		}
	}
}

func TestWhatCouldBlockIsNotOpened(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: there are no named pipes in folders on Windows")
	}
	w := open(t, workspace.LocalOptions{})
	root := w.Describe().Root
	bash(t, w, 5*time.Second, "mkfifo p; ln -s p to-p")
	for _, name := range []string{"p", "to-p", root + "/p"} {
		if _, err := w.Files().Open(name); !errors.Is(err, workspace.ErrNotRegular) || !strings.Contains(err.Error(), "named pipe") {
			t.Errorf("opening %s gives %v", name, err)
		}
		if _, err := w.Files().Replace(name, nil, 0o644); !errors.Is(err, workspace.ErrNotRegular) {
			t.Errorf("replacing %s gives %v", name, err)
		}
	}
	if _, err := w.Files().Open("/dev/zero"); !errors.Is(err, workspace.ErrOutside) {
		t.Errorf("a device outside gives %v", err)
	}
	wide, err := workspace.Local("/", workspace.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"/dev/zero", "/dev/tty", "/proc/self/environ"} {
		if _, err := os.Stat(name); err != nil {
			continue
		}
		if f, err := wide.Files().Open(name); !errors.Is(err, workspace.ErrNotRegular) {
			t.Errorf("opening %s gives %v", name, err)
			if err == nil {
				f.Close()
			}
		}
	}
}

func TestReplaceMakesAFileWithTheUsersMask(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	root := w.Describe().Root
	for name, perm := range map[string]fs.FileMode{"plain": 0o666, "zero": 0, "tool": 0o777, "own": 0o600} {
		done, err := w.Files().Replace(name, []byte(name), perm)
		if err != nil || !done.Created || done.InPlace || done.Path != filepath.Join(root, name) {
			t.Errorf("%s: %+v, %v", name, done, err)
		}
		holds(t, filepath.Join(root, name), name)
		if perm == 0 {
			perm = 0o666
		}
		like, err := os.OpenFile(filepath.Join(t.TempDir(), "f"), os.O_CREATE|os.O_WRONLY, perm)
		if err != nil {
			t.Fatal(err)
		}
		want, _ := like.Stat()
		like.Close()
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode() != want.Mode() {
			t.Errorf("%s has mode %v, %v; want %v", name, info.Mode(), err, want.Mode())
		}
	}
	if got := names(t, root); got != "own plain tool zero" {
		t.Errorf("the folder holds %s", got)
	}
	if _, err := w.Files().Replace("no/such", nil, 0o644); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its folder: %v", err)
	}
	if _, err := w.Files().Replace(".", nil, 0o644); err == nil {
		t.Error("a folder was replaced")
	}
}

func TestOpenReads(t *testing.T) {
	w := open(t, workspace.LocalOptions{})
	put(t, filepath.Join(w.Describe().Root, "f"), "text", 0o644)
	f, err := w.Files().Open("f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if b, err := io.ReadAll(f); string(b) != "text" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}

// replaceForEver replaces the file f below dir by one of two contents in turn
// and prints a line before each.
func replaceForEver(dir string) {
	w, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		panic(err)
	}
	for n := 0; ; n++ {
		fmt.Println(n)
		if _, err := w.Files().Replace("f", large(n), 0o644); err != nil {
			panic(err)
		}
	}
}

// large is 50 MB of one of two letters.
func large(n int) []byte { return bytes.Repeat([]byte{"ab"[n%2]}, 50<<20) }
