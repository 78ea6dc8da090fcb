//go:build !windows

package config

import (
	"io/fs"

	"golang.org/x/sys/unix"
)

// writable asks instead of trying: making and removing a file takes longer
// than reading all settings, and that at every start.
func writable(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return &fs.PathError{Op: "write in", Path: dir, Err: err}
	}
	return nil
}
