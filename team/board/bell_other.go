//go:build !linux

package board

import (
	"errors"
	"os"
)

// Elsewhere the end of a pipe with a name does not wake who reads it, see
// golang.org/issue/24164. What a process had that is gone is seen by the next
// who looks.
func hang(string) (*os.File, error)   { return nil, errors.ErrUnsupported }
func listen(string) (*os.File, error) { return nil, errors.ErrUnsupported }
