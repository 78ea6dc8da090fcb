//go:build amd64 || arm64

package confine

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// place is a folder that commands may write.
type place struct {
	path string
	// own says that its file system is in memory and has nothing of anybody
	// else's: what becomes less there the commands have taken, also for files
	// that have no name any more.
	own bool
	// shown says that it is only read, and not counted where it lies in
	// another place.
	shown bool
}

// counted are the folders of which the limit on files is.
func (h *holder) counted() (list []place) {
	if h.policy.Fence {
		for _, path := range folders(h.policy.Write) {
			list = append(list, place{path: path})
		}
		return list
	}
	for _, path := range h.policy.Write {
		list = append(list, place{path: path})
	}
	for _, path := range h.policy.Show {
		list = append(list, place{path: path, shown: true})
	}
	if h.policy.Tmp == "" {
		list = append(list, place{path: "/tmp", own: true}, place{path: "/var/tmp", own: true})
	} else {
		list = append(list, place{path: "/tmp"}) // and /var/tmp, which is the same
	}
	return append(list, place{path: "/dev/shm", own: true})
}

// store is a file system in which there are places.
type store struct {
	place
	dev    uint64
	memory bool   // no process is said to have written what is written there
	free   uint64 // bytes that were free when the command had used none
}

func storesOf(places []place) (list []*store) {
	for _, p := range places {
		what, ok := identify(p.path)
		if !ok || p.shown || slices.ContainsFunc(list, func(s *store) bool { return s.dev == what.dev }) {
			continue
		}
		s := &store{place: p, dev: what.dev, free: freeBytes(p.path)}
		var st unix.Statfs_t
		s.memory = unix.Statfs(p.path, &st) == nil && (st.Type == unix.TMPFS_MAGIC || st.Type == unix.RAMFS_MAGIC)
		list = append(list, s)
	}
	return list
}

// used is by how much there is less room than there was, in bytes.
func (s *store) used() int64 {
	if now := freeBytes(s.path); now < s.free {
		return int64(s.free - now)
	}
	return 0
}

// disk looks at the free space and at how much was written, which costs little,
// and counts files only when these tell that it may be too much: others
// use the space too, and free it, and what was written may be gone again.
func (w *watchdog) disk() string {
	var own, memory, disks int64
	for _, s := range w.stores {
		switch n := s.used(); {
		case s.own:
			own += n
		case s.memory:
			memory += n
		default:
			disks = max(disks, n) // two of them may be parts of the same
		}
	}
	wrote := w.written()
	others := max(disks, wrote-w.wrote) + memory
	if others > 0 && own+others > w.enough {
		others = w.walk()
		w.wrote = wrote - others
	}
	used := own + others
	w.plan(used)
	if used > w.enough {
		return fmt.Sprintf("the files it changed take %s, and the limit is %s", size(used), size(w.limits.Disk))
	}
	return ""
}

// walk counts the files that were changed, in bytes, and takes that for what is
// less free now.
func (w *watchdog) walk() int64 {
	var disks, memory int64
	for _, s := range w.stores {
		if s.own {
			continue
		}
		var here int64
		for _, p := range w.places {
			if what, ok := identify(p.path); ok && !p.shown && what.dev == s.dev {
				here += changedSince(p.path, w.began, w.places)
			}
		}
		if s.memory {
			memory += here
			s.free = freeBytes(s.path) + uint64(here)
			continue
		}
		disks += here
	}
	for _, s := range w.stores {
		if !s.own && !s.memory {
			s.free = freeBytes(s.path) + uint64(disks)
		}
	}
	return disks + memory
}

// written is how many bytes all processes have sent to disks, those included
// that have ended and were waited for.
func (w *watchdog) written() int64 {
	sum := writtenBy(w.pid)
	for _, p := range w.below(w.pid) {
		sum += writtenBy(p.pid)
	}
	return sum
}

func writtenBy(pid int) int64 {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/io")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, "write_bytes: "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}

func freeBytes(dir string) uint64 {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bfree * uint64(st.Bsize)
}

// changedSince is the space, in bytes, of files in dir changed since then. Other
// places in it are left out.
func changedSince(dir string, then time.Time, places []place) int64 {
	var sum int64
	filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return nil // gone, or closed to us
		}
		if path != dir && slices.ContainsFunc(places, func(p place) bool { return p.path == path }) {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		var st unix.Stat_t
		if unix.Lstat(path, &st) == nil && time.Unix(st.Ctim.Unix()).After(then) {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}
