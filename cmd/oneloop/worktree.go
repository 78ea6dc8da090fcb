package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"oneloop"
	"oneloop/internal/tui"
	"oneloop/workspace"
)

// worktree is the worktree that a session works in.
type worktree struct {
	*workspace.HeldWorktree
	main  string // the main checkout
	own   bool   // --worktree asked for it: at the end it is removed if nothing would be lost
	begun bool   // the session has
}

// begin notes that the session has begun, so that there is something to say at
// its end.
func (t *worktree) begin() {
	if t != nil {
		t.begun = true
	}
}

// endTime is how long the end of a session may take to look at its worktree
// and remove it.
const endTime = 2 * time.Minute

// worktrees are those of the repository that dir is in. The settings are read
// before.
func (p *program) worktrees(ctx context.Context, dir string) (*workspace.Worktrees, error) {
	switch {
	case p.settings.StateDir == "":
		return nil, &codeError{exitConfig, errors.New(p.words.NothingKept)}
	case !p.trusts():
		return nil, &codeError{exitConfig, fmt.Errorf(p.words.TreeUntrusted, dir)}
	}
	trees, err := workspace.OpenWorktrees(ctx, dir, workspace.WorktreeOptions{State: p.settings.StateDir, Env: workspace.Scrub(p.env, p.settings.Secrets())})
	if err != nil {
		return nil, p.treeError(err, "")
	}
	if half, err := trees.Prune(ctx); err != nil {
		fmt.Fprintln(p.stderr, "oneloop: "+tui.Visible(err.Error()))
	} else if len(half) > 0 {
		fmt.Fprintf(p.stderr, "oneloop: "+p.words.TreeHalf+"\n", strings.Join(half, ", "))
	}
	return trees, nil
}

// treeError is err for the user.
func (p *program) treeError(err error, name string) error {
	var used *workspace.BranchUsedError
	switch {
	case errors.Is(err, workspace.ErrNoRepository):
		err = errors.New(p.words.TreeNoRepository)
	case errors.Is(err, workspace.ErrNoCommit):
		err = errors.New(p.words.TreeNoCommit)
	case errors.Is(err, workspace.ErrNoCheckout):
		err = errors.New(p.words.TreeBare)
	case errors.Is(err, workspace.ErrWorktreeUsed):
		err = fmt.Errorf(p.words.TreeUsed, name)
	case errors.Is(err, workspace.ErrNoWorktree):
		err = fmt.Errorf(p.words.TreeNone, name)
	case errors.As(err, &used):
		err = fmt.Errorf(p.words.TreeBranch, used.Branch, used.Path)
	}
	return &codeError{exitConfig, err}
}

// enter takes the session into a worktree if --worktree asks for it, and gives
// the folder that is worked in. leave is to be called at the end, once nothing
// runs in it any more.
func (p *program) enter(ctx context.Context, dir string, ask oneloop.Ask) (work string, err error) {
	if !p.opts.anyTree && p.opts.tree == "" {
		return dir, nil
	}
	// Git reads the folder, so it is trusted first, as it is without a worktree.
	if err := p.loadSettings(ctx, dir, ask); err != nil {
		return "", err
	}
	trees, err := p.worktrees(ctx, dir)
	if err != nil {
		return "", err
	}
	held, err := p.worktree(ctx, trees, p.opts.tree)
	if err != nil {
		return "", p.treeError(err, p.opts.tree)
	}
	p.tree = &worktree{HeldWorktree: held, main: trees.Main(), own: true}
	for _, note := range held.Notes {
		fmt.Fprintf(p.stderr, "oneloop: %s\n", note)
	}
	return held.Path, nil
}

// worktree takes the one of that name, which it makes if there is none; empty:
// a new one.
func (p *program) worktree(ctx context.Context, trees *workspace.Worktrees, name string) (*workspace.HeldWorktree, error) {
	if name != "" {
		held, err := trees.Hold(ctx, name)
		if errors.Is(err, workspace.ErrNoWorktree) {
			held, err = trees.Add(ctx, name, workspace.WorktreeAddOptions{})
		}
		return held, err
	}
	for tries := 0; ; tries++ {
		held, err := trees.Add(ctx, madeUp(tries), workspace.WorktreeAddOptions{Fresh: true})
		if err == nil || tries > 20 || !errors.Is(err, workspace.ErrWorktreeExists) && !errors.Is(err, workspace.ErrWorktreeUsed) {
			return held, err
		}
	}
}

// madeUp is a name that can be read and said.
func madeUp(tries int) string {
	how := strings.Fields("amber bold brisk calm clear crisp early fair fleet gentle green keen late light lively lucid mellow mild neat noble plain quick quiet ready round sharp silver sober solid still sunny swift tidy warm wide wise")
	what := strings.Fields("alder aspen badger beaver birch brook cedar cliff comet crane delta dune ember falcon fern finch fjord grove harbor heron island juniper lark lagoon maple meadow orchard otter pebble pine raven reef ridge river sparrow spruce summit tern thicket valley willow")
	name := how[rand.IntN(len(how))] + "-" + what[rand.IntN(len(what))]
	if tries > 5 {
		name = fmt.Sprintf("%s-%d", name, rand.IntN(1000))
	}
	return name
}

// stay holds the worktree that dir is in, where the session was not taken into
// it: nobody is to remove it meanwhile. It stays at the end.
func (p *program) stay(ctx context.Context, dir string) error {
	main, name := inTree(dir)
	if p.tree != nil || main == "" || p.settings.StateDir == "" || !p.trusts() {
		return nil
	}
	trees, err := workspace.OpenWorktrees(ctx, dir, workspace.WorktreeOptions{State: p.settings.StateDir, Env: workspace.Scrub(p.env, p.settings.Secrets())})
	if err != nil || trees.Main() != main {
		return nil // it only looks like one
	}
	held, err := trees.Hold(ctx, name)
	switch {
	case errors.Is(err, workspace.ErrWorktreeUsed):
		return p.treeError(err, name)
	case err != nil:
		return nil
	}
	p.tree = &worktree{HeldWorktree: held, main: main}
	return nil
}

// inTree gives the main checkout and the name of the worktree that a folder
// would lie in by its path; empty: in none.
func inTree(dir string) (main, name string) {
	parts := strings.Split(filepath.ToSlash(realPath(dir)), "/")
	for i := len(parts) - 3; i > 0; i-- {
		if parts[i] == ".oneloop" && parts[i+1] == "worktrees" && workspace.CheckWorktreeName(parts[i+2]) == nil {
			return filepath.FromSlash(strings.Join(parts[:i], "/")), parts[i+2]
		}
	}
	return "", ""
}

// like is the main checkout where dir is one of its worktrees, by its path: what
// the user trusts there is trusted here where it is the same. Empty for others.
func like(dir string) string {
	main, name := inTree(dir)
	if main == "" || realPath(dir) != filepath.Join(main, ".oneloop", "worktrees", name) {
		return ""
	}
	return main
}

// leaveTree ends the work in a worktree: it is removed where nothing would be
// lost, else one line says where it is and what can be done.
func (p *program) leaveTree(ctx context.Context) {
	t := p.tree
	if t == nil {
		return
	}
	p.tree = nil
	if !t.own {
		t.Release() // the end of the process does it too
		return
	}
	// A signal that ended the session does not keep it from being tidied up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	_, err := t.Remove(ctx, workspace.WorktreeRemoveOptions{})
	if err == nil {
		if t.begun {
			fmt.Fprintf(p.stderr, p.words.TreeGone+"\n", t.Name)
		}
		return
	}
	var loss *workspace.WorktreeLossError
	if errors.As(err, &loss) {
		fmt.Fprintf(p.stderr, p.words.TreeKept+"\n", tui.Visible(t.Path), p.lossOf(loss.State), t.Name)
	} else {
		fmt.Fprintf(p.stderr, p.words.TreeStays+"\n", tui.Visible(t.Path), tui.Visible(err.Error()))
	}
	t.Release()
}

// lossOf says in the user's language what would be lost.
func (p *program) lossOf(s workspace.WorktreeState) string {
	var parts []string
	for _, l := range []struct {
		n    int
		say  func(int) string
		list []string
	}{
		{s.Changes, p.words.Changes, s.Changed},
		{s.Ahead, p.words.Ahead, s.Commits},
		{len(s.Hidden), p.words.Unseen, s.Hidden},
		{len(s.Submodules), p.words.Submodules, s.Submodules},
	} {
		if l.n == 0 {
			continue
		}
		text := l.say(l.n)
		if shown := min(len(l.list), 3); shown > 0 {
			more := strings.Join(l.list[:shown], ", ")
			if l.n > shown {
				more += ", …"
			}
			text += " (" + ofTree(more) + ")"
		}
		parts = append(parts, text)
	}
	if s.Doing != "" {
		parts = append(parts, fmt.Sprintf(p.words.TreeDoing, s.Doing))
	}
	if s.Broken != "" {
		parts = append(parts, fmt.Sprintf(p.words.TreeBroken, ofTree(s.Broken)))
	}
	return strings.Join(parts, p.words.TreeAnd)
}

// ofTree is text from a repository as part of a line.
func ofTree(text string) string { return tui.Visible(oneLine(text)) }

// noTree says of a session whose worktree is gone what can be done; nil: it is
// there.
func (p *program) noTree(id, dir string) error {
	main, name := inTree(dir)
	if main == "" || p.opts.tree != "" || p.opts.anyTree || p.opts.dir != "" {
		return nil
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return usagef(p.words.TreeSession, id, name, tui.Visible(main))
}

// treesCommand is `oneloop team worktrees`.
func (p *program) treesCommand(ctx context.Context) error {
	words := p.opts.words[1:]
	dir, err := p.folder()
	if err != nil {
		return err
	}
	if err := p.loadSettings(ctx, dir, nil); err != nil {
		return err
	}
	trees, err := p.worktrees(ctx, dir)
	if err != nil {
		return err
	}
	text, err := p.treesDo(ctx, trees, words, p.opts.discard)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, text)
	return err
}

// treesDo lists worktrees or removes one, and gives what is to be said.
func (p *program) treesDo(ctx context.Context, trees *workspace.Worktrees, words []string, discard bool) (string, error) {
	switch {
	case len(words) == 0, len(words) == 1 && words[0] == "list" && !discard:
		return p.listTrees(ctx, trees)
	case len(words) != 2 || words[0] != "remove":
		return "", usagef("oneloop %s", p.words.TreeUsage)
	}
	name := words[1]
	if err := workspace.CheckWorktreeName(name); err != nil {
		return "", usagef("%v", err)
	}
	done, err := trees.Remove(ctx, name, workspace.WorktreeRemoveOptions{Discard: discard})
	var loss *workspace.WorktreeLossError
	switch {
	case errors.As(err, &loss):
		return "", &codeError{exitFailed, fmt.Errorf(p.words.TreeLoss, name, p.lossOf(loss.State))}
	case err != nil:
		return "", p.treeError(err, name)
	case discard && done.Branch != "":
		return fmt.Sprintf(p.words.TreeDiscarded, name, done.Branch, done.Head), nil
	}
	return fmt.Sprintf(p.words.TreeRemoved, name), nil
}

func (p *program) listTrees(ctx context.Context, trees *workspace.Worktrees) (string, error) {
	list, err := trees.List(ctx)
	if err != nil {
		return "", p.treeError(err, "")
	}
	if len(list) == 0 {
		return fmt.Sprintf(p.words.TreeEmpty, tui.Visible(trees.Main())), nil
	}
	var lines []string
	for _, w := range list {
		how := p.words.TreeClean
		s, err := trees.State(ctx, w.Name)
		switch {
		case err != nil:
			how = ofTree(err.Error())
		case w.Broken != "" && s.Broken == "": // its folder is gone
			how = fmt.Sprintf(p.words.TreeBroken, ofTree(w.Broken))
		case !s.Clean():
			how = p.lossOf(s)
		}
		if w.Used {
			how = p.words.TreeInUse + p.words.TreeAnd + how
		}
		lines = append(lines, fmt.Sprintf("%s  %s\n    %s", w.Name, ofTree(w.Path), how))
	}
	return strings.Join(append(lines, p.words.TreeHint), "\n"), nil
}

// worktreesLine is /worktrees in a conversation.
func (c *conversation) worktreesLine(ctx context.Context, line string) {
	var words []string
	discard := false
	for _, word := range strings.Fields(line) {
		if word == "--discard" {
			discard = true
		} else {
			words = append(words, word)
		}
	}
	trees, err := c.program.worktrees(ctx, c.agent.dir)
	var text string
	if err == nil {
		text, err = c.treesDo(ctx, trees, words, discard)
	}
	if err != nil {
		text = fmt.Sprintf(c.words.ErrorLine, c.explain(err))
	}
	c.front.Say(text)
}
