package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"oneloop/internal/gitsafe"
)

// GitCmd is one call of git. The zero value of every field but Args is right.
type GitCmd struct {
	Args  []string      // a command of those that [Git] knows and its arguments: "status", "--porcelain"
	Dir   string        // as in Cmd
	Env   []string      // e.g. GIT_INDEX_FILE=…; what git would run cannot be named here
	Input []byte        // standard input
	Max   int           // most bytes of output; 0 means 16 MiB
	Time  time.Duration // most it may take; 0 means one minute
}

const (
	gitMax    = 16 << 20
	gitTime   = time.Minute
	gitStderr = 16 << 10 // bytes kept of what git complains about
)

// GitError is a git that ended with another code than 0.
type GitError struct {
	Args   []string
	Code   int    // -1: a signal ended it
	Stderr string // what it wrote to standard error, cut at 16 KiB
}

func (e *GitError) Error() string {
	text := strings.TrimSpace(e.Stderr)
	if text == "" {
		text = "exit " + strconv.Itoa(e.Code)
	}
	return fmt.Sprintf("git %s: %s", e.Args[0], text)
}

// ErrOutput says that a command printed more than its limit.
var ErrOutput = errors.New("more output than the limit")

// Git runs git in w and gives its standard output. It is the only way in
// which this program uses git on its own account, for a folder whose content,
// settings and all, somebody else may have written: nothing that a repository
// names is run. Hooks, filters (git-lfs with them), merge drivers, external
// diff and text conversion, the file system monitor, pager, editor, signing
// and every way to the network are off; files are as the repository holds
// them but for line endings. Nothing is asked, no lock is taken that is not
// needed, submodules are not looked into, and a bare repository is found only
// when GIT_DIR names it. Settings of the system are not read, the user's own
// are. It needs git 2.31.
//
// Git must not be called in a folder that the user has not said to trust.
//
// Errors are a *[GitError], those of [Workspace.Start], [ErrTime] and
// [ErrOutput], beside which the output so far is given.
func Git(ctx context.Context, w Workspace, cmd GitCmd) ([]byte, error) {
	if len(cmd.Args) == 0 {
		return nil, errors.New("run git: it has no words")
	}
	if !slices.Contains(gitCommands, cmd.Args[0]) {
		return nil, fmt.Errorf("run git: %q is none of the commands that run here", cmd.Args[0])
	}
	settings, err := gitSettings(ctx, w, cmd)
	if err != nil {
		return nil, err
	}
	call := cmd
	call.Args = slices.Concat(cmd.Args[:1], gitsafe.Flags(cmd.Args[0]), cmd.Args[1:])
	return runGit(ctx, w, call, settings)
}

// gitCommands are the commands of git that run here, none of which an alias
// can stand for.
var gitCommands = []string{
	"status",
	"diff",
	"diff-files",
	"diff-index",
	"diff-tree",
	"log",
	"show",
	"add",
	"apply",
	"branch",
	"cat-file",
	"check-attr",
	"check-ignore",
	"checkout-index",
	"commit-tree",
	"config",
	"for-each-ref",
	"hash-object",
	"ls-files",
	"ls-tree",
	"merge-base",
	"merge-tree",
	"mktree",
	"read-tree",
	"rev-list",
	"rev-parse",
	"show-ref",
	"symbolic-ref",
	"update-index",
	"update-ref",
	"worktree",
	"write-tree",
}

// gitKeep are the variables that git may have from the workspace.
var gitKeep = []string{
	"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "XDG_CONFIG_HOME",
	"SYSTEMROOT", "WINDIR", "TEMP", "TMP", "PATHEXT", "USERPROFILE", "HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA",
}

var gitEnv = []string{
	"GIT_CONFIG_NOSYSTEM=1", "GIT_ATTR_NOSYSTEM=1",
	"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "GCM_INTERACTIVE=never",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_PAGER=cat", "PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:", "GIT_MERGE_AUTOEDIT=no",
	"GIT_ALLOW_PROTOCOL=", "GIT_NO_LAZY_FETCH=1", "GIT_SSH_COMMAND=false",
	"GIT_TRACE=0", "GIT_TRACE2=0", "GIT_TRACE2_EVENT=0", "GIT_TRACE2_PERF=0",
	"GIT_LFS_SKIP_SMUDGE=1",
	"LC_ALL=C",
}

// gitSafe are the settings that every git gets here. A bare repository may lie
// in any folder of a workspace.
func gitSafe() [][2]string {
	return append(slices.Clone(gitsafe.Settings), [2]string{"safe.bareRepository", "explicit"})
}

// gitSettings are gitSafe and what is to be said about the drivers that the
// settings name. Reading settings runs nothing.
func gitSettings(ctx context.Context, w Workspace, cmd GitCmd) ([][2]string, error) {
	list, err := runGit(ctx, w, GitCmd{Args: []string{"config", "--list", "-z"}, Dir: cmd.Dir, Env: cmd.Env, Time: cmd.Time}, gitSafe())
	if err != nil {
		return nil, fmt.Errorf("read the settings of git: %w", err)
	}
	settings, heard := gitSafe(), false
	seen := map[string]bool{}
	for entry := range bytes.SplitSeq(list, []byte{0}) {
		key, value, _ := strings.Cut(string(entry), "\n")
		heard = heard || key == "core.hookspath" && value == gitsafe.HooksPath
		section, rest, _ := strings.Cut(key, ".")
		dot := strings.LastIndexByte(rest, '.')
		if dot < 0 || seen[section+"."+rest[:dot]] {
			continue
		}
		driver := section + "." + rest[:dot]
		seen[driver] = true
		for _, s := range gitsafe.Drivers(section) {
			settings = append(settings, [2]string{driver + "." + s[0], s[1]})
		}
	}
	if !heard {
		return nil, errors.New("run git: it does not take settings from the environment; git 2.31 or newer is needed")
	}
	return settings, nil
}

// runGit runs git with settings that win over those of files.
func runGit(ctx context.Context, w Workspace, cmd GitCmd, settings [][2]string) ([]byte, error) {
	// As variables and not by -c, which splits "filter.a=b.clean=" wrongly.
	env := slices.Concat(cmd.Env, gitEnv, []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(settings))})
	for i, s := range settings {
		n := strconv.Itoa(i)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+s[0], "GIT_CONFIG_VALUE_"+n+"="+s[1])
	}
	limit := cmd.Time
	if limit == 0 {
		limit = gitTime
	}
	complaints, err := newComplaints()
	if err != nil {
		return nil, fmt.Errorf("run git: %w", err)
	}
	defer complaints.r.Close()
	fds := map[int]*os.File{2: complaints.w}
	if cmd.Input != nil {
		input, err := TextFile(string(cmd.Input))
		if err != nil {
			complaints.w.Close()
			return nil, fmt.Errorf("run git: %w", err)
		}
		defer input.Close()
		fds[0] = input
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	out := &bounded{max: cmd.Max, full: func() { cancel(ErrOutput) }}
	if out.max == 0 {
		out.max = gitMax
	}
	p, err := w.Start(ctx, Cmd{
		Argv: append([]string{"git", "--no-pager"}, cmd.Args...), Dir: cmd.Dir,
		Keep: gitKeep, Env: env, Fds: fds, Output: out, Limits: Limits{Time: limit},
	})
	complaints.w.Close()
	if err != nil {
		return nil, err
	}
	text := complaints.read(func() { err = out.end(p) })
	var failed *GitError
	if errors.As(err, &failed) {
		failed.Args, failed.Stderr = cmd.Args, text
		return out.text.Bytes(), failed
	}
	if err != nil {
		return out.text.Bytes(), fmt.Errorf("git %s: %w", cmd.Args[0], err)
	}
	return out.text.Bytes(), nil
}

// bounded keeps output up to a limit, and says when that is passed.
type bounded struct {
	text bytes.Buffer
	max  int
	full func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.max - b.text.Len(); len(p) > room {
		b.text.Write(p[:room])
		b.full()
		return room, ErrOutput
	}
	return b.text.Write(p)
}

func (b *bounded) end(p Process) error {
	exit, err := p.Wait()
	if err == nil && (exit.Code != 0 || exit.Signal != "") {
		err = &GitError{Code: exit.Code}
	}
	return err
}

// complaints is where git writes its standard error.
type complaints struct{ r, w *os.File }

func newComplaints() (complaints, error) {
	r, w, err := os.Pipe()
	return complaints{r, w}, err
}

// read keeps the first of what is written while do runs.
func (c complaints) read(do func()) string {
	var kept bytes.Buffer
	var wg sync.WaitGroup
	wg.Go(func() {
		io.CopyN(&kept, c.r, gitStderr)
		io.Copy(io.Discard, c.r)
	})
	do()
	// All that could write has ended. Who got the pipe by other ways does not
	// hold us up.
	c.r.SetReadDeadline(time.Now().Add(stuck))
	wg.Wait()
	return kept.String()
}
