package workspace

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"oneloop/workspace/confine"
)

// Backends of a sandbox, from the strongest.
const (
	// BackendNS has namespaces of its own: files, processes and network.
	BackendNS = "ns"
	// BackendBwrap has the same, made by the program bubblewrap for each
	// command, where the system lets that do it and not others. See
	// [SandboxStatus.Weaker].
	BackendBwrap = "bwrap"
	// BackendLL has Landlock and a filter of system calls only. See
	// [SandboxStatus.Weaker].
	BackendLL = "ll"
)

// Backends names all of them, the strongest first.
func Backends() []string { return []string{BackendNS, BackendBwrap, BackendLL} }

// weakerLL is what the fence of Landlock cannot do.
var weakerLL = []string{
	"files that git, editors and agents obey can be changed in the workspace; those of git are put back after the command, the others named",
	"mode, times and owner of the user's files elsewhere can be changed",
	"no loopback: servers and tests that listen do not work",
	"other processes are seen",
	confine.Counted,
	"hidden folders can be listed, their files not read",
	"no terminals: script, tmux, expect and other programs that make one do not work",
	"no System V shared memory, semaphores and queues, no POSIX queues: programs that need them, such as PostgreSQL and fakeroot, do not run",
	"limits and priority can be changed by a process for itself only, not for another one or for its threads: renice, taskset -p, prlimit --pid fail",
}

// weakerBwrap is what namespaces made for each command cannot do.
var weakerBwrap = []string{
	"each command has a loopback of its own: a server one command runs is not reached by others",
	"protected names that are symbolic links can be changed; those of git are put back after the command",
	confine.Counted,
}

// SandboxOptions are the settings of [Sandboxed]. The zero value confines
// commands to the workspace, without network.
type SandboxOptions struct {
	Env     []string // as in [LocalOptions]
	Secrets []string // as in [LocalOptions]
	// Keep are names of variables that commands get although they look like
	// those of credentials.
	Keep []string
	// Dirs are further folders that commands may change.
	Dirs []string
	// Show are files and folders that commands see, and cannot change, where
	// they would see nothing: below the temporary folder or a hidden one.
	// Those that do not exist when the first command starts are left out.
	Show []string
	// Hide are files and folders of which commands see nothing, besides
	// [HiddenPaths].
	Hide []string
	// Protect are names from the root that commands cannot change, whether
	// they exist or not, besides those of git, editors and agents.
	Protect []string
	// Cache is the folder that programs are told to keep downloads and
	// intermediate results in. It should be one that nothing outside the
	// sandbox uses. It is made when it is missing. Empty, or where it cannot be
	// made: it is in memory and lost at the end.
	Cache string
	// Tmp is the folder that is /tmp to commands. Empty: it is in memory and
	// lost at the end.
	Tmp string
	// State is a folder of the user's for the list of what this program puts
	// into the workspace while commands run, so that the next one can remove
	// it after a crash. Empty, or where it cannot be used: one in the system's
	// temporary folder.
	State string
	// Memory is a folder of the user's in which it is kept what does not work on
	// this system, so that later programs do not try it again until the system
	// is started anew, or is another in what decides about it. A sandbox that is
	// taken for that is tried all the same. Empty: nothing is kept.
	Memory string
	// Dial connects to a host that a command wants to reach, or says in its
	// error, which the command is shown, why not. host is a name in lower case
	// or an address, checked for its form only: what it stands for, and
	// whether that may be reached, is for Dial to find out. An error that is
	// [io/fs.ErrPermission] says that it may not; it is told in Exit.Notes of
	// the commands that run, too. Nil: no network.
	//
	// Commands are told of it as of an HTTP proxy, by the usual variables. ctx
	// ends when the program that asked goes away. Connections are limited in
	// number and bytes, and end when nothing comes for 10 minutes.
	Dial func(ctx context.Context, network, host string, port int) (net.Conn, error)
	// Limits of each command.
	Limits SandboxLimits
	// Backend is the only one to be used. Empty: the strongest that works.
	Backend string
}

// CacheLayers is the folder beside a [SandboxOptions.Cache] in which is kept what
// commands add to the downloads of the user. Whoever removes the one removes the
// other.
func CacheLayers(cache string) string { return cache + ".layers" }

// DefaultProcesses is how many processes and threads a command may have at a
// time when nobody says otherwise. Nothing else is limited then.
const DefaultProcesses = 4096

// SandboxLimits bound a command with everything it starts. Zero means the
// default, a negative number no limit.
type SandboxLimits struct {
	Processes int   // processes and threads at a time; default [DefaultProcesses], at least 301
	Memory    int64 // bytes that all have together; default none
	Process   int64 // bytes that one process may ask for; default none
	File      int64 // bytes of one file; default none
	Disk      int64 // bytes that the files it changes may take; default none
}

// SandboxStatus says what is in force.
type SandboxStatus struct {
	Backend string   // that commands run in; empty: none was started yet, or none works
	Weaker  []string // what it does not do here that it could, in words
	Failed  []SandboxFailure
	Network string        // "off" or "proxy" (hosts that Dial connects to), with a loopback of its own; "none": without
	Write   []string      // folders that commands may change
	Hidden  int           // files and folders of which they see nothing
	Limits  SandboxLimits // of each command, with defaults; 0: none
	Notes   []string      // what users should know besides, in words
}

// SandboxFailure is a backend that does not work here.
type SandboxFailure struct {
	Backend string
	Why     string
	Mend    string // what the user can do; empty: nothing is known
	Earlier bool   // an earlier program found it out; see [SandboxOptions.Memory]

	lasts bool // later programs need not try
}

// SandboxTrial is what came of trying a backend.
type SandboxTrial struct {
	Backend string
	Works   bool
	Why     string   // it does not
	Mend    string   // what the user can do about that; empty: nothing is known
	Weaker  []string // what it does not do here that the strongest does, in words
}

// SandboxError says that commands cannot be confined, so that none is run.
type SandboxError struct {
	Failed []SandboxFailure
	Err    error
}

func (e *SandboxError) Error() string {
	if len(e.Failed) == 0 {
		return fmt.Sprintf("no sandbox: %v", e.Err)
	}
	parts := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		parts[i] = f.Backend + ": " + f.Why
		if f.Mend != "" {
			parts[i] += " (" + f.Mend + ")"
		}
	}
	return "no sandbox works here, so nothing is run: " + strings.Join(parts, "; ")
}

func (e *SandboxError) Unwrap() error { return e.Err }

// ErrNoSandbox says that this system has no sandbox, or none that works.
var ErrNoSandbox = errors.New("there is no sandbox on this system")
