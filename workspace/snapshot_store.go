package workspace

import (
	"bufio"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"unicode/utf8"
)

// Names in the folder of a store.
const (
	storeList  = "list.jsonl" // what is known of files, a line each, only ever added to
	storeBytes = "bytes"      // contents one after the other, only ever added to
)

// copies keep what files were, in a folder of its own that only the user can
// look into. Contents are found by what they are (SHA-256) and kept once.
//
// A line is written after the bytes that it names. A line or bytes without an
// end, which a crash leaves, are cut off or passed over.
type copies struct {
	dir    string
	list   *os.File
	bytes  *os.File
	size   int64          // of bytes
	at     map[sum]extent // where contents are
	buffer []byte         // lines that are not written yet

	damaged bool // a line could not be read
}

type sum [sha256.Size]byte

// extent is where a content is.
type extent struct{ at, size int64 }

// line is one in the list.
type line struct {
	Kind string `json:"k"`           // "head", "base", "open", "shut", "ran", or "" for a file
	N    int64  `json:"n,omitempty"` // of the prompt it belongs to
	Root string `json:"root,omitempty"`
	Why  string `json:"why,omitempty"` // there is no copy, or no base

	By     string `json:"by,omitempty"`
	Path   string `json:"p,omitempty"`
	Path64 string `json:"p64,omitempty"` // where it is no UTF-8
	Is     string `json:"is,omitempty"`
	Mode   uint32 `json:"m,omitempty"`
	Size   int64  `json:"z,omitempty"`
	Mtime  int64  `json:"t,omitempty"`
	Ctime  int64  `json:"c,omitempty"`
	Ino    uint64 `json:"i,omitempty"`
	Sum    string `json:"sum,omitempty"`
	At     int64  `json:"at,omitempty"` // of the content in bytes, with sum
	Git    string `json:"git,omitempty"`
	Repo   string `json:"repo,omitempty"` // the repository that has the object Git
	Repo64 string `json:"repo64,omitempty"`
	To     string `json:"to,omitempty"` // of a link
	To64   string `json:"to64,omitempty"`
	Unread bool   `json:"unread,omitempty"`
	Racy   bool   `json:"racy,omitempty"`
}

// openStore opens a store, which is made when it is not there, and hands what
// it holds to take, in order.
func openStore(dir string, take func(line)) (_ *copies, err error) {
	s := &copies{dir: dir, at: map[sum]extent{}}
	defer func() {
		if err != nil {
			s.close()
			err = fmt.Errorf("open the copies of files in %s: %w", dir, plainly(err))
		}
	}()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if s.list, err = os.OpenFile(filepath.Join(dir, storeList), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if s.bytes, err = os.OpenFile(filepath.Join(dir, storeBytes), os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return nil, err
	}
	if s.size, err = s.bytes.Seek(0, io.SeekEnd); err != nil {
		return nil, err
	}
	return s, s.read(take)
}

// read takes the lines and cuts off one without an end.
func (s *copies) read(take func(line)) error {
	in := bufio.NewReaderSize(s.list, 64<<10)
	whole := int64(0)
	for {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		whole += int64(len(text))
		var l line
		if json.Unmarshal(text, &l) != nil {
			s.damaged = true
			continue // what it said is not known; what follows is
		}
		if l.Sum != "" && !s.has(&l) {
			l.Sum, l.Why = "", LossDamaged
		}
		l.plain()
		take(l)
	}
	if err := s.list.Truncate(whole); err != nil {
		return err
	}
	_, err := s.list.Seek(whole, io.SeekStart)
	return err
}

// plain gives texts that are no UTF-8 their places.
func (l *line) plain() {
	for _, f := range []struct {
		text    *string
		encoded string
	}{{&l.Path, l.Path64}, {&l.To, l.To64}, {&l.Repo, l.Repo64}} {
		if raw, err := base64.StdEncoding.DecodeString(f.encoded); err == nil && f.encoded != "" {
			*f.text = string(raw)
		}
	}
}

// has takes note of where a line says that a content is.
func (s *copies) has(l *line) bool {
	var of sum
	if !fromHex(l.Sum, of[:]) || l.At < 0 || l.Size < 0 || l.At+l.Size > s.size {
		return false
	}
	s.at[of] = extent{l.At, l.Size}
	return true
}

// put keeps a content, unless it is there.
func (s *copies) put(of sum, data []byte) error {
	if _, ok := s.at[of]; ok {
		return nil
	}
	if _, err := s.bytes.WriteAt(data, s.size); err != nil {
		return err
	}
	s.at[of] = extent{s.size, int64(len(data))}
	s.size += int64(len(data))
	return nil
}

// get returns a content that was kept, once it is seen to be whole.
func (s *copies) get(of sum) ([]byte, error) {
	e, ok := s.at[of]
	if !ok {
		return nil, fs.ErrNotExist
	}
	data := make([]byte, e.size)
	if _, err := s.bytes.ReadAt(data, e.at); err != nil {
		return nil, err
	}
	if sha256.Sum256(data) != of {
		return nil, errors.New(LossDamaged)
	}
	return data, nil
}

// add adds a line. It is written with flush, or when there are many.
func (s *copies) add(l line) {
	s.buffer = l.append(s.buffer)
}

// flush writes the lines that wait. Those that cannot be written wait on.
func (s *copies) flush() error {
	if len(s.buffer) == 0 {
		return nil
	}
	n, err := s.list.Write(s.buffer)
	if err != nil && n > 0 { // the next line is not to be its end
		if at, serr := s.list.Seek(-int64(n), io.SeekCurrent); serr == nil {
			s.list.Truncate(at)
		}
		return err
	}
	if err == nil {
		s.buffer = s.buffer[:0]
	}
	return err
}

func (s *copies) close() error {
	var err error
	if s.list != nil {
		err = errors.Join(s.flush(), s.list.Close())
	}
	if s.bytes != nil {
		err = errors.Join(err, s.bytes.Close())
	}
	return err
}

// append writes what encoding/json would, for thousands of files at a time.
func (l line) append(b []byte) []byte {
	b = append(b, `{"k":"`...)
	b = append(b, l.Kind...)
	b = append(b, `","n":`...)
	b = strconv.AppendInt(b, l.N, 10)
	text := func(name, value string) {
		if value != "" {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = appendQuoted(b, value)
		}
	}
	number := func(name string, value int64) {
		if value != 0 {
			b = append(append(append(b, `,"`...), name...), `":`...)
			b = strconv.AppendInt(b, value, 10)
		}
	}
	raw := func(name, value string) {
		if utf8.ValidString(value) {
			text(name, value)
		} else {
			text(name+"64", base64.StdEncoding.EncodeToString([]byte(value)))
		}
	}
	text("root", l.Root)
	text("why", l.Why)
	text("by", l.By)
	raw("p", l.Path)
	text("is", l.Is)
	number("m", int64(l.Mode))
	number("z", l.Size)
	number("t", l.Mtime)
	number("c", l.Ctime)
	if l.Ino != 0 {
		b = strconv.AppendUint(append(b, `,"i":`...), l.Ino, 10)
	}
	text("sum", l.Sum)
	number("at", l.At)
	text("git", l.Git)
	raw("repo", l.Repo)
	raw("to", l.To)
	if l.Unread {
		b = append(b, `,"unread":true`...)
	}
	if l.Racy {
		b = append(b, `,"racy":true`...)
	}
	return append(b, '}', '\n')
}

func toHex(raw string) string { return hex.EncodeToString([]byte(raw)) }

// fromHex fills raw and reports whether text is that many bytes, and any.
func fromHex(text string, raw []byte) bool {
	if text == "" || hex.DecodedLen(len(text)) != len(raw) {
		return false
	}
	_, err := hex.Decode(raw, []byte(text))
	return err == nil
}

// appendQuoted appends text as JSON.
func appendQuoted(b []byte, text string) []byte {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' {
			quoted, err := json.Marshal(text)
			if err != nil {
				return append(b, `""`...) // a string has a form in JSON always
			}
			return append(b, quoted...)
		}
	}
	return append(append(append(b, '"'), text...), '"')
}
