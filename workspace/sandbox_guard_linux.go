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
	"sync"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// Commands must not change what other programs later run or obey: the
// settings and hooks of git, and those of editors, shells and agents. What
// exists is mounted read-only over itself. What does not exist is kept from
// being made by a stand-in that is there while commands run:
//
//   - In .git a file or folder as git itself would make it, that changes
//     nothing.
//   - Elsewhere a socket nobody listens on. Git does not see sockets, nobody
//     can open one, and nothing else can be made in its place.

// sharedGit gives the git folder that the worktree in root shares with others,
// or "". What root says of it counts only when that folder says the same of
// root: else a folder from anywhere could have any repository opened to it.
func sharedGit(root string) string {
	text, err := readSmall(filepath.Join(root, ".git"), leadMost)
	target, ok := strings.CutPrefix(strings.TrimSpace(string(text)), "gitdir: ")
	if err != nil || !ok {
		return ""
	}
	own, err := realPath(from(root, target))
	if err != nil {
		return ""
	}
	back, err := readSmall(filepath.Join(own, "gitdir"), leadMost)
	if err != nil || !sameFile(from(own, strings.TrimSpace(string(back))), filepath.Join(root, ".git")) {
		return ""
	}
	common, err := readSmall(filepath.Join(own, "commondir"), leadMost)
	if err != nil {
		return ""
	}
	shared, err := realPath(from(own, strings.TrimSpace(string(common))))
	if err != nil || filepath.Dir(own) != filepath.Join(shared, "worktrees") {
		return ""
	}
	return shared
}

// leadMost is how long a file may be that leads to a folder, in bytes.
const leadMost = 4 << 10

func from(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

func sameFile(a, b string) bool {
	x, err := os.Lstat(a)
	y, err2 := os.Lstat(b)
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// gitPart is what a git folder holds that is obeyed.
type gitPart struct {
	name   string
	folder bool
	text   string // of a stand-in
	always bool   // there is a stand-in where it is missing
}

// sameFolder is a commondir that leads to the folder it is in.
const sameFolder = ".\n"

var gitParts = []gitPart{
	{name: "hooks", folder: true, always: true},
	{name: "config", always: true},
	{name: "config.worktree", always: true},
	{name: "commondir", text: sameFolder, always: true},
	{name: "info/attributes", always: true},
}

// worktreeParts are those of a worktree's own folder below .git.
var worktreeParts = []gitPart{{name: "config.worktree", always: true}, {name: "commondir"}, {name: "gitdir"}}

// guards keeps what commands must not change. It is shared by the commands of
// a workspace, which may run side by side.
type guards struct {
	roots  []string
	names  map[string][]string // for each root, besides those of git
	above  map[string][]string // for each root, folders in it that hold something hidden
	hidden []string            // files and folders
	git    string              // a root that is itself a git folder; empty: there is none

	wire  tripwire
	links bool // names that are symbolic links are not mounted, only watched

	mu    sync.Mutex
	list  *list
	users map[spot]int       // of each stand-in
	held  map[*taking][]held // by commands that run

	abandoned bool // nothing is made or removed any more

	inner map[spot]bool   // git folders in others that were mounted before
	said  map[string]bool // notes
}

// newGuards looks after the folders roots, the first of which is the
// workspace. protect are further names in that. git is the folder that the
// workspace, a worktree, shares with others. lists are folders for the list, the first
// that can be used is taken.
func newGuards(roots []string, git, home string, lists, protect []string) (*guards, error) {
	g := &guards{roots: roots, git: git, wire: tripwire{roots: roots, git: git, shut: opener{roots: roots}}, names: map[string][]string{}, users: map[spot]int{}, held: map[*taking][]held{}, list: &list{dirs: lists}}
	for _, root := range roots {
		for _, name := range guardedNames {
			if name != ".git" {
				g.names[root] = append(g.names[root], name)
			}
		}
		rel, ok := below(root, home)
		if home == "" || !ok {
			continue
		}
		for _, name := range guardedInHome {
			g.names[root] = append(g.names[root], filepath.Join(rel, name))
		}
	}
	if git != "" {
		g.roots = append(slices.Clone(roots), git)
		g.wire.shut.roots = g.roots
	}
	for _, name := range protect {
		rel, err := relative(name, roots[0])
		if err != nil {
			return nil, err
		}
		g.names[roots[0]] = append(g.names[roots[0]], rel)
	}
	g.wire.kept = map[string]bool{}
	for root, names := range g.names {
		for _, name := range names {
			g.wire.kept[filepath.Join(root, name)] = true
		}
	}
	return g, nil
}

// keep pins the folders in which one of paths is.
func (g *guards) keep(paths []string) {
	g.above, g.hidden = map[string][]string{}, paths
	for _, root := range g.roots {
		for _, path := range paths {
			dir, in := below(root, filepath.Dir(path))
			if in && dir != "." && !slices.Contains(g.above[root], dir) {
				g.above[root] = append(g.above[root], dir)
			}
		}
	}
}

func (g *guards) close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.list.close()
}

// take gives what to mount for one command, and the roots that are closed to
// it. release is called when the command has ended; its notes are for whoever
// started it.
func (g *guards) take() (mounts []confine.Guard, closed []string, release func() []string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned {
		return nil, nil, nil, errClosed
	}
	unlock, left, err := g.list.hold()
	if err != nil {
		return nil, nil, nil, err
	}
	defer unlock()
	g.clear(left)
	t := &taking{guards: g, pinned: map[spot]bool{}, bars: map[spot]bool{}, shut: map[spot]bool{}, guarded: map[spot]bool{}, loose: map[string]bool{}}
	for _, t.root = range g.roots {
		if err := t.all(); err != nil {
			return nil, nil, nil, fmt.Errorf("protect files in %s: %w", t.root, err)
		}
	}
	if err := t.rest(); err != nil {
		g.wire.check() // nothing ran
		return nil, nil, nil, fmt.Errorf("protect files: %w", err)
	}
	g.inner = t.guarded
	mounts, closed = t.view()
	g.held[t] = hold(mounts, t.loose)
	return mounts, closed, func() []string {
		gone := g.lost(t)
		return slices.Concat(t.notes, tellReplaced(gone), g.release(t.standIns), g.wire.check())
	}, nil
}

// lost gives what is no longer mounted for a command, and is called when that
// has ended. What others have lost is looked after as well.
func (g *guards) lost(t *taking) (gone []string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for other, list := range g.held {
		paths := replaced(list)
		g.wire.unprotected(paths)
		if other == t {
			gone = paths
		}
	}
	delete(g.held, t)
	return gone
}

// rest guards what a look finds, and makes what is missing.
func (t *taking) rest() error {
	repositories := t.repositories
	if t.links {
		repositories = nil
	}
	mount, overflow := t.wire.set(repositories, t.mountable)
	if overflow {
		t.tell(fmt.Sprintf("in the workspace lie more than %d settings of editors, agents and shells: the others are not protected while commands run, but looked at afterwards", wireMounts))
	}
	for _, path := range mount {
		for _, t.root = range t.wire.roots {
			if name, ok := below(t.root, path); ok {
				t.mount(name, confine.ReadOnly)
				t.loose[path] = !t.wire.top(path)
				break
			}
		}
	}
	err := t.make()
	if err != nil {
		t.drop(t.standIns)
	}
	return err
}

// mountable reports whether what is at path can be mounted: it must be there
// for commands, who do not see what is hidden, nor a disk that came since the
// sandbox was started.
func (g *guards) mountable(path string) bool {
	root := slices.IndexFunc(g.wire.roots, func(root string) bool { _, in := below(root, path); return in })
	if root < 0 || within(g.hidden, path) || !sameDisk(g.wire.roots[root], filepath.Dir(path)) {
		return false
	}
	if !g.links {
		return true
	}
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink == 0
}

func sameDisk(a, b string) bool {
	var x, y unix.Stat_t
	return unix.Lstat(a, &x) == nil && unix.Lstat(b, &y) == nil && x.Dev == y.Dev
}

func (g *guards) release(standIns []spot) []string {
	if len(standIns) == 0 {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned {
		return nil
	}
	unlock, left, err := g.list.hold()
	if err == nil {
		defer unlock()
		g.clear(left)
		err = g.drop(standIns)
	}
	if err != nil {
		return []string{fmt.Sprintf("files that stood in for protected ones may have been left in the workspace: %v", err)}
	}
	return nil
}

// drop removes stand-ins that no command needs any more, the last made first.
func (g *guards) drop(standIns []spot) error {
	var free []spot
	before := len(g.users)
	for _, here := range slices.Backward(standIns) {
		if g.users[here]--; g.users[here] > 0 {
			continue
		}
		delete(g.users, here)
		if !g.list.shared(here) {
			free = append(free, here)
		}
	}
	remove(free)
	if len(g.users) == before {
		return nil
	}
	return g.list.set(slices.Collect(maps.Keys(g.users)))
}

// sweep removes what programs left that crashed, also where commands are kept
// from protected files by other means or not at all.
func (g *guards) sweep() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.abandoned {
		return nil
	}
	unlock, left, err := g.list.hold()
	if err != nil {
		return err
	}
	defer unlock()
	g.clear(left)
	return nil
}

// clear removes what a program left that crashed.
func (g *guards) clear(left []spot) {
	slices.Reverse(left)
	remove(slices.DeleteFunc(left, func(here spot) bool {
		return g.users[here] > 0 || g.list.shared(here) || !g.mayBeOurs(here)
	}))
}

// mayBeOurs reports whether a stand-in can have that name. Lists lie where
// only the user writes; still, nothing else is removed.
func (g *guards) mayBeOurs(p spot) bool {
	if p.root == g.git {
		return filepath.IsLocal(p.name) && mayBePart(p.name)
	}
	return filepath.IsLocal(p.name) && (Protected(p.name) || slices.Contains(g.names[p.root], p.name) || startsUp("/", "/"+p.name))
}

// mayBePart reports whether a name is one of a git folder, or of one in it.
func mayBePart(name string) bool {
	return filepath.Base(name) == "info" || slices.ContainsFunc(gitParts, func(p gitPart) bool {
		return name == p.name || strings.HasSuffix(name, "/"+p.name)
	})
}

// remove removes what can be a stand-in: a socket, an empty folder, or a file
// with the text of one. What somebody put into it meanwhile is kept.
func remove(list []spot) {
	var root *os.Root
	var opened string
	defer func() {
		if root != nil {
			root.Close()
		}
	}()
	for _, here := range list {
		shut := opener{roots: []string{here.root}}
		defer shut.restore()
		if dir := filepath.Join(here.root, filepath.Dir(here.name)); unix.Access(dir, unix.R_OK|unix.W_OK|unix.X_OK) == unix.EACCES {
			shut.open(dir)
		}
		if root == nil || opened != here.root {
			if root != nil {
				root.Close()
			}
			var err error
			if root, err = openDir(here.root); err != nil {
				root = nil // it is gone with what was in it
				continue
			}
			opened = here.root
		}
		removeIn(root, here.name)
	}
}

// readIn reads a stand-in. Something else may take its place at any time.
func readIn(root *os.Root, name string) ([]byte, error) {
	f, err := root.OpenFile(name, os.O_RDONLY|noWait, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readAll(f, 2)
}

func removeIn(root *os.Root, name string) {
	info, err := root.Lstat(name)
	if err != nil {
		return
	}
	switch {
	case info.Mode().Type() == fs.ModeSocket, info.IsDir():
		root.Remove(name) // fails where a folder is not empty
	case info.Mode().IsRegular() && info.Size() <= 2:
		if text, err := readIn(root, name); err == nil && (len(text) == 0 || string(text) == sameFolder) {
			root.Remove(name)
		}
	}
}

// taking is one walk over what is to be guarded.
type taking struct {
	*guards
	root     string // that is walked now
	mounts   []confine.Guard
	pinned   map[spot]bool // whether the folder is there
	bars     map[spot]bool // see barred
	shut     map[spot]bool // folders to be mounted read-only
	standIns []spot
	missing  []missing

	repositories []string // that are mounted
	folders      int      // looked into for more of them
	guarded      map[spot]bool
	notes        []string
	loose        map[string]bool // mounts in folders that are none
}

func (t *taking) all() error {
	if t.root == t.guards.git {
		return t.git(".", gitParts)
	}
	if info, err := os.Lstat(t.path(".git")); err == nil {
		t.repositories = append(t.repositories, t.path(".git"))
		if !info.IsDir() {
			t.mount(".git", confine.ReadOnly) // it leads to the folder proper
		} else if err := t.git(".git", gitParts); err != nil {
			return err
		}
	}
	for _, name := range t.names[t.root] {
		if err := t.guard(name, true, makeSocket); err != nil {
			return err
		}
	}
	// What is hidden must be found where it is by the next command.
	for _, dir := range t.above[t.root] {
		if info, err := os.Lstat(t.path(dir)); err == nil && info.IsDir() {
			if _, err := t.pin(dir); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *taking) path(name string) string { return filepath.Join(t.root, name) }

func (t *taking) mount(name string, kind confine.GuardKind) {
	t.mounts = append(t.mounts, confine.Guard{Root: t.root, Path: name, Kind: kind})
}

// git guards a git folder, and those of its submodules and worktrees.
func (t *taking) git(dir string, parts []gitPart) error {
	if parts[0].folder { // of a worktree's own folder not all is mounted
		t.repositories = append(t.repositories, t.path(dir))
	}
	for _, p := range parts {
		if err := t.guard(filepath.Join(dir, p.name), p.always, p.make); err != nil {
			return err
		}
	}
	if err := t.below(filepath.Join(dir, "worktrees"), worktreeParts); err != nil {
		return err
	}
	return t.below(filepath.Join(dir, "modules"), gitParts)
}

func (p gitPart) make(path string) error {
	if p.folder {
		return os.Mkdir(path, 0o755)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(p.text)
	return errors.Join(err, f.Close())
}

func makeSocket(path string) error {
	return os.NewSyscallError("mknod", unix.Mknod(path, unix.S_IFSOCK|0o400, 0))
}

// guard keeps what is at name as it is. A symbolic link is kept; where it
// leads is not looked at.
func (t *taking) guard(name string, always bool, make func(string) error) error {
	if _, err := os.Lstat(t.path(name)); errors.Is(err, fs.ErrNotExist) && !always {
		return nil
	}
	if dir := filepath.Dir(name); dir != "." {
		if there, err := t.pin(dir); err != nil || !there {
			return err
		}
	}
	if there, err := t.standIn(name, make); err != nil || !there {
		return err
	}
	t.mount(name, confine.ReadOnly)
	return nil
}

// pin keeps a folder, and those above it, from being renamed. It reports
// whether the folder is there, or will be.
func (t *taking) pin(dir string) (there bool, err error) {
	here := spot{t.root, dir}
	if there, known := t.pinned[here]; known {
		return there, nil
	}
	there = true
	if above := filepath.Dir(dir); above != "." {
		there, err = t.pin(above)
	}
	if there && err == nil {
		there, err = t.standIn(dir, func(path string) error { return os.Mkdir(path, 0o755) })
	}
	if err != nil {
		return false, err
	}
	if there && t.blocked(dir) {
		// Nothing can be below it, as long as it stays.
		t.tell(t.path(dir) + " is no folder, so that what would be protected in it is not there")
		t.mount(dir, confine.ReadOnly)
		there = false
	} else if there {
		t.mount(dir, confine.Pinned)
	}
	t.pinned[here] = there
	return there, nil
}

// standIn notes what is missing, and who needs it. It reports whether there is
// something, or will be: where nobody can make anything, nothing is needed.
func (t *taking) standIn(name string, make func(string) error) (there bool, err error) {
	here := spot{t.root, name}
	_, err = os.Lstat(t.path(name))
	switch {
	case err == nil:
		if t.users[here] == 0 && !t.list.shared(here) {
			return true, nil // it is somebody's
		}
	case (errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission)) && t.barred(filepath.Dir(name)):
		return false, nil
	case !errors.Is(err, fs.ErrNotExist):
		return false, err
	default:
		t.missing = append(t.missing, missing{here, make})
	}
	t.standIns = append(t.standIns, here)
	return true, nil
}

// missing is a stand-in to be made.
type missing struct {
	spot
	make func(path string) error
}

// make makes what is missing, once it is listed.
func (t *taking) make() error {
	fresh := false
	for _, here := range t.standIns {
		fresh = fresh || t.users[here] == 0
		t.users[here]++
	}
	if fresh {
		if err := t.list.set(slices.Collect(maps.Keys(t.users))); err != nil {
			return err
		}
	}
	for _, m := range t.missing {
		if err := m.make(filepath.Join(m.root, m.name)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}
