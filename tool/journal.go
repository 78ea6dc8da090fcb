package tool

import (
	"fmt"
	"os"
)

// A journal is the file of the output of a command in the background. It can
// be read while the command runs: what is printed is written at once.
type journal struct {
	file *os.File
	cap  int64 // bytes that are kept
	size int64 // bytes printed so far
	err  error // why nothing more is kept
}

func newJournal(dir string, most int64) (*journal, error) {
	if dir != "" {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	f, err := os.CreateTemp(dir, "background-*.txt") // mode 0600
	return &journal{file: f, cap: most}, err
}

// Write never fails: what cannot be kept is said by close, for a command must
// not end because nobody can write down what it says.
func (r *journal) Write(p []byte) (int, error) {
	n := len(p)
	room := max(0, r.cap-r.size)
	r.size += int64(n)
	if r.err != nil || room == 0 {
		return n, nil
	}
	if int64(n) <= room {
		_, r.err = r.file.Write(p)
		return n, nil
	}
	if _, r.err = r.file.Write(p[:room]); r.err == nil {
		_, r.err = fmt.Fprintf(r.file, "\n[the output goes on, but no more than these %s bytes are kept]\n", grouped(r.cap))
	}
	return n, nil
}

// close says where the output is and what is missing there.
func (r *journal) close() string {
	if err := r.file.Close(); r.err == nil {
		r.err = err
	}
	switch {
	case r.err != nil:
		return fmt.Sprintf("it printed %s bytes, of which %s lacks some: %v", grouped(r.size), r.file.Name(), r.err)
	case r.size == 0:
		return "it printed nothing"
	case r.size > r.cap:
		return fmt.Sprintf("it printed %s bytes, of which the first %s are in %s", grouped(r.size), grouped(r.cap), r.file.Name())
	}
	return fmt.Sprintf("its output (%s bytes) is in %s", grouped(r.size), r.file.Name())
}

// discard removes the file of a command that was not started.
func (r *journal) discard() {
	r.file.Close()
	os.Remove(r.file.Name())
}
