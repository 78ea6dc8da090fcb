//go:build !windows

package config

import (
	"errors"
	"syscall"
)

func notFolder(err error) bool { return errors.Is(err, syscall.ENOTDIR) }
