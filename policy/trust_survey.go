package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"

	"oneloop/internal/unseen"
)

// brought is what is looked for. Names that end in a slash are folders.
var brought = []struct {
	name string
	kind FindingKind
}{
	{".oneloop/settings.json", Settings},
	{".oneloop/settings.local.json", Settings},
	{".claude/settings.json", Settings},
	{".claude/settings.local.json", Settings},
	{"mcp.json", Servers},
	{".mcp.json", Servers},
	{".oneloop/mcp.json", Servers},
	{".oneloop/hooks/", Scripts},
	{".claude/hooks/", Scripts},
	{"AGENTS.md", Instructions},
	{"CLAUDE.md", Instructions},
	{"CLAUDE.local.md", Instructions},
	{".oneloop/AGENTS.md", Instructions},
	{".claude/CLAUDE.md", Instructions},
	{".oneloop/rules/", Instructions},
	{".claude/rules/", Instructions},
	{".oneloop/agents/", Agents},
	{".claude/agents/", Agents},
	{".oneloop/commands/", Commands},
	{".claude/commands/", Commands},
	{".oneloop/skills/", Skills},
	{".claude/skills/", Skills},
	{".agents/skills/", Skills},
}

// Bounds of what is looked at. A folder beyond them is known by the names,
// sizes and times of what is over.
const (
	mostBytes = 1 << 20 // of a file that is used by itself
	mostTree  = 8 << 20 // of the files of a folder, in all
	mostFiles = 2000    // of a folder; one with more cannot be trusted
)

// survey lists what the folder brings along. What is in the files is looked
// at for their sums and for the words of the question, and for nothing else.
func survey(dir, home string) []Finding {
	var found []Finding
	for _, b := range brought {
		name, isFolder := strings.CutSuffix(b.name, "/")
		f := Finding{Name: name, Kind: b.kind}
		at := filepath.Join(dir, filepath.FromSlash(name))
		if isFolder {
			f.Sum, f.Items, f.err = treeSum(at)
			if f.err == nil && f.Sum == "" {
				continue // empty
			}
		} else {
			f.data, f.err = readPlain(at)
			if f.err == nil {
				f.Sum, f.Items = sum(f.data), items(b.kind, f.data, dir, home)
			}
		}
		if errors.Is(f.err, fs.ErrNotExist) || errors.Is(f.err, syscall.ENOTDIR) {
			continue
		}
		if f.err != nil {
			f.Items = []string{"it cannot be read: " + oneLine(withoutPath(f.err).Error())}
		}
		found = append(found, f)
	}
	return found
}

// sum is the sum by which data is known in a [Finding].
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// FoundFile is a finding of a file that the caller has read.
func FoundFile(name string, kind FindingKind, data []byte, items []string) Finding {
	f := Finding{Name: name, Kind: kind, Sum: sum(data), data: data}
	for _, item := range items {
		f.Items = append(f.Items, shown(item))
	}
	return f
}

// readPlain reads a small ordinary file; reading anything else could block or
// never end. A socket is as good as nothing: it cannot be read, and a sandbox that
// was killed leaves some in the place of what commands must not make.
func readPlain(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if info.Mode().Type() == fs.ModeSocket {
		return nil, fs.ErrNotExist
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	if info.Size() > mostBytes {
		return nil, errors.New("it is larger than 1 MiB")
	}
	f, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(data) > mostBytes {
		err = errors.New("it is larger than 1 MiB")
	}
	return data, err
}

// openPlain waits for nothing, also where a pipe took the place of a file
// that was looked at before.
func openPlain(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// treeSum gives one sum for all that is in a folder and the names at its top.
// It is empty when there is no file. Links are known by where they lead, and
// by what is there when that is a file.
func treeSum(root string) (string, []string, error) {
	info, err := os.Stat(root)
	if err != nil {
		return "", nil, err
	}
	if !info.IsDir() {
		return "", nil, syscall.ENOTDIR
	}
	if root, err = filepath.EvalSymlinks(root); err != nil { // WalkDir does not follow a link
		return "", nil, err
	}
	all, budget, files := sha256.New(), int64(mostTree), 0
	var top []string
	err = filepath.WalkDir(root, func(at string, e fs.DirEntry, err error) error {
		if err != nil || at == root {
			return err
		}
		rel, err := filepath.Rel(root, at)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if path.Dir(rel) == "." {
			top = append(top, shown(rel))
		}
		if e.IsDir() {
			return nil
		}
		if files++; files > mostFiles {
			return fmt.Errorf("it holds more than %d files", mostFiles)
		}
		return addFile(all, at, rel, e, &budget)
	})
	if err != nil || files == 0 {
		return "", nil, err
	}
	return hex.EncodeToString(all.Sum(nil)), few(top), nil
}

func addFile(all hash.Hash, at, rel string, e fs.DirEntry, budget *int64) error {
	fmt.Fprintf(all, "%q %v ", rel, e.Type())
	if e.Type()&fs.ModeSymlink != 0 {
		target, err := os.Readlink(at)
		if err != nil {
			return err
		}
		fmt.Fprintf(all, "%q ", target)
	}
	info, err := os.Stat(at)
	if err != nil || !info.Mode().IsRegular() {
		fmt.Fprintln(all)
		return nil // a link that leads nowhere, a pipe: the name is all there is
	}
	fmt.Fprintf(all, "%d %v ", info.Size(), info.Mode().Perm()&0o111 != 0)
	if *budget -= info.Size(); *budget < 0 {
		fmt.Fprintln(all, info.ModTime().UnixNano())
		return nil
	}
	f, err := openPlain(at)
	if err != nil {
		return err
	}
	defer f.Close()
	one := sha256.New()
	if _, err := io.Copy(one, io.LimitReader(f, info.Size())); err != nil {
		return err
	}
	fmt.Fprintf(all, "%x\n", one.Sum(nil))
	return nil
}

// items lists what a file would do, as far as it says so in the usual form.
func items(kind FindingKind, data []byte, dir, home string) []string {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch kind {
	case Settings:
		return settingItems(data, dir, home)
	case Servers:
		return serverItems(data)
	}
	return nil
}

type hookItems map[string][]struct {
	Matcher string `json:"matcher"`
	Hooks   []struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	} `json:"hooks"`
}

// settingItems lists the folders, hooks and rules of a settings file. Its keys
// are compared to the letter, as whoever uses the file does: another key that
// differs in case must not hide one. Each kind of item is cut by itself, so
// that many of one do not hide those of another.
func settingItems(data []byte, dir, home string) []string {
	var file, permissions map[string]json.RawMessage
	var hooks hookItems
	var dirs, rules []string
	err := json.Unmarshal(data, &file)
	for _, part := range []struct {
		raw func() json.RawMessage
		to  any
	}{
		{func() json.RawMessage { return file["hooks"] }, &hooks},
		{func() json.RawMessage { return file["permissions"] }, &permissions},
		{func() json.RawMessage { return permissions["additionalDirectories"] }, &dirs},
		{func() json.RawMessage { return permissions["allow"] }, &rules},
	} {
		if raw := part.raw(); err == nil && len(raw) > 0 {
			err = json.Unmarshal(raw, part.to)
		}
	}
	if err != nil {
		return []string{"(it is not in the usual form)"}
	}
	for i, name := range dirs {
		dirs[i] = shown("lets commands and tools write in: " + added(name, dir, home))
	}
	for i, rule := range rules {
		rules[i] = shown("lets run unasked: " + rule)
	}
	return slices.Concat(few(dirs), few(hooks.list()), few(rules))
}

func (h hookItems) list() (list []string) {
	for _, event := range slices.Sorted(maps.Keys(h)) {
		for _, group := range h[event] {
			for _, c := range group.Hooks {
				at := strings.TrimSpace(event + " " + group.Matcher)
				list = append(list, shown(fmt.Sprintf("runs at %s: %s", at, strings.Join(append([]string{c.Command}, c.Args...), " "))))
			}
		}
	}
	return list
}

// added is the folder that settings in dir mean by name, wherever links lead.
func added(name, dir, home string) string {
	at := filepath.FromSlash(name)
	if rest, ok := strings.CutPrefix(at, "~"); ok && home != "" && (rest == "" || os.IsPathSeparator(rest[0])) {
		at = home + rest
	}
	if !filepath.IsAbs(at) {
		at = filepath.Join(dir, at)
	}
	return realPath(at)
}

func serverItems(data []byte) []string {
	var file struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
			URL     string   `json:"url"`
		} `json:"mcpServers"`
	}
	if json.Unmarshal(data, &file) != nil {
		return []string{"(it is not in the usual form)"}
	}
	var list []string
	for name, s := range file.Servers {
		list = append(list, shown(name+": "+strings.Join(append([]string{s.Command + s.URL}, s.Args...), " ")))
	}
	slices.Sort(list)
	return few(list)
}

// few keeps a list short enough to be read.
func few(list []string) []string {
	const most = 20
	if len(list) <= most {
		return list
	}
	return append(slices.Clone(list[:most]), fmt.Sprintf("… and %d more", len(list)-most))
}

// shown makes text of a stranger one short line in which nothing is hidden.
func shown(text string) string {
	const most = 200 // characters
	n := 0
	for i := range text {
		if n++; n > most {
			text = text[:i] + "…"
			break
		}
	}
	return unseen.Line(text)
}

// oneLine is text for a line of a message.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// withoutPath is err without the path that a message names already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
