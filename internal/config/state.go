package config

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// StateDir is [Settings.StateDir], for those who need it before there are
// settings.
func StateDir(environment []string) string {
	l := &loader{env: environ(environment), out: new(Settings)}
	l.findDirs()
	return l.out.StateDir
}

// findState sees whether the state folder can be written, or made. If not, the
// program works without one and the user is told once. It is made by whatever
// keeps something in it: most runs do not, and on a busy disk making a folder
// takes longer than all else here.
func (l *loader) findState(dir string) {
	if dir == "" {
		l.notice("HOME is not set to a folder, so nothing is kept between runs; set XDG_STATE_HOME to keep it.")
		return
	}
	err := l.usable(dir)
	if err != nil {
		l.notice("%s cannot be written (%s), so nothing is kept between runs; set XDG_STATE_HOME to another folder to keep it.", dir, cause(err))
		return
	}
	l.out.StateDir = dir
}

func (l *loader) usable(dir string) error {
	if strings.HasPrefix(dir, l.home+string(filepath.Separator)) {
		if _, err := os.Stat(l.home); err != nil {
			return err // a home that is not there is not ours to make
		}
	}
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return makeable(dir)
	}
	if err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		if err := os.Chmod(dir, 0o700); err != nil {
			return err
		}
	}
	return Writable(dir)
}

// makeable says why a folder that is not there could not be made.
func makeable(dir string) error {
	for {
		above := filepath.Dir(dir)
		if above == dir {
			return fs.ErrNotExist
		}
		dir = above
		if err := Writable(dir); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
}

// Writable says why files cannot be made in dir; nil when they can.
func Writable(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &fs.PathError{Op: "write in", Path: dir, Err: errors.New("it is no folder")}
	}
	return writable(dir)
}

// readUserEnv reads the user's config.env.
func (l *loader) readUserEnv() error {
	if l.out.ConfigDir == "" {
		return nil
	}
	l.config = filepath.Join(l.out.ConfigDir, "config.env")
	data, info, err := readRegular(l.config)
	if absent(err) {
		return nil
	}
	if err != nil {
		return misconfigured(err, "%s cannot be read: %s; make it readable or move it away.", l.config, cause(err))
	}
	if info.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows" {
		l.notice("%s holds keys and others may read it (mode %#o); run: chmod 600 %s", l.config, info.Mode().Perm(), l.config)
	}
	vars, err := parseEnv(data)
	if err != nil {
		return misconfigured(err, "%s %v; write NAME=value, one a line.", l.config, err)
	}
	l.user = environ(nil)
	for _, v := range vars {
		setVar(l.user, v)
	}
	return nil
}

func setVar(vars map[string]string, v variable) {
	delete(vars, v.name)
	if t := strings.TrimSpace(v.value); t != "" {
		vars[v.name] = t
	}
}

const maxFile = 1 << 20 // bytes; settings are small, and a device has no end

// readRegular reads a small ordinary file; reading anything else could block
// or never end.
func readRegular(path string) ([]byte, fs.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, errors.New("it is no ordinary file")
	}
	if info.Size() > maxFile {
		return nil, nil, errors.New("it is larger than 1 MiB")
	}
	// Without waiting, in case that a pipe took its place.
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile))
	return data, info, err
}

// absent reports whether err says that there is no such file, also because a
// part of its path is no folder.
func absent(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || notFolder(err)
}
