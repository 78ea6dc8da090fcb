package team

import (
	"crypto/rand"
	"net"
	"os"
	"strings"
	"syscall"
)

const packetType = syscall.SOCK_SEQPACKET

// packetName is how the agent's end of a line is called. A socket with a name
// can be told from any other, also by a client that was started without the
// environment. Nothing can connect to it: it does not listen.
const packetName = "@oneloop-agent/"

// pair makes a command's line: the agent's end and the command's.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := socketpair(packetType)
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(fds[1]), "agent")
	if err := syscall.Bind(fds[0], &syscall.SockaddrUnix{Name: packetName + rand.Text()}); err != nil {
		syscall.Close(fds[0])
		theirs.Close()
		return nil, nil, os.NewSyscallError("bind", err)
	}
	c, err := fileConn(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// isLine reports whether fd is a command's end of a line.
func isLine(fd int) bool {
	if !socketOf(fd, packetType) {
		return false
	}
	sa, err := syscall.Getpeername(fd)
	u, ok := sa.(*syscall.SockaddrUnix)
	return err == nil && ok && strings.HasPrefix(u.Name, packetName)
}

// isNamed reports whether isLine can tell a line from any other socket.
const isNamed = true

func socketpair(kind int) ([2]int, error) {
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind|syscall.SOCK_CLOEXEC, 0)
	return fds, os.NewSyscallError("socketpair", err)
}
