//go:build !linux

package tool

import "os"

// take puts what a folder holds into s, as the standard library reads it.
func (s *scratch) take(at string, f *os.File) error {
	s.entries = s.entries[:0]
	list, err := f.ReadDir(-1)
	for _, e := range list {
		k := otherEntry
		switch {
		case e.IsDir():
			k = folderEntry
		case e.Type().IsRegular():
			k = fileEntry
		}
		s.entries = append(s.entries, entry{join(at, e.Name()), e.Name(), k})
	}
	return err
}
