//go:build amd64 || arm64

package confine

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A message between the agent and its holder is one packet with descriptors.
// The first is a file in memory that holds the text, which may be longer than
// a packet; the others are what the text speaks of.

func send(socket int, v any, fds ...int) error {
	text := pack(v)
	body, err := unix.MemfdCreate("message", unix.MFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(body)
	for len(text) > 0 {
		n, err := unix.Write(body, text)
		if err != nil && err != unix.EINTR {
			return err
		}
		text = text[max(n, 0):]
	}
	rights := unix.UnixRights(append([]int{body}, fds...)...)
	for {
		err := unix.Sendmsg(socket, []byte{'m'}, rights, nil, unix.MSG_NOSIGNAL)
		if err != unix.EINTR {
			return err
		}
	}
}

// receive gives the descriptors that came with a message. Its error is io.EOF
// when the other side is gone.
func receive(socket int, v any) ([]int, error) {
	var mark [1]byte
	oob := make([]byte, unix.CmsgSpace(4*253)) // the most the kernel passes
	var n, size, flags int
	var err error
	for {
		n, size, flags, _, err = unix.Recvmsg(socket, mark[:], oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if n == 0 {
		return nil, io.EOF
	}
	fds, err := rights(oob[:size])
	if err == nil && (flags&unix.MSG_CTRUNC != 0 || len(fds) == 0) {
		err = fmt.Errorf("descriptors are missing")
	}
	if err == nil {
		err = readBody(fds[0], v)
	} else {
		closeAll(fds)
	}
	if err != nil {
		if len(fds) > 1 {
			closeAll(fds[1:])
		}
		return nil, err
	}
	return fds[1:], nil
}

func readBody(fd int, v any) error {
	f := os.NewFile(uintptr(fd), "message")
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	text, err := io.ReadAll(f)
	if err != nil {
		return err
	}
	return unpack(text, v)
}

func rights(oob []byte) ([]int, error) {
	list, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	var all []int
	for i := range list {
		fds, err := unix.ParseUnixRights(&list[i])
		if err != nil {
			closeAll(all)
			return nil, err
		}
		all = append(all, fds...)
	}
	return all, nil
}

func closeAll(fds []int) {
	for _, fd := range fds {
		unix.Close(fd)
	}
}
