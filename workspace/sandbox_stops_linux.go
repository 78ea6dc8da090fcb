//go:build amd64 || arm64

package workspace

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"oneloop/internal/system"
	"oneloop/workspace/confine"
)

// A program that is stopped at a file says what the kernel told it, "Device or
// resource busy", and not that it was the sandbox. Once a command has failed,
// or git has gone on without its settings, the end of what it printed is
// searched for such words beside the name of something that it may not change,
// and a note tells why that is.

const (
	// stopWindow is how many bytes of the end of an output are searched.
	stopWindow = 16 << 10
	// stopNotes is how many files are explained.
	stopNotes = 3
	// goesOn begins a line of git's that need not be the end: a branch is made,
	// removed or pushed all the same, and what is to be kept of it is not.
	goesOn = "error: could not write config file "
)

// tailed passes an output on and remembers its end.
type tailed struct {
	io.Writer
	end []byte
}

func (t *tailed) Write(p []byte) (int, error) {
	n, err := t.Writer.Write(p)
	keep := p[max(0, len(p)-stopWindow):]
	if over := len(t.end) + len(keep) - 2*stopWindow; over > 0 {
		t.end = append(t.end[:0], t.end[max(0, len(t.end)-stopWindow):]...)
	}
	t.end = append(t.end, keep...)
	return n, err
}

// lines are those of the end.
func (t *tailed) lines() []string {
	return strings.Split(string(t.end[max(0, len(t.end)-stopWindow):]), "\n")
}

// stops knows what a command could not change.
type stops struct {
	root, dir string          // of the workspace; the command began in
	home      string          // empty: there is none
	write     []string        // folders that it may change
	frozen    bool            // not even those
	guards    []confine.Guard // what is protected in them
	fence     bool            // what is outside says "permission denied"
	out       *tailed         // nil: nobody wants the output
}

func (w *SandboxWorkspace) stops(o confine.Order, fenced []string) *stops {
	s := &stops{root: w.root, dir: o.Dir, home: w.files.home, write: w.policy.Write, frozen: len(o.Frozen) > 0}
	if fenced != nil {
		s.write, s.fence = fenced, true
	}
	return s
}

// watch is the output of a command whose stops are explained.
func (s *stops) watch(w io.Writer) io.Writer {
	if w == nil {
		return nil
	}
	s.out = &tailed{Writer: w}
	return s.out
}

// explain says what stopped a command. It is called before stand-ins are
// removed.
func (s *stops) explain(exit Exit) (notes []string) {
	if exit.Code < 0 || s.out == nil {
		return nil
	}
	for _, line := range s.out.lines() {
		if exit.Code == 0 && !strings.HasPrefix(line, goesOn) {
			continue
		}
		note := s.stopped(line)
		if note != "" && !slices.Contains(notes, note) {
			notes = append(notes, note)
		}
		if len(notes) == stopNotes {
			break
		}
	}
	return notes
}

// stopped explains a line; empty: it does not speak of a stop.
func (s *stops) stopped(line string) string {
	errno := stopWords(line)
	if errno == 0 {
		return ""
	}
	elsewhere := false
	for _, name := range namesIn(line) {
		if note := s.why(name, errno); note != "" {
			return note
		}
		elsewhere = elsewhere || filepath.IsAbs(name) && !s.inside(name)
	}
	if s.frozen && errno == unix.EROFS && !elsewhere {
		return "commands may only look at the workspace now, so nothing in it was changed. The user can choose another permission mode than plan"
	}
	return ""
}

// stopWords gives the error that a line speaks of; 0: none of a sandbox.
func stopWords(line string) unix.Errno {
	line = strings.ToLower(line)
	for _, w := range [...]struct {
		words string
		is    unix.Errno
	}{
		{"read-only file system", unix.EROFS}, {"device or resource busy", unix.EBUSY}, {"resource busy or locked", unix.EBUSY}, // the latter is node's
		{"permission denied", unix.EACCES}, {"file exists", unix.EEXIST}, {"file already exists", unix.EEXIST},
		{"not a directory", unix.ENOTDIR}, {"no such device or address", unix.ENXIO}, {"operation not permitted", unix.EPERM},
	} {
		if strings.Contains(line, w.words) {
			return w.is
		}
	}
	return 0
}

// namesIn gives what may be the name of a file in a line: what is in quotes,
// the parts between colons, and words.
func namesIn(line string) (names []string) {
	add := func(list []string) {
		for _, name := range list {
			if name = strings.Trim(name, " \t\r,;:()[]'\"`‘’"); name != "" && len(name) < 4096 {
				names = append(names, name)
			}
		}
	}
	add(strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune("'\"`‘’", r) }))
	add(strings.Split(line, ": "))
	add(strings.Fields(line))
	return names
}

// why explains why a name could not be changed; empty: it is none of those
// that a sandbox stops so.
func (s *stops) why(name string, errno unix.Errno) string {
	for _, path := range s.paths(name) {
		for _, g := range s.guards {
			at := filepath.Join(g.Root, g.Path)
			if _, in := below(at, path); in && stopsAt(at, g.Kind, path == at, errno) {
				return protectedNote(at, g.Kind)
			}
		}
	}
	if !filepath.IsAbs(name) || s.inside(name) {
		return ""
	}
	if errno == unix.EROFS && !s.fence || errno == unix.EACCES && s.fence && writableHere(name) {
		return s.outsideNote(filepath.Clean(name))
	}
	return ""
}

// paths are what a name that a program tells may stand for. It may have
// changed its folder since it was started.
func (s *stops) paths(name string) []string {
	name = filepath.Clean(name)
	if filepath.IsAbs(name) {
		return []string{name}
	}
	list := []string{filepath.Join(s.dir, name)}
	for strings.HasPrefix(name, "../") {
		name = name[len("../"):]
	}
	return append(list, filepath.Join(s.root, name))
}

// stopsAt reports whether that is how what is protected at a path is felt.
func stopsAt(at string, kind confine.GuardKind, itself bool, errno unix.Errno) bool {
	switch errno {
	case unix.EBUSY:
		return itself
	case unix.EROFS:
		return kind == confine.ReadOnly
	}
	// A file of the user's can say that for other reasons, a stand-in cannot.
	info, err := os.Lstat(at)
	return err == nil && kind == confine.ReadOnly && info.Mode().Type() == os.ModeSocket
}

func protectedNote(at string, kind confine.GuardKind) string {
	if kind == confine.Pinned {
		return fmt.Sprintf("the sandbox keeps %s where it is: files in it are protected. The user can move or remove it, or run without a sandbox (--sandbox none)", at)
	}
	what := "editors, agents or shells obey it later, outside the sandbox"
	if slices.Contains(strings.Split(at, "/"), ".git") {
		what = "git obeys it later, outside the sandbox"
	}
	if info, err := os.Lstat(at); err == nil && info.Mode().Type() == os.ModeSocket {
		at += ", also while it does not exist"
	}
	return fmt.Sprintf("the sandbox protects %s: %s. Tell the user what is to be changed there; they can do it, or run without a sandbox (--sandbox none)", at, what)
}

func (s *stops) outsideNote(path string) string {
	if repo, _, in := strings.Cut(path, "/.git/"); in {
		if _, above := below(repo, s.root); above {
			return fmt.Sprintf("the sandbox keeps %s/.git read-only: the repository begins above the workspace %s. The user can run git there, or start oneloop in %s or with --add-dir %s", repo, s.root, repo, repo)
		}
	}
	dir, ways := filepath.Dir(path), "The user can do it"
	if s.mayBeGiven(dir) {
		ways += ", or give the folder (--add-dir " + dir + ")"
	}
	if _, err := os.Lstat(path); err != nil {
		path = dir
	}
	tmp := "/tmp"
	if s.fence {
		tmp = "$TMPDIR"
	}
	return fmt.Sprintf("the sandbox keeps %s read-only: commands change the workspace %s and %s only. %s, or run without a sandbox (--sandbox none)", path, s.root, tmp, ways)
}

// mayBeGiven reports whether a folder is one to be added to a workspace: none
// of the system's, nor of what starts up with the user.
func (s *stops) mayBeGiven(dir string) bool {
	if strings.Count(dir, "/") < 2 || s.home != "" && (dir == s.home || startsUp(s.home, dir)) {
		return false
	}
	return !slices.ContainsFunc(system.Folders(), func(top string) bool {
		_, in := below(top, dir)
		return in
	})
}

func (s *stops) inside(path string) bool {
	return slices.ContainsFunc(s.write, func(dir string) bool { _, in := below(dir, path); return in })
}

// writableHere reports whether the user could change or make what is at path.
func writableHere(path string) bool {
	if _, err := os.Lstat(path); err != nil {
		path = filepath.Dir(path)
	}
	return unix.Access(path, unix.W_OK) == nil
}
