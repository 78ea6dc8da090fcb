package confine

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	foreignBit = 0
)

var (
	legacyRefused []uint32
	legacyModes   []call
	legacyOpens   []call
)
