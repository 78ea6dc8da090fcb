package tool

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// half is how many bytes of the beginning, and how many of the end, of an
// output its file holds: with the line between them no more than 64 MiB.
const half = 32<<20 - 128

// A spill is the file of an output that is too long to show. Only the user
// can read it. It is the agent's to keep: nothing here removes it once the
// model was told of it.
type spill struct {
	first *os.File // the file
	last  *os.File // a ring of half bytes, made when needed
	size  int64    // bytes written so far, those lost in the ring included
	wait  []byte   // not written yet
	err   error    // why nothing more is kept
}

func (s *spill) open(dir string) {
	if dir != "" {
		if s.err = os.MkdirAll(dir, 0o700); s.err != nil {
			return
		}
	}
	s.first, s.err = os.CreateTemp(dir, "output-*.txt") // mode 0600
}

// write gathers: few large writes cost half of many small ones.
func (s *spill) write(p []byte) {
	if len(s.wait)+len(p) > cap(s.wait) {
		s.flush()
	}
	if s.wait == nil {
		s.wait = make([]byte, 0, window)
	}
	if len(p) > cap(s.wait) {
		s.keep(p)
		return
	}
	s.wait = append(s.wait, p...)
}

func (s *spill) flush() {
	s.keep(s.wait)
	s.wait = s.wait[:0]
}

func (s *spill) keep(p []byte) {
	if room := half - s.size; room > 0 && s.err == nil {
		n := min(room, int64(len(p)))
		s.put(s.first, p[:n], s.size)
		p = p[n:]
	}
	if len(p) > 0 && s.last == nil && s.err == nil {
		s.last, s.err = os.CreateTemp(filepath.Dir(s.first.Name()), "output-end-*")
	}
	for len(p) > 0 && s.err == nil {
		at := s.size % half
		n := min(half-at, int64(len(p)))
		s.put(s.last, p[:n], at)
		p = p[n:]
	}
}

func (s *spill) put(f *os.File, p []byte, at int64) {
	var n int
	n, s.err = f.WriteAt(p, at)
	s.size += int64(n)
}

// discard removes what was written, because all of it can be shown.
func (s *spill) discard() {
	for _, f := range []*os.File{s.first, s.last} {
		if f != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}
	s.first, s.last = nil, nil
}

// close completes the file and says where it is and what it lacks.
func (s *spill) close() string {
	s.flush()
	if s.err == nil && s.last != nil {
		s.err = s.join()
		s.last.Close()
		os.Remove(s.last.Name())
		s.last = nil
	}
	if s.first != nil && s.err == nil {
		s.err = s.first.Close()
	}
	if s.err != nil {
		s.discard()
		return fmt.Sprintf("what is not shown is lost, it could not be written to a file: %v", s.err)
	}
	if lost := s.lost(); lost > 0 {
		return fmt.Sprintf("the first and the last %s bytes are in %s; the %s bytes between them are lost", grouped(half), s.first.Name(), grouped(lost))
	}
	return "the whole output is in " + s.first.Name()
}

func (s *spill) lost() int64 { return max(0, s.size-2*half) }

// join puts the ring behind the beginning, in its order.
func (s *spill) join() error {
	if _, err := s.first.Seek(half, io.SeekStart); err != nil {
		return err
	}
	begin, length := int64(0), s.size-half
	if lost := s.lost(); lost > 0 {
		begin, length = s.size%half, half
		if _, err := fmt.Fprintf(s.first, "\n[%s bytes are missing here]\n", grouped(lost)); err != nil {
			return err
		}
	}
	for _, part := range [][2]int64{{begin, length - begin}, {0, begin}} {
		if _, err := io.Copy(s.first, io.NewSectionReader(s.last, part[0], part[1])); err != nil {
			return err
		}
	}
	return nil
}
