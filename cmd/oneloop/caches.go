package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oneloop/workspace"
)

const (
	cacheAge   = 30 * 24 * time.Hour // since it was last used
	cacheEvery = 24 * time.Hour      // how often one of a folder that is gone is looked for
	cacheBase  = 200                 // bytes of a folder's name in that of its cache: with what is added, a name has 255
	cacheTime  = time.Second         // to remove it; what is left then is for another day
)

// cacheName is the name of the cache of the folder dir.
func cacheName(dir string) string {
	sum := sha256.Sum256([]byte(dir))
	base := filepath.Base(dir)
	if len(base) > cacheBase {
		base = strings.ToValidUTF8(base[:cacheBase], "")
	}
	return fmt.Sprintf("%s-%x", base, sum[:6])
}

// keepCaches notes in home, beside the cache of dir, whose that is, and removes
// caches of folders that are gone for long. Nothing depends on it, so that what
// cannot be done is left.
func keepCaches(home, dir string, now time.Time) {
	note := filepath.Join(home, cacheName(dir)+".of")
	if text, err := os.ReadFile(note); err != nil || string(text) != dir {
		os.WriteFile(note, []byte(dir), 0o600)
	}
	os.Chtimes(note, now, now)
	stamp := filepath.Join(home, "looked")
	if info, err := os.Stat(stamp); err == nil && now.Sub(info.ModTime()) < cacheEvery {
		return
	}
	if os.WriteFile(stamp, nil, 0o600) != nil || os.Chtimes(stamp, now, now) != nil {
		return
	}
	root, err := os.OpenRoot(home)
	if err != nil {
		return
	}
	defer root.Close()
	notes, err := fs.Glob(root.FS(), "*.of")
	if err != nil {
		return
	}
	end := time.Now().Add(cacheTime)
	for _, note := range notes {
		if name := strings.TrimSuffix(note, ".of"); ownerGone(root, note, name, now) && removeTree(root, name, end) == nil &&
			removeTree(root, workspace.CacheLayers(name), end) == nil {
			root.Remove(note)
		}
	}
}

// ownerGone reports whether a cache is of a folder that is gone. Its name says
// whether the note is true.
func ownerGone(root *os.Root, note, name string, now time.Time) bool {
	info, err := root.Lstat(note)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 8<<10 || now.Sub(info.ModTime()) < cacheAge {
		return false
	}
	dir, err := root.ReadFile(note)
	if err != nil || !filepath.IsAbs(string(dir)) || cacheName(string(dir)) != name {
		return false
	}
	_, err = os.Lstat(string(dir))
	return errors.Is(err, fs.ErrNotExist)
}

var errLate = errors.New("there was not enough time")

// removeTree removes a folder with all that is in it, also where folders are
// read-only, as those of Go modules are. It follows no link.
func removeTree(root *os.Root, name string, end time.Time) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		if err := root.Chmod(name, 0o700); err != nil {
			return err
		}
		dir, err := root.Open(name)
		if err != nil {
			return err
		}
		names, err := dir.Readdirnames(-1)
		dir.Close()
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := removeTree(root, filepath.Join(name, n), end); err != nil {
				return err
			}
		}
	}
	if time.Now().After(end) {
		return errLate
	}
	return root.Remove(name)
}
