package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// kernelFiles are file systems whose files have no size and can be without
// end, wait for ever, or hold what must not be told: /proc/self/environ.
var kernelFiles = []int64{unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.DEBUGFS_MAGIC, unix.TRACEFS_MAGIC}

// onDisk refuses what the kernel makes up.
func onDisk(file *os.File) error {
	c, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var stat unix.Statfs_t
	var failed error
	if err := c.Control(func(fd uintptr) { failed = unix.Fstatfs(int(fd), &stat) }); err != nil {
		return err
	}
	if failed == nil && slices.Contains(kernelFiles, int64(stat.Type)) {
		return fmt.Errorf("the kernel makes it up, %w; use a command", ErrNotRegular)
	}
	return nil
}

// withoutName opens a folder for a new file in it that has no name.
var withoutName = unix.O_TMPFILE

// makeFresh makes a file, one without a name where the file system can: a
// program that is killed then leaves nothing behind.
func makeFresh(dir *os.Root, perm fs.FileMode) (*fresh, error) {
	file, err := dir.OpenFile(".", os.O_RDWR|withoutName, perm)
	if err != nil {
		return makeNamed(dir, perm)
	}
	f := &fresh{file, dir, ""}
	if _, err := os.Stat(f.procPath()); err != nil { // there is no /proc
		file.Close()
		return makeNamed(dir, perm)
	}
	return f, nil
}

// procPath is the path by which the kernel knows an open file without a name.
func (f *fresh) procPath() string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// linkNameless gives a file its first name, where nothing must be.
func (f *fresh) linkNameless(name string) error {
	d, err := f.dir.Open(".")
	if err != nil {
		return err
	}
	defer d.Close()
	return unix.Linkat(unix.AT_FDCWD, f.procPath(), int(d.Fd()), name, unix.AT_SYMLINK_FOLLOW)
}

// makeLike makes an empty file with owner, mode, access list and attributes
// of old, or says why that cannot be.
func makeLike(dir *os.Root, old *os.File, info fs.FileInfo) (made *fresh, why string, err error) {
	made, err = makeFresh(dir, 0o600)
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS) {
		return nil, fmt.Sprintf("no file can be made in its folder (%v)", plainly(err)), nil
	}
	if err != nil {
		return nil, "", err
	}
	if why = liken(made.File, old, info); why != "" {
		return nil, why, made.drop()
	}
	return made, "", nil
}

func liken(tmp, old *os.File, info fs.FileInfo) string {
	st := info.Sys().(*syscall.Stat_t)
	if err := tmp.Chown(int(st.Uid), int(st.Gid)); err != nil {
		return "its owner and group cannot be given to another file"
	}
	if why := copyAttributes(int(tmp.Fd()), int(old.Fd())); why != "" {
		return why
	}
	if err := tmp.Chmod(info.Mode()); err != nil {
		return fmt.Sprintf("its mode cannot be given to another file (%v)", plainly(err))
	}
	now, err := tmp.Stat()
	if err != nil || now.Mode() != info.Mode() {
		return "its mode cannot be given to another file"
	}
	return ""
}

// lostByWriting are attributes that vouch for the content. The kernel takes
// them away or renews them when the file is written.
var lostByWriting = []string{"security.capability", "security.ima", "security.evm"}

// copyAttributes makes the extended attributes of one file, access lists
// among them, those of another.
func copyAttributes(to, from int) string {
	want, err := attributes(from)
	if err != nil {
		return fmt.Sprintf("its attributes cannot be read (%v)", err)
	}
	have, err := attributes(to)
	if err != nil {
		return fmt.Sprintf("its attributes cannot be given to another file (%v)", err)
	}
	for name, value := range want {
		if slices.Contains(lostByWriting, name) {
			return fmt.Sprintf("its attribute %s cannot be given to another file", name)
		}
		if got, ok := have[name]; ok && got == value {
			continue
		}
		if err := unix.Fsetxattr(to, name, []byte(value), 0); err != nil {
			return fmt.Sprintf("its attribute %s cannot be given to another file (%v)", name, err)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			if err := unix.Fremovexattr(to, name); err != nil {
				return fmt.Sprintf("another file there gets the attribute %s, which it has not", name)
			}
		}
	}
	return ""
}

func attributes(fd int) (map[string]string, error) {
	list, err := sized(func(buf []byte) (int, error) { return unix.Flistxattr(fd, buf) })
	if errors.Is(err, unix.ENOTSUP) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, name := range strings.Split(strings.TrimRight(string(list), "\x00"), "\x00") {
		if name == "" {
			continue
		}
		value, err := sized(func(buf []byte) (int, error) { return unix.Fgetxattr(fd, name, buf) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = string(value)
	}
	return all, nil
}

// sized calls a function that says how much room it needs, and takes it.
func sized(get func([]byte) (int, error)) ([]byte, error) {
	for {
		n, err := get(nil)
		if n <= 0 || err != nil {
			return nil, err
		}
		buf := make([]byte, n)
		n, err = get(buf)
		if !errors.Is(err, unix.ERANGE) { // it grew meanwhile
			return buf[:max(n, 0)], err
		}
	}
}
