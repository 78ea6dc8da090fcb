package board

import (
	"os"
	"syscall"
)

// hang makes a bell: a pipe with a name, open for writing as long as the process
// is there.
func hang(path string) (*os.File, error) {
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
}

// listen opens one for reading: it is at its end when its process is gone.
func listen(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}
