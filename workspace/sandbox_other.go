//go:build !linux || !(amd64 || arm64)

package workspace

import (
	"fmt"
	"runtime"
)

func playPart() {}

// SandboxWorkspace is a [Workspace] whose commands are confined. This system
// has none.
type SandboxWorkspace struct{ *LocalWorkspace }

// Sandboxed fails with a [*SandboxError]: this system has no sandbox.
func Sandboxed(string, SandboxOptions) (*SandboxWorkspace, error) {
	return nil, &SandboxError{Err: fmt.Errorf("%w (%s/%s); commands can only run without one", ErrNoSandbox, runtime.GOOS, runtime.GOARCH)}
}

// Sweep does nothing: no sandbox leaves anything.
func Sweep(string) error { return nil }

// TrySandbox fails: this system has no sandbox.
func TrySandbox(root string, opts SandboxOptions) ([]SandboxTrial, error) {
	_, err := Sandboxed(root, opts)
	return nil, err
}

// Prepare fails: there is no sandbox.
func (w *SandboxWorkspace) Prepare() error { return &SandboxError{Err: ErrNoSandbox} }

// Status says that there is none.
func (w *SandboxWorkspace) Status() SandboxStatus { return SandboxStatus{} }

// ReadOnly is w.
func (w *SandboxWorkspace) ReadOnly() Workspace { return w }

// Close does nothing.
func (w *SandboxWorkspace) Close() error { return nil }

// Abandon does nothing.
func (w *SandboxWorkspace) Abandon() {}
