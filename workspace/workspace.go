// Package workspace is where an agent works: the files below one folder, and
// the processes started there. Whatever a model can cause on disk or as a
// process goes through a [Workspace], so that file tools and commands cannot
// disagree about where they are and what confines them.
//
// [Local] is the plain backend: this machine, no confinement. Backends that
// confine, or that are elsewhere, have the same interface.
//
// A program that uses this package calls [Helper] first in main, and in
// TestMain of its tests.
package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// Workspace is a folder with what runs in it. It is safe for concurrent use.
type Workspace interface {
	// Start starts a command. An error means that nothing was run; it wraps
	// [ErrNoProgram] or [ErrNoRoot] where one of them is why.
	//
	// When ctx ends, everything the command started is ended.
	Start(ctx context.Context, cmd Cmd) (Process, error)
	// Files gives access to the files below the root, and to no others.
	Files() Files
	// Describe says what this workspace is.
	Describe() Info
}

// Cmd is a command. The zero value of every field but Argv is right.
//
// A command has empty standard input, no controlling terminal and a session
// of its own. Signals have their default meaning in it, whatever was ignored
// where the program was started.
type Cmd struct {
	Argv   []string         // Argv[0] without a slash is looked for on PATH, outside the workspace only
	Dir    string           // in the workspace, by absolute path or from the root; empty: the root
	Keep   []string         // the only variables it gets of the workspace's own environment, by name; nil: all
	Env    []string         // KEY=value, added to the workspace's own environment, later ones win
	Fds    map[int]*os.File // descriptors of the command, by their number there; they stay the caller's. 0 to 2 take the place of the usual ones
	Output io.Writer        // gets standard output and error in the order they were written; nil: thrown away
	Limits Limits
}

// Limits bound a command. Zero means no limit.
type Limits struct {
	Time time.Duration // from start to end; what still runs is then ended, and Wait returns [ErrTime]
}

// Process is a command that was started.
type Process interface {
	// Pid is the number of its first process, in the workspace's own count.
	Pid() int
	// Wait feeds Output and returns once the first process has exited and
	// nothing of what it started is left, whether or not somebody still
	// holds its output open. What is left 200 ms later is ended and named in
	// Exit.Left.
	//
	// It must be called exactly once: output is read, and the end of ctx is
	// acted upon, only while it runs. Output is not written to after it
	// returned. Its error is the cause of ctx when that ended the command,
	// [ErrTime] at the limit, or the first error of Output; Exit is valid
	// beside it.
	Wait() (Exit, error)
}

// Exit is how a command ended.
type Exit struct {
	Code   int      // of the first process; -1 when a signal ended it
	Signal string   // the signal's name, e.g. "SIGKILL"; empty when it exited by itself
	Left   []string // what it left running and was ended, e.g. "sleep (pid 123)"
	Notes  []string // what else its caller should know, in words
}

// Info describes a workspace.
type Info struct {
	Root    string   // absolute, without symbolic links
	Dirs    []string // further folders, likewise
	Home    string   // the user's home folder; empty: there is none
	OS      string   // as in runtime.GOOS
	Shell   string   // path of the bash that commands get; empty: there is none
	Sandbox string   // what confines commands: "none"
	Network string   // of a sandbox, as in [SandboxStatus]; empty: that of the machine
}

// Files are the files below the root and the further folders of a workspace.
// A name is absolute, or relative to the root; "a/../b" is "b", whatever a is.
// Symbolic links are followed and judged by where they lead, also from one of
// the folders into another. A name that leads out of them is [ErrOutside].
//
// A change whose name does not show that it reaches a protected file, because
// a link hides it, is [ErrHidden]: use the path that Resolve gives, once it
// was judged by [Info.Protected]. Other errors are those of package os.
type Files interface {
	// Resolve gives the absolute path that name leads to, without symbolic
	// links in it. What is not there yet is taken literally.
	Resolve(name string) (string, error)
	// Open opens a file or folder for reading. Anything else, which could
	// block or never end, is [ErrNotRegular] and is not opened.
	Open(name string) (fs.File, error)
	// Create makes a new file and fails if there is one.
	Create(name string, perm fs.FileMode) (io.WriteCloser, error)
	// Replace makes data the whole content of a file, or makes the file,
	// with perm less the user's umask. Its folder must exist. Mode, owner,
	// access list, attributes and links of a file stay. One that nobody may
	// write is [ErrReadOnly], also for root.
	//
	// Up to 1 MiB is on the disk before it takes the place of the old content;
	// a larger file can be incomplete after a power failure, though not after
	// the end of the program, unless it was written in place.
	//
	// After an error the file is as it was, or the error says where a copy is.
	Replace(name string, data []byte, perm fs.FileMode) (Replaced, error)
	Stat(name string) (fs.FileInfo, error)
	Lstat(name string) (fs.FileInfo, error)
	ReadDir(name string) ([]fs.DirEntry, error) // sorted by name
	MkdirAll(name string, perm fs.FileMode) error
	Chmod(name string, perm fs.FileMode) error
	Rename(from, to string) error // replaces a file; below one folder of the workspace
	Remove(name string) error     // a file, a link or an empty folder
}

// Replaced says how a file got its new content.
type Replaced struct {
	Path    string // as [Files.Resolve] gives it
	Created bool   // there was none
	// InPlace says that the old file was written over. Then somebody who
	// reads at that moment can see a mix, and a power failure can leave one;
	// until it is done a copy of the old content lies beside it. Otherwise
	// the file is replaced at once, and whoever has the old one open keeps it.
	InPlace bool
	Why     string // why in place, for people; empty otherwise
}

var (
	// ErrNoProgram says that the program of a command was not found.
	ErrNoProgram = errors.New("program not found")
	// ErrNoRoot says that the folder of the workspace is gone.
	ErrNoRoot = errors.New("the workspace folder is gone")
	// ErrTime says that a command reached Limits.Time.
	ErrTime = errors.New("the command's time limit is reached")
	// ErrOutside says that a name leads out of the workspace.
	ErrOutside = errors.New("outside the workspace")
	// ErrNotRegular says that a name is that of a device, pipe or socket, or
	// of a file that the kernel makes up.
	ErrNotRegular = errors.New("not a regular file")
	// ErrReadOnly says that a file has no permission to write, for anybody.
	ErrReadOnly = errors.New("the file is read-only")
	// ErrHidden says that a link leads to a protected file.
	ErrHidden = errors.New("a protected file by another name")
)
