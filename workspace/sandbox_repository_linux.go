//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"oneloop/internal/gitsafe"
)

// repository is what git obeys in a git folder.
type repository struct {
	files   map[string]wired // by their names in it; a .git that is no folder has one without a name
	next    []string         // git folders it leads to, in the workspace
	outside string           // one that it leads to elsewhere
	led     map[string]wired // what its settings lead to, in the workspace, by path
	shut    bool             // it could not be read
	more    bool             // there are files of these kinds that were not
}

// wired is a file, or what is in its place.
type wired struct {
	mode  fs.FileMode
	text  string // of a file; where a link leads
	stamp string // instead of text, where that is not kept
	hook  bool   // settings lead to it as one
}

// runs reports whether git would run it as a hook.
func (w wired) runs() bool { return !w.mode.IsRegular() || w.mode&0o111 != 0 }

func (w wired) same(was wired) bool {
	return w.mode.Type() == was.mode.Type() && w.text == was.text && w.stamp == was.stamp
}

const (
	wireFile  = 1 << 20  // bytes that are kept of a file, or none
	wireTotal = 32 << 20 // bytes that are kept in all
	wireHooks = 500      // files in a folder of hooks besides those that git runs
	wireLed   = 200      // files to which the settings of a repository lead

	wireListed = 100_000 // names that are read of a folder of hooks
)

// reading reads repositories. It opens regular files and folders only.
type reading struct {
	t    *tripwire
	kept int // bytes
}

func (rd *reading) repository(path string) repository {
	r := repository{files: map[string]wired{}, led: map[string]wired{}}
	info, err := rd.t.shut.lstat(path)
	if err != nil {
		return r
	}
	if !info.IsDir() {
		rd.leader(&r, path)
		return r
	}
	root, err := rd.t.shut.openDir(path)
	if err != nil {
		r.shut = errors.Is(err, fs.ErrPermission)
		return r
	}
	defer root.Close()
	for _, dir := range []string{"hooks", "info"} {
		if unix.Access(filepath.Join(path, dir), unix.R_OK|unix.X_OK) == unix.EACCES {
			rd.t.shut.open(filepath.Join(path, dir))
		}
	}
	names, more := hooks(root)
	r.more = more
	for _, name := range append(names, "config", "config.worktree", "commondir", "info/attributes") {
		if _, err := root.Lstat(name); err == nil {
			r.files[name] = rd.file(root, name)
		}
	}
	if r.files["commondir"].text == sameFolder {
		delete(r.files, "commondir") // to git the same as none: a stand-in
	}
	if w, ok := r.files["commondir"]; ok {
		rd.follow(&r, path, w.text)
	}
	rd.settings(&r, path)
	return r
}

// leader reads a .git that is a file or a link.
func (rd *reading) leader(r *repository, path string) {
	above, err := rd.t.shut.openDir(filepath.Dir(path))
	if err != nil {
		return
	}
	defer above.Close()
	w := rd.file(above, filepath.Base(path))
	r.files[""] = w
	target, ok := w.text, w.mode&fs.ModeSymlink != 0
	if !ok {
		target, ok = strings.CutPrefix(w.text, "gitdir:")
	}
	if ok {
		rd.follow(r, filepath.Dir(path), target)
	}
}

// follow notes where a repository leads.
func (rd *reading) follow(r *repository, dir, target string) {
	target = strings.TrimSpace(target)
	actual, err := rd.t.shut.real(from(dir, target))
	switch {
	case err != nil: // nothing is there
	case rd.t.in(actual):
		r.next = append(r.next, actual)
	default:
		r.outside = target
	}
}

// hooks names the files in the folder of hooks, or that itself when it is no
// folder. Those that git brings as examples are none. more says that there are
// others than those that git runs, which it may not have named.
func hooks(root *os.Root) (names []string, more bool) {
	info, err := root.Lstat("hooks")
	if err != nil {
		return nil, false
	}
	if !info.IsDir() {
		return []string{"hooks"}, false
	}
	for _, name := range gitHooks {
		names = append(names, "hooks/"+name)
	}
	dir, _, err := openPlain(root, "hooks", os.O_RDONLY)
	if err != nil {
		return names, false
	}
	defer dir.Close()
	others, more := otherHooks(dir, wireHooks)
	for _, name := range others {
		names = append(names, "hooks/"+name)
	}
	return names, more
}

// gitHooks are those that git runs. They are looked for by their names, however
// many files there are.
var gitHooks = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update", "proc-receive", "post-receive", "post-update",
	"reference-transaction", "push-to-checkout", "pre-auto-gc", "post-rewrite", "sendemail-validate", "fsmonitor-watchman", "query-watchman",
	"p4-changelist", "p4-prepare-changelist", "p4-post-changelist", "p4-pre-submit", "post-index-change", "pre-solve-refs",
}

// otherHooks lists what else is in a folder of hooks, which those may run, but
// for examples and at most so many.
func otherHooks(dir *os.File, most int) (names []string, more bool) {
	for read := 0; ; {
		list, err := dir.ReadDir(1000)
		if err != nil {
			return names, false
		}
		for _, e := range list {
			name := e.Name()
			if strings.HasSuffix(name, ".sample") || isAside(name) || slices.Contains(gitHooks, name) {
				continue
			}
			if len(names) == most {
				return names, true
			}
			names = append(names, name)
		}
		if read += len(list); read >= wireListed {
			return names, true
		}
	}
}

// file reads a file, or what is in its place.
func (rd *reading) file(root *os.Root, name string) wired {
	info, err := root.Lstat(name)
	if err != nil {
		return wired{}
	}
	w := wired{mode: info.Mode()}
	if w.mode&fs.ModeSymlink != 0 {
		w.text, _ = root.Readlink(name)
	}
	if !w.mode.IsRegular() {
		return w
	}
	f, _, err := openPlain(root, name, os.O_RDONLY)
	if err == nil {
		defer f.Close()
		var text []byte
		if text, err = readAll(f, wireFile); err == nil && rd.kept+len(text) <= wireTotal {
			rd.kept += len(text)
			w.text = string(text)
			return w
		}
	}
	w.stamp = stamp(info)
	return w
}

// stamp tells whether a file is the same and as it was. Commands cannot choose
// the time of its last change.
func stamp(info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	return fmt.Sprint(st.Ino, st.Size, st.Mtim, st.Ctim)
}

// settings reads what settings lead to.
func (rd *reading) settings(r *repository, path string) {
	top := path
	if fold(filepath.Base(path)) == ".git" {
		top = filepath.Dir(path)
	}
	for _, name := range []string{"config", "config.worktree"} {
		if w := r.files[name]; w.mode&fs.ModeSymlink != 0 {
			rd.lead(r, from(path, w.text), top, 0)
		} else {
			rd.leads(r, path, w.text, top, 0)
		}
	}
	if w := r.files["hooks"]; w.mode&fs.ModeSymlink != 0 {
		rd.folder(r, from(path, w.text))
	}
}

// leads follows the settings in a text that lies in dir.
func (rd *reading) leads(r *repository, dir, text, top string, deep int) {
	list, _ := gitsafe.Config(text)
	for _, s := range list {
		switch {
		case (s.Section == "include" || s.Section == "includeif") && s.Key == "path":
			rd.lead(r, from(dir, s.Value), top, deep+1)
		case s.Name() == "core.hookspath":
			rd.folder(r, from(top, s.Value))
		case s.Name() == "core.worktree" && deep == 0:
			top = from(dir, s.Value)
		}
	}
}

// lead reads a file of settings outside the git folder.
func (rd *reading) lead(r *repository, path, top string, deep int) {
	actual, err := rd.t.shut.real(path)
	if err != nil || deep > 5 || !rd.t.in(actual) || !rd.add(r, actual, false) {
		return
	}
	rd.leads(r, filepath.Dir(actual), r.led[actual].text, top, deep)
}

// folder reads a folder of hooks outside the git folder.
func (rd *reading) folder(r *repository, path string) {
	actual, err := rd.t.shut.real(path)
	if err != nil || !rd.t.in(actual) {
		return
	}
	root, err := rd.t.shut.openDir(actual)
	if err != nil {
		return
	}
	defer root.Close()
	for _, name := range gitHooks {
		if _, err := root.Lstat(name); err == nil {
			rd.add(r, filepath.Join(actual, name), true)
		}
	}
	dir, _, err := openPlain(root, ".", os.O_RDONLY)
	if err != nil {
		return
	}
	defer dir.Close()
	others, more := otherHooks(dir, wireLed)
	r.more = r.more || more
	for _, name := range others {
		rd.add(r, filepath.Join(actual, name), true)
	}
}

// add reads one file to which settings lead.
func (rd *reading) add(r *repository, path string, hook bool) bool {
	if _, ok := r.led[path]; ok {
		return false
	}
	most := wireLed
	if hook && slices.Contains(gitHooks, filepath.Base(path)) {
		most *= 10 // git reads the last folder of hooks that is named; there is no sense in many
	}
	if len(r.led) >= most {
		r.more = true
		return false
	}
	root, err := rd.t.shut.openDir(filepath.Dir(path))
	if err != nil {
		return false
	}
	defer root.Close()
	w := rd.file(root, filepath.Base(path))
	w.hook = hook
	r.led[path] = w
	return true
}

// changed names what git runs or obeys other than before.
func changed(was, now map[string]wired) []string {
	var list []string
	for _, path := range slices.Sorted(maps.Keys(now)) {
		w, old := now[path], was[path]
		switch {
		case w.mode.IsDir():
		case w.hook:
			if w.runs() && (!w.same(old) || !old.runs()) {
				list = append(list, path)
			}
		case w.stronger(old, path):
			list = append(list, path)
		}
	}
	return list
}

// stronger reports whether a file of settings has one that was not there.
func (w wired) stronger(old wired, name string) bool {
	if w.stamp != old.stamp {
		return true
	}
	before := old.strong(name)
	return slices.ContainsFunc(w.strong(name), func(s string) bool { return !slices.Contains(before, s) })
}

// active names what a repository makes git run or obey.
func (r repository) active() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		w := r.files[name]
		switch name {
		case "config", "config.worktree":
			list = append(list, w.strong(name)...)
		case "", "commondir":
			if r.outside != "" {
				list = append(list, "the git folder "+r.outside+" outside the workspace")
			}
		case "info/attributes":
		default:
			list = append(list, name)
		}
	}
	return list
}

// strong are the settings of a file that are not mild.
func (w wired) strong(name string) []string {
	switch {
	case w.mode == 0:
		return nil
	case !w.mode.IsRegular():
		return []string{name + ", which is no file"}
	case w.stamp != "":
		return []string{name + ", which is too long to look at"}
	}
	return gitsafe.Strong(w.text)
}

// worse names the files whose change makes git run or obey something else
// than before.
func (r repository) worse(was repository) []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		w := r.files[name]
		old, had := was.files[name]
		hook := strings.HasPrefix(name, "hooks/")
		switch {
		case had && w.same(old) && (!hook || old.runs() || !w.runs()):
		case (name == "config" || name == "config.worktree") && w.mode.IsRegular():
			if w.stronger(old, name) {
				list = append(list, name)
			}
		case name == "info/attributes" && w.mode.IsRegular() && w.stamp == "" && strings.TrimSpace(w.text) == "":
		default:
			list = append(list, name)
		}
	}
	return list
}

// putBack puts back files of a repository. What is there instead is kept
// beside them, in case that it is the user's.
func (t *tripwire) putBack(path string, was repository, names []string) string {
	dir, files := path, was.files
	if names[0] == "" {
		dir, names = filepath.Dir(path), []string{filepath.Base(path)}
		files = map[string]wired{}
		if w, ok := was.files[""]; ok {
			files[names[0]] = w
		}
	}
	for _, name := range names {
		t.shut.open(filepath.Join(dir, filepath.Dir(name)))
	}
	root, err := openDir(dir)
	if err == nil {
		for _, name := range names {
			err = errors.Join(err, restoreFile(root, name, files))
		}
		root.Close()
	}
	what := fmt.Sprintf("%s of the repository %s", few(names, 100), shown(path, 200))
	if err != nil {
		return fmt.Sprintf("%s was changed so that git would run something, and could not be put back: %v. Say so to the user before git is used there", what, err)
	}
	return what + " was changed so that git would run something, which the sandbox does not allow, so it was put back; what it was changed to lies beside it with a name that ends in " + asideEnd
}

// restoreFile puts one file back.
func restoreFile(root *os.Root, name string, was map[string]wired) error {
	old, had := was[name]
	if had && old.mode.IsRegular() {
		if done, err := restoreMode(root, name, old); done {
			return err
		}
	}
	tmp, err := "", error(nil)
	if had {
		if tmp, err = remake(root, name, old); err != nil {
			err = fmt.Errorf("make %s again: %w", name, err)
		}
	}
	if moved := setAside(root, name); moved != nil {
		if tmp != "" {
			root.Remove(tmp)
		}
		return errors.Join(err, moved)
	}
	if tmp != "" {
		err = errors.Join(err, root.Rename(tmp, name))
	}
	if name == "hooks" && !had {
		err = errors.Join(err, root.Mkdir("hooks", 0o755))
		for _, hook := range slices.Sorted(maps.Keys(was)) {
			if strings.HasPrefix(hook, "hooks/") {
				err = errors.Join(err, restoreFile(root, hook, was))
			}
		}
	}
	return err
}

// restoreMode is enough where only that was changed.
func restoreMode(root *os.Root, name string, old wired) (done bool, err error) {
	f, info, err := openPlain(root, name, os.O_RDONLY)
	if err != nil {
		return false, nil
	}
	defer f.Close()
	same := old.stamp == "" && info.Mode().IsRegular()
	if same {
		text, err := readAll(f, wireFile)
		same = err == nil && string(text) == old.text
	}
	if !same {
		return false, nil
	}
	return true, f.Chmod(old.mode.Perm())
}

var errNotKept = errors.New("it is too long to have been kept")

// remake makes a file under another name in its folder: whole, or not at all.
func remake(root *os.Root, name string, old wired) (tmp string, err error) {
	if tmp, err = freeName(root, name, ".new"); err != nil {
		return "", err
	}
	switch {
	case old.mode&fs.ModeSymlink != 0:
		return tmp, root.Symlink(old.text, tmp)
	case !old.mode.IsRegular():
		return "", ErrNotRegular
	case old.stamp != "":
		return "", errNotKept
	}
	f, err := root.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(old.text)
	if err = errors.Join(err, f.Chmod(old.mode.Perm()), f.Close()); err != nil {
		root.Remove(tmp)
		return "", err
	}
	return tmp, nil
}

// asideEnd is how names end under which git runs and obeys nothing.
const asideEnd = ".set-aside"

func isAside(name string) bool {
	return strings.HasSuffix(strings.TrimRight(strings.TrimSuffix(name, ".new"), "-0123456789"), asideEnd)
}

// setAside gives what is at name another one.
func setAside(root *os.Root, name string) error {
	if _, err := root.Lstat(name); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	to, err := freeName(root, name, "")
	if err != nil {
		return err
	}
	return root.Rename(name, to)
}

func freeName(root *os.Root, name, end string) (string, error) {
	for n := range 1000 {
		free := name + asideEnd + end
		if n > 0 {
			free = fmt.Sprintf("%s%s-%d%s", name, asideEnd, n+1, end)
		}
		if _, err := root.Lstat(free); errors.Is(err, fs.ErrNotExist) {
			return free, nil
		}
	}
	return "", fmt.Errorf("no name is free beside %s", name)
}
