package prompt

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/unseen"
)

// Bounds of skills and commands.
const (
	MostSkill  = 256 << 10 // bytes of a file
	mostSkills = 500       // in all places
	mostFolder = 2000      // that are looked into, of one place
	deepest    = 4         // folders of a place in one another
)

// Lengths that the format allows, in characters.
const (
	longestName        = 64
	longestDescription = 1024
)

// Place is a folder in which skills or commands are looked for.
type Place struct {
	Dir string // absolute
	// Project is how the folder that is worked in calls it, such as
	// ".claude/skills", which Dir ends in. Empty: it is the user's own. Links to
	// folders in it are not followed, nor any that lead out of the folder that
	// is worked in: nobody would have judged what is there.
	Project string
	// Commands says that it holds commands: a file each, called by the user.
	Commands bool
}

// Skill is a text that is called by its name: a skill in the format of Agent
// Skills, with a folder of its own, or a command.
type Skill struct {
	Name        string
	Description string // one line
	Hint        string // which arguments it takes
	Path        string // of its file
	Dir         string // what paths in it are relative to; empty: it has none, as a command
	Place       Place
	ByModel     bool     // the model may load it
	ByUser      bool     // the user may call it
	Tools       []string // calls that are to be allowed while it is used, as rules
	Warnings    []string // what is odd about it, each a phrase

	also string // a shorter name, if nothing else has it
}

// Find looks for skills and commands. Of two that have the same name the first
// counts: places come by precedence, those of skills before those of
// commands. A place that does not exist is no mistake. warnings are lines for
// people: what cannot be used, and what is hidden by another.
func Find(places ...Place) (list []*Skill, warnings []string) {
	for _, p := range places {
		s := search{place: p}
		s.folder(p.Dir, 0)
		s.without()
		warnings = append(warnings, s.warnings...)
		for _, found := range s.found {
			switch other := Named(list, found.Name); {
			case other != nil && other.Path == found.Path: // by another way
			case other != nil:
				warnings = append(warnings, unseen.Line(fmt.Sprintf("%s is hidden by %s, which has the same name.", found.Path, other.Path)))
			case len(list) >= mostSkills:
				return list, append(warnings, unseen.Line(fmt.Sprintf("there are more than %d skills and commands; %s and what follows is left out.", mostSkills, found.Path)))
			default:
				list = append(list, found)
			}
		}
	}
	for _, s := range list {
		if s.also != "" && Named(list, s.also) == nil && !slices.ContainsFunc(list, func(o *Skill) bool { return o != s && o.also == s.also }) {
			s.Name = s.also
		}
	}
	return list, warnings
}

// Named is the one of a list that has a name; nil: none has.
func Named(list []*Skill, name string) *Skill {
	if i := slices.IndexFunc(list, func(s *Skill) bool { return s.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// search looks through one place.
type search struct {
	place    Place
	folders  int
	found    []*Skill
	empty    []string // names of folders in which there is none
	warnings []string
}

func (s *search) warn(format string, args ...any) {
	s.warnings = append(s.warnings, unseen.Line(fmt.Sprintf(format, args...)))
}

// folder looks through a folder: a skill's has nothing else for us.
func (s *search) folder(dir string, depth int) {
	list, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist) || depth == 0 && isNoFolder(dir, err):
		return
	case err != nil:
		s.warn("%s cannot be read: %v.", dir, withoutPath(err))
		return
	}
	if s.folders++; s.folders > mostFolder {
		if s.folders == mostFolder+1 {
			s.warn("%s holds more than %d folders; %s and what follows is left out.", s.place.Dir, mostFolder, dir)
		}
		return
	}
	if i := slices.IndexFunc(list, func(e fs.DirEntry) bool { return strings.EqualFold(e.Name(), "SKILL.md") }); i >= 0 && !s.place.Commands {
		s.read(filepath.Join(dir, list[i].Name()))
		return
	}
	before := len(s.found) + len(s.warnings)
	for _, e := range list {
		at := filepath.Join(dir, e.Name())
		switch {
		case strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules":
		case s.isFolder(at, e):
			if depth < deepest {
				s.folder(at, depth+1)
			}
		case s.place.Commands && strings.EqualFold(filepath.Ext(at), ".md"):
			s.read(at)
		}
	}
	if depth == 1 && !s.place.Commands && before == len(s.found)+len(s.warnings) {
		s.empty = append(s.empty, filepath.Base(dir))
	}
}

// without says in one line which folders hold no skill.
func (s *search) without() {
	const most = 5
	if n := len(s.empty); n > most {
		s.empty = append(s.empty[:most], fmt.Sprintf("and %d more", n-most))
	}
	if len(s.empty) > 0 {
		s.warn("%s has folders without a SKILL.md: %s.", s.place.Dir, strings.Join(s.empty, ", "))
	}
}

// isNoFolder reports whether reading failed because a file has the name.
func isNoFolder(dir string, err error) bool {
	info, e := os.Stat(dir)
	return err != nil && e == nil && !info.IsDir()
}

// isFolder follows links in the user's own places only.
func (s *search) isFolder(at string, e fs.DirEntry) bool {
	if e.Type()&fs.ModeSymlink != 0 && s.place.Project == "" {
		info, err := os.Stat(at)
		return err == nil && info.IsDir()
	}
	return e.IsDir()
}

// read adds what a file holds.
func (s *search) read(path string) {
	data, err := s.place.text(path)
	if err != nil {
		s.warn("%s is left out: %v.", path, withoutPath(err))
		return
	}
	fields, body, err := Frontmatter(data)
	k := &Skill{
		Path: path, Place: s.place, Hint: line(fields.Text("argument-hint")),
		ByModel: !fields.Bool("disable-model-invocation", false), ByUser: fields.Bool("user-invocable", true),
		Tools: fields.List("allowed-tools"),
	}
	for _, other := range []string{"agent", "context", "effort", "hooks", "model", "paths"} {
		if _, there := fields[other]; there {
			k.odd("its %s counts for nothing here", other)
		}
	}
	if err != nil {
		for odd := range strings.SplitSeq(err.Error(), "\n") {
			k.odd("%s", odd)
		}
	}
	if s.place.Commands {
		k.command(s.place.Dir)
	} else {
		k.skill(fields.Text("name"))
	}
	k.Description = line(fields.Text("description"))
	if k.Description == "" {
		k.Description = firstLine(body)
		if !s.place.Commands {
			k.odd("it has no description, by which the model could tell when to use it")
		}
	}
	if n := utf8.RuneCountInString(k.Description); n > longestDescription {
		k.odd("its description has %d characters, more than %d", n, longestDescription)
		k.Description = shorten(k.Description, longestDescription)
	}
	if _, n := revealed(string(body)); n > 0 {
		k.odd("it holds %d characters that nobody sees; the model is shown them as escapes", n)
	}
	if k.Name == "" || k.Description == "" && !s.place.Commands {
		s.warn("%s is left out: %s.", path, cmp.Or(strings.Join(k.Warnings, "; "), "it is empty"))
		return
	}
	s.found = append(s.found, k)
}

func (k *Skill) odd(format string, args ...any) {
	k.Warnings = append(k.Warnings, line(fmt.Sprintf(format, args...)))
}

// skill names a skill: as it says, or else as its folder is called.
func (k *Skill) skill(name string) {
	k.Dir = filepath.Dir(k.Path)
	folder := filepath.Base(k.Dir)
	switch {
	case name == "":
		k.odd("it has no name; it is called as its folder is")
		name = folder
	case !typable(name):
		k.odd("its name %q cannot be typed; it is called as its folder is", name)
		name = folder
	case name != folder:
		k.odd("its name is not that of its folder, %s", folder)
	case !wellNamed(name):
		k.odd("its name should have 1 to %d of a-z, 0-9 and single hyphens", longestName)
	}
	if typable(name) {
		k.Name = name
	}
}

// command names a command after its file and the folders that is in.
func (k *Skill) command(place string) {
	rel, err := filepath.Rel(place, k.Path)
	if err != nil {
		rel = filepath.Base(k.Path)
	}
	rel = strings.TrimSuffix(filepath.ToSlash(rel), filepath.Ext(rel))
	if name := strings.ReplaceAll(rel, "/", ":"); typable(name) {
		k.Name = name
	} else {
		k.odd("its name cannot be typed")
	}
	if i := strings.LastIndexByte(rel, '/'); i >= 0 && k.Name != "" {
		k.also = rel[i+1:]
	}
}

// typable reports whether a name can be called by.
func typable(name string) bool {
	return name != "" && utf8.RuneCountInString(name) <= longestName && utf8.ValidString(name) &&
		!strings.ContainsFunc(name, func(r rune) bool {
			return unicode.IsSpace(r) || unicode.IsControl(r) || unseen.Is(r) || strings.ContainsRune(`/\"<>&`, r)
		})
}

// wellNamed reports whether a name is one by the format.
func wellNamed(name string) bool {
	return !strings.HasPrefix(name, "-") && !strings.HasSuffix(name, "-") && !strings.Contains(name, "--") &&
		!strings.ContainsFunc(name, func(r rune) bool { return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-') })
}

// line is text on one line in which nothing is hidden.
func line(text string) string { return unseen.Line(strings.Join(strings.Fields(text), " ")) }

// firstLine is the first line of a body that is no heading.
func firstLine(body []byte) string {
	for l := range strings.Lines(string(body)) {
		if l = line(l); l != "" && !strings.HasPrefix(l, "#") {
			return shorten(l, longestDescription)
		}
	}
	return ""
}

// shorten keeps so many characters.
func shorten(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n == most {
			return strings.TrimRight(text[:i], " ") + "…"
		}
	}
	return text
}

// text reads a small ordinary file of text. Opening anything else could wait
// for ever, so nothing is waited for. No link leads out of the folder that is
// worked in.
func (p Place) text(path string) ([]byte, error) {
	const flags = os.O_RDONLY | syscall.O_NONBLOCK
	var f *os.File
	var err error
	if p.Project == "" {
		f, err = os.OpenFile(path, flags, 0)
	} else {
		f, err = p.open(path, flags)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, errors.New("it is no ordinary file")
	}
	data, err := io.ReadAll(io.LimitReader(f, MostSkill+1))
	if err == nil && len(data) > MostSkill {
		err = fmt.Errorf("it has more than %d KiB", MostSkill>>10)
	}
	if err == nil && (!utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0) {
		err = errors.New("it is no text in UTF-8")
	}
	return data, err
}

// open opens a file of the folder that is worked in.
func (p Place) open(path string, flags int) (*os.File, error) {
	dir := strings.TrimSuffix(p.Dir, filepath.FromSlash(p.Project))
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(rel, flags, 0)
}
