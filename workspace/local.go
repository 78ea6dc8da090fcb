package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
)

// LocalOptions are the settings of [Local].
type LocalOptions struct {
	// Env is the environment of commands. Nil means that of this program
	// without credentials: Scrub(os.Environ(), Secrets).
	Env []string
	// Secrets are credentials by value; see [Scrub]. They are not used when
	// Env is given.
	Secrets []string
	// Dirs are further folders whose files belong to the workspace.
	Dirs []string
}

// LocalWorkspace is a [Workspace] on this machine that confines nothing: a
// command can do whatever the user can.
type LocalWorkspace struct {
	root  string // real path
	files rooted
	env   []string
	null  *os.File
	shell atomic.Pointer[string] // where bash was found last
	last  atomic.Pointer[found]  // the program of the last command
}

// found is where the program of that name was on that PATH.
type found struct{ name, path, program string }

// Local returns the workspace in the folder root. It fails when there is no
// such folder, and when [Helper] was not called.
func Local(root string, opts LocalOptions) (*LocalWorkspace, error) {
	if !helperCalled.Load() {
		return nil, errors.New("open workspace: call workspace.Helper() first in main (in tests: first in TestMain)")
	}
	var files rooted
	for _, name := range append([]string{root}, opts.Dirs...) {
		f, err := openFolder(name)
		if err != nil {
			return nil, fmt.Errorf("open workspace: %w", err)
		}
		files.folders = append(files.folders, f)
	}
	files.home = homeFolder()
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	env := opts.Env
	if env == nil {
		env = Scrub(os.Environ(), opts.Secrets)
	}
	// PWD and OLDPWD are this program's own and would mislead.
	env = slices.DeleteFunc(mergeEnv(nil, env...), func(kv string) bool { return strings.HasPrefix(kv, "OLDPWD=") })
	first := files.folders[0]
	return &LocalWorkspace{root: first.real, files: files, env: mergeEnv(env, "PWD="+first.real), null: null}, nil
}

func openFolder(name string) (folder, error) {
	given, err := filepath.Abs(name)
	if err != nil {
		return folder{}, err
	}
	actual, err := filepath.EvalSymlinks(given)
	if err != nil {
		return folder{}, err
	}
	if !isDir(actual) {
		return folder{}, fmt.Errorf("%s is not a folder", given)
	}
	return folder{real: actual, given: given}, nil
}

// homeFolder gives the user's home without symbolic links.
func homeFolder() string {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return ""
	}
	if actual, err := filepath.EvalSymlinks(home); err == nil {
		return actual
	}
	return filepath.Clean(home)
}

// Describe looks each time whether bash is there, so that one installed
// meanwhile is found.
func (w *LocalWorkspace) Describe() Info {
	var shell string
	if last := w.shell.Load(); last != nil {
		shell = *last
	}
	if _, there := executable(shell); shell == "" || !there {
		shell, _ = w.lookup("bash", w.env)
		w.shell.Store(&shell)
	}
	info := Info{Root: w.root, Home: w.files.home, OS: runtime.GOOS, Shell: shell, Sandbox: "none"}
	for _, f := range w.files.folders[1:] {
		info.Dirs = append(info.Dirs, f.real)
	}
	return info
}

// Files gives access to the files below the root and LocalOptions.Dirs.
func (w *LocalWorkspace) Files() Files { return w.files }

// Start starts a command. A Dir that is gone is replaced by the root, and
// Exit.Notes says so.
func (w *LocalWorkspace) Start(ctx context.Context, cmd Cmd) (Process, error) {
	path, dir, env, err := w.place(ctx, cmd)
	if err != nil {
		return nil, err
	}
	p, err := w.spawn(ctx, path, dir, env, cmd)
	if err == nil {
		return p, nil
	}
	// Only now, so that the everyday command does not pay for it.
	if !isDir(w.root) {
		return nil, fmt.Errorf("start %s: %w: %s", cmd.Argv[0], ErrNoRoot, w.root)
	}
	if dir != w.root && !isDir(dir) {
		if p, err = w.spawn(ctx, path, w.root, mergeEnv(env, "PWD="+w.root), cmd); err == nil {
			p.notes = append(p.notes, goneNote(dir, w.root))
			return p, nil
		}
	}
	return nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
}

func goneNote(dir, root string) string {
	return fmt.Sprintf("the folder %s is gone, so it ran in the workspace root %s", dir, root)
}

// place finds the program, the folder and the environment of a command.
func (w *LocalWorkspace) place(ctx context.Context, cmd Cmd) (path, dir string, env []string, err error) {
	if len(cmd.Argv) == 0 {
		return "", "", nil, errors.New("start command: it has no words")
	}
	if err := context.Cause(ctx); err != nil {
		return "", "", nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	if dir, err = w.dir(cmd.Dir); err != nil {
		return "", "", nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	env = w.environ(cmd, dir)
	if path, err = w.program(cmd.Argv[0], env); err != nil {
		return "", "", nil, fmt.Errorf("start %s: %w", cmd.Argv[0], err)
	}
	return path, dir, env, nil
}

// environ gives the environment of a command that starts in dir.
func (w *LocalWorkspace) environ(cmd Cmd, dir string) []string {
	env := w.env
	if cmd.Keep != nil {
		env = slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
			key, _, _ := strings.Cut(kv, "=")
			return !slices.ContainsFunc(cmd.Keep, func(name string) bool { return sameKey(name, key) })
		})
	}
	if dir != w.root || cmd.Keep != nil {
		env = mergeEnv(env, "PWD="+dir)
	}
	if len(cmd.Env) > 0 {
		env = mergeEnv(env, cmd.Env...)
	}
	return env
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// dir gives the absolute path of a command's folder.
func (w *LocalWorkspace) dir(name string) (string, error) {
	path, err := w.files.absolute(name)
	if err != nil {
		return "", err
	}
	if _, _, ok := w.files.holder(path); !ok {
		return "", w.files.outside(path)
	}
	return path, nil
}

// relative turns a name into one from a root.
func relative(name, root string) (string, error) {
	if filepath.IsAbs(name) {
		rel, ok := below(root, filepath.Clean(name))
		if !ok {
			return "", fmt.Errorf("%s is outside the workspace %s", name, root)
		}
		return rel, nil
	}
	if name != "" && !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s is outside the workspace %s", name, root)
	}
	return filepath.Clean(name), nil
}

// systemDirs hold the system's own programs. They count as outside even when
// the workspace is as wide as "/".
var systemDirs = []string{"/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"}

// program is lookup for commands, of which one after the other is for the same
// shell: all of PATH is looked through again only when that is gone.
func (w *LocalWorkspace) program(name string, env []string) (string, error) {
	path := envValue(env, "PATH")
	if l := w.last.Load(); l != nil && l.name == name && l.path == path {
		if _, there := executable(l.program); there {
			return l.program, nil
		}
	}
	program, err := w.lookup(name, env)
	if err == nil {
		w.last.Store(&found{name, path, program})
	}
	return program, err
}

// lookup finds a program on the PATH of env. Relative entries and those in
// the workspace are passed over: what lies there is the model's to write, and
// a program of that name would run in place of the one meant.
func (w *LocalWorkspace) lookup(name string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || strings.ContainsRune(name, filepath.Separator) {
		return name, nil
	}
	for _, dir := range filepath.SplitList(envValue(env, "PATH")) {
		if !filepath.IsAbs(dir) {
			continue
		}
		path, ok := executable(filepath.Join(dir, name))
		if ok && (slices.Contains(systemDirs, filepath.Clean(dir)) || !w.holds(dir) && !w.holds(path)) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%w: no %s on PATH outside the workspace", ErrNoProgram, name)
}

// Program finds a program as commands find it, but never in the workspace.
func (w *LocalWorkspace) Program(name string) (path string, err error) {
	return w.lookup(name, w.env)
}

// holds reports whether path, with links followed, lies in one of the folders
// of the workspace.
func (w *LocalWorkspace) holds(path string) bool {
	actual, err := filepath.EvalSymlinks(path)
	if err != nil {
		return true
	}
	_, _, in := w.files.holder(actual)
	return in
}
