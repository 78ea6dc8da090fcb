//go:build amd64 || arm64

package confine

import (
	"strings"

	"golang.org/x/sys/unix"
)

// layer puts folders over others: what is there is seen, and what commands
// change goes into the folder over it. A layer that cannot be made is left
// out; it returns those that are there.
func (v *view) layer(list []Layer) (made []string) {
	for _, l := range list {
		tree, err := overlay(l)
		if err != nil { // as on a disk that takes none, or in some containers
			continue
		}
		v.mounts = append(v.mounts, mount{path: l.Path, tree: tree})
		made = append(made, l.Path)
	}
	return made
}

// overlay is a mount without a place yet.
func overlay(l Layer) (int, error) {
	fs, err := unix.Fsopen("overlay", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(fs)
	escape := strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace
	for _, option := range [][2]string{{"lowerdir", escape(l.Path)}, {"upperdir", l.Upper}, {"workdir", l.Work}} {
		if err := unix.FsconfigSetString(fs, option[0], option[1]); err != nil {
			return 0, err
		}
	}
	// An ordinary user may keep what the layer needs only so.
	if err := unix.FsconfigSetFlag(fs, "userxattr"); err != nil {
		return 0, err
	}
	if err := unix.FsconfigCreate(fs); err != nil {
		return 0, err
	}
	return unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NODEV)
}
