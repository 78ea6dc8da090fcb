package tui

import (
	"bufio"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// recall keeps what was sent, for the Up key, and in a file for the next run:
// one JSON string a line, oldest first, readable by its owner only.
type recall struct {
	file    string // empty: memory only
	entries []string
	at      int    // entry shown; len(entries) is the text being typed
	draft   string // that text while an older one is shown
}

const (
	recallMost  = 1000      // entries that are loaded
	recallBytes = 256 << 10 // a longer entry stays in memory only
)

// loadRecall reads file. What cannot be read is reported and leaves the
// history in memory.
func loadRecall(file string) (*recall, error) {
	h := &recall{file: file}
	if file == "" {
		return h, nil
	}
	f, err := os.Open(file)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		h.file = ""
		return h, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 2*recallBytes)
	n := 0
	for lines.Scan() {
		var s string
		if json.Unmarshal(lines.Bytes(), &s) == nil && s != "" {
			h.entries = append(h.entries, s)
		}
		n++
	}
	if err := lines.Err(); err != nil {
		h.file = ""
		return h, err
	}
	if len(h.entries) > recallMost {
		h.entries = append([]string(nil), h.entries[len(h.entries)-recallMost:]...)
	}
	h.at = len(h.entries)
	if n > 2*recallMost {
		return h, h.rewrite()
	}
	return h, nil
}

// rewrite shortens the file to what was loaded.
func (h *recall) rewrite() error {
	f, err := os.CreateTemp(filepath.Dir(h.file), ".history-*") // 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone after the rename
	w := bufio.NewWriter(f)
	for _, s := range h.entries {
		line, err := json.Marshal(s)
		if err == nil {
			w.Write(append(line, '\n')) // Flush has the error
		}
	}
	if err := errors.Join(w.Flush(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), h.file)
}

// add keeps text as the newest entry.
func (h *recall) add(text string) error {
	defer func() { h.at, h.draft = len(h.entries), "" }()
	if strings.TrimSpace(text) == "" || len(h.entries) > 0 && h.entries[len(h.entries)-1] == text {
		return nil
	}
	h.entries = append(h.entries, text)
	if h.file == "" || len(text) > recallBytes {
		return nil
	}
	err := h.append(text)
	if err != nil {
		h.file = "" // said once
	}
	return err
}

func (h *recall) append(text string) error {
	line, err := json.Marshal(text)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// older returns the entry before the one shown; now is what stands in the
// input.
func (h *recall) older(now string) (string, bool) {
	if h.at == 0 {
		return "", false
	}
	if h.at == len(h.entries) {
		h.draft = now
	}
	h.at--
	return h.entries[h.at], true
}

// newer returns the entry after the one shown, at the end what was typed.
func (h *recall) newer() (string, bool) {
	if h.at >= len(h.entries) {
		return "", false
	}
	h.at++
	if h.at == len(h.entries) {
		return h.draft, true
	}
	return h.entries[h.at], true
}
