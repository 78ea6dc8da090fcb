//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// devices are all that /dev has of the machine's.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// runtimeDirs are kept below /run, which is empty otherwise: on some systems
// every program is there.
var runtimeDirs = []string{"/run/current-system", "/run/opengl-driver", "/run/systemd/resolve"}

// mount is one entry of the view.
type mount struct {
	path string
	tree int    // a copy of what is to be there; 0: a folder in memory
	data string // options of a folder in memory
	shut bool   // nothing can be written once the view is complete
	file bool   // tree is no folder
}

// view is what commands see, while it is made.
type view struct {
	mounts []mount
	size   string
}

// prepare makes the view that every command starts from. It is called once,
// in namespaces of its own.
func prepare(p Policy, f *Facts) (covers map[string]identity, err error) {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, fmt.Errorf("keep mounts apart: %w", err)
	}
	v := &view{}
	if p.Size > 0 {
		v.size = fmt.Sprintf(",size=%d", p.Size)
	}
	// The copies are made first: they stay writable, and are of what is later
	// covered.
	if err := v.collect(p); err != nil {
		return nil, err
	}
	f.Layers = v.layer(p.Layers)
	if err := setAttr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOSUID); err != nil {
		return nil, fmt.Errorf("make the root read-only: %w", err)
	}
	if err := unix.Mount("proc", "/proc", "proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		return nil, fmt.Errorf("mount /proc: %w", err)
	}
	if err := v.makeDev(); err != nil {
		return nil, err
	}
	covered := Covered(p.Hide, p.Write)
	if err := v.hide(covered); err != nil {
		return nil, err
	}
	slices.SortStableFunc(v.mounts, func(a, b mount) int { return strings.Count(a.path, "/") - strings.Count(b.path, "/") })
	for i := range v.mounts {
		if err := v.attach(&v.mounts[i]); err != nil {
			return nil, err
		}
	}
	for _, m := range v.mounts {
		if !m.shut {
			continue
		}
		if err := setAttr(unix.AT_FDCWD, m.path, 0, unix.MOUNT_ATTR_RDONLY); err != nil {
			return nil, fmt.Errorf("make %s read-only: %w", m.path, err)
		}
	}
	if err := setAttr(unix.AT_FDCWD, "/dev", 0, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC); err != nil {
		return nil, fmt.Errorf("make /dev read-only: %w", err)
	}
	covers = map[string]identity{}
	for _, path := range covered {
		covers[path], _ = identify(path)
	}
	return covers, os.Chdir("/")
}

// collect copies what stays of the files outside.
func (v *view) collect(p Policy) error {
	const plain = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	for _, path := range p.Write {
		if err := v.copyTree(path, path, plain); err != nil {
			return err
		}
	}
	for _, path := range p.Show {
		if err := v.copyTree(path, path, plain|unix.MOUNT_ATTR_RDONLY); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	for _, path := range runtimeDirs {
		if err := v.copyTree(path, path, plain|unix.MOUNT_ATTR_RDONLY); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	v.mounts = append(v.mounts, mount{path: "/run", data: "mode=0755,size=1m", shut: true})
	if p.Tmp != "" {
		for _, path := range []string{"/tmp", "/var/tmp"} {
			if err := v.copyTree(p.Tmp, path, plain); err != nil {
				return err
			}
		}
		return nil
	}
	v.mounts = append(v.mounts, mount{path: "/tmp", data: "mode=1777" + v.size}, mount{path: "/var/tmp", data: "mode=1777" + v.size})
	return nil
}

func (v *view) copyTree(from, to string, attr uint64) error {
	tree, err := cloneTree(from)
	if err == unix.EPERM || err == unix.ENOSYS {
		return fmt.Errorf("open %s for commands: %w", from, err)
	}
	if err != nil {
		return &FileError{fmt.Errorf("open %s for commands: %w", from, err)}
	}
	if err := setAttr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		return fmt.Errorf("open %s for commands: %w", from, err)
	}
	info, err := os.Stat(from)
	if err != nil {
		return fmt.Errorf("open %s for commands: %w", from, err)
	}
	v.mounts = append(v.mounts, mount{path: to, tree: tree, file: !info.IsDir()})
	return nil
}

// makeDev replaces /dev by one with few devices in it, and terminals of its
// own.
func (v *view) makeDev() error {
	nodes := map[string]int{}
	for _, name := range devices {
		tree, err := cloneTree("/dev/" + name)
		if err != nil {
			return fmt.Errorf("open /dev/%s for commands: %w", name, err)
		}
		nodes[name] = tree
	}
	if err := unix.Mount("tmpfs", "/dev", "tmpfs", unix.MS_NOSUID, "mode=0755,size=1m"); err != nil {
		return fmt.Errorf("mount /dev: %w", err)
	}
	for _, name := range devices {
		if err := v.attach(&mount{path: "/dev/" + name, tree: nodes[name], file: true}); err != nil {
			return err
		}
	}
	for name, target := range map[string]string{"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2", "ptmx": "pts/ptmx"} {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return fmt.Errorf("make /dev: %w", err)
		}
	}
	for _, name := range []string{"/dev/pts", "/dev/shm"} {
		if err := os.Mkdir(name, 0o755); err != nil {
			return fmt.Errorf("make /dev: %w", err)
		}
	}
	if err := unix.Mount("devpts", "/dev/pts", "devpts", unix.MS_NOSUID|unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620"); err != nil {
		return fmt.Errorf("mount /dev/pts: %w", err)
	}
	if err := unix.Mount("tmpfs", "/dev/shm", "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=1777"+v.size); err != nil {
		return fmt.Errorf("mount /dev/shm: %w", err)
	}
	return nil
}

// hide covers what commands must not see: a folder by an empty one, a file by
// an empty one. What does not exist needs no cover.
func (v *view) hide(paths []string) error {
	f, err := os.OpenFile(emptyFile, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return fmt.Errorf("hide files: %w", err)
	}
	f.Close()
	if err := os.Mkdir(emptyFolder, 0o755); err != nil {
		return fmt.Errorf("hide files: %w", err)
	}
	for _, path := range paths {
		info, err := os.Lstat(path)
		if err != nil {
			continue // not there, or not to be reached either
		}
		if info.IsDir() {
			v.mounts = append(v.mounts, mount{path: path, data: "mode=0755,size=1m", shut: true})
			continue
		}
		tree, err := cloneTree(emptyFile)
		if err == nil {
			err = setAttr(tree, "", unix.AT_EMPTY_PATH, unix.MOUNT_ATTR_RDONLY|unix.MOUNT_ATTR_NOEXEC)
		}
		if err != nil {
			return fmt.Errorf("hide %s: %w", path, err)
		}
		v.mounts = append(v.mounts, mount{path: path, tree: tree, file: true})
	}
	return nil
}

// attach puts a mount in its place, which is made where it is missing and can
// be: in a folder in memory.
func (v *view) attach(m *mount) error {
	if err := makePlace(m); err != nil {
		return &FileError{fmt.Errorf("put %s in its place: %w", m.path, err)}
	}
	if m.tree == 0 {
		if err := unix.Mount("tmpfs", m.path, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, m.data); err != nil {
			return fmt.Errorf("mount %s: %w", m.path, err)
		}
		return nil
	}
	defer unix.Close(m.tree)
	if err := unix.MoveMount(m.tree, "", unix.AT_FDCWD, m.path, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return fmt.Errorf("put %s in its place: %w", m.path, err)
	}
	return nil
}

func makePlace(m *mount) error {
	if _, err := os.Lstat(m.path); err == nil {
		return nil
	}
	if !m.file {
		return os.MkdirAll(m.path, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(m.path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(m.path, os.O_CREATE|os.O_EXCL|os.O_RDONLY, 0o444)
	if err != nil {
		return err
	}
	return f.Close()
}

// cloneTree copies the mounts at and below a path, without a place yet.
func cloneTree(path string) (int, error) {
	return unix.OpenTree(unix.AT_FDCWD, path, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW)
}

func setAttr(dir int, path string, flags uint, attr uint64) error {
	return unix.MountSetattr(dir, path, flags, &unix.MountAttr{Attr_set: attr})
}

// raiseLoopback gives the network of the holder its own loopback.
func raiseLoopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("start loopback: %w", err)
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("start loopback: %w", err)
	}
	req.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	if err := unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("start loopback: %w", err)
	}
	return nil
}

const sizeofMountAttr = unsafe.Sizeof(unix.MountAttr{})
