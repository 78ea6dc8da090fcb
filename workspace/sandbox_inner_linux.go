//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

const (
	// innerMost is how many git folders of submodules and worktrees are
	// mounted. Each takes ten mounts, for every command.
	innerMost = 100
	// innerFolders is how many folders are looked into to find them.
	innerFolders = 1000
)

// below guards the git folders in a folder: those first that were guarded
// before. What is beyond the limits is compared after commands, as
// repositories elsewhere are.
func (t *taking) below(dir string, parts []gitPart) error {
	list, err := t.gitFolders(dir)
	if err != nil {
		return err
	}
	for _, name := range list {
		if t.guarded[spot{t.root, name}] {
			continue // it is in one of the others
		}
		if len(t.guarded) >= innerMost {
			t.tell(fmt.Sprintf("%s holds more than %d git folders: the others are not protected while commands run, but looked at afterwards", t.path(dir), innerMost))
			return nil
		}
		t.guarded[spot{t.root, name}] = true
		if err := t.git(name, parts); err != nil {
			return err
		}
	}
	return nil
}

// gitFolders finds the git folders in a folder. The name of a submodule may
// have several parts.
func (t *taking) gitFolders(dir string) ([]string, error) {
	// Those of before are found however many there are now.
	var list, queue []string
	for here := range t.inner {
		if rel, ok := below(dir, here.name); ok && rel != "." && here.root == t.root && t.isGit(here.name) {
			list = append(list, here.name)
		}
	}
	slices.Sort(list)
	for queue = []string{dir}; len(queue) > 0; queue = queue[1:] {
		at := queue[0]
		info, err := os.Lstat(t.path(at))
		if err != nil || !info.IsDir() {
			if err == nil && at == dir {
				t.tell(t.path(dir) + " is no folder, so that what would be protected in it is not there")
			}
			continue // gone, a link, or with a name so long that nothing gets at it
		}
		if at != dir {
			if t.isGit(at) {
				if !t.inner[spot{t.root, at}] {
					list = append(list, at)
				}
				continue
			}
		}
		if t.folders++; t.folders > innerFolders {
			t.tell(fmt.Sprintf("%s holds more than %d folders: the others were not looked into for what is to be protected", t.path(dir), innerFolders))
			break
		}
		entries, err := os.ReadDir(t.path(at))
		if errors.Is(err, fs.ErrPermission) {
			if t.ours(at) {
				t.shut[spot{t.root, at}] = true
			}
			_, err = t.pin(at)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return nil, err
		}
		for _, e := range entries {
			if e.IsDir() {
				queue = append(queue, filepath.Join(at, e.Name()))
			}
		}
	}
	return list, nil
}

func (t *taking) isGit(name string) bool {
	_, err := os.Lstat(t.path(filepath.Join(name, "HEAD")))
	return err == nil
}

// blocked reports whether something else is where a folder would be.
func (t *taking) blocked(dir string) bool {
	if _, err := os.Lstat(t.path(dir)); err != nil {
		return false // it is to be made
	}
	info, err := os.Stat(t.path(dir))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir()
}

// tell notes something once.
func (t *taking) tell(note string) {
	if t.said == nil {
		t.said = map[string]bool{}
	}
	if !t.said[note] {
		t.said[note] = true
		t.notes = append(t.notes, note)
	}
}
