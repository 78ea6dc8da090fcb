package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"oneloop/workspace"
)

func TestCachesOfFoldersThatAreGoneAreRemovedAfterAWhile(t *testing.T) {
	home, work, outside := t.TempDir(), t.TempDir(), t.TempDir()
	now := time.Now()
	put := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cache := func(dir, note string, age time.Duration) string {
		t.Helper()
		name := filepath.Join(home, cacheName(dir))
		put(filepath.Join(name, "go-mod", "m", "file"), "x")
		if err := os.Symlink(outside, filepath.Join(name, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(name, "go-mod", "m"), 0o500); err != nil {
			t.Fatal(err)
		}
		put(filepath.Join(workspace.CacheLayers(name), "0", "go-mod", "upper", "file"), "x")
		put(name+".of", note)
		if err := os.Chtimes(name+".of", now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
		return name
	}
	t.Cleanup(func() {
		filepath.Walk(home, func(path string, info os.FileInfo, _ error) error {
			if info != nil && info.IsDir() {
				os.Chmod(path, 0o700)
			}
			return nil
		})
	})
	put(filepath.Join(outside, "mine"), "x")
	here, gone, soon, lie := filepath.Join(work, "here"), filepath.Join(work, "gone"), filepath.Join(work, "soon"), filepath.Join(work, "lie")
	if err := os.Mkdir(here, 0o755); err != nil {
		t.Fatal(err)
	}
	const old = cacheAge + time.Hour
	removed := cache(gone, gone, old)
	kept := []string{
		cache(here, here, old), cache(soon, soon, cacheAge-time.Hour),
		cache(lie, gone, old), // the note is not true
		filepath.Join(outside, "mine"),
	}
	put(filepath.Join(home, "other", "file"), "x")
	kept = append(kept, filepath.Join(home, "other", "file"))

	keepCaches(home, here, now)
	for _, path := range []string{removed, workspace.CacheLayers(removed), removed + ".of"} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s is still there", path)
		}
	}
	for _, path := range kept {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
	if info, err := os.Stat(kept[0] + ".of"); err != nil || now.Sub(info.ModTime()) > time.Minute {
		t.Errorf("the one in use is not noted: %v, %v", info, err)
	}

	again := cache(gone, gone, old)
	keepCaches(home, here, now.Add(time.Hour))
	if _, err := os.Lstat(again); err != nil {
		t.Error("it looked twice on a day")
	}
	keepCaches(home, here, now.Add(cacheEvery+time.Minute))
	if _, err := os.Lstat(again); err == nil {
		t.Error("it did not look on the next day")
	}
}

func TestACacheIsRemovedOnlyAsLongAsThereIsTime(t *testing.T) {
	home := t.TempDir()
	if err := os.Mkdir(filepath.Join(home, "cache"), 0o755); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := removeTree(root, "cache", time.Now().Add(-time.Second)); err != errLate {
		t.Errorf("without time: %v", err)
	}
	if err := removeTree(root, "cache", time.Now().Add(time.Hour)); err != nil {
		t.Error(err)
	}
}

func TestTheNameOfACacheFitsWhateverTheFolderIsCalled(t *testing.T) {
	home := t.TempDir()
	for _, base := range []string{strings.Repeat("y", 255), strings.Repeat("中", 85), "x" + strings.Repeat("中", 84), strings.Repeat("\xc4", 250)} {
		name := cacheName("/srv/" + base)
		if err := os.MkdirAll(filepath.Join(home, workspace.CacheLayers(name)), 0o755); err != nil {
			t.Error(err)
		}
		if utf8.ValidString(base) && !utf8.ValidString(name) {
			t.Errorf("%q is cut to %q", base, name)
		}
		if name == cacheName("/elsewhere/"+base) {
			t.Errorf("two folders have the cache %q", name)
		}
	}
	if name := cacheName("/srv/short"); !strings.HasPrefix(name, "short-") {
		t.Errorf("a short name is %q", name)
	}
}
