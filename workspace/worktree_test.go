package workspace_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"oneloop/workspace"
)

// trees are the worktrees of a repository with the trap's two commits.
func (tr *trap) trees(dir string) *workspace.Worktrees {
	tr.Helper()
	t, err := workspace.OpenWorktrees(tr.Context(), dir, workspace.WorktreeOptions{State: filepath.Join(filepath.Dir(tr.hits), "state")})
	if err != nil {
		tr.Fatal(err)
	}
	return t
}

// clean makes a repository as the trap's, without changes.
func (tr *trap) clean(dir string) *workspace.Worktrees {
	tr.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tr.Fatal(err)
	}
	c := exec.Command("sh", "-ec", `git init -q -b main .; git config user.name n; git config user.email e@example.com
for text in one two; do
	for name in f.txt g.odd h.ext; do echo $text > $name; done
	git add .; git commit -q -m $text
	if [ $text = one ]; then git checkout -q -b side; echo side > g.odd; git commit -q -a -m side; git checkout -q main; fi
done`)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		tr.Fatalf("%v: %s", err, out)
	}
	return tr.trees(dir)
}

func (tr *trap) add(t *workspace.Worktrees, name, base string) *workspace.HeldWorktree {
	tr.Helper()
	h, err := t.Add(tr.Context(), name, workspace.WorktreeAddOptions{Base: base})
	if err != nil {
		tr.Fatal(err)
	}
	return h
}

func (tr *trap) free(h *workspace.HeldWorktree) {
	tr.Helper()
	if err := h.Release(); err != nil {
		tr.Fatal(err)
	}
}

// left says what is there of worktrees: folders, what git knows, branches, notes.
func (tr *trap) left(t *workspace.Worktrees) string {
	tr.Helper()
	list, err := t.List(tr.Context())
	if err != nil {
		tr.Fatal(err)
	}
	var b strings.Builder
	for _, w := range list {
		fmt.Fprintf(&b, "%s:%s:%s ", w.Name, w.Branch, w.Broken)
	}
	in, _ := os.ReadDir(t.Main() + "/.oneloop/worktrees")
	for _, e := range in {
		if e.Name() != ".gitignore" {
			b.WriteString(e.Name() + " ")
		}
	}
	b.WriteString(strings.Join(strings.Fields(tr.git(t.Main(), "branch", "--format=%(refname:short)", "--list", "wt/*")), " "))
	if n := strings.Count(tr.git(t.Main(), "worktree", "list", "--porcelain"), "worktree "); n > 1 {
		fmt.Fprintf(&b, " git:%d", n-1)
	}
	notes, _ := filepath.Glob(filepath.Dir(tr.hits) + "/state/projects/*/worktrees/*")
	for _, path := range notes {
		b.WriteString(" note:" + filepath.Base(path))
	}
	return strings.TrimSpace(b.String())
}

func TestAWorktreeIsMadeUsedAndRemoved(t *testing.T) {
	for _, name := range []string{"plain", "with space", "中文 ü", "new\nline", `q"uote'`} {
		t.Run(name, func(t *testing.T) {
			tr := newTrap(t)
			dir := filepath.Join(tr.root, name)
			wts := tr.clean(dir)
			h := tr.add(wts, "a-1", "")
			if h.Path != filepath.Join(dir, ".oneloop/worktrees/a-1") || h.Branch != "wt/a-1" || len(h.Notes) > 0 {
				t.Errorf("it is %+v", h.Worktree)
			}
			if text, err := os.ReadFile(h.Path + "/f.txt"); err != nil || string(text) != "two\n" {
				t.Errorf("its file is %q, %v", text, err)
			}
			for _, at := range []string{dir, h.Path} {
				if out := tr.git(at, "status", "--porcelain"); out != "" {
					t.Errorf("git status in %s says %s", at, out)
				}
			}
			if s, err := h.State(t.Context()); err != nil || !s.Clean() || s.String() != "" {
				t.Errorf("it is %+v, %v", s, err)
			}
			if list, err := wts.List(t.Context()); err != nil || len(list) != 1 || !list[0].Used || list[0].Name != "a-1" {
				t.Errorf("the list is %+v, %v", list, err)
			}
			// From a folder in the worktree it is the same repository.
			if other := tr.trees(h.Path); other.Main() != dir {
				t.Errorf("its main checkout is %s", other.Main())
			}
			if done, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{}); err != nil || done.Branch != "wt/a-1" {
				t.Errorf("removed %+v, %v", done, err)
			}
			if got := tr.left(wts); got != "" {
				t.Errorf("there is %s", got)
			}
		})
	}
}

func TestAWorktreeRunsNothingThatARepositoryNames(t *testing.T) {
	tr := newTrap(t)
	tr.clean(tr.root)
	// What holds for the new branch or folder only is a trap as well.
	put(t, tr.root+"/.gitattributes", "*.txt filter=late\n*.odd filter=later\n*.ext filter=lfs\n", 0o644)
	tr.git(tr.root, "add", ".gitattributes")
	tr.git(tr.root, "commit", "-q", "-m", "attributes")
	tr.arm(tr.root)
	put(t, tr.root+"/.git/info/attributes", "*.ext diff=ext\n", 0o644)
	for name, when := range map[string]string{"late": "onbranch:wt/**", "later": "gitdir:**/worktrees/**"} {
		path := filepath.Join(tr.root, ".git", name)
		put(t, path, fmt.Sprintf("[filter %q]\nsmudge = %s\nclean = %s\nrequired = true\n[core]\nfsmonitor = %s\n", name, tr.program(name+"-smudge"), tr.program(name+"-clean"), tr.program(name+"-fsmonitor")), 0o644)
		f, err := os.OpenFile(tr.root+"/.git/config", os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "[includeIf %q]\npath = %s\n", when, name)
		f.Close()
	}
	wts := tr.trees(tr.root)
	h := tr.add(wts, "a", "")
	if text, err := os.ReadFile(h.Path + "/f.txt"); err != nil || string(text) != "two\n" {
		t.Errorf("its file is %q, %v", text, err)
	}
	if len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "filters did not run") {
		t.Errorf("it says %q", h.Notes)
	}
	put(t, h.Path+"/f.txt", "changed\n", 0o644)
	if s, err := h.State(t.Context()); err != nil || s.Changes != 1 {
		t.Errorf("it is %+v, %v", s, err)
	}
	if _, err := wts.List(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{Discard: true}); err != nil {
		t.Error(err)
	}
	if got := tr.hit(); got != "" {
		t.Errorf("these were run: %s", got)
	}
	// Plain git walks into it: at least the hook and the filters of the branch.
	tr.plain(tr.root, []string{
		"GIT_CONFIG_COUNT=3", "GIT_CONFIG_KEY_0=core.fsmonitor", "GIT_CONFIG_VALUE_0=false",
		"GIT_CONFIG_KEY_1=filter.lfs.process", "GIT_CONFIG_VALUE_1=", "GIT_CONFIG_KEY_2=filter.lfs.required", "GIT_CONFIG_VALUE_2=false",
	}, "worktree", "add", "-b", "wt/x", "tree")
	for _, want := range []string{"hook-post-checkout", "late-smudge", "later-smudge"} {
		if !strings.Contains(" "+tr.hit()+" ", " "+want+" ") {
			t.Errorf("plain git does not run %s: that part of the trap proves nothing; it ran %s", want, tr.hit())
		}
	}
}

func TestAWorktreeIsKeptWhileSomethingWouldBeLost(t *testing.T) {
	for what, change := range map[string]func(tr *trap, h *workspace.HeldWorktree){
		"1 file changed or new (f.txt)":       func(tr *trap, h *workspace.HeldWorktree) { put(tr, h.Path+"/f.txt", "x", 0o644) },
		"1 file changed or new (new\nname)":   func(tr *trap, h *workspace.HeldWorktree) { put(tr, h.Path+"/new\nname", "x", 0o644) },
		"1 file changed or new (repository/)": func(tr *trap, h *workspace.HeldWorktree) { tr.repository(h.Path + "/repository") },
		"1 file changed or new (g.odd)": func(tr *trap, h *workspace.HeldWorktree) {
			put(tr, h.Path+"/g.odd", "x", 0o644)
			tr.git(h.Path, "add", ".")
			put(tr, h.Path+"/g.odd", "two\n", 0o644) // staged only; changed back on the disk
			tr.git(h.Path, "update-index", "--assume-unchanged", "f.txt")
			tr.git(h.Path, "update-index", "--no-assume-unchanged", "f.txt")
		},
		"1 commit that is nowhere else (": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "commit", "-q", "--allow-empty", "-m", "mine")
		},
		"2 commits that are nowhere else (": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "commit", "-q", "--allow-empty", "-m", "on the branch")
			tr.git(h.Path, "checkout", "-q", "--detach", "HEAD")
			tr.git(h.Path, "commit", "-q", "--allow-empty", "-m", "on none")
		},
		"1 file that git was told not to look at (f.txt)": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "update-index", "--skip-worktree", "f.txt")
			put(tr, h.Path+"/f.txt", "x", 0o644)
		},
		"1 file that git was told not to look at (g.odd)": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "update-index", "--assume-unchanged", "g.odd")
			put(tr, h.Path+"/g.odd", "x", 0o644)
		},
		"a merge under way": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "merge", "-q", "--no-commit", "--no-ff", "-s", "ours", "side")
		},
		"a bisect under way": func(tr *trap, h *workspace.HeldWorktree) { tr.git(h.Path, "bisect", "start", "HEAD", "HEAD~1") },
		"a rebase under way": func(tr *trap, h *workspace.HeldWorktree) {
			tr.plain(h.Path, nil, "rebase", "--exec", "false", "HEAD~1")
		},
		"what is in it cannot be known: its .git is gone": func(tr *trap, h *workspace.HeldWorktree) { os.Remove(h.Path + "/.git") },
	} {
		t.Run(strings.ReplaceAll(what, "\n", " "), func(t *testing.T) {
			tr := newTrap(t)
			wts := tr.clean(tr.root)
			h := tr.add(wts, "a", "")
			change(tr, h)
			tr.free(h)
			var loss *workspace.WorktreeLossError
			if _, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{}); !errors.As(err, &loss) || !strings.Contains(err.Error(), what) {
				t.Fatalf("removing says %v", err)
			}
			if !strings.HasPrefix(tr.left(wts), "a:") {
				t.Fatalf("there is %s", tr.left(wts))
			}
			done, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{Discard: true})
			if err != nil || done.Branch != "wt/a" {
				t.Fatalf("discarding: %+v, %v", done, err)
			}
			if got := tr.left(wts); got != "" {
				t.Errorf("there is %s", got)
			}
			tr.git(tr.root, "branch", "back", done.Head)
		})
	}
}

func TestWhatIsElsewhereTooIsNotLostWithAWorktree(t *testing.T) {
	for what, change := range map[string]func(tr *trap, h *workspace.HeldWorktree){
		"a branch":    func(tr *trap, h *workspace.HeldWorktree) { tr.git(h.Path, "branch", "other") },
		"checked out": func(tr *trap, h *workspace.HeldWorktree) { tr.git(h.Path, "checkout", "-q", "-b", "other") },
		"a tag":       func(tr *trap, h *workspace.HeldWorktree) { tr.git(h.Path, "tag", "v1") },
		"a remote": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "update-ref", "refs/remotes/origin/x", "HEAD")
		},
		"merged": func(tr *trap, h *workspace.HeldWorktree) { tr.git(tr.root, "merge", "-q", "wt/a") },
		"an ignored file": func(tr *trap, h *workspace.HeldWorktree) {
			tr.git(h.Path, "tag", "v1")
			put(tr, tr.root+"/.git/info/exclude", "*.o\n", 0o644)
			put(tr, h.Path+"/x.o", "x", 0o644)
		},
	} {
		t.Run(what, func(t *testing.T) {
			tr := newTrap(t)
			wts := tr.clean(tr.root)
			h := tr.add(wts, "a", "")
			tr.git(h.Path, "commit", "-q", "--allow-empty", "-m", "mine")
			change(tr, h)
			if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := tr.left(wts); got != "" {
				t.Errorf("there is %s", got)
			}
		})
	}
}

func TestAWorktreeWithASubmoduleThatIsNotEmptyIsKept(t *testing.T) {
	tr := newTrap(t)
	tr.clean(tr.root + "/other")
	wts := tr.clean(tr.root + "/main")
	tr.git(tr.root+"/main", "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", tr.root+"/other", "sub")
	tr.git(tr.root+"/main", "commit", "-q", "-m", "submodule")
	h := tr.add(wts, "a", "")
	if list, err := os.ReadDir(h.Path + "/sub"); err != nil || len(list) > 0 || len(h.Notes) != 1 || !strings.Contains(h.Notes[0], "submodules are empty") {
		t.Errorf("%v, %v, it says %q", list, err, h.Notes)
	}
	tr.git(h.Path, "-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
	put(t, h.Path+"/sub/f.txt", "work\n", 0o644)
	var loss *workspace.WorktreeLossError
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{}); !errors.As(err, &loss) || !strings.Contains(err.Error(), "1 submodule that is not empty (sub)") {
		t.Fatalf("removing says %v", err)
	}
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{Discard: true}); err != nil {
		t.Fatal(err)
	}
	// A repository that is a submodule has worktrees as well.
	sub := tr.trees(tr.root + "/main/sub")
	if sub.Main() != tr.root+"/main/sub" {
		t.Errorf("its main checkout is %s", sub.Main())
	}
	if _, err := tr.add(sub, "b", "").Remove(t.Context(), workspace.WorktreeRemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestTheBranchOfAWorktreeIsGoneOnWith(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	tr.git(tr.root, "branch", "wt/a", "side")
	h := tr.add(wts, "a", "")
	if text, _ := os.ReadFile(h.Path + "/g.odd"); string(text) != "side\n" {
		t.Errorf("it has %q", text)
	}
	var used *workspace.BranchUsedError
	tr.git(tr.root, "worktree", "add", "-q", "-b", "wt/b", tr.root+"/elsewhere")
	if _, err := wts.Add(t.Context(), "b", workspace.WorktreeAddOptions{}); !errors.As(err, &used) || used.Path != tr.root+"/elsewhere" {
		t.Errorf("checked out elsewhere: %v", err)
	}
	if text, _ := os.ReadFile(tr.add(wts, "c", "side").Path + "/g.odd"); string(text) != "side\n" {
		t.Errorf("from a base it has %q", text)
	}
	for _, base := range []string{"--help", "-x", "nothing", "HEAD:f.txt", "a\nb", "HEAD --not"} {
		if _, err := wts.Add(t.Context(), "d", workspace.WorktreeAddOptions{Base: base}); err == nil || !strings.Contains(err.Error(), "is no branch, tag or commit") {
			t.Errorf("from %q: %v", base, err)
		}
	}
	tr.git(tr.root, "checkout", "-q", "--detach", "main")
	tr.free(tr.add(wts, "e", ""))
	if got := tr.git(tr.root, "rev-parse", "wt/e", "main"); strings.Fields(got)[0] != strings.Fields(got)[1] {
		t.Errorf("from a detached HEAD it begins at %s", got)
	}
	tr.git(tr.root, "branch", "wt/f")
	if _, err := wts.Add(t.Context(), "f", workspace.WorktreeAddOptions{Fresh: true}); !errors.Is(err, workspace.ErrWorktreeExists) {
		t.Errorf("with a branch that is to be new: %v", err)
	}
	if _, err := wts.Add(t.Context(), "e", workspace.WorktreeAddOptions{}); !errors.Is(err, workspace.ErrWorktreeExists) {
		t.Errorf("a second time: %v", err)
	}
}

func TestWorktreesAreRefusedWhereThereCanBeNone(t *testing.T) {
	tr := newTrap(t)
	open := func(dir string) error {
		_, err := workspace.OpenWorktrees(t.Context(), dir, workspace.WorktreeOptions{State: tr.programs})
		return err
	}
	if err := open(tr.root); !errors.Is(err, workspace.ErrNoRepository) {
		t.Errorf("without a repository: %v", err)
	}
	tr.git(tr.root, "init", "-q", "-b", "main", "empty")
	if _, err := tr.trees(tr.root+"/empty").Add(t.Context(), "a", workspace.WorktreeAddOptions{}); !errors.Is(err, workspace.ErrNoCommit) {
		t.Errorf("without a commit: %v", err)
	}
	tr.clean(tr.root + "/one")
	tr.git(tr.root, "clone", "-q", "--bare", "one", "bare")
	tr.git(tr.root+"/bare", "worktree", "add", "-q", tr.root+"/linked")
	for _, dir := range []string{"bare", "linked"} {
		if err := open(tr.root + "/" + dir); !errors.Is(err, workspace.ErrNoCheckout) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	if _, err := workspace.OpenWorktrees(t.Context(), tr.root+"/one", workspace.WorktreeOptions{}); err == nil {
		t.Error("without a state folder there are some")
	}
}

func TestTheNameOfAWorktreeLeadsNowhereElse(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	for _, name := range []string{"", ".", "..", "a/b", `a\b`, "../x", "A", "Fix", "-x", "a b", "a\n", "ä", "a.lock", "con", "com1", strings.Repeat("a", 41)} {
		if err := workspace.CheckWorktreeName(name); err == nil {
			t.Errorf("%q is a name", name)
		}
		if _, err := wts.Add(t.Context(), name, workspace.WorktreeAddOptions{}); err == nil {
			t.Errorf("%q is made", name)
		}
		if _, err := wts.Remove(t.Context(), name, workspace.WorktreeRemoveOptions{Discard: true}); err == nil {
			t.Errorf("%q is removed", name)
		}
	}
	for _, name := range []string{"a", "0", "a-", "com", "com10", strings.Repeat("a", 40)} {
		if err := workspace.CheckWorktreeName(name); err != nil {
			t.Error(err)
		}
	}
	if got := tr.left(wts); got != "" {
		t.Errorf("there is %s", got)
	}
}

func TestWorktreesAreNotReachedByLinks(t *testing.T) {
	for _, part := range []string{".oneloop", ".oneloop/worktrees", ".oneloop/worktrees/a"} {
		t.Run(part, func(t *testing.T) {
			tr := newTrap(t)
			wts := tr.clean(tr.root)
			elsewhere := real(t, t.TempDir())
			put(t, elsewhere+"/kept", "x", 0o644)
			if err := os.MkdirAll(filepath.Dir(filepath.Join(tr.root, part)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(elsewhere, filepath.Join(tr.root, part)); err != nil {
				t.Fatal(err)
			}
			_, err := wts.Add(t.Context(), "a", workspace.WorktreeAddOptions{})
			_, err2 := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{Discard: true})
			_, err3 := wts.Hold(t.Context(), "a")
			for _, err := range []error{err, err2, err3} {
				if err == nil || !strings.Contains(err.Error(), "symbolic link") {
					t.Errorf("it says %v", err)
				}
			}
			if got := names(t, elsewhere); got != "kept" {
				t.Errorf("elsewhere there is %s", got)
			}
		})
	}
}

func TestWhatAWorktreeLinksToStays(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	elsewhere := real(t, t.TempDir())
	put(t, elsewhere+"/dir/kept", "x", 0o444)
	h := tr.add(wts, "a", "")
	if err := os.Symlink(elsewhere+"/dir", h.Path+"/link"); err != nil {
		t.Fatal(err)
	}
	put(t, h.Path+"/cache/module/file", "x", 0o444)
	for _, dir := range []string{h.Path + "/cache/module", h.Path + "/cache", elsewhere + "/dir"} {
		if err := os.Chmod(dir, 0o555); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{Discard: true}); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(elsewhere + "/dir")
	if err != nil || info.Mode().Perm() != 0o555 || names(t, elsewhere+"/dir") != "kept" {
		t.Errorf("%v, %v", info, err)
	}
	os.Chmod(elsewhere+"/dir", 0o755)
	if got := tr.left(wts); got != "" {
		t.Errorf("there is %s", got)
	}
}

func TestACommittedOneloopFolderDoesNotGetInTheWay(t *testing.T) {
	tr := newTrap(t)
	tr.clean(tr.root)
	put(t, tr.root+"/.oneloop/settings.json", "{}\n", 0o644)
	tr.git(tr.root, "add", ".oneloop")
	tr.git(tr.root, "commit", "-q", "-m", "settings")
	wts := tr.trees(tr.root)
	h := tr.add(wts, "a", "")
	if out := tr.git(tr.root, "status", "--porcelain"); out != "" {
		t.Errorf("git status says %s", out)
	}
	if names(t, h.Path+"/.oneloop") != "settings.json" {
		t.Errorf("in it is %s", names(t, h.Path+"/.oneloop"))
	}
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{}); err != nil {
		t.Error(err)
	}
}

func TestALockedWorktreeIsKept(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	tr.free(tr.add(wts, "a", ""))
	tr.git(tr.root, "worktree", "lock", "--reason", "on a stick", ".oneloop/worktrees/a")
	for _, discard := range []bool{false, true} {
		var locked *workspace.WorktreeLockedError
		if _, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{Discard: discard}); !errors.As(err, &locked) || locked.Reason != "on a stick" {
			t.Errorf("it says %v", err)
		}
	}
}

func TestAWorktreeThatSomebodyWorksInIsKept(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	h := tr.add(wts, "a", "")
	tr.free(h)
	// Another process, which is killed then.
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "WORKSPACE_TEST_HOLD="+tr.root, "WORKSPACE_TEST_STATE="+filepath.Dir(tr.hits)+"/state")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "held\n" {
		t.Fatalf("it says %q, %v", line, err)
	}
	for what, err := range map[string]error{
		"hold": func() error { _, err := wts.Hold(t.Context(), "a"); return err }(),
		"remove": func() error {
			_, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{Discard: true})
			return err
		}(),
		"add": func() error { _, err := wts.Add(t.Context(), "a", workspace.WorktreeAddOptions{}); return err }(),
	} {
		if !errors.Is(err, workspace.ErrWorktreeUsed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	cmd.Process.Kill()
	cmd.Wait()
	if h, err = wts.Hold(t.Context(), "a"); err != nil {
		t.Fatalf("once it is gone: %v", err)
	}
	tr.free(h)
}

// holdWorktree is the other process.
func holdWorktree(dir, state string) {
	ctx := context.Background()
	wts, err := workspace.OpenWorktrees(ctx, dir, workspace.WorktreeOptions{State: state})
	if err == nil {
		_, err = wts.Hold(ctx, "a")
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("held")
	select {}
}

// TestAWorktreeThatIsHalfMadeIsTakenAway ends the work at each call of git, as
// the end of the program would.
func TestAWorktreeThatIsHalfMadeIsTakenAway(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: the git that stops is a shell script")
	}
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	for _, what := range []string{"add", "remove"} {
		for at := 1; ; at += 2 { // each is two: its settings are read first
			if at > 200 {
				t.Fatalf("%s never comes to its end", what)
			}
			if what == "add" {
				if _, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{Discard: true}); err != nil && !errors.Is(err, workspace.ErrNoWorktree) {
					t.Fatal(err)
				}
			}
			// A git of which the call at that number, and all later ones, fail.
			bin := t.TempDir()
			put(t, bin+"/git", fmt.Sprintf("#!/bin/sh\necho x >> %s/calls\n[ $(wc -l < %[1]s/calls) -lt %d ] || exit 9\nexec %s \"$@\"\n", bin, at, git), 0o755)
			broken, err := workspace.OpenWorktrees(t.Context(), tr.root, workspace.WorktreeOptions{
				State: filepath.Dir(tr.hits) + "/state",
				Env:   append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH")),
			})
			if err != nil {
				continue // before anything is done
			}
			if what == "add" {
				var h *workspace.HeldWorktree
				if h, err = broken.Add(t.Context(), "a", workspace.WorktreeAddOptions{}); err == nil {
					tr.free(h)
				}
			} else {
				_, err = broken.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{})
			}
			done := err == nil
			if _, err := wts.Prune(t.Context()); err != nil {
				t.Fatalf("%s, call %d: %v", what, at, err)
			}
			whole := "a:wt/a: a wt/a git:1 note:a"
			switch got := tr.left(wts); {
			case done && what == "add" && got != whole, done && what == "remove" && got != "":
				t.Fatalf("%s, done: there is %q", what, got)
			case got != whole && got != "":
				t.Errorf("%s, call %d: there is %q", what, at, got)
			case what == "add" && !done && got != "":
				t.Errorf("%s, call %d: there is %q", what, at, got)
			}
			// It can be had again in any case.
			h, err := wts.Hold(t.Context(), "a")
			if errors.Is(err, workspace.ErrNoWorktree) {
				h, err = wts.Add(t.Context(), "a", workspace.WorktreeAddOptions{})
			}
			if err != nil {
				t.Fatalf("%s, call %d: %v", what, at, err)
			}
			tr.free(h)
			if done {
				if at < 5 {
					t.Errorf("it takes %d calls only: nothing was tried", at)
				}
				break
			}
		}
	}
}

func TestAFolderThatIsGoneIsNoObstacle(t *testing.T) {
	tr := newTrap(t)
	wts := tr.clean(tr.root)
	h := tr.add(wts, "a", "")
	tr.git(h.Path, "commit", "-q", "--allow-empty", "-m", "mine")
	tr.free(h)
	if err := os.RemoveAll(h.Path); err != nil {
		t.Fatal(err)
	}
	if _, err := wts.Hold(t.Context(), "a"); err == nil {
		t.Error("it can be worked in")
	}
	if _, err := wts.Remove(t.Context(), "a", workspace.WorktreeRemoveOptions{}); err == nil {
		t.Error("the commit is lost")
	}
	h = tr.add(wts, "a", "")
	if out := tr.git(h.Path, "log", "-1", "--format=%s"); out != "mine\n" {
		t.Errorf("it begins at %s", out)
	}
	if _, err := h.Remove(t.Context(), workspace.WorktreeRemoveOptions{Discard: true}); err != nil {
		t.Error(err)
	}
}
