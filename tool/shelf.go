package tool

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

const (
	// mostMemory is how much content a shelf keeps in memory, in bytes.
	mostMemory = 32 << 20
	// mostDisk is how much it keeps in its file. What is given back is not
	// used again.
	mostDisk = 1 << 30
)

// A shelf keeps contents of files: some in memory, more in a file that has no
// name where the system allows that, so that nothing is left of it however
// the program ends.
type shelf struct {
	dir string

	mu     sync.Mutex
	memory int64
	file   *os.File
	size   int64
	err    error // why nothing more goes to the file
}

// kept is one content. It is shared by those who hold it; nil is none.
type kept struct {
	shelf   *shelf
	data    []byte // in memory
	at      int64  // else in the file
	size    int64
	holders int
	err     error // it could not be kept
}

// put keeps data, which must not be changed any more.
func (s *shelf) put(data []byte) *kept {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := &kept{shelf: s, size: int64(len(data)), holders: 1}
	if s.memory+k.size <= mostMemory {
		s.memory += k.size
		k.data = data
		if data == nil {
			k.data = []byte{}
		}
		return k
	}
	if k.at, k.err = s.size, s.err; k.err == nil {
		k.err = s.store(data)
	}
	return k
}

func (s *shelf) store(data []byte) error {
	if s.file == nil {
		f, err := os.CreateTemp(s.dir, "before-*") // mode 0600
		if err != nil {
			s.err = err
			return err
		}
		os.Remove(f.Name()) // where an open file cannot be removed, close does
		s.file = f
	}
	if s.size+int64(len(data)) > mostDisk {
		return fmt.Errorf("more than %s bytes are kept already", grouped(mostDisk))
	}
	_, err := s.file.WriteAt(data, s.size)
	if err != nil {
		s.err = err
		return err
	}
	s.size += int64(len(data))
	return nil
}

func (s *shelf) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.file == nil {
		return nil
	}
	name := s.file.Name()
	err := s.file.Close()
	if gone := os.Remove(name); gone != nil && !errors.Is(gone, os.ErrNotExist) {
		err = errors.Join(err, gone)
	}
	s.file, s.err = nil, os.ErrClosed
	return err
}

var errNotKept = errors.New("it was too large to be kept")

// get returns the content.
func (k *kept) get() ([]byte, error) {
	if k == nil {
		return nil, errNotKept
	}
	k.shelf.mu.Lock()
	defer k.shelf.mu.Unlock()
	if k.data != nil || k.err != nil {
		return k.data, k.err
	}
	if k.shelf.file == nil {
		return nil, os.ErrClosed
	}
	data := make([]byte, k.size)
	_, err := k.shelf.file.ReadAt(data, k.at)
	return data, err
}

// share returns k for one more holder.
func (k *kept) share() *kept {
	if k != nil {
		k.shelf.mu.Lock()
		defer k.shelf.mu.Unlock()
		k.holders++
	}
	return k
}

// drop is the end of one holder's use.
func (k *kept) drop() {
	if k == nil {
		return
	}
	k.shelf.mu.Lock()
	defer k.shelf.mu.Unlock()
	if k.holders--; k.holders == 0 && k.data != nil {
		k.shelf.memory -= k.size
		k.data, k.err = nil, errors.New("it is kept no longer")
	}
}
