//go:build unix

package policy_test

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"oneloop"
	"oneloop/policy"
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

// user answers questions of trust and keeps them.
type user struct {
	says  bool
	asked []oneloop.Question
}

func (u *user) ask(_ context.Context, q oneloop.Question) (oneloop.Answer, error) {
	u.asked = append(u.asked, q)
	return oneloop.Answer{Allow: u.says}, nil
}

func trust(t *testing.T, o policy.TrustOptions) *policy.Trusted {
	t.Helper()
	got, err := policy.Trust(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// all is something of every kind that is looked for.
var all = map[string]string{
	".oneloop/settings.json": "{}", ".oneloop/settings.local.json": "{}", ".claude/settings.json": "{}", ".claude/settings.local.json": "{}",
	"mcp.json": "{}", ".mcp.json": "{}", ".oneloop/mcp.json": "{}", ".oneloop/hooks/x.sh": "", ".claude/hooks/x.sh": "",
	"AGENTS.md": "", "CLAUDE.md": "", "CLAUDE.local.md": "", ".oneloop/AGENTS.md": "", ".claude/CLAUDE.md": "", ".claude/rules/a.md": "", ".oneloop/rules/a.md": "",
	".oneloop/agents/a.md": "", ".claude/agents/a.md": "", ".oneloop/commands/a.md": "", ".claude/commands/sub/a.md": "",
	".oneloop/skills/a/SKILL.md": "", ".claude/skills/a/SKILL.md": "", ".agents/skills/a/SKILL.md": "",
}

func TestEverythingThatRunsRedirectsOrInstructsIsAskedForOnce(t *testing.T) {
	for name, text := range all {
		dir, store := t.TempDir(), t.TempDir()
		at := put(t, dir, name, text)
		u := &user{says: true}
		o := policy.TrustOptions{Dir: dir, Store: store, Ask: u.ask}
		got := trust(t, o)
		if len(got.Found) != 1 || !got.Has(got.Found[0].Name) || len(u.asked) != 1 || !strings.Contains(u.asked[0].Detail, filepath.FromSlash(got.Found[0].Name)) {
			t.Errorf("%s: %+v, asked %+v", name, got, u.asked)
			continue
		}
		if trust(t, o); len(u.asked) != 1 {
			t.Errorf("%s is asked for again", name)
		}
		if err := os.WriteFile(at, []byte(text+" "), 0o600); err != nil {
			t.Fatal(err)
		}
		if trust(t, o); len(u.asked) != 2 || !strings.Contains(u.asked[1].Detail, "changed") {
			t.Errorf("%s changed and was not asked for again", name)
		}
	}
}

func TestAFolderThatBringsNothingIsNotAskedAbout(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "main.go", "package main")
	put(t, dir, "docs/AGENTS.md", "not of this folder")
	if err := os.MkdirAll(filepath.Join(dir, ".claude/skills/empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, ".agents", "no folder")
	u := &user{says: true}
	if got := trust(t, policy.TrustOptions{Dir: dir, Ask: u.ask}); len(u.asked) > 0 || len(got.Notices) > 0 {
		t.Errorf("asked %+v, said %q", u.asked, got.Notices)
	}
}

// TestWhatAKilledSandboxLeavesIsNotAskedAbout has sockets where commands were to
// make nothing.
func TestWhatAKilledSandboxLeavesIsNotAskedAbout(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir) // a socket's name must be short
	for _, name := range []string{".mcp.json", ".claude", ".oneloop"} {
		l, err := net.Listen("unix", name)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	u := &user{says: true}
	got := trust(t, policy.TrustOptions{Dir: dir, Ask: u.ask})
	if _, err := got.Read(".mcp.json"); len(u.asked) > 0 || len(got.Notices) > 0 || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("asked %+v, said %q, %v", u.asked, got.Notices, err)
	}
}

func TestANoOrNobodyMeansThatNothingIsUsed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "AGENTS.md", "x")
	failing := func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, errors.New("the terminal is gone")
	}
	for name, ask := range map[string]oneloop.Ask{"no": (&user{}).ask, "nobody": nil, "an error": failing} {
		store := filepath.Join(t.TempDir(), "trust")
		got := trust(t, policy.TrustOptions{Dir: dir, Store: store, Ask: ask})
		if _, err := got.Read("AGENTS.md"); !errors.Is(err, policy.ErrUntrusted) || got.Has("AGENTS.md") || len(got.Notices) != 1 {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
		if _, err := os.Stat(store); err == nil {
			t.Errorf("%s was kept", name)
		}
	}
	if (*policy.Trusted)(nil).Has("AGENTS.md") {
		t.Error("nil trusts something")
	}
}

func TestGrantHoldsForOneRun(t *testing.T) {
	dir, store := t.TempDir(), filepath.Join(t.TempDir(), "trust")
	put(t, dir, "AGENTS.md", "x")
	o := policy.TrustOptions{Dir: dir, Store: store, Grant: true}
	if got := trust(t, o); !got.Has("AGENTS.md") {
		t.Errorf("%+v", got)
	}
	o.Grant = false
	if got := trust(t, o); got.Has("AGENTS.md") {
		t.Error("it is remembered")
	}
}

func TestAFileIsUsedAsItWasJudged(t *testing.T) {
	dir := t.TempDir()
	at := put(t, dir, "AGENTS.md", "good")
	got := trust(t, policy.TrustOptions{Dir: dir, Ask: func(context.Context, oneloop.Question) (oneloop.Answer, error) {
		return oneloop.Answer{Allow: true}, os.WriteFile(at, []byte("evil"), 0o600)
	}})
	if data, err := got.Read("AGENTS.md"); err != nil || string(data) != "good" {
		t.Errorf("read %q, %v", data, err)
	}
	if _, err := got.Read("CLAUDE.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A folder may say that it belongs to a repository elsewhere; what the user
// trusted there is not trusted here.
func TestAttackA11TrustIsNotInheritedThroughGit(t *testing.T) {
	good, evil, store := t.TempDir(), t.TempDir(), t.TempDir()
	put(t, good, "AGENTS.md", "good")
	put(t, good, ".git/HEAD", "ref: refs/heads/main\n")
	u := &user{says: true}
	trust(t, policy.TrustOptions{Dir: good, Store: store, Ask: u.ask})
	for name, text := range map[string]string{
		".git":           "gitdir: " + filepath.Join(good, ".git") + "\n",
		".git/commondir": filepath.Join(good, ".git") + "\n",
	} {
		dir := filepath.Join(evil, strings.ReplaceAll(name, "/", "_"))
		put(t, dir, name, text)
		put(t, dir, "AGENTS.md", "good") // even the same text
		if got := trust(t, policy.TrustOptions{Dir: dir, Store: store}); got.Has("AGENTS.md") {
			t.Errorf("%s makes the folder trusted", name)
		}
	}
	below := filepath.Join(good, "sub")
	put(t, below, "AGENTS.md", "good")
	if got := trust(t, policy.TrustOptions{Dir: below, Store: store}); got.Has("AGENTS.md") {
		t.Error("a folder in a trusted one is trusted")
	}
}

// TestWhatIsTrustedHoldsForACopyWhereItIsTheSame has a worktree beside the
// folder that the user trusts: a branch can bring other settings.
func TestWhatIsTrustedHoldsForACopyWhereItIsTheSame(t *testing.T) {
	dir, copied, store := t.TempDir(), t.TempDir(), t.TempDir()
	u := &user{says: true}
	for _, at := range []string{dir, copied} {
		put(t, at, "AGENTS.md", "be brief")
		put(t, at, ".oneloop/hooks/x.sh", "exit 0")
	}
	o := policy.TrustOptions{Dir: dir, Store: store, Ask: u.ask}
	trust(t, o)
	like := policy.TrustOptions{Dir: copied, Like: dir, Store: store}
	if got := trust(t, like); !got.Approved("AGENTS.md") || !got.Approved(".oneloop/hooks") || len(got.Notices) > 0 {
		t.Errorf("what is the same is not trusted: %q", got.Notices)
	}
	put(t, copied, ".oneloop/hooks/x.sh", "exit 1")
	put(t, copied, ".mcp.json", "{}")
	if got := trust(t, like); !got.Has("AGENTS.md") || got.Has(".oneloop/hooks") || got.Has(".mcp.json") {
		t.Error("what is another is trusted, or what is the same is not")
	}
	like.Ask = u.ask
	if got := trust(t, like); !got.Has(".oneloop/hooks") || len(u.asked) != 2 || strings.Contains(u.asked[1].Detail, "AGENTS.md") || !strings.Contains(u.asked[1].Detail, "changed since you trusted it") {
		t.Errorf("it is asked %+v", u.asked)
	}
	// It is known for the copy now, and not for the folder.
	put(t, dir, ".oneloop/hooks/x.sh", "exit 1")
	if got := trust(t, policy.TrustOptions{Dir: dir, Store: store}); got.Has(".oneloop/hooks") {
		t.Error("the answer for the copy holds for the folder")
	}
	if got := trust(t, policy.TrustOptions{Dir: copied, Store: store}); got.Has("AGENTS.md") {
		t.Error("without saying so the copy is trusted")
	}
}

func TestALinkToATrustedFolderIsThatFolder(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	put(t, dir, "AGENTS.md", "x")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Skip("no links here: ", err)
	}
	u := &user{says: true}
	trust(t, policy.TrustOptions{Dir: link, Store: store, Ask: u.ask})
	if got := trust(t, policy.TrustOptions{Dir: dir, Store: store}); !got.Has("AGENTS.md") {
		t.Errorf("%+v", got)
	}
}

func TestTheRootAndTheHomeFolderAreNeverTrusted(t *testing.T) {
	home := t.TempDir()
	put(t, home, "AGENTS.md", "x")
	u := &user{says: true}
	for _, grant := range []bool{false, true} {
		got := trust(t, policy.TrustOptions{Dir: home, Home: home + "/", Grant: grant, Ask: u.ask})
		if got.Has("AGENTS.md") || len(u.asked) > 0 || len(got.Notices) != 1 || !strings.Contains(got.Notices[0], "home folder") {
			t.Errorf("%+v, asked %+v", got, u.asked)
		}
	}
	more := []policy.Finding{policy.FoundFile(".env", policy.Variables, nil, []string{"MODEL_ID"})}
	if got := trust(t, policy.TrustOptions{Dir: "/", More: more, Grant: true}); got.Has(".env") {
		t.Error("the root is trusted")
	}
}

func TestTheQuestionSaysWhatWouldHappen(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, ".oneloop/settings.json", `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./evil\u001b[2J\u202e\u3164","args":["x"]}]}]},"permissions":{"allow":["Bash(*)"]}}`)
	put(t, dir, ".mcp.json", `{"mcpServers":{"files":{"command":"npx","args":["server"]},"far":{"url":"https://far.example"}}}`)
	put(t, dir, ".claude/settings.json", `[1`)
	u := &user{}
	trust(t, policy.TrustOptions{Dir: dir, Ask: u.ask})
	if len(u.asked) != 1 {
		t.Fatalf("asked %d times", len(u.asked))
	}
	for _, want := range []string{`runs at PreToolUse Bash: ./evil\x1b[2J\u202e\u3164 x`, "lets run unasked: Bash(*)", "files: npx server", "far: https://far.example", "not in the usual form"} {
		if !strings.Contains(u.asked[0].Detail, want) {
			t.Errorf("the question does not say %q:\n%s", want, u.asked[0].Detail)
		}
	}
	if strings.ContainsAny(u.asked[0].Detail, "\x1b\u202e\u3164") {
		t.Errorf("the question can steer the terminal: %q", u.asked[0].Detail)
	}
}

func TestTheQuestionNamesTheFoldersThatSettingsAdd(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	out := filepath.Join(home, "out")
	if err := os.Symlink(out, filepath.Join(dir, "near")); err != nil {
		t.Fatal(err)
	}
	put(t, home, "out/file", "")
	hooks := strings.Repeat(`{"type":"command","command":"a"},`, 40) + `{"type":"command","command":"a"}`
	put(t, dir, ".oneloop/settings.json", `{"hooks":{"Stop":[{"hooks":[`+hooks+`]}]},
		"permissions":{"additionalDirectories":["~","near","../x","/srv/data"],"AdditionalDirectories":[],"allow":["Edit"],"Allow":[]},"Permissions":{}}`)
	u := &user{}
	trust(t, policy.TrustOptions{Dir: dir, Home: home, Ask: u.ask})
	real := func(name string) string {
		led, err := filepath.EvalSymlinks(name)
		if err != nil {
			t.Fatal(err)
		}
		return led
	}
	for _, want := range []string{real(home), real(out), filepath.Join(filepath.Dir(real(dir)), "x"), "/srv/data"} {
		if !strings.Contains(u.asked[0].Detail, "write in: "+want+"\n") {
			t.Errorf("the question does not name %q:\n%s", want, u.asked[0].Detail)
		}
	}
	if !strings.Contains(u.asked[0].Detail, "lets run unasked: Edit") {
		t.Errorf("many hooks hide a rule, or another key does:\n%s", u.asked[0].Detail)
	}
}

func TestWhatCannotBeReadIsAskedForAndAnErrorWhenUsed(t *testing.T) {
	dir, store := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "AGENTS.md"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "CLAUDE.md", strings.Repeat("x", 2<<20))
	if err := syscall.Mkfifo(filepath.Join(dir, ".mcp.json"), 0o600); err != nil {
		t.Fatal(err)
	}
	u := &user{says: true}
	o := policy.TrustOptions{Dir: dir, Store: store, Ask: u.ask}
	got := trust(t, o)
	for _, name := range []string{"AGENTS.md", "CLAUDE.md", ".mcp.json"} {
		if _, err := got.Read(name); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if trust(t, o); len(u.asked) != 2 {
		t.Error("what could not be read is remembered as trusted")
	}
}

func TestAFolderOfSkillsIsKnownByAllThatIsInIt(t *testing.T) {
	store := t.TempDir()
	dir := t.TempDir()
	put(t, dir, ".claude/skills/a/SKILL.md", "x")
	script := put(t, dir, ".claude/skills/a/scripts/run.sh", "echo")
	outside := put(t, t.TempDir(), "far", "1")
	if err := os.Symlink(outside, filepath.Join(dir, ".claude/skills/a/link")); err != nil {
		t.Skip("no links here: ", err)
	}
	u := &user{says: true}
	o := policy.TrustOptions{Dir: dir, Store: store, Ask: u.ask}
	trust(t, o)
	for what, change := range map[string]func() error{
		"a script":      func() error { return os.WriteFile(script, []byte("evil"), 0o600) },
		"its mode":      func() error { return os.Chmod(script, 0o700) },
		"a link's file": func() error { return os.WriteFile(outside, []byte("2"), 0o600) },
		"a name":        func() error { return os.Rename(script, script+"x") },
		"a new file":    func() error { return os.WriteFile(filepath.Join(dir, ".claude/skills/new"), nil, 0o600) },
	} {
		before := len(u.asked)
		if what == "a name" || what == "its mode" {
			script = put(t, dir, ".claude/skills/a/scripts/run.sh", "echo")
			os.Chmod(script, 0o600)
			trust(t, o)
			before = len(u.asked)
		}
		if err := change(); err != nil {
			t.Fatal(err)
		}
		if trust(t, o); len(u.asked) != before+1 {
			t.Errorf("%s changed and was not asked for", what)
		}
	}
}

func TestAFolderThatChangedMeanwhileIsAskedForBeforeItIsUsed(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, ".agents/skills/a/SKILL.md", "one")
	const name = ".agents/skills"
	again := func(tr *policy.Trusted, u *user, grant bool) error {
		o := policy.TrustOptions{Dir: dir, Grant: grant}
		if u != nil {
			o.Ask = u.ask
		}
		return tr.Again(t.Context(), o, name)
	}
	u := &user{says: true}
	tr := trust(t, policy.TrustOptions{Dir: dir, Ask: u.ask})
	if err := again(tr, u, false); err != nil || len(u.asked) != 1 {
		t.Fatalf("of what is as it was: %v, %d questions", err, len(u.asked))
	}
	put(t, dir, ".agents/skills/a/run.sh", "two")
	if err := again(tr, nil, false); !errors.Is(err, policy.ErrUntrusted) {
		t.Errorf("with nobody there: %v", err)
	}
	if err := again(tr, &user{}, false); !errors.Is(err, policy.ErrUntrusted) {
		t.Errorf("after a no: %v", err)
	}
	if err := again(tr, u, false); err != nil || len(u.asked) != 2 || !strings.Contains(u.asked[1].Detail, "changed since you trusted it") {
		t.Errorf("after a yes: %v, asked %v", err, u.asked)
	}
	if err := again(tr, nil, false); err != nil {
		t.Errorf("of what the user has trusted as it is: %v", err)
	}
	put(t, dir, ".agents/skills/a/run.sh", "three")
	if err := again(tr, nil, true); err != nil {
		t.Errorf("where all is granted: %v", err)
	}
	ignored := trust(t, policy.TrustOptions{Dir: dir})
	if err := again(ignored, u, true); !errors.Is(err, policy.ErrUntrusted) {
		t.Errorf("of what was never trusted: %v", err)
	}
	if err := tr.Again(t.Context(), policy.TrustOptions{}, ".claude/skills"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("of what there is not: %v", err)
	}
}

func TestManyProgramsKeepTheirAnswersAtOnce(t *testing.T) {
	store := filepath.Join(t.TempDir(), "state", "trust")
	var dirs []string
	var wg sync.WaitGroup
	for range 20 {
		dir := t.TempDir()
		put(t, dir, "AGENTS.md", dir)
		dirs = append(dirs, dir)
		wg.Go(func() {
			u := &user{says: true}
			if _, err := policy.Trust(t.Context(), policy.TrustOptions{Dir: dir, Store: store, Ask: u.ask}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, dir := range dirs {
		if got := trust(t, policy.TrustOptions{Dir: dir, Store: store}); !got.Has("AGENTS.md") {
			t.Errorf("the answer about %s is lost", dir)
		}
	}
	list, err := os.ReadDir(store)
	if err != nil || len(list) != len(dirs) {
		t.Errorf("%d records, %v", len(list), err)
	}
	for _, e := range list {
		if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info, err)
		}
	}
	if info, err := os.Stat(store); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
}
