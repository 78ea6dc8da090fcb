//go:build amd64 || arm64

package confine

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// wrappedName is the second word of the command line of this program when it
// is the first process of a command by bubblewrap. bwrap gives no other first
// word than the path, which is that of a descriptor: where this program lies
// may not be seen inside.
const wrappedName = "oneloop: wrapped"

func wrappedPath() string { return "/proc/self/fd/" + strconv.Itoa(wrapSelf) }

func isWrapped() bool {
	return len(os.Args) == 2 && os.Args[1] == wrappedName && os.Args[0] == wrappedPath()
}

// becomeWrapped runs one command to its end, with which everything inside ends.
func becomeWrapped() int {
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2)
	h := &holder{ruleset: -1, wrapped: true}
	var what wrapping
	fds, err := h.openWrapped(&what)
	if send(wrapControl, hello{h.facts, faultOf(err)}, h.listener...) != nil || err != nil {
		return 1
	}
	closeAll(append(h.listener, wrapControl))
	h.serve(what.Order, fds)
	return 0
}

// openWrapped prepares the command. fds are the descriptors for reports and of
// the command.
func (h *holder) openWrapped(what *wrapping) (fds []int, err error) {
	if os.Getpid() != 1 {
		return nil, errors.New("bwrap gave it no process numbers of its own")
	}
	if err := unix.CloseRange(3, ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return nil, fmt.Errorf("close descriptors: %w", err)
	}
	if err := goAhead(); err != nil {
		return nil, fmt.Errorf("wait for the program outside: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("close memory: %w", err)
	}
	file := os.NewFile(wrapOrder, "order")
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<30))
	file.Close()
	if err == nil {
		err = unpack(text, what)
	}
	if err != nil {
		return nil, fmt.Errorf("read the order: %w", err)
	}
	h.policy = what.Policy
	unix.Close(wrapSelf)
	if h.covers, err = what.check(); err != nil {
		return nil, fmt.Errorf("bwrap did not do what it was told: %w", err)
	}
	if h.policy.Proxy {
		if err := h.listen(ProxyPort); err != nil {
			return nil, fmt.Errorf("make the listener of the proxy: %w", err)
		}
	}
	if h.null, err = unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0); err != nil {
		return nil, fmt.Errorf("open /dev/null: %w", err)
	}
	if h.findLandlock(); h.facts.Landlock > 0 {
		if err := h.makeRules(h.policy.Hide, h.places()); err != nil {
			return nil, err
		}
	}
	fds = []int{wrapTell}
	for i := range what.Order.Fds {
		fds = append(fds, wrapFiles+i)
	}
	return fds, nil
}

// goAhead waits until the agent has done what it cannot do to us once our memory
// is closed.
func goAhead() error {
	for {
		n, err := unix.Read(wrapControl, make([]byte, 1))
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return io.EOF
		default:
			return nil
		}
	}
}

// check looks whether everything is mounted as it was meant: while bwrap
// worked, another command may have put links in its way.
func (what *wrapping) check() (covers map[string]identity, err error) {
	for _, g := range what.Order.Guard {
		if _, err := mounted(g.Root, g.Path, g.Kind == ReadOnly); err != nil {
			return nil, fmt.Errorf("protect %s: %w", g.Path, err)
		}
	}
	covers = map[string]identity{}
	for _, path := range what.Covered {
		info, err := os.Lstat(path)
		if err != nil {
			continue
		}
		if covers[path], err = mounted("/", path, true); err != nil {
			return nil, fmt.Errorf("hide %s: %w", path, err)
		}
		if !info.IsDir() && info.Size() > 0 {
			return nil, fmt.Errorf("hide %s: something else is there", path)
		}
	}
	for _, dir := range slices.Concat(what.Order.Frozen, what.Order.Closed) {
		if _, err := mounted("/", dir, true); err != nil {
			return nil, fmt.Errorf("make %s read-only: %w", dir, err)
		}
	}
	return covers, nil
}

// mounted checks that there is a mount at a name, without following links.
func mounted(root, name string, readOnly bool) (what identity, err error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for part := range strings.SplitSeq(strings.Trim(filepath.Clean(name), "/"), "/") {
		if err != nil {
			return what, err
		}
		var next int
		next, err = unix.Openat(fd, part, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = next
	}
	if err != nil {
		return what, err
	}
	defer unix.Close(fd)
	var at unix.Statx_t
	if err := unix.Statx(fd, "", unix.AT_EMPTY_PATH, 0, &at); err != nil {
		return what, err
	}
	if at.Attributes&unix.STATX_ATTR_MOUNT_ROOT == 0 { // also before Linux 5.8
		return what, errors.New("nothing is mounted there")
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return what, err
	}
	what = identity{uint64(st.Dev), st.Ino}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		return what, err
	}
	if readOnly && fs.Flags&unix.ST_RDONLY == 0 {
		return what, errors.New("it is not read-only")
	}
	return what, nil
}

// innerScript is what the process does that looks after the command: like
// [holder.initScript], where bwrap has made the view and the filter holds
// already.
func (h *holder) innerScript(o Order) *script {
	s := &script{steps: make([]step, 0, 80)}
	s.do("keep orphans", unix.SYS_PRCTL, unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	s.do("enter "+o.Dir, unix.SYS_CHDIR, s.text(o.Dir))
	s.limits(o.Limits)
	s.dropRights()
	if h.ruleset >= 0 {
		s.do("landlock", unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(h.ruleset), 0)
	}
	return s
}

// endAll ends what is below the first process, again and again: it may make
// new processes meanwhile. What is left after that ends with us.
func (r *running) endAll() {
	for end := time.Now().Add(stuck); time.Now().Before(end); {
		kill(r.below(r.pid))
		if r.wait(5 * time.Millisecond) {
			return
		}
	}
}
