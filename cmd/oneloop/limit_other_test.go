//go:build unix && !linux

package main

import "errors"

func setFileLimit(int) error { return errors.ErrUnsupported }
