//go:build !linux

package workspace

import (
	"fmt"
	"os"
)

// TextFile returns an open file without a name that holds text, for
// [Cmd.Fds]: the way to hand over more than an argument can hold.
func TextFile(text string) (*os.File, error) {
	f, err := os.CreateTemp("", "text")
	if err != nil {
		return nil, fmt.Errorf("make text file: %w", err)
	}
	os.Remove(f.Name()) // where that is refused the temporary folder keeps it
	return fillText(f, text)
}
