package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// trap is a repository whose settings and files name a program wherever git
// runs one. Each program leaves a file of its name in hits.
type trap struct {
	testing.TB
	root, programs, hits string
}

func newTrap(t testing.TB) *trap {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: the programs of the trap are shell scripts")
	}
	out := real(t, t.TempDir())
	tr := &trap{TB: t, root: real(t, t.TempDir()), programs: out + "/programs", hits: out + "/hits"}
	for _, dir := range []string{tr.programs, tr.hits} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The user's own settings are read; those of whoever runs the test are not.
	t.Setenv("HOME", out)
	t.Setenv("XDG_CONFIG_HOME", out)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	return tr
}

// git runs git as anybody would, with nothing turned off.
func (tr *trap) git(dir string, args ...string) string {
	tr.Helper()
	out, code := tr.plain(dir, nil, args...)
	if code != 0 {
		tr.Fatalf("git %s: exit %d\n%s", args, code, out)
	}
	return out
}

// plain is git without ado. What it leaves running is ended.
func (tr *trap) plain(dir string, env []string, args ...string) (string, int) {
	tr.Helper()
	w, err := workspace.Local(dir, workspace.LocalOptions{})
	if err != nil {
		tr.Fatal(err)
	}
	var out buffer
	p, err := w.Start(tr.Context(), workspace.Cmd{Argv: append([]string{"git"}, args...), Env: env, Output: &out, Limits: workspace.Limits{Time: 20 * time.Second}})
	if err != nil {
		tr.Fatal(err)
	}
	exit, err := p.Wait()
	if err != nil {
		tr.Fatal(err)
	}
	return out.String(), exit.Code
}

// program makes a program and gives its path.
func (tr *trap) program(name string) string {
	tr.Helper()
	path := filepath.Join(tr.programs, name)
	// Output is its input, so that filters work as filters do.
	script := fmt.Sprintf("#!/bin/sh\n: > '%s'\ncase $# in 0) cat;; esac\n", filepath.Join(tr.hits, name))
	put(tr, path, script, 0o755)
	return path
}

func (tr *trap) hit() string { return names(tr, tr.hits) }

func (tr *trap) clear() {
	list, _ := os.ReadDir(tr.hits)
	for _, e := range list {
		os.Remove(filepath.Join(tr.hits, e.Name()))
	}
}

// repository makes a harmless one with two commits and a changed file.
func (tr *trap) repository(dir string) {
	tr.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tr.Fatal(err)
	}
	tr.git(dir, "init", "-q", "-b", "main")
	tr.git(dir, "config", "user.name", "n")
	tr.git(dir, "config", "user.email", "e@example.com")
	for _, text := range []string{"one\n", "two\n"} {
		for _, name := range []string{"f.txt", "g.odd", "h.ext"} {
			put(tr, filepath.Join(dir, name), text, 0o644)
		}
		tr.git(dir, "add", ".")
		tr.git(dir, "commit", "-q", "-m", text)
	}
	tr.git(dir, "checkout", "-q", "-b", "side", "HEAD~1")
	put(tr, filepath.Join(dir, "g.odd"), "side\n", 0o644)
	tr.git(dir, "commit", "-q", "-a", "-m", "side")
	tr.git(dir, "checkout", "-q", "main")
	for _, name := range []string{"f.txt", "g.odd", "h.ext", "new.txt"} {
		put(tr, filepath.Join(dir, name), "three\n", 0o644)
	}
}

// armed gives settings that name programs.
func (tr *trap) armed() string {
	tr.Helper()
	program := tr.program
	var b strings.Builder
	for _, name := range []string{"fsmonitor", "pager", "editor", "askPass", "sshCommand", "gitProxy", "alternateRefsCommand"} {
		fmt.Fprintf(&b, "[core]\n%s = %s\n", name, program("core-"+name))
	}
	hooks := filepath.Join(tr.programs, "hooks")
	for _, hook := range []string{"post-checkout", "post-index-change", "pre-commit", "reference-transaction", "post-commit", "pre-auto-gc", "fsmonitor-watchman"} {
		put(tr, filepath.Join(hooks, hook), fmt.Sprintf("#!/bin/sh\n: > '%s'\n", filepath.Join(tr.hits, "hook-"+hook)), 0o755)
	}
	fmt.Fprintf(&b, "[core]\nhooksPath = %s\n", hooks)
	fmt.Fprintf(&b, "[diff]\nexternal = %s\n[diff \"odd\"]\ntextconv = %s\n[diff \"ext\"]\ncommand = %s\n", program("diff-external"), program("diff-textconv"), program("diff-command"))
	fmt.Fprintf(&b, "[filter \"a=b.c\"]\nclean = %s\nsmudge = %s\nrequired = true\n", program("clean"), program("smudge"))
	fmt.Fprintf(&b, "[filter \"lfs\"]\nprocess = %s\nclean = %s\nsmudge = %s\nrequired = true\n", program("lfs-process"), program("lfs-clean"), program("lfs-smudge"))
	fmt.Fprintf(&b, "[merge \"odd\"]\ndriver = %s %%A\n", program("merge-driver"))
	fmt.Fprintf(&b, "[sequence]\neditor = %s\n[credential]\nhelper = %s\n[interactive]\ndiffFilter = %s\n", program("sequence-editor"), program("credential"), program("diffFilter"))
	fmt.Fprintf(&b, "[gpg]\nprogram = %s\n[gpg \"ssh\"]\nprogram = %s\ndefaultKeyCommand = %s\n", program("gpg"), program("gpg-ssh"), program("gpg-key"))
	b.WriteString("[log]\nshowSignature = true\n[commit]\ngpgSign = true\n[submodule]\nrecurse = true\n[status]\nsubmoduleSummary = true\n[diff]\nsubmodule = diff\nignoreSubmodules = none\n")
	fmt.Fprintf(&b, "[alias]\nstatus = !%s\nodd = !%s\n[pager]\nlog = %s\nstatus = %s\ndiff = %s\n", program("alias"), program("alias-odd"), program("pager-log"), program("pager-status"), program("pager-diff"))
	fmt.Fprintf(&b, "[hook \"new\"]\ncommand = %s\nevent = post-index-change\n", program("hook-setting"))
	fmt.Fprintf(&b, "[protocol \"ext\"]\nallow = always\n[core]\nrepositoryFormatVersion = 1\n[extensions]\npartialClone = origin\n[remote \"origin\"]\npromisor = true\npartialCloneFilter = blob:none\nurl = \"ext::%s fetch\"\nuploadpack = %s\n", program("ext"), program("uploadpack"))
	return b.String()
}

// arm includes them in the settings of a repository.
func (tr *trap) arm(dir string) {
	tr.Helper()
	put(tr, filepath.Join(dir, ".git/armed"), tr.armed(), 0o644)
	f, err := os.OpenFile(filepath.Join(dir, ".git/config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		tr.Fatal(err)
	}
	defer f.Close()
	fmt.Fprintf(f, "[include]\npath = armed\n")
	put(tr, filepath.Join(dir, ".git/info/attributes"), "*.txt filter=a=b.c\n*.odd diff=odd merge=odd filter=lfs\n*.ext diff=ext\n", 0o644)
}

const missing = "1234567890123456789012345678901234567890"

// everyday are calls of all kinds; what they print does not matter here.
var everyday = [][]string{
	{"status", "--porcelain=v2", "--untracked-files=all"}, {"status"},
	{"diff"}, {"diff", "--stat", "HEAD"}, {"diff", "HEAD~1", "HEAD"},
	{"diff-files", "-p"}, {"diff-index", "-p", "HEAD"}, {"diff-tree", "-p", "HEAD"},
	{"log", "-p", "--format=%H %G? %GS %s%(trailers)"}, {"show", "HEAD"}, {"show", "HEAD:g.odd"}, {"show", "signed"},
	{"rev-parse", "--show-toplevel", "HEAD"}, {"rev-list", "--objects", "HEAD"}, {"ls-files", "-s", "-m", "-o", "--eol"},
	{"hash-object", "-w", "f.txt", "g.odd"}, {"cat-file", "-p", "HEAD:f.txt"}, {"cat-file", "--filters", "HEAD:f.txt"}, {"cat-file", "--textconv", "HEAD:g.odd"},
	{"cat-file", "-e", missing}, {"show", missing},
	{"update-index", "--refresh"}, {"add", "--all"}, {"write-tree"}, {"read-tree", "HEAD"}, {"read-tree", "-m", "HEAD~1", "HEAD~1", "HEAD"},
	{"checkout-index", "--force", "--all"}, {"update-ref", "refs/heads/other", "HEAD"}, {"symbolic-ref", "HEAD"},
	{"for-each-ref"}, {"branch", "-a"}, {"check-ignore", "x"}, {"check-attr", "-a", "f.txt"}, {"config", "--list"},
	{"merge-tree", "--write-tree", "main", "side"}, {"worktree", "list"}, {"worktree", "add", "--detach", "tree"}, {"worktree", "remove", "--force", "tree"}, {"merge-base", "HEAD", "HEAD~1"},
}

func ours(t testing.TB, dir string, w workspace.Workspace) {
	t.Helper()
	for _, args := range everyday {
		var failed *workspace.GitError
		if _, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: args, Dir: dir, Time: 20 * time.Second}); err != nil && !errors.As(err, &failed) {
			t.Errorf("git %s: %v", args, err)
		}
	}
}

func (tr *trap) workspace() *workspace.LocalWorkspace {
	tr.Helper()
	w, err := workspace.Local(tr.root, workspace.LocalOptions{})
	if err != nil {
		tr.Fatal(err)
	}
	return w
}

// signed makes a commit with a signature and names it so.
func (tr *trap) signed(dir string) {
	tr.Helper()
	text := tr.git(dir, "cat-file", "commit", "HEAD")
	head, body, _ := strings.Cut(text, "\n\n")
	text = head + "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----\n\n" + body
	file := filepath.Join(tr.programs, "signed")
	put(tr, file, text, 0o644)
	tr.git(dir, "tag", "signed", strings.TrimSpace(tr.git(dir, "hash-object", "-w", "-t", "commit", file)))
}

func TestGitRunsNothingThatARepositoryNames(t *testing.T) {
	tr := newTrap(t)
	tr.repository(tr.root)
	tr.repository(tr.root + "/sub")
	tr.git(tr.root, "-c", "protocol.file.allow=always", "add", "sub")
	tr.git(tr.root, "commit", "-q", "-m", "with a repository in it", "sub")
	tr.signed(tr.root)
	tr.arm(tr.root)
	tr.arm(tr.root + "/sub")
	w := tr.workspace()
	for _, dir := range []string{"", "sub"} {
		ours(t, dir, w)
	}
	if got := tr.hit(); got != "" {
		t.Errorf("these were run: %s", got)
	}
	// The trap is one: plain git walks into it. Where the first program that
	// fails would end it, the others are tried without that one.
	noFilters := []string{
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=filter.lfs.process", "GIT_CONFIG_VALUE_0=",
		"GIT_CONFIG_KEY_1=filter.lfs.required", "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=core.fsmonitor", "GIT_CONFIG_VALUE_2=false",
	}
	for _, env := range [][]string{nil, noFilters} {
		for _, name := range []string{"f.txt", "g.odd", "h.ext"} {
			put(t, tr.root+"/"+name, "four\n", 0o644)
		}
		for _, args := range append(everyday, []string{"odd"}, []string{"diff", "--no-ext-diff"}) {
			tr.plain(tr.root, env, args...) // with what is armed most of them fail
		}
	}
	for _, want := range []string{
		"core-fsmonitor", "diff-external", "diff-textconv", "diff-command", "clean", "smudge", "lfs-process", "gpg",
		"hook-post-checkout", "hook-post-index-change", "hook-reference-transaction", "ext", "alias-odd", "merge-driver",
	} {
		if !strings.Contains(" "+tr.hit()+" ", " "+want+" ") {
			t.Errorf("plain git does not run %s: that part of the trap proves nothing; it ran %s", want, tr.hit())
		}
	}
}

func TestGitIsFoundOutsideTheWorkspaceOnly(t *testing.T) {
	tr := newTrap(t)
	tr.repository(tr.root)
	fake := tr.program("git")
	for _, dir := range []string{"", "bin"} {
		put(t, filepath.Join(tr.root, dir, "git"), "#!/bin/sh\n: > '"+tr.hits+"/fake'\n", 0o755)
	}
	t.Setenv("PATH", ".:"+tr.root+":bin:"+filepath.Join(tr.root, "bin")+":"+os.Getenv("PATH"))
	t.Setenv("GIT_EXEC_PATH", filepath.Dir(fake))
	w := tr.workspace()
	t.Chdir(tr.root)
	if out, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: []string{"rev-parse", "--show-toplevel"}}); err != nil || strings.TrimSpace(string(out)) != tr.root {
		t.Errorf("got %q, %v", out, err)
	}
	if got := tr.hit(); got != "" {
		t.Errorf("these were run: %s", got)
	}
}

func TestGitIsNotLedElsewhereByTheEnvironment(t *testing.T) {
	tr := newTrap(t)
	tr.repository(tr.root)
	elsewhere := real(t, t.TempDir())
	tr.repository(elsewhere)
	for key, value := range map[string]string{
		"GIT_DIR": elsewhere + "/.git", "GIT_WORK_TREE": elsewhere, "GIT_INDEX_FILE": elsewhere + "/.git/index", "GIT_COMMON_DIR": elsewhere + "/.git",
		"GIT_EXTERNAL_DIFF": tr.program("env-diff"), "GIT_PAGER": tr.program("env-pager"), "GIT_SSH_COMMAND": tr.program("env-ssh"),
		"GIT_CONFIG_PARAMETERS": "'core.fsmonitor=" + tr.program("env-config") + "'", "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": tr.program("env-count"),
		"GIT_TRACE": tr.hits + "/trace", "GIT_TRACE2_EVENT": tr.hits + "/trace2", "GIT_CONFIG": elsewhere + "/.git/config",
	} {
		t.Setenv(key, value)
	}
	w := tr.workspace()
	for _, args := range [][]string{{"rev-parse", "--show-toplevel"}, {"status", "--porcelain"}, {"diff"}} {
		out, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: args})
		if err != nil || args[0] == "rev-parse" && strings.TrimSpace(string(out)) != tr.root || args[0] == "diff" && !strings.Contains(string(out), "+three") {
			t.Errorf("git %s gives %q, %v", args, out, err)
		}
	}
	if got := tr.hit(); got != "" {
		t.Errorf("these were run or written: %s", got)
	}
}

func TestARedirectedOrBareRepositoryRunsNothing(t *testing.T) {
	tr := newTrap(t)
	tr.repository(tr.root)
	evil := tr.root + "/evil"
	tr.git(tr.root, "clone", "-q", "--bare", ".", evil)
	put(t, evil+"/config", "[core]\nbare = true\n"+tr.armed(), 0o644)
	w := tr.workspace()
	var failed *workspace.GitError
	if out, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: []string{"status"}, Dir: "evil"}); !errors.As(err, &failed) || !strings.Contains(err.Error(), "bare") {
		t.Errorf("in a bare repository it says %q, %v", out, err)
	}
	ours(t, "evil", w)
	put(t, tr.root+"/.git/commondir", "../evil\n", 0o644)
	put(t, evil+"/config", tr.armed(), 0o644)
	ours(t, "", w)
	if got := tr.hit(); got != "" {
		t.Errorf("these were run: %s", got)
	}
	tr.plain(tr.root, nil, "status")
	if got := tr.hit(); !strings.Contains(got, "core-fsmonitor") {
		t.Errorf("plain git is not redirected: it ran %q", got)
	}
}

func TestGitIsBoundedAndCanBeCancelled(t *testing.T) {
	tr := newTrap(t)
	tr.repository(tr.root)
	w := tr.workspace()
	put(t, tr.root+"/big", strings.Repeat("x", 1<<20), 0o644)
	id, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: []string{"hash-object", "-w", "--stdin"}, Input: []byte(strings.Repeat("y", 1<<20))})
	if err != nil {
		t.Fatal(err)
	}
	show := workspace.GitCmd{Args: []string{"cat-file", "blob", strings.TrimSpace(string(id))}}
	if out, err := workspace.Git(t.Context(), w, show); err != nil || len(out) != 1<<20 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	show.Max = 1000
	if out, err := workspace.Git(t.Context(), w, show); !errors.Is(err, workspace.ErrOutput) || len(out) != 1000 {
		t.Errorf("%d bytes, %v", len(out), err)
	}
	// It waits for ever on what it takes for a list of files to ignore.
	bash(t, w, 5*time.Second, "mkfifo p; git config core.excludesFile $PWD/p")
	if _, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: []string{"status"}, Time: 300 * time.Millisecond}); !errors.Is(err, workspace.ErrTime) {
		t.Errorf("at its limit: %v", err)
	}
	why := errors.New("enough")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 300*time.Millisecond, why)
	defer cancel()
	if _, err := workspace.Git(ctx, w, workspace.GitCmd{Args: []string{"status"}}); !errors.Is(err, why) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestGitSaysWhatItCouldNotDo(t *testing.T) {
	tr := newTrap(t)
	w := tr.workspace()
	var failed *workspace.GitError
	if _, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: []string{"status"}}); !errors.As(err, &failed) || failed.Code != 128 || !strings.Contains(err.Error(), "git status: fatal: not a git repository") {
		t.Errorf("without a repository: %v", err)
	}
	for _, args := range [][]string{nil, {"odd"}, {"clone", "x"}, {"-c", "x=y", "status"}} {
		if _, err := workspace.Git(t.Context(), w, workspace.GitCmd{Args: args}); err == nil || errors.As(err, &failed) {
			t.Errorf("%q gives %v", args, err)
		}
	}
	none, err := workspace.Local(tr.root, workspace.LocalOptions{Env: []string{"PATH=" + t.TempDir()}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Git(t.Context(), none, workspace.GitCmd{Args: []string{"status"}}); !errors.Is(err, workspace.ErrNoProgram) {
		t.Errorf("without git: %v", err)
	}
	// One that does not take settings from the environment.
	old := t.TempDir()
	put(t, old+"/git", "#!/bin/sh\nprintf 'core.hookspath\\nelsewhere\\0'\n", 0o755)
	none, err = workspace.Local(tr.root, workspace.LocalOptions{Env: []string{"PATH=" + old}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := workspace.Git(t.Context(), none, workspace.GitCmd{Args: []string{"status"}}); err == nil || !strings.Contains(err.Error(), "git 2.31") {
		t.Errorf("with an old git: %v", err)
	}
}
