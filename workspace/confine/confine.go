// Package confine is what the kernel does for a sandbox: namespaces, mounts,
// Landlock, system call filters, limits and capabilities. It knows nothing of
// agents; package workspace makes a workspace of it.
//
// A [Holder] is this program, executed again as the first process of
// namespaces of its own. It prepares once what every command sees of the
// file system. A command is then a fork of the holder that never comes back
// to Go: it follows a list of system calls, forks the program and stays as the
// first process of the command's own process numbers. When it ends, so does
// everything the command started; when the holder ends, so do all commands.
// Where there can be no namespaces, [Policy].Fence does without.
package confine

import (
	"errors"
	"time"
)

// ErrSystem says that this system has no sandbox.
var ErrSystem = errors.New("there is no sandbox on this system")

// FileError says that a file or folder is in the way that a policy names, and
// not that the system forbids a sandbox.
type FileError struct{ Err error }

func (e *FileError) Error() string { return e.Err.Error() }

func (e *FileError) Unwrap() error { return e.Err }

// Policy is what all commands of a holder have in common. Paths are absolute
// and without symbolic links, but for those of Hide.
type Policy struct {
	Write  []string // folders that commands may change; the first is the workspace
	Layers []Layer  // folders that commands may change without changing them
	Show   []string // files and folders seen, not changed, where the rest is private
	Hide   []string // files and folders of which nothing is seen, also when they come to exist
	Tmp    string   // the folder that is /tmp; empty: one in memory, gone with the holder
	Size   int64    // bytes of each folder in memory; 0: half of the memory
	Proxy  bool     // there is a listener on the loopback of commands
	Fence  bool     // there are no namespaces, see fenced_linux.go; only Write and Hide are for that, and Write may name files
}

// Layer is a folder whose changes are kept in another one, and not seen outside.
type Layer struct {
	Path  string // the folder
	Upper string // where changes are kept, on a disk that an overlay can be kept on
	Work  string // an empty folder beside Upper
}

// Order is one command.
type Order struct {
	Path   string // of the program
	Argv   []string
	Env    []string
	Dir    string   // absolute
	Fds    []int    // the numbers that descriptors get in the command: output first, for 1 and 2
	Guard  []Guard  // what it may not change in folders that it may
	Frozen []string // folders that it may not change at all, with all that is mounted below
	Closed []string // folders that it may not change, but for what is mounted below
	Hide   []string // further files of which nothing is seen, in a fence
	Limits Limits
}

// Guard is a path below a folder that can be changed, by its name from there.
type Guard struct {
	Root string
	Path string
	Kind GuardKind
}

// GuardKind says what a command may do with a path.
type GuardKind uint8

const (
	// Pinned may be changed inside, and neither renamed nor removed.
	Pinned GuardKind = iota
	// ReadOnly may not be changed at all.
	ReadOnly
)

// Limits bound a command. Zero means no limit.
type Limits struct {
	Processes int   // processes and threads at a time
	Memory    int64 // bytes that all its processes have together
	Data      int64 // bytes that one process may ask for
	File      int64 // bytes of a file
	Disk      int64 // bytes that files it changes may take; it is ended a little before
}

// Result is how a command ended.
type Result struct {
	Left []string // what had to be ended, e.g. "sleep (pid 3)"
	Over string   // the limit that ended it, in words; empty: none did
}

// Facts is what a holder found out about the system.
type Facts struct {
	Landlock int      // version; 0: there is none
	Port     int      // of the listener, when there is one
	PidMax   bool     // the kernel limits the processes of each command; else they are counted, see bar_linux.go
	Layers   []string // paths of those that are there
	Weaker   []string // what is weaker than it could be, in words
}

// Counted is what is weaker where a command has no limit on processes of its
// own in the kernel.
const Counted = "processes are counted, and commands with too many ended a moment later; the kernel makes no more only at half as many again, and for root it never stops"

const (
	// grace is how long a process may take to end after it was asked to.
	grace = time.Second
	// stuck is how long to wait for what a signal cannot end.
	stuck = time.Second
)
