package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
)

// trustStore is the folder that holds what was trusted, a file for each
// folder that was: programs that work in different folders at once do not
// meet. Of two that keep an answer for one folder at the same moment, one may
// be lost and is asked for again. Empty: nothing is kept.
type trustStore string

type trustRecord struct {
	Version int               `json:"version"`
	Folder  string            `json:"folder"` // its real path
	Sums    map[string]string `json:"sums"`   // SHA-256 by name
}

func (s trustStore) file(folder string) string {
	name := sha256.Sum256([]byte(folder))
	return filepath.Join(string(s), hex.EncodeToString(name[:16])+".json")
}

// read gives the sums that were trusted in a folder; none for a record that
// is missing, damaged or of another folder: then it is asked again.
func (s trustStore) read(folder string) map[string]string {
	if s == "" {
		return nil
	}
	data, err := readPlain(s.file(folder))
	if err != nil {
		return nil
	}
	var r trustRecord
	if json.Unmarshal(data, &r) != nil || r.Version != 1 || r.Folder != folder {
		return nil
	}
	return r.Sums
}

// add keeps that these findings are trusted, beside those that were before.
func (s trustStore) add(folder string, trusted []Finding) error {
	if s == "" {
		return errors.New("there is no folder for it")
	}
	r := trustRecord{Version: 1, Folder: folder, Sums: map[string]string{}}
	for name, sum := range s.read(folder) {
		r.Sums[name] = sum
	}
	for _, f := range trusted {
		if f.Sum != "" {
			r.Sums[f.Name] = f.Sum
		}
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(string(s), 0o700); err != nil {
		return withoutPath(err)
	}
	f, err := os.CreateTemp(string(s), ".trust-*") // mode 0600, a name nobody knows before
	if err != nil {
		return withoutPath(err)
	}
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), s.file(folder))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
