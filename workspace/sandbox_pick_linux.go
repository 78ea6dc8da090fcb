//go:build amd64 || arm64

package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"oneloop/workspace/confine"
)

// pick chooses the strongest backend that works. What does not is not tried
// again: a sandbox that gets weaker on the way would surprise.
func (w *SandboxWorkspace) pick() error {
	var known []SandboxFailure
	auto := w.opts.Backend == "" && w.status.Backend == ""
	if auto {
		known = w.recall()
	}
	err := w.try(known)
	if err != nil && len(known) > 0 {
		// It is not as it was, so that what failed then may work now.
		err = w.try(nil)
	}
	if auto && err == nil {
		w.remember(known)
	}
	return err
}

// try tries the backends, but for those that are known to fail.
func (w *SandboxWorkspace) try(known []SandboxFailure) error {
	var errs []error
	w.status.Failed = nil
	for _, b := range []struct {
		name string
		try  func() error
	}{{BackendNS, w.tryHolder}, {BackendBwrap, w.tryWrap}, {BackendLL, w.tryFence}} {
		if only := w.opts.Backend; only != "" && only != b.name || w.status.Backend != "" && w.status.Backend != b.name {
			continue
		}
		if at := slices.IndexFunc(known, func(f SandboxFailure) bool { return f.Backend == b.name }); at >= 0 {
			w.status.Failed = append(w.status.Failed, known[at])
			errs = append(errs, errors.New(known[at].Why))
			continue
		}
		err := b.try()
		if err == nil {
			w.status.Backend = b.name
			return nil
		}
		errs = append(errs, err)
		w.status.Failed = append(w.status.Failed, SandboxFailure{Backend: b.name, Why: err.Error(), Mend: mend(b.name, err, setting), lasts: lasts(err)})
	}
	if len(errs) == 0 {
		errs = []error{fmt.Errorf("there is no backend %q", w.opts.Backend)}
	}
	w.status.Backend = ""
	w.fault = &SandboxError{Failed: w.status.Failed, Err: errors.Join(errs...)}
	return w.fault
}

// TrySandbox tries every backend on the folder root, the strongest first, and
// runs nothing else. What opts.Memory remembers is forgotten before.
func TrySandbox(root string, opts SandboxOptions) ([]SandboxTrial, error) {
	var trials []SandboxTrial
	for _, backend := range Backends() {
		opts.Backend = backend
		w, err := Sandboxed(root, opts)
		if err != nil {
			return trials, err
		}
		trial := SandboxTrial{Backend: backend}
		if path := w.memoryFile(); path != "" {
			os.Remove(path) // it holds nothing that is not found out again
		}
		if err := w.Prepare(); err == nil {
			trial.Works, trial.Weaker = true, w.Status().Weaker
		} else if failed := w.Status().Failed; len(failed) > 0 {
			trial.Why, trial.Mend = failed[0].Why, failed[0].Mend
		} else {
			trial.Why = err.Error()
		}
		if err := w.Close(); err != nil {
			return trials, err
		}
		trials = append(trials, trial)
	}
	return trials, nil
}

// memory is what a program leaves for the next ones: what does not work on
// this system as it is.
type memory struct {
	System string
	Failed []SandboxFailure
}

// memoryFile is where it is kept; "" where commands could write it.
func (w *SandboxWorkspace) memoryFile() string {
	if !filepath.IsAbs(w.opts.Memory) {
		return ""
	}
	for _, dir := range append(slices.Clone(w.policy.Write), w.opts.Cache) {
		actual, err := realPath(w.opts.Memory)
		if err != nil { // it is made when there is something to keep
			actual = w.opts.Memory
		}
		if _, in := below(dir, actual); in && dir != "" {
			return ""
		}
	}
	return filepath.Join(w.opts.Memory, fmt.Sprintf("sandbox-%d.json", os.Geteuid()))
}

// recall gives what earlier programs found out. A file that somebody else may
// have written, or of another system, says nothing.
func (w *SandboxWorkspace) recall() []SandboxFailure {
	path := w.memoryFile()
	if path == "" {
		return nil
	}
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid() || st.Mode&0o077 != 0 || st.Nlink != 1 {
		return nil
	}
	var m memory
	if json.NewDecoder(io.LimitReader(f, 64<<10)).Decode(&m) != nil || m.System != w.system() {
		return nil
	}
	for i, failed := range m.Failed {
		// The weakest is always tried.
		if failed.Backend != BackendNS && failed.Backend != BackendBwrap {
			return nil
		}
		m.Failed[i].Earlier = true
	}
	return m.Failed
}

// remember keeps what fails as long as the system is the same. Nothing depends
// on it, so that a folder which cannot be written is no error.
func (w *SandboxWorkspace) remember(known []SandboxFailure) {
	path := w.memoryFile()
	m := memory{System: w.system()}
	for _, failed := range w.status.Failed {
		if failed.lasts || failed.Earlier {
			m.Failed = append(m.Failed, failed)
		}
	}
	if path != "" && len(m.Failed) == 0 && len(known) > 0 {
		os.Remove(path) // it was wrong
	}
	if path == "" || len(m.Failed) == 0 || slices.EqualFunc(m.Failed, known, func(a, b SandboxFailure) bool { return a.Backend == b.Backend && b.Earlier }) {
		return
	}
	text, err := json.Marshal(m)
	if err != nil || os.MkdirAll(w.opts.Memory, 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(w.opts.Memory, ".sandbox-*") // 0600, and never one that exists
	if err != nil {
		return
	}
	_, err = f.Write(text)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), path) != nil {
		os.Remove(f.Name())
	}
}

// lasts reports whether a sandbox that failed so will fail again: the system
// forbids it. A machine that was short of something is another matter.
func lasts(err error) bool {
	return !isOurs(err) && (errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.ENOSYS))
}

// system names what decides about what works, and changes when that may.
func (w *SandboxWorkspace) system() string {
	parts := []string{setting("/proc/sys/kernel/random/boot_id"), fmt.Sprint(os.Geteuid())}
	for _, name := range []string{sysctlAppArmor, sysctlUserns, sysctlNamespaces, "/proc/self/attr/current", "/proc/self/uid_map"} {
		parts = append(parts, setting(name))
	}
	for line := range strings.Lines(setting("/proc/self/status")) {
		if strings.HasPrefix(line, "CapEff:") || strings.HasPrefix(line, "Seccomp:") || strings.HasPrefix(line, "NoNewPrivs:") {
			parts = append(parts, strings.TrimSpace(line))
		}
	}
	files := []string{"/proc/self/exe"}
	if bwrap, err := w.lookup("bwrap", w.env); err == nil {
		files = append(files, bwrap)
	}
	for _, path := range files {
		if info, err := os.Stat(path); err == nil {
			parts = append(parts, fmt.Sprintf("%s %d %d %o", path, info.Size(), info.ModTime().UnixNano(), info.Mode()))
		}
	}
	return strings.Join(append(parts, fmt.Sprint("landlock ", confine.Landlock())), "; ")
}

// Settings of the kernel about namespaces. They are only read.
const (
	sysctlAppArmor   = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
	sysctlUserns     = "/proc/sys/kernel/unprivileged_userns_clone"
	sysctlNamespaces = "/proc/sys/user/max_user_namespaces"
)

// ours is a failure that is about files or folders of ours: it says nothing of
// what the system lets a program do.
type ours struct{ error }

func (o ours) Unwrap() error { return o.error }

func isOurs(err error) bool {
	return errors.As(err, new(ours)) || errors.As(err, new(*confine.FileError))
}

// setting reads a file of the kernel's, "" where there is none.
func setting(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// mend says what a user can do about a backend that does not start. Nothing of
// it is ever done by us.
func mend(backend string, err error, setting func(path string) string) string {
	forbidden := errors.Is(err, fs.ErrPermission)
	switch {
	case isOurs(err):
		return ""
	case backend == BackendLL:
		return "" // the kernel has it or has it not
	case errors.Is(err, ErrNoProgram):
		return "install bubblewrap: apt install bubblewrap, dnf install bubblewrap"
	case setting(sysctlNamespaces) == "0":
		return "namespaces are switched off: sysctl -w user.max_user_namespaces=15000 allows them"
	case setting(sysctlUserns) == "0":
		return "users may not make namespaces: sysctl -w kernel.unprivileged_userns_clone=1 lets them"
	case forbidden && setting(sysctlAppArmor) == "1":
		return appArmorMend(backend)
	case forbidden && strings.Contains(setting("/proc/self/status"), "Seccomp:\t2"):
		return "a container or another sandbox around this program forbids namespaces: start a container with --security-opt seccomp=unconfined"
	case forbidden:
		return "this system does not let a program make namespaces: in a container start it with --security-opt seccomp=unconfined, " +
			"on Ubuntu allow them to this program with an AppArmor profile that says userns"
	case errors.Is(err, unix.ENOSPC), errors.Is(err, unix.EINVAL):
		return "namespaces may be switched off: see user.max_user_namespaces"
	case errors.Is(err, unix.ENOSYS):
		return "the kernel is older than 5.12"
	}
	return ""
}

// appArmorMend is for Ubuntu, which lets those programs make namespaces that a
// profile names.
func appArmorMend(backend string) string {
	path, name := "/usr/bin/bwrap", "bwrap"
	if self, err := os.Executable(); err == nil && backend == BackendNS {
		path, name = self, "oneloop"
	}
	return fmt.Sprintf("AppArmor forbids it: a file /etc/apparmor.d/%s with the line `profile %s %s flags=(unconfined) { userns, }`, then apparmor_parser -r on it, allows it to this program", name, name, path)
}
