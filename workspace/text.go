package workspace

import (
	"fmt"
	"io"
	"os"
)

func fillText(f *os.File, text string) (*os.File, error) {
	_, err := io.WriteString(f, text)
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("make text file: %w", err)
	}
	return f, nil
}
