package prompt_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"oneloop/prompt"
)

// put writes a file below dir.
func put(t *testing.T, dir, name, text string) string {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return at
}

// tempDir is a folder by its real path.
func tempDir(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func names(in *prompt.Instructions) (list []string) {
	for _, f := range in.Files {
		list = append(list, f.Name)
	}
	return list
}

func all(prompt.Instruction) bool { return true }

func TestOfAFolderCLAUDEStandsInWhereThereIsNoAGENTS(t *testing.T) {
	for _, c := range []struct{ have, want []string }{
		{[]string{"AGENTS.md", "CLAUDE.md", ".claude/CLAUDE.md"}, []string{"AGENTS.md"}},
		{[]string{"CLAUDE.md", ".claude/CLAUDE.md"}, []string{"CLAUDE.md"}},
		{[]string{".claude/CLAUDE.md", ".oneloop/AGENTS.md", "CLAUDE.local.md"}, []string{".claude/CLAUDE.md", ".oneloop/AGENTS.md", "CLAUDE.local.md"}},
		{[]string{"AGENTS.md", ".claude/rules/b/c.md", ".claude/rules/a.md", ".oneloop/rules/z.md", ".claude/rules/x.txt"},
			[]string{"AGENTS.md", ".oneloop/rules/z.md", ".claude/rules/a.md", ".claude/rules/b/c.md"}},
		{nil, nil},
	} {
		dir := tempDir(t)
		for _, name := range c.have {
			put(t, dir, name, "in "+name)
		}
		in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
		if diff := cmp.Diff(c.want, names(in)); diff != "" || len(in.Notices) > 0 {
			t.Errorf("%v: %s %q", c.have, diff, in.Notices)
		}
	}
}

func TestALinkAmongRulesIsNamed(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "shared.md", "text")
	put(t, dir, ".claude/rules/a.md", "a rule")
	if err := os.Symlink("../../shared.md", filepath.Join(dir, ".claude/rules/b.md")); err != nil {
		t.Skip(err)
	}
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
	if want := []string{".claude/rules/a.md"}; !slices.Equal(names(in), want) {
		t.Errorf("%q instruct, want %q", names(in), want)
	}
	if len(in.Notices) != 1 || !strings.Contains(in.Notices[0], ".claude/rules/b.md") || !strings.Contains(in.Notices[0], "link") {
		t.Errorf("the notices are %q", in.Notices)
	}
}

func TestInstructionsReachFromTheTopOfTheRepositoryToTheFolder(t *testing.T) {
	top := tempDir(t)
	put(t, top, "AGENTS.md", "above")
	put(t, top, "repo/.git", "gitdir: /elsewhere") // as in a worktree
	put(t, top, "repo/CLAUDE.md", "top")
	put(t, top, "repo/.claude/rules/a.md", "a rule of the top")
	put(t, top, "repo/a/b/AGENTS.md", "folder")
	put(t, top, "repo/a/b/c/AGENTS.md", "below")
	dir := filepath.Join(top, "repo/a/b")
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
	if diff := cmp.Diff([]string{"../../CLAUDE.md", "AGENTS.md"}, names(in)); diff != "" || in.Top() != filepath.Join(top, "repo") {
		t.Errorf("%s, from %s", diff, in.Top())
	}
	// A home that is a repository is none of the work in it.
	in = prompt.FindInstructions(prompt.InstructionOptions{Dir: dir, Home: filepath.Join(top, "repo")})
	if diff := cmp.Diff([]string{"AGENTS.md"}, names(in)); diff != "" || in.Top() != dir {
		t.Errorf("%s, from %s", diff, in.Top())
	}
	// Nor is what anybody could have put above.
	if err := os.Chmod(filepath.Join(top, "repo"), 0o777); err != nil {
		t.Fatal(err)
	}
	if in = prompt.FindInstructions(prompt.InstructionOptions{Dir: dir}); in.Top() != dir {
		t.Errorf("from %s, which everybody may write in", in.Top())
	}
}

func TestTheUsersOwnInstructionsComeFirstAndOneFileOfThem(t *testing.T) {
	dir, home := tempDir(t), tempDir(t)
	put(t, dir, "AGENTS.md", "folder")
	put(t, home, "deep/x.md", "mine too")
	own := []string{filepath.Join(home, "gone.md"), put(t, home, "a.md", "see @deep/x.md and @~/deep/x.md"), put(t, home, "b.md", "not this")}
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir, Home: home, Own: own})
	if diff := cmp.Diff([]string{own[1], filepath.Join(home, "deep/x.md"), "AGENTS.md"}, names(in)); diff != "" {
		t.Error(diff)
	}
	text, _ := in.Text(prompt.RenderOptions{}) // nothing of the folder may
	if !strings.Contains(text, "mine too") || strings.Contains(text, "\nfolder\n") || !prompt.AreInstructions(text) {
		t.Error(text)
	}
}

func TestImportsAreFollowedWithinBoundsAndNeverInACircle(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "AGENTS.md", "@a/1.md")
	for i := range 7 {
		put(t, dir, fmt.Sprintf("a/%d.md", i), fmt.Sprintf("number %d: @%d.md, @../AGENTS.md and @gone.md", i, i+1))
	}
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
	want := []string{"AGENTS.md", "a/1.md", "a/2.md", "a/3.md", "a/4.md", "a/5.md"}
	if diff := cmp.Diff(want, names(in)); diff != "" {
		t.Error(diff)
	}
	if said := strings.Join(in.Notices, "\n"); !strings.Contains(said, "6.md (in a/5.md)") || !strings.Contains(said, "gone.md (in a/1.md) does not instruct the model: there is no such file") {
		t.Error(said)
	}
	// Whoever is not trusted brings nobody along.
	text, _ := in.Text(prompt.RenderOptions{May: func(f prompt.Instruction) bool { return f.Name != "a/2.md" }})
	if !strings.Contains(text, "number 1") || strings.Contains(text, "number 3") {
		t.Error(text)
	}
}

func TestNoImportAndNoLinkLeadsOutOfTheRepository(t *testing.T) {
	top := tempDir(t)
	secret := put(t, top, "secret.md", "canary")
	put(t, top, "repo/.git/HEAD", "")
	put(t, top, "repo/inside.md", "inside")
	dir := filepath.Join(top, "repo/sub")
	put(t, dir, "AGENTS.md", "@../../secret.md @"+secret+" @~/secret.md @link.md @loop.md @folder.md @../inside.md @key.md\n")
	put(t, dir, "key.md", "canary")
	for name, to := range map[string]string{"link.md": secret, "loop.md": "loop.md", "CLAUDE.local.md": "../../secret.md", "folder.md": "../../../"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir, Home: top, Private: func(path string) bool { return path == filepath.Join(dir, "key.md") }})
	if diff := cmp.Diff([]string{"AGENTS.md", "../inside.md"}, names(in)); diff != "" {
		t.Error(diff)
	}
	for _, want := range []string{"../../secret.md (in AGENTS.md)", secret + " (in", "~/secret.md (in", "link.md does", "CLAUDE.local.md does", "loop.md does", "key.md (in AGENTS.md) does not instruct the model: files of that name hold credentials"} {
		if !slices.ContainsFunc(in.Notices, func(n string) bool { return strings.Contains(n, want) }) {
			t.Errorf("nothing is said of %s: %q", want, in.Notices)
		}
	}
}

func TestWhatIsNoTextOrTooLargeIsLeftOutAndSaid(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "AGENTS.md", "@a.md @b.md @c.md @AGENTS.md")
	put(t, dir, "a.md", "a\x00b")
	put(t, dir, "b.md", strings.Repeat("x", 1<<20+1))
	put(t, dir, "c.md", "\ufeffwith a mark")
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
	if diff := cmp.Diff([]string{"AGENTS.md", "c.md"}, names(in)); diff != "" || len(in.Notices) != 2 || in.Files[1].Text != "with a mark" {
		t.Errorf("%s: %q", diff, in.Notices)
	}
}

func TestOfVeryManyInstructionsTheNearestAreReadAndLittleIsSaid(t *testing.T) {
	top, dead := tempDir(t), ""
	put(t, top, ".git/HEAD", "")
	for i := range 49 {
		dead += fmt.Sprintf("@gone%d.md ", i)
		put(t, top, fmt.Sprintf("%d.md", i), fmt.Sprintf("number %d", i))
		put(t, top, fmt.Sprintf("sub/.claude/rules/%d.md", i), fmt.Sprintf("rule %d", i))
	}
	put(t, top, "AGENTS.md", strings.NewReplacer("gone", "").Replace(dead))
	put(t, top, "sub/AGENTS.md", dead)
	find := func() *prompt.Instructions {
		return prompt.FindInstructions(prompt.InstructionOptions{Dir: filepath.Join(top, "sub")})
	}
	in := find()
	list := names(in)
	if len(list) != 60 || list[0] != "../AGENTS.md" || list[10] != "AGENTS.md" || list[59] != ".claude/rules/9.md" {
		t.Errorf("%d files: %v", len(list), list)
	}
	if n := len(in.Notices); n != 13 || !strings.Contains(in.Notices[12], "and 38 more") {
		t.Errorf("%d notices: %q", n, in.Notices)
	}
	// Nor is much read of what is of no use.
	for i := range 49 {
		put(t, top, fmt.Sprintf("sub/.claude/rules/%d.md", i), strings.Repeat("\x00", 1<<20-i))
	}
	put(t, top, "sub/AGENTS.md", "few")
	in = find()
	if diff := cmp.Diff([]string{"AGENTS.md"}, names(in)); diff != "" || len(in.Notices) != 6 || !strings.Contains(in.Notices[5], "60 files and 4 MiB are the most") {
		t.Errorf("%s%q", diff, in.Notices)
	}
}

func TestWhatWasNotThereIsNotLookedForAgain(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "AGENTS.md", "came later")
	if in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir, Present: []string{}}); len(in.Files) > 0 {
		t.Errorf("%v", names(in))
	}
}

func TestInstructionsThatAreTooLongKeepWhatIsNearest(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, ".git/HEAD", "")
	put(t, dir, "AGENTS.md", strings.Repeat("general 字\n", 100))
	put(t, dir, "sub/AGENTS.md", strings.Repeat("near\n", 20))
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: filepath.Join(dir, "sub")})
	text, notices := in.Text(prompt.RenderOptions{May: all, Max: 203})
	if strings.Count(text, "near\n") != 20 || strings.Count(text, "general 字\n") != 8 || len(notices) != 1 {
		t.Errorf("%q\n%s", notices, text)
	}
	if !strings.Contains(text, "more bytes are in ../AGENTS.md") || !strings.Contains(notices[0], "../AGENTS.md is too long: the last") {
		t.Errorf("%q\n%s", notices, text)
	}
	for n := range 40 { // no character is cut in two
		if text, _ := in.Text(prompt.RenderOptions{May: all, Max: 100 + n}); strings.ToValidUTF8(text, "?") != text {
			t.Errorf("%d: %s", n, text)
		}
	}
}

func TestHiddenCharactersAndSecretsOfInstructionsShow(t *testing.T) {
	dir := tempDir(t)
	put(t, dir, "AGENTS.md", "be\U000e0041\u202e brief, 👩\u200d💻, canary-secret")
	in := prompt.FindInstructions(prompt.InstructionOptions{Dir: dir})
	text, notices := in.Text(prompt.RenderOptions{May: all, Put: func(s string) string { return strings.ReplaceAll(s, "canary-secret", "[masked]") }})
	if !strings.Contains(text, `be\U000e0041\u202e brief, 👩`+"\u200d💻, [masked]") || len(notices) != 1 || !strings.Contains(notices[0], "2 characters") {
		t.Errorf("%q %q", text, notices)
	}
}
