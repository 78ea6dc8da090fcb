package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
	files, size := 0, int64(0)
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
		if files++; files > copyFiles || size > copyBytes {
			return fmt.Errorf("it holds more than %d files or %s, which is the most that is copied", copyFiles, megabytes(copyBytes))
		}
		switch {
		case d.IsDir():
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
		n, err := copyFile(path, target)
		size += n
		if errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	return nil
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

func copyFile(from, to string) (n int64, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm()|0o200)
	if err != nil {
		return 0, err
	}
	if n, err = io.Copy(out, io.LimitReader(in, copyBytes)); err != nil {
		return n, errors.Join(err, out.Close())
	}
	if err := out.Close(); err != nil {
		return n, err
	}
	return n, os.Chtimes(to, info.ModTime(), info.ModTime())
}
