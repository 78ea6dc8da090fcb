//go:build amd64 || arm64

package confine

import (
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// canaryName is the first word of the command line of this program when it
// tries, as a command in a sandbox, what must not succeed there.
const canaryName = "oneloop: canary"

// CanaryOrder is the command that tries whether a sandbox holds. secret is a
// file outside, dir a folder outside that the user may write, port one of
// the loopback outside where somebody listens, and inside a folder that can
// be written, or "". It prints what is wrong, a line each, and nothing when it holds.
func CanaryOrder(secret, dir, port, inside string) Order {
	return Order{
		Path: "/proc/self/exe",
		Argv: []string{canaryName, secret, dir, port, inside, "namespaces"},
		Env:  []string{},
		Dir:  "/",
	}
}

// CanaryFence is the same for a command in a fence.
func CanaryFence(secret, dir, port, inside string) Order {
	o := CanaryOrder(secret, dir, port, inside)
	o.Argv[len(o.Argv)-1], o.Hide = "fence", []string{secret}
	return o
}

// writes says why a folder cannot be written, when that is for the sandbox. A
// disk may be full, or know no files without names; and root has here only the
// rights that everybody has.
func writes(dir string) error {
	if dir == "" {
		return nil
	}
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	switch {
	case err == nil:
		return unix.Close(fd)
	case err == unix.EOPNOTSUPP, err == unix.EISDIR, err == unix.ENOSPC, err == unix.EDQUOT:
		return nil
	case err == unix.EACCES && unix.Access(dir, unix.W_OK|unix.X_OK) == unix.EACCES: // Landlock has no say in this
		return nil
	}
	return err
}

// sing does what a command must not be able to do.
func sing() int {
	args := os.Args[1:]
	if len(args) != 5 {
		fmt.Println("the canary was called wrongly")
		return 2
	}
	secret, dir, port, inside, namespaces := args[0], args[1], args[2], args[3], args[4] == "namespaces"
	if _, err := os.ReadFile(secret); err == nil {
		fmt.Println("a hidden file can be read")
	}
	// Such a file has no name, so that nothing is left of it.
	if fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600); err == nil {
		unix.Close(fd)
		fmt.Println("a folder outside the workspace can be written")
	}
	var root unix.Statfs_t
	if err := unix.Statfs("/", &root); namespaces && (err != nil || root.Flags&unix.ST_RDONLY == 0) {
		fmt.Println("the root can be written")
	}
	if err := writes(inside); err != nil {
		fmt.Printf("the workspace cannot be written: %v\n", err)
	}
	if c, err := net.DialTimeout("tcp", net.JoinHostPort("127.0.0.1", port), time.Second); err == nil {
		c.Close()
		fmt.Println("the network outside can be reached")
	}
	if fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err == nil {
		unix.Close(fd)
		fmt.Println("sockets of the machine can be reached")
	}
	if unix.Unshare(unix.CLONE_NEWNS) == nil || unix.Mount("none", "/mnt", "tmpfs", 0, "") == nil {
		fmt.Println("mounts can be changed")
	}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		fmt.Printf("its own state cannot be read: %v\n", err)
	}
	state := []string{"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"}
	if namespaces {
		state = append(state, "CapBnd:\t0000000000000000")
	}
	for _, want := range state {
		if !strings.Contains(string(status), want+"\n") {
			fmt.Printf("its state lacks %q\n", want)
		}
	}
	if namespaces && os.Getpid() > 10 {
		fmt.Println("it has no process numbers of its own")
	}
	return 0
}
