//go:build amd64 || arm64

package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"oneloop/workspace/confine"
)

// tryWrap lets the canary sing in what bubblewrap makes.
func (w *SandboxWorkspace) tryWrap() error {
	program, err := w.bubblewrap()
	if err != nil {
		return err
	}
	policy, err := w.complete()
	if err != nil {
		return ours{err}
	}
	own, err := newTmp(w.scratch())
	if err != nil {
		return ours{err}
	}
	wrap := &confine.Wrapper{Program: program, Policy: policy, Empty: filepath.Join(own.path, "empty")}
	if err = os.WriteFile(wrap.Empty, nil, 0o444); err == nil && policy.Tmp == "" {
		wrap.Policy.Tmp = filepath.Join(own.path, "tmp")
		err = os.Mkdir(wrap.Policy.Tmp, 0o700)
	}
	if err != nil {
		err = ours{err}
	} else {
		err = w.canary(wrap.Run, confine.CanaryOrder)
	}
	if err != nil {
		wrap.Close()
		return errors.Join(err, own.remove())
	}
	w.wrap, w.tmp = wrap, own
	w.guards.links = true
	w.status.Weaker = weakerBwrap
	if confine.Landlock() == 0 {
		w.status.Weaker = append(slices.Clone(weakerBwrap), confine.WithoutLandlock)
	}
	w.placed = append(cacheEnv(nil, w.cache()), elsewhere(w.env, stores(w.outer, w.policy.Write), nil, w.cache())...)
	if w.opts.Dial != nil {
		w.placed = append(w.placed, proxyEnv(confine.ProxyPort)...)
	}
	return nil
}

// bubblewrap finds the program, where no command can have put it.
func (w *SandboxWorkspace) bubblewrap() (string, error) {
	path, err := w.lookup("bwrap", w.env)
	if err != nil {
		return "", err
	}
	actual, err := realPath(path)
	if err != nil {
		return "", err
	}
	write, err := w.writable()
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(append(write, "/tmp", "/var/tmp"), func(dir string) bool { _, in := below(dir, actual); return in }) {
		return "", fmt.Errorf("%w: %s lies where commands can write", ErrNoProgram, actual)
	}
	info, err := os.Stat(actual)
	if err != nil {
		return "", err
	}
	if info.Mode()&os.ModeSetuid != 0 {
		return "", fmt.Errorf("%s has the rights of its owner, which is one program more to trust", actual)
	}
	return actual, nil
}
