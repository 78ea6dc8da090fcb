// Package system knows the folders of operating systems.
package system

// Folders are the system's own, with all that is in them, on Linux and macOS.
func Folders() []string {
	return []string{"/bin", "/boot", "/dev", "/etc", "/lib", "/lib32", "/lib64", "/proc", "/run", "/sbin", "/sys", "/usr", "/System", "/Library"}
}
