//go:build amd64 || arm64

package workspace

// KillHolder ends the sandbox as if it had crashed.
func (w *SandboxWorkspace) KillHolder() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.holder.Kill()
	<-w.holder.Ended()
}
