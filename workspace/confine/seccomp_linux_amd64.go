package confine

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_X86_64
	// foreignBit marks the calls of the x32 interface, which have the same
	// architecture.
	foreignBit = 0x40000000
)

var legacyRefused = []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS__SYSCTL, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_MODIFY_LDT}

var legacyModes = []call{
	{unix.SYS_CHMOD, 0, 1}, {unix.SYS_MKDIR, 0, 1}, {unix.SYS_MKNOD, 0, 1}, {unix.SYS_CREAT, 0, 1},
}

var legacyOpens = []call{{unix.SYS_OPEN, 1, 2}}
