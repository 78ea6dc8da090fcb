package workspace_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"oneloop/workspace"
)

func TestNoTreeOfLinksLeadsOutside(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: links need a privilege on Windows")
	}
	base := real(t, t.TempDir())
	tree := 0
	rapid.Check(t, func(r *rapid.T) {
		tree++
		top := filepath.Join(base, fmt.Sprint(tree))
		root, further, out := top+"/root", top+"/further", top+"/root-not" // the root is a prefix of it
		part := rapid.SampledFrom([]string{"a", "b", "c", "..", ".", "root", "further", "root-not"})
		path := rapid.Custom(func(r *rapid.T) string {
			p := strings.Join(rapid.SliceOfN(part, 1, 5).Draw(r, "parts"), "/")
			return rapid.SampledFrom([]string{"", "", root + "/", further + "/", out + "/", top + "/", "/"}).Draw(r, "start") + p
		})
		for _, dir := range []string{root, further, out} {
			if err := os.MkdirAll(dir+"/a/b", 0o755); err != nil {
				r.Fatal(err)
			}
		}
		if err := os.WriteFile(out+"/c", []byte("outside"), 0o644); err != nil {
			r.Fatal(err)
		}
		for i := range rapid.IntRange(1, 6).Draw(r, "links") {
			dir := rapid.SampledFrom([]string{root, root + "/a", root + "/a/b", further, further + "/a", out, out + "/a"}).Draw(r, "dir")
			os.Symlink(path.Draw(r, "target"), fmt.Sprint(dir, "/", []string{"c", "d"}[i%2])) // where there is one it stays
		}
		before := listing(r, out)
		w, err := workspace.Local(root, workspace.LocalOptions{Dirs: []string{further}})
		if err != nil {
			r.Fatal(err)
		}
		for range 5 {
			name := path.Draw(r, "name")
			if rapid.Bool().Draw(r, "deeper") {
				name += rapid.SampledFrom([]string{"/c", "/d", "/d/c", "/c/d/a"}).Draw(r, "more")
			}
			resolves(r, w.Files(), name, root, further)
			done, err := w.Files().Replace(name, []byte("ours"), 0o644)
			if err != nil {
				continue
			}
			if text, err := os.ReadFile(done.Path); err != nil || string(text) != "ours" {
				r.Fatalf("%s was replaced and holds %q, %v", name, text, err)
			}
		}
		if after := listing(r, out); after != before {
			r.Fatalf("outside there was %s and now is %s", before, after)
		}
	})
}

// resolves compares what Resolve says with what the system says.
func resolves(r *rapid.T, files workspace.Files, name, root, further string) {
	got, err := files.Resolve(name)
	abs := name
	if !filepath.IsAbs(abs) {
		abs = root + "/" + name
	}
	actual, systems := filepath.EvalSymlinks(filepath.Clean(abs))
	inside := func(p string) bool { return in(root, p) || in(further, p) }
	switch {
	case err == nil && !inside(got):
		r.Fatalf("%s leads to %s, outside", name, got)
	case err == nil && systems == nil && got != actual:
		r.Fatalf("%s leads to %s, and to %s for the system", name, got, actual)
	case systems == nil && inside(actual) && err != nil:
		r.Fatalf("%s leads to %s, inside, and gives %v", name, actual, err)
	case systems == nil && !inside(actual) && !errors.Is(err, workspace.ErrOutside):
		r.Fatalf("%s leads to %s, outside, and gives %v", name, actual, err)
	}
	for p := got; err == nil && inside(p); p = filepath.Dir(p) {
		if info, err := os.Lstat(p); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			r.Fatalf("%s leads to %s, where %s is a link", name, got, p)
		}
	}
}

func in(dir, path string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// listing describes everything in a folder.
func listing(r *rapid.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		text := ""
		if info.Mode().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(data)
		}
		fmt.Fprintln(&b, path, info.Mode(), text)
		return nil
	})
	if err != nil {
		r.Fatal(err)
	}
	return b.String()
}

func TestProtectedNamesStaySoWhateverIsAroundThem(t *testing.T) {
	name := rapid.SampledFrom([]string{".git", ".oneloop", ".claude", ".mcp.json", ".vscode", ".idea", ".envrc", ".gitmodules", ".cursor", ".exrc", "opencode.json", ".devcontainer.json", "x.code-workspace"})
	path := rapid.SliceOfN(rapid.StringMatching(`[a-z.]{1,6}`), 0, 3)
	rapid.Check(t, func(r *rapid.T) {
		spelt := strings.Map(func(c rune) rune {
			if rapid.Bool().Draw(r, "upper") {
				return []rune(strings.ToUpper(string(c)))[0]
			}
			return c
		}, name.Draw(r, "name"))
		parts := append(append(path.Draw(r, "before"), spelt), path.Draw(r, "after")...)
		rel := strings.Join(parts, rapid.SampledFrom([]string{"/", "//", "/./"}).Draw(r, "between"))
		if !workspace.Protected(rel) || !workspace.Protected("./"+rel) {
			r.Fatalf("%q is not protected", rel)
		}
	})
}
