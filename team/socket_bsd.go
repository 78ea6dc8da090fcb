//go:build unix && !linux

package team

import (
	"net"
	"os"
	"syscall"
)

// Packets of a datagram pair keep their bounds too, which is all that is
// needed; sequenced packets are not to be had for unix sockets everywhere.
const packetType = syscall.SOCK_DGRAM

// pair makes a command's line: the agent's end and the command's.
func pair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := socketpair(packetType)
	if err != nil {
		return nil, nil, err
	}
	theirs = os.NewFile(uintptr(fds[1]), "agent")
	c, err := fileConn(fds[0])
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// isLine reports whether fd may be a command's end of a line.
func isLine(fd int) bool { return socketOf(fd, packetType) }

// isNamed reports whether isLine can tell a line from any other socket.
const isNamed = false

func socketpair(kind int) ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, kind, 0)
	if err != nil {
		return fds, os.NewSyscallError("socketpair", err)
	}
	syscall.CloseOnExec(fds[0])
	syscall.CloseOnExec(fds[1])
	return fds, nil
}
