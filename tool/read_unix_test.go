//go:build unix

package tool_test

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"oneloop/tool"
)

func TestAPipeIsNotOpened(t *testing.T) {
	d := sit(t, tool.FilesOptions{})
	if err := syscall.Mkfifo(filepath.Join(d.root, "p"), 0o600); err != nil {
		t.Skip(err)
	}
	within(t, 20*time.Second, func() {
		d.fails("Read", fields{"file_path": "p"}, "not a regular file", "pipe")
		d.fails("Edit", d.edit("p", "a", "b"), "not a regular file")
		d.fails("Write", fields{"file_path": "p", "content": "b"}, "not a regular file")
	})
}
