//go:build amd64 || arm64

package confine

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// What is hidden may be replaced by its owner, or come to exist, while a
// sandbox is there: programs that log in write a new file and rename it. The
// kernel takes away what was mounted on the old one. So there are two lines:
//
//   - Before each command what is there now is covered.
//   - Landlock lets a command read what was there when it started, and in the
//     folders of hidden names nothing that was not.

// Covered gives those of names that exist and would be covered, without
// symbolic links. Folders that are given to commands are not.
func Covered(names, given []string) []string {
	return slices.DeleteFunc(Hidden(names, given), func(path string) bool { _, err := os.Lstat(path); return err != nil })
}

// Hidden is where names lead to. One that does not exist is kept.
func Hidden(names, given []string) []string {
	r := resolver{}
	var list []string
	seen := map[string]bool{}
	for _, name := range names {
		path := r.resolve(filepath.Clean(name))
		if !seen[path] && !slices.Contains(given, path) {
			seen[path] = true
			list = append(list, path)
		}
	}
	return list
}

// resolver remembers where folders lead to: most names are in few of them.
type resolver map[string]string

// resolve follows the links of a path. What is missing leads nowhere else.
func (r resolver) resolve(path string) string {
	if path == "/" || path == "." {
		return path
	}
	if actual, ok := r[path]; ok {
		return actual
	}
	r[path] = path // a link that leads to itself
	here := filepath.Join(r.resolve(filepath.Dir(path)), filepath.Base(path))
	var buf [unix.PathMax]byte
	if n, err := unix.Readlink(here, buf[:]); err == nil {
		target := string(buf[:n])
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(here), target)
		}
		if actual, err := filepath.EvalSymlinks(here); err == nil {
			here = actual
		} else {
			here = r.resolve(filepath.Clean(target))
		}
	}
	r[path] = here
	return here
}

// identity tells a file from every other one.
type identity struct{ dev, ino uint64 }

func identify(path string) (identity, bool) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return identity{}, false
	}
	return identity{uint64(st.Dev), st.Ino}, true
}

// emptyFile and emptyFolder are shown in place of what is hidden. They stay in
// the /dev of commands, since nothing can be mounted on a file that is gone.
const (
	emptyFile   = "/dev/.empty"
	emptyFolder = "/dev/.none"
)

// cover hides a path. No link is followed on the way: a name that was changed
// meanwhile is none that is meant.
func cover(path string) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS})
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	from := emptyFile
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		from = emptyFolder
	}
	tree, err := cloneTree(from)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	if err := setAttr(tree, "", unix.AT_EMPTY_PATH, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// renew covers what is hidden and not covered, and gives the rules of Landlock
// for what can be seen now, -1 where there are none. They are the caller's.
func (h *holder) renew() (rules int, err error) {
	h.viewing.Lock()
	defer h.viewing.Unlock()
	var hide []string
	for range 3 { // what changes meanwhile is looked at again
		hide = Hidden(h.policy.Hide, h.policy.Write)
		if err = h.coverAll(hide); err == nil {
			break
		}
	}
	if err != nil {
		return 0, err
	}
	if h.facts.Landlock == 0 {
		return -1, nil
	}
	return h.rules(hide, h.places())
}

func (h *holder) coverAll(hide []string) error {
	for _, path := range hide {
		now, ok := identify(path)
		if !ok || now == h.covers[path] {
			continue
		}
		if err := cover(path); err != nil {
			if _, still := identify(path); !still {
				continue
			}
			return fmt.Errorf("hide %s: %w", path, err)
		}
		h.covers[path], _ = identify(path)
	}
	return nil
}

// places are those that commands can write where they have a view of their own.
func (h *holder) places() []string {
	return append([]string{"/tmp", "/var/tmp", "/dev"}, h.policy.Write...)
}

// rules gives the rules of Landlock, as the caller's.
func (h *holder) rules(hide, write []string) (int, error) {
	if err := h.makeRules(hide, write); err != nil {
		return 0, err
	}
	return unix.FcntlInt(uintptr(h.ruleset), unix.F_DUPFD_CLOEXEC, control+1)
}

// ruleUses is how many commands use the same rules at most: each adds one.
const ruleUses = 100

// makeRules makes the rules of Landlock, unless those that are there hold.
func (h *holder) makeRules(hide, write []string) error {
	from := fmt.Sprintf("%q", hide)
	for _, path := range write { // a rule is about what is there now
		what, _ := identify(path)
		from += fmt.Sprintf("%q %v", path, what)
	}
	if h.ruleset >= 0 && h.uses < ruleUses && from == h.ruled && h.sight.holds() {
		h.uses++
		return nil
	}
	s := visible(hide)
	s.covers = h.covers
	ruleset, err := fence(h.facts.Landlock, s, write)
	if err != nil {
		return err
	}
	if h.ruleset >= 0 {
		unix.Close(h.ruleset)
	}
	h.ruleset, h.uses, h.ruled, h.sight = ruleset, 1, from, s
	return nil
}

// seen is what commands may read.
type seen struct {
	read   []string            // with all that lies below
	list   []string            // folders of which the names are seen
	states []folderState       // of those, before they were listed
	covers map[string]identity // what is shown for hidden files and folders
}

// holds reports whether no name in the folders has changed.
func (s seen) holds() bool {
	for i, path := range s.list {
		if stateOf(path) != s.states[i] {
			return false
		}
	}
	return true
}

// folderState is another when a name in the folder is.
type folderState struct {
	what    identity
	changed unix.Timespec
}

func stateOf(path string) folderState {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return folderState{}
	}
	return folderState{identity{uint64(st.Dev), st.Ino}, st.Ctim}
}

// visible gives what can be read, which is all but what is hidden. Rules can
// only give, so a folder with something hidden below is replaced by what else
// is in it, and can itself be listed only: the names below it are seen.
func visible(hide []string) seen {
	secret, above := map[string]bool{}, map[string]bool{}
	for _, path := range hide {
		secret[path] = true
		for dir := filepath.Dir(path); !above[dir]; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	var s seen
	queue := []string{"/"}
	for len(queue) > 0 {
		path := queue[0]
		queue = queue[1:]
		if secret[path] {
			continue
		}
		if !above[path] {
			s.read = append(s.read, path)
			continue
		}
		s.list, s.states = append(s.list, path), append(s.states, stateOf(path))
		entries, err := os.ReadDir(path)
		if err != nil {
			continue // nobody can read it either
		}
		for _, e := range entries {
			if e.Type()&os.ModeSymlink == 0 { // where it leads decides
				queue = append(queue, filepath.Join(path, e.Name()))
			}
		}
	}
	return s
}
