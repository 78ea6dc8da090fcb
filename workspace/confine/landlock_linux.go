//go:build amd64 || arm64

package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// landlockVersion is the version of Landlock the kernel has, 0 for none.
func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

const (
	landlockRead = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	// landlockFile are the rights that a rule on a file may give.
	landlockFile = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlockAll are the rights on files that a version knows of.
func landlockAll(version int) uint64 {
	all := uint64(unix.LANDLOCK_ACCESS_FS_MAKE_SYM<<1 - 1)
	if version >= 2 {
		all |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if version >= 3 {
		all |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if version >= 5 {
		all |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return all
}

// fence makes a Landlock ruleset: what is seen can be read or listed, and only
// what lies below write can be changed. Paths that are missing are left out.
// The rules hold for the files themselves, wherever they are mounted.
func fence(version int, s seen, write []string) (fd int, err error) {
	all := landlockAll(version)
	attr := unix.LandlockRulesetAttr{Handled_access_fs: all}
	size := unsafe.Sizeof(attr.Handled_access_fs)
	if version >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
		size = 3 * size
	}
	r, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return 0, fmt.Errorf("make landlock rules: %w", errno)
	}
	fd = int(r)
	grant := all &^ (unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR)
	for _, rules := range []struct {
		paths  []string
		access uint64
		flags  int
	}{
		{s.read, landlockRead, unix.O_NOFOLLOW},
		{s.list, unix.LANDLOCK_ACCESS_FS_READ_DIR, unix.O_NOFOLLOW},
		{[]string{"/proc/self/exe"}, landlockRead, 0}, // may lie where commands see nothing
		{write, grant, 0},
	} {
		for _, path := range rules.paths {
			if err == nil {
				err = allowBeneath(fd, path, rules.access, rules.flags, nil)
			}
		}
	}
	for path, what := range s.covers {
		if err == nil {
			err = allowBeneath(fd, path, landlockRead, unix.O_NOFOLLOW, &what)
		}
	}
	if err != nil {
		unix.Close(fd)
		return 0, err
	}
	return fd, nil
}

// allowBeneath adds a rule. When what is at path is not only, there is none.
func allowBeneath(ruleset int, path string, access uint64, flags int, only *identity) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC|flags, 0)
	if err == unix.ENOENT || err == unix.EACCES || err == unix.ENOTDIR {
		return nil
	}
	if err != nil {
		return fmt.Errorf("add landlock rule for %s: %w", path, err)
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return fmt.Errorf("add landlock rule for %s: %w", path, err)
	}
	if only != nil && *only != (identity{uint64(st.Dev), st.Ino}) {
		return nil
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		if access &= landlockFile; access == 0 {
			return nil
		}
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return fmt.Errorf("add landlock rule for %s: %w", path, errno)
	}
	return nil
}
