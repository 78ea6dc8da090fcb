package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a folder that is copied.
const (
	copyFiles = 200_000
	copyBytes = 2 << 30
)

// copyFolder copies a folder with what git keeps in it, times and permissions
// included. Links that lead to another place in the folder lead there in the
// copy; pipes, sockets and devices, and what may not be read, are left out. So is
// the .git of a linked worktree: commands in the copy would change the repository.
func copyFolder(ctx context.Context, from, to string) error {
	if err := copyable(ctx, from); err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	var dirs []copiedDir
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, relErr := filepath.Rel(from, path)
		if relErr != nil {
			return relErr
		}
		target := filepath.Join(to, rel)
		if err != nil {
			if errors.Is(err, fs.ErrPermission) && rel != "." {
				return nil
			}
			return err
		}
		switch {
		case d.IsDir():
			info, err := d.Info()
			if err != nil {
				return err
			}
			dirs = append(dirs, copiedDir{target, info})
			return os.MkdirAll(target, 0o700)
		case d.Type() == fs.ModeSymlink:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			if rest, in := strings.CutPrefix(link, from+string(filepath.Separator)); in {
				link = filepath.Join(to, rest)
			}
			return os.Symlink(link, target)
		case !d.Type().IsRegular(), d.Name() == ".git" && elsewhere(path, from):
			return nil
		}
		err = copyFile(path, target)
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	for _, d := range slices.Backward(dirs) { // once nothing is made in them any more
		err = errors.Join(err, d.like())
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
}

// copyable is an error when a folder holds more than is copied.
func copyable(ctx context.Context, from string) error {
	files, size := 0, int64(0)
	return filepath.WalkDir(from, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return nil // which is told, or left out, when it is copied
		}
		if d.Type().IsRegular() {
			if info, err := d.Info(); err == nil {
				size += info.Size()
			}
		}
		if files++; files > copyFiles || size > copyBytes {
			return fmt.Errorf("it holds more than %d files or %s, which is the most that is copied", copyFiles, megabytes(copyBytes))
		}
		return nil
	})
}

// copiedDir is a folder of a copy, and what it is to be like.
type copiedDir struct {
	path string
	was  fs.FileInfo
}

// like gives it the permissions and the times it had; its owner may always use
// the copy.
func (d copiedDir) like() error {
	return errors.Join(os.Chtimes(d.path, d.was.ModTime(), d.was.ModTime()), os.Chmod(d.path, d.was.Mode().Perm()|0o700))
}

// elsewhere reports whether the file .git names a repository outside of root.
func elsewhere(file, root string) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return true
	}
	dir := strings.TrimPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	rel, err := filepath.Rel(root, filepath.Join(filepath.Dir(file), dir))
	return filepath.IsAbs(dir) || err != nil || !filepath.IsLocal(rel)
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, io.LimitReader(in, copyBytes)); err != nil {
		return errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
