package workspace

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// onDisk refuses nothing: the system has no file systems of its own making.
func onDisk(*os.File) error { return nil }

// makeLike makes an empty file with owner, mode, access list and attributes
// of old, or says why that cannot be. Only a clone has all of them.
func makeLike(dir *os.Root, old *os.File, info fs.FileInfo) (made *fresh, why string, err error) {
	const cloneACL = 4 // CLONE_ACL of sys/clonefile.h
	const cannot = "the file system cannot clone it with its access list and attributes"
	d, err := dir.Open(".")
	if err != nil {
		return nil, "", err
	}
	defer d.Close()
	name := tempName()
	if unix.Fclonefileat(int(old.Fd()), int(d.Fd()), name, unix.CLONE_NOFOLLOW|cloneACL) != nil {
		return nil, cannot, nil
	}
	file, now, err := openPlain(dir, name, os.O_WRONLY|os.O_TRUNC)
	if err != nil {
		return nil, cannot, dir.Remove(name)
	}
	made = &fresh{file, dir, name}
	a, b := info.Sys().(*syscall.Stat_t), now.Sys().(*syscall.Stat_t)
	if a.Uid != b.Uid || a.Gid != b.Gid || info.Mode() != now.Mode() {
		return nil, "its owner and mode cannot be given to another file", made.drop()
	}
	return made, "", nil
}
