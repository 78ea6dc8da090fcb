//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"testing"
)

func TestAnErrorOfAnotherProcessIsOfTheSameKind(t *testing.T) {
	refused := fmt.Errorf("make the root read-only: %w", &os.PathError{Op: "mount", Path: "/", Err: syscall.EPERM})
	for _, want := range []error{refused, &FileError{refused}, errors.New("it holds a \xff"), fmt.Errorf("wait: %w", syscall.ENOSYS)} {
		var f fault
		if err := unpack(pack(faultOf(want)), &f); err != nil {
			t.Fatal(err)
		}
		got := f.err()
		if got.Error() != want.Error() || errors.As(got, new(*FileError)) != errors.As(want, new(*FileError)) {
			t.Errorf("%T %v came as %T %v", want, want, got, got)
		}
		for _, kind := range []error{syscall.EPERM, syscall.ENOSYS, syscall.Errno(0), fs.ErrPermission} {
			if errors.Is(got, kind) != errors.Is(want, kind) {
				t.Errorf("%v came, and is %v: %t", want, kind, errors.Is(got, kind))
			}
		}
	}
	if faultOf(nil).err() != nil {
		t.Error("no error came as one")
	}
}

func TestAnErrorOfBubblewrapIsToldByItsWords(t *testing.T) {
	for words, want := range map[string]error{
		"bwrap: setting up uid map: Permission denied":                                        syscall.EACCES,
		"bwrap: No permissions to create new namespace, likely because the kernel forbids it": syscall.EPERM,
		"bwrap: Creating new namespace failed: No space left on device":                       syscall.ENOSPC,
		"bwrap: Can't mkdir parents for /x: Read-only file system":                            nil,
	} {
		got := byWords(errors.New(words))
		if got.Error() != words || want != nil && !errors.Is(got, want) || errors.As(got, new(*FileError)) != (want == nil) {
			t.Errorf("%q: %#v", words, got)
		}
	}
}
