package prompt

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"oneloop/internal/unseen"
)

// InstructionOptions say where instructions are looked for.
type InstructionOptions struct {
	Dir  string // the folder that is worked in, by its real path
	Home string // the user's home folder; empty: there is none
	// Own are files of the user's own, absolute. The first one that is there
	// counts.
	Own []string
	// Present, unless it is nil, are the names of what is there of the files
	// and folders of Dir itself. What is not listed is not looked for again.
	Present []string
	// Private says of the absolute path of a file whether it holds
	// credentials: such a file is never imported. Nil: none does.
	Private func(path string) bool
}

// Instruction is one file that instructs the model.
type Instruction struct {
	// Name is its path from the folder that is worked in, with slashes, as in
	// "AGENTS.md" and "../AGENTS.md"; of a file of the user's own the absolute
	// path.
	Name string
	Text string
	BOM  string // the byte order mark that the file has before Text
	Path string // absolute
	By   string // the file that imports it; empty: it stands for itself
	Own  bool   // it belongs to the user and not to the folder
}

// Instructions are the files that instruct the model, those first that are
// more general, each followed by what it imports.
type Instructions struct {
	Files   []Instruction
	Notices []string // what is left out and why, each one line

	options InstructionOptions
	top     string // the highest folder that counts
	root    *os.Root
	seen    map[string]bool // names
	bytes   int             // that were read
	full    bool            // there was more
}

// Bounds of what is read. A file that is over them is left out, which is said:
// all of it happens before anybody says that the folder is trusted.
const (
	mostInstruction  = 1 << 20 // bytes of a file
	mostRead         = 4 << 20 // bytes in all, after which no further file is read
	mostInstructions = 60      // files
	mostNotices      = 12
	importDepth      = 5  // files between one that stands for itself and one that it leads to
	highest          = 32 // folders above the one that is worked in
)

// FindInstructions reads the instructions of the user, and of every folder from
// the top of the repository down to the one that is worked in. Of a folder it
// is AGENTS.md, where there is none CLAUDE.md, where there is none either
// .claude/CLAUDE.md; behind it .oneloop/AGENTS.md and CLAUDE.local.md; of the
// folder that is worked in also the files in .oneloop/rules and .claude/rules.
//
// A file of a folder imports others by @path, as far as they are below the top.
// No link leads out of there. What is found has no effect by itself: whether
// it is trusted decides the caller, with the bytes that are here.
func FindInstructions(o InstructionOptions) *Instructions {
	in := &Instructions{options: o, top: o.Dir, seen: map[string]bool{}}
	defer func() {
		if in.root != nil {
			in.root.Close()
		}
	}()
	for _, name := range o.Own {
		if in.add(Instruction{Name: filepath.Clean(name), Own: true}, 0) {
			break
		}
	}
	in.top = repository(o.Dir, o.Home)
	dirs := []string{"."}
	for at := o.Dir; at != in.top; at = filepath.Dir(at) {
		dirs = append(dirs, path.Join(dirs[len(dirs)-1], ".."))
	}
	files := in.Files
	folders := make([][]Instruction, len(dirs))
	for i, dir := range dirs { // the nearest first: where there is too much it is what stays
		from := len(in.Files)
		in.folder(dir)
		folders[len(dirs)-1-i] = in.Files[from:]
	}
	in.Files = slices.Concat(files, slices.Concat(folders...))
	in.Notices = few(in.Notices)
	return in
}

// Top is the highest folder whose instructions count: that of the repository,
// or the one that is worked in.
func (in *Instructions) Top() string { return in.top }

// folder reads the instructions of one folder.
func (in *Instructions) folder(dir string) {
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"} {
		if in.present(dir, name) && in.add(Instruction{Name: path.Join(dir, name)}, 0) {
			break
		}
	}
	for _, name := range []string{".oneloop/AGENTS.md", "CLAUDE.local.md"} {
		if in.present(dir, name) {
			in.add(Instruction{Name: path.Join(dir, name)}, 0)
		}
	}
	if dir != "." {
		return
	}
	for _, name := range []string{".oneloop/rules", ".claude/rules"} {
		if in.present(dir, name) {
			in.rules(name)
		}
	}
}

// rules reads the texts in a folder and those below it, by name.
func (in *Instructions) rules(name string) {
	root, err := in.opened()
	if err != nil {
		in.leftOut(name, err)
		return
	}
	below := in.below(name)
	err = fs.WalkDir(root.FS(), below, func(at string, e fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) && at == below {
			return nil
		}
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(in.below("."), at)
		if err != nil {
			return err
		}
		switch {
		case e.Type()&fs.ModeSymlink != 0:
			in.leftOut(filepath.ToSlash(rel), errors.New("it is a link, and among rules none is followed"))
		case e.Type().IsRegular() && strings.HasSuffix(at, ".md"):
			in.add(Instruction{Name: filepath.ToSlash(rel)}, 0)
		}
		if in.full {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		in.leftOut(name, err)
	}
}

// present reports whether a file of a folder can be there.
func (in *Instructions) present(dir, name string) bool {
	return dir != "." || in.options.Present == nil || slices.Contains(in.options.Present, name)
}

// add reads a file and what it imports. It reports whether the file is there,
// also when it is of no use.
func (in *Instructions) add(f Instruction, depth int) bool {
	if in.seen[f.Name] {
		return true
	}
	if len(in.Files) == mostInstructions || in.bytes >= mostRead {
		if in.exists(f.Name) && !in.full {
			in.full = true
			in.leftOut(f.Name+", with all that comes behind it,", fmt.Errorf("%d files and %d MiB are the most", mostInstructions, mostRead>>20))
		}
		return true
	}
	data, err := in.read(f)
	in.bytes += len(data)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return false
	}
	in.seen[f.Name] = true
	f.Path = in.absolute(f.Name)
	if err == nil {
		f.Text, err = instructing(data)
		f.BOM = string(data[:len(data)-len(f.Text)])
	}
	if err != nil {
		in.leftOut(f.Name, err)
		return true
	}
	if slices.ContainsFunc(in.Files, func(other Instruction) bool { return other.Text == f.Text }) {
		return true // the same under another name
	}
	in.Files = append(in.Files, f)
	for _, name := range imports(f.Text) {
		in.follow(f, name, depth+1)
	}
	return true
}

// follow reads what a file imports.
func (in *Instructions) follow(from Instruction, name string, depth int) {
	at, err := in.resolve(from, name)
	if err == nil && in.options.Private != nil && in.options.Private(in.absolute(at)) {
		err = errors.New("files of that name hold credentials")
	}
	if err == nil && depth > importDepth {
		err = fmt.Errorf("it is more than %d imports away from the first file", importDepth)
	}
	if err != nil {
		if in.exists(at) {
			in.leftOut(name+" (in "+from.Name+")", err)
		}
		return
	}
	if !in.add(Instruction{Name: at, By: from.Name, Own: from.Own}, depth) && strings.HasSuffix(name, ".md") {
		in.leftOut(name+" (in "+from.Name+")", errors.New("there is no such file"))
	}
}

// errOutside is why a file of a folder is not imported that is elsewhere.
var errOutside = errors.New("it is outside of the folder that is worked in, and of its repository")

// resolve gives the name of a file that another one imports.
func (in *Instructions) resolve(from Instruction, name string) (string, error) {
	home, inHome := strings.CutPrefix(name, "~/")
	switch {
	case inHome && in.options.Home == "":
		return name, errors.New("the home folder is not known")
	case inHome:
		name = filepath.Join(in.options.Home, home)
	case !filepath.IsAbs(name):
		name = filepath.Join(filepath.Dir(in.absolute(from.Name)), filepath.FromSlash(name))
	}
	name = filepath.Clean(name)
	if from.Own {
		return name, nil
	}
	if below, err := filepath.Rel(in.top, name); err != nil || !filepath.IsLocal(below) {
		return name, errOutside
	}
	rel, err := filepath.Rel(in.options.Dir, name)
	return filepath.ToSlash(rel), err
}

// absolute is the path of a file.
func (in *Instructions) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(in.options.Dir, filepath.FromSlash(name))
}

// below is the name of a file as seen from the top, with slashes.
func (in *Instructions) below(name string) string {
	rel, err := filepath.Rel(in.top, in.absolute(name))
	if err != nil {
		return name
	}
	return filepath.ToSlash(rel)
}

// exists reports whether it is worth a word that a file is left out: an @ may
// stand for anything.
func (in *Instructions) exists(name string) bool {
	info, err := os.Lstat(in.absolute(name))
	return err == nil && !info.IsDir()
}

func (in *Instructions) leftOut(name string, err error) {
	in.Notices = append(in.Notices, unseen.Line(fmt.Sprintf("%s does not instruct the model: %v.", name, withoutPath(err))))
}

// few are notices that a person can read.
func few(notices []string) []string {
	if n := len(notices) - mostNotices; n > 0 {
		return append(notices[:mostNotices:mostNotices], fmt.Sprintf("… and %d more such notices about instructions.", n))
	}
	return notices
}

// opened is the folder at the top, out of which no link leads.
func (in *Instructions) opened() (*os.Root, error) {
	var err error
	if in.root == nil {
		in.root, err = os.OpenRoot(in.top)
	}
	return in.root, err
}

func (in *Instructions) read(f Instruction) ([]byte, error) {
	var file *os.File
	var err error
	if f.Own {
		file, err = openPlain(f.Name)
	} else {
		var root *os.Root
		if root, err = in.opened(); err == nil {
			file, err = root.OpenFile(filepath.FromSlash(in.below(f.Name)), withoutWaiting, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir() && f.By != "": // @docs/ is a way to speak of a folder
		return nil, fs.ErrNotExist
	case !info.Mode().IsRegular():
		return nil, errors.New("it is no ordinary file")
	}
	data, err := io.ReadAll(io.LimitReader(file, mostInstruction+1))
	if err == nil && len(data) > mostInstruction {
		err = errors.New("it is larger than 1 MiB")
	}
	return data, err
}

// withoutWaiting opens a file that may be a pipe.
const withoutWaiting = os.O_RDONLY | syscall.O_NONBLOCK

func openPlain(name string) (*os.File, error) { return os.OpenFile(name, withoutWaiting, 0) }

// instructing is the text of a file.
func instructing(data []byte) (string, error) {
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return "", errors.New("it is no text in UTF-8")
	}
	return text, nil
}

// repository is the highest folder that instructions of dir may come from: the
// one with .git in it, else dir. A folder that everybody may write in, the home
// folder and the root of the file system are above all repositories.
func repository(dir, home string) string {
	at := dir
	for range highest {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		at = filepath.Dir(at)
		if filepath.Dir(at) == at || at == home || everybodys(at) {
			break
		}
	}
	return dir
}

func everybodys(dir string) bool {
	info, err := os.Stat(dir)
	return err != nil || info.Mode().Perm()&0o002 != 0 && runtime.GOOS != "windows"
}

// withoutPath is err without the path that a message names already.
func withoutPath(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
