package workspace

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"oneloop/internal/gitsafe"
)

// repo is a git repository in the workspace, or around it. Of its index it is
// taken which files are as git has them: those need no copy.
type repo struct {
	top   string // absolute
	index map[string]indexed
	hash  int // bytes of an object's name

	// What git has can differ from what is in the folder, although git takes
	// the file for unchanged.
	lines   bool // by line ends
	filters bool // by more than that

	path  string // of the index
	stamp stat   // of the index when it was read
	taken bool   // its files are known
}

// indexed is a file as the index has it.
type indexed struct {
	mode         uint32
	size         uint32
	mtime, ctime int64
	ino          uint32
	oid          string
}

// indexMost is how large an index is read, in bytes: some 600,000 files.
const indexMost = 64 << 20

// repo is the repository that begins at top, as it is now.
func (s *Snapshots) repo(top string) *repo {
	r := s.repos[top]
	if r != nil {
		if st, err := lstatPath(r.path); err == nil && st == r.stamp {
			return r
		}
	}
	r = &repo{top: top}
	s.repos[top] = r
	dir, common, err := gitFolders(top)
	if err != nil {
		return r
	}
	config, err := readSmall(filepath.Join(common, "config"), smallText)
	if err != nil {
		return r
	}
	r.settings(string(config), common)
	r.path = filepath.Join(dir, "index")
	if r.stamp, err = lstatPath(r.path); err != nil {
		return r
	}
	data, err := readSmall(r.path, indexMost)
	if err != nil {
		return r
	}
	if r.index, err = parseIndex(data, r.hash); err != nil {
		r.index = nil
	}
	for rel := range r.index {
		if rel == ".gitattributes" || strings.HasSuffix(rel, "/.gitattributes") {
			r.attributes(filepath.Join(top, filepath.FromSlash(rel)))
		}
	}
	return r
}

// gitFolders are that of a repository or worktree, and that which all
// worktrees share.
func gitFolders(top string) (dir, common string, err error) {
	dir = filepath.Join(top, ".git")
	if info, err := os.Lstat(dir); err != nil {
		return "", "", err
	} else if !info.IsDir() {
		text, err := readSmall(dir, 4<<10)
		if err != nil {
			return "", "", err
		}
		to, ok := strings.CutPrefix(strings.TrimRight(string(text), "\r\n"), "gitdir: ")
		if !ok {
			return "", "", errors.New("it names no folder")
		}
		dir = absoluteFrom(top, to)
	}
	common = dir
	if text, err := readSmall(filepath.Join(dir, "commondir"), 4<<10); err == nil {
		common = absoluteFrom(dir, strings.TrimRight(string(text), "\r\n"))
	}
	return dir, common, nil
}

func absoluteFrom(dir, name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(dir, name)
}

// headOf is where a repository stands: the commit, and the branch.
func headOf(top string) string {
	dir, common, err := gitFolders(top)
	if err != nil {
		return ""
	}
	text, err := readSmall(filepath.Join(dir, "HEAD"), 4<<10)
	head := strings.TrimSpace(string(text))
	name, onBranch := strings.CutPrefix(head, "ref: ")
	if err != nil || !onBranch || !filepath.IsLocal(name) {
		return head
	}
	if text, err := readSmall(filepath.Join(common, filepath.FromSlash(name)), 4<<10); err == nil {
		return head + " " + strings.TrimSpace(string(text))
	}
	packed, err := readSmall(filepath.Join(common, "packed-refs"), indexMost)
	if err != nil {
		return head
	}
	for row := range strings.Lines(string(packed)) {
		if id, ref, _ := strings.Cut(strings.TrimSpace(row), " "); ref == name {
			return head + " " + id
		}
	}
	return head
}

// settings takes from the settings what says how files and objects differ.
func (r *repo) settings(config, common string) {
	r.hash = 20
	list, odd := gitsafe.Config(config)
	for _, s := range list {
		if strings.EqualFold(s.Name(), "extensions.objectformat") && strings.EqualFold(s.Value, "sha256") {
			r.hash = 32
		}
	}
	r.lines = odd || os.PathSeparator != '/'
	texts := []string{config}
	home := homeFolder()
	xdg := cmpOr(os.Getenv("XDG_CONFIG_HOME"), filepath.Join(home, ".config"))
	for _, path := range []string{"/etc/gitconfig", filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git/config")} {
		if text, err := readSmall(path, smallText); err == nil {
			texts = append(texts, string(text))
		}
	}
	for _, text := range texts {
		for _, word := range []string{"autocrlf", "eol", "attributesfile", "[include"} {
			r.lines = r.lines || strings.Contains(strings.ToLower(text), word)
		}
	}
	for _, path := range []string{filepath.Join(common, "info/attributes"), filepath.Join(xdg, "git/attributes"), "/etc/gitattributes", filepath.Join(r.top, ".gitattributes")} {
		r.attributes(path)
	}
}

// attributes takes a file of attributes into account.
func (r *repo) attributes(path string) {
	text, err := readSmall(path, smallText)
	if err != nil {
		return
	}
	r.lines = true
	for _, word := range []string{"filter", "ident", "working-tree-encoding"} {
		r.filters = r.filters || bytes.Contains(text, []byte(word))
	}
}

var errIndex = errors.New("the index of git cannot be read")

// parseIndex reads an index of version 2 to 4 (gitformat-index(5)). Files that
// a merge left open are not in the result.
func parseIndex(data []byte, hash int) (map[string]indexed, error) {
	if len(data) < 12+hash || string(data[:4]) != "DIRC" {
		return nil, errIndex
	}
	version, count := binary.BigEndian.Uint32(data[4:]), int(binary.BigEndian.Uint32(data[8:]))
	body := data[12 : len(data)-hash]
	if version < 2 || version > 4 || count > len(body)/(42+hash) {
		return nil, errIndex
	}
	files := make(map[string]indexed, count)
	var name []byte
	for range count {
		fixed := 42 + hash
		if len(body) < fixed+2 {
			return nil, errIndex
		}
		field := func(i int) uint32 { return binary.BigEndian.Uint32(body[4*i:]) }
		e := indexed{
			ctime: int64(field(0))*1e9 + int64(field(1)), mtime: int64(field(2))*1e9 + int64(field(3)),
			ino: field(5), mode: field(6), size: field(9), oid: string(body[40 : 40+hash]),
		}
		flags := binary.BigEndian.Uint16(body[40+hash:])
		if flags&0x4000 != 0 && version >= 3 {
			fixed += 2
		}
		rest := body[fixed:]
		if version == 4 {
			strip, n := offset(rest)
			if n == 0 || strip > len(name) {
				return nil, errIndex
			}
			name, rest = name[:len(name)-strip], rest[n:]
		} else {
			name = name[:0]
		}
		end := bytes.IndexByte(rest, 0)
		if end < 0 {
			return nil, errIndex
		}
		name = append(name, rest[:end]...)
		next := len(body) - len(rest) + end + 1
		if version < 4 {
			next = (fixed + end + 8) &^ 7
		}
		if next > len(body) {
			return nil, errIndex
		}
		if body = body[next:]; flags&0x3000 == 0 {
			files[string(name)] = e
		}
	}
	return files, nil // of an index that is split, those of this part
}

// offset reads a number as pack files have it, and how many bytes it takes; 0:
// it is none.
func offset(data []byte) (value, n int) {
	for i, c := range data {
		if i > 4 {
			return 0, 0
		}
		value |= int(c & 0x7f)
		if c&0x80 == 0 {
			return value, i + 1
		}
		value = (value + 1) << 7
	}
	return 0, 0
}

// clean is the name of the object that a file is as far as its stat tells;
// empty: git would have to read it.
func (r *repo) clean(rel string, st stat) string {
	e, ok := r.index[rel]
	if !ok || st.kind != kindFile || e.mode&0o170000 != 0o100000 {
		return ""
	}
	exec := e.mode&0o100 != 0
	if uint32(st.size) != e.size || st.mtime != e.mtime || st.ctime != e.ctime || uint32(st.ino) != e.ino || exec != (st.mode&0o100 != 0) {
		return ""
	}
	if e.mtime >= r.stamp.mtime { // it can have changed in the same instant
		return ""
	}
	return e.oid
}
