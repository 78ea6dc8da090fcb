//go:build amd64 || arm64

package workspace

import (
	"os"
	"time"
)

// KillHolder ends the sandbox as if it had crashed.
func (w *SandboxWorkspace) KillHolder() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holder.Kill()
	<-w.holder.Ended()
}

// Remember leaves for later programs that these backends do not work.
func (w *SandboxWorkspace) Remember(backends ...string) (file string) {
	for _, name := range backends {
		w.status.Failed = append(w.status.Failed, SandboxFailure{Backend: name, Why: "operation not permitted", lasts: true})
	}
	w.remember(nil)
	return w.memoryFile()
}

// Mend is what is said about a backend that fails so, on a system with these
// settings.
func Mend(backend string, err error, settings map[string]string) string {
	return mend(backend, err, func(path string) string { return settings[path] })
}

// NewTmp makes a folder for temporary files, and ClearTmp clears up after
// others.
func NewTmp() (path string, remove func() error, err error) {
	own, err := newTmp(os.TempDir())
	if err != nil {
		return "", nil, err
	}
	return own.path, own.remove, nil
}

var ClearTmp = clearTmp

var GoValue = goValue

// StateTime changes how long ago a folder must have changed not to be read
// again. It gives the way back.
func StateTime(d time.Duration) func() {
	was := stateTime
	stateTime = d
	return func() { stateTime = was }
}
