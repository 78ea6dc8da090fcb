package workspace_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"oneloop/workspace"
)

// TestGoingBackGivesTheTreeOfThen makes random changes by tools, by commands
// and by somebody else, and goes back to a random prompt. What the agent has
// changed since is then as it was before its first change; what somebody else
// has changed is as it was, and listed where the agent had changed it too.
func TestGoingBackGivesTheTreeOfThen(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TRIED: links and modes")
	}
	if checks := flag.Lookup("rapid.checks"); os.Getenv("ONELOOP_SOAK") == "" && checks.Value.String() == checks.DefValue {
		t.Log("20 runs instead of 100; ONELOOP_SOAK=1 makes all")
		defer checks.Value.Set(checks.DefValue)
		checks.Value.Set("20")
	}
	rapid.Check(t, func(r *rapid.T) {
		dir, err := os.MkdirTemp("", "shot-")
		if err != nil {
			r.Fatal(err)
		}
		defer os.RemoveAll(dir)
		root := filepath.Join(real(t, dir), "work")
		if err := os.Mkdir(root, 0o755); err != nil {
			r.Fatal(err)
		}
		s := shotIn(t, root, workspace.SnapshotOptions{})
		s.state = filepath.Join(dir, "files")
		s.opts.Dir = s.state
		s.again()
		defer s.Close()
		g := &gambler{T: r, root: root}
		for range rapid.IntRange(0, 8).Draw(r, "files") {
			g.edit()
		}
		if rapid.IntRange(0, 9).Draw(r, "a repository, which takes long") == 9 {
			os.WriteFile(filepath.Join(root, "always"), nil, 0o644)
			s.commit()
			g.edit()
		}
		var prompts []int64
		for range rapid.IntRange(1, 4).Draw(r, "turns") {
			for range rapid.IntRange(0, 2).Draw(r, "of the user") {
				g.step(t, 0, g.edit)
			}
			prompts = append(prompts, s.prompt())
			for range rapid.IntRange(0, 4).Draw(r, "calls") {
				if rapid.Bool().Draw(r, "a command") {
					s.command(func() { g.step(t, s.n, func() { g.edit(); g.edit() }) })
				} else {
					g.step(t, s.n, func() { g.tool(s) })
				}
			}
			s.Rest()
			s.again()
		}
		for range rapid.IntRange(0, 2).Draw(r, "of the user") {
			g.step(t, 0, g.edit)
		}
		to := rapid.SampledFrom(prompts).Draw(r, "to")
		before := contents(t, root)
		p := s.plan(to)
		done, err := s.Apply(t.Context(), p, func(c workspace.FileChange) bool { return !c.Yours })
		if err != nil {
			r.Fatal(err)
		}
		g.check(to, before, contents(t, root), p, done)
	})
}

// gambler changes files at random.
type gambler struct {
	*rapid.T
	root  string
	made  int
	steps []step
}

// step is what one change did, and at which prompt; 0: somebody else did it.
type step struct {
	n             int64
	before, after map[string]string
}

func (g *gambler) step(t *testing.T, n int64, do func()) {
	before := contents(t, g.root)
	do()
	g.steps = append(g.steps, step{n, before, contents(t, g.root)})
}

var gambled = []string{"a", "b", "d/a", "d/b", "d/e/c", "文/件", "x\xff"}

func (g *gambler) path() string {
	names := gambled
	if runtime.GOOS != "linux" {
		names = names[:len(names)-1]
	}
	return filepath.Join(g.root, rapid.SampledFrom(names).Draw(g.T, "path"))
}

// text is new each time, but not its length.
func (g *gambler) text() []byte {
	g.made++
	return []byte(fmt.Sprintf("%03d", g.made))
}

// edit makes one change. What is in the way makes it fail, which is a change
// too few.
func (g *gambler) edit() {
	path := g.path()
	switch rapid.IntRange(0, 6).Draw(g.T, "edit") {
	case 0, 1, 2:
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, g.text(), 0o644)
	case 3:
		os.RemoveAll(path)
	case 4:
		os.Chmod(path, rapid.SampledFrom([]os.FileMode{0o600, 0o755}).Draw(g.T, "mode"))
	case 5:
		os.Rename(path, g.path())
	case 6:
		os.RemoveAll(path)
		os.Symlink(rapid.SampledFrom([]string{"a", "nowhere", "d"}).Draw(g.T, "link"), path)
	}
}

// tool changes a file as Write does.
func (g *gambler) tool(s *shot) {
	path, err := s.ws.Files().Resolve(g.path())
	if err != nil {
		return
	}
	after := s.Before(s.Context(), path)
	os.MkdirAll(filepath.Dir(path), 0o755)
	s.ws.Files().Replace(path, g.text(), 0o644)
	after()
}

func (g *gambler) check(to int64, before, now map[string]string, p *workspace.Plan, done workspace.Rewound) {
	told := map[string]bool{}
	for _, c := range p.Changes {
		if c.Yours {
			told[c.Path] = true
		}
	}
	for _, l := range slices.Concat(p.Lost, done.Failed) {
		told[l.Path] = true
	}
	all := maps.Clone(before)
	for _, st := range g.steps {
		maps.Copy(all, st.after)
	}
	for path := range all {
		want, user, since := before[path], false, false
		var first, last int64 // prompts of the agent's changes
		// Within a turn the agent can undo what nobody has looked at yet: then its
		// changes may begin later.
		undone, or := false, before[path]
		for _, st := range g.steps {
			since = since || st.n >= to
			switch {
			case !since || st.before[path] == st.after[path]:
			case st.n == 0:
				user = user || first > 0
				undone = undone || first > 0 && first == last && st.before[path] == want
			case first == 0:
				want, first, last = st.before[path], st.n, st.n
			case undone && or == before[path]:
				or = st.before[path]
				fallthrough
			default:
				last = st.n
			}
		}
		switch {
		case now[path] == want, undone && now[path] == or:
		case user && now[path] == before[path]:
			if !told[path] && !g.near(path, told) {
				g.Fatalf("%s was changed by both and is not told of; the plan said %q", path, said(p))
			}
		case g.near(path, told):
		default:
			g.Fatalf("%s was %q, ought to be %q and is %q; the plan said %q, and %v failed", path, before[path], want, now[path], said(p), done.Failed)
		}
	}
}

// near reports whether what was told is about a path, or one above or below it:
// a file of somebody else keeps its folder.
func (g *gambler) near(path string, told map[string]bool) bool {
	for name := range told {
		if name == path || strings.HasPrefix(path, name+"/") || strings.HasPrefix(name, path+"/") {
			return true
		}
	}
	return false
}
