//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"oneloop/workspace/confine"
)

// fenceDevices are those that everybody writes to. Nothing else in /dev is
// opened, not even to be read: there are the user's terminals, in which a
// command could ask for a password, and which take what is typed from whom it is for.
var fenceDevices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// tryFence lets the canary sing where there are no namespaces.
func (w *SandboxWorkspace) tryFence() error {
	if v := confine.Landlock(); v < confine.LeastLandlock {
		return fmt.Errorf("the kernel's Landlock has version %d, and it takes %d", v, confine.LeastLandlock)
	}
	if err := w.keeps(); err != nil {
		return err
	}
	if w.tmp != nil { // it was started before
		if err := w.tmp.remove(); err != nil {
			return ours{err}
		}
		w.tmp = nil
	}
	tmp := w.policy.Tmp
	if tmp == "" {
		own, err := newTmp(w.scratch())
		if err != nil {
			return err
		}
		w.tmp, tmp = own, own.path
	}
	write, err := w.writable()
	if err != nil {
		return err
	}
	fenced := slices.Concat(write, []string{tmp}, fenceDevices)
	w.placed = []string{"TMPDIR=" + tmp}
	if w.opts.Cache == "" {
		w.placed = cacheEnv(w.placed, tmp)
	}
	if w.ident, err = os.Stat(w.root); err != nil {
		return err
	}
	h, err := confine.Start(confine.Policy{Fence: true, Write: fenced, Hide: append(slices.Clone(w.policy.Hide), "/dev")})
	if err != nil {
		return err
	}
	if err := w.canary(h.Run, confine.CanaryFence); err != nil {
		return errors.Join(err, h.Close())
	}
	w.holder, w.fenced = h, fenced
	if w.guards.wire.kept != nil { // another start leaves it to those who look at it
		w.guards.wire.kept = nil // nothing keeps commands from making them
	}
	w.status.Weaker = slices.Concat(weakerLL, h.Facts.Weaker)
	w.status.Network = "none"
	return nil
}

// keeps reports what Landlock cannot keep from commands: what lies in a folder
// that they may change.
func (w *SandboxWorkspace) keeps() error {
	for _, root := range w.policy.Write {
		secrets := confine.Covered(w.policy.Hide, w.policy.Write)
		if home, err := realPath(w.files.home); err == nil {
			secrets = append([]string{home}, secrets...)
		}
		for _, path := range secrets {
			if _, in := below(root, path); in {
				return fmt.Errorf("it cannot keep commands from %s, which lies in the folder %s that they may change: choose a folder below it, or one elsewhere", path, root)
			}
		}
	}
	return nil
}
