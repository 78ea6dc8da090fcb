package policy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"oneloop"
	"oneloop/policy"
	"oneloop/policy/shell"
	"oneloop/workspace"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// folder makes a workspace and gives its real path.
func folder(t *testing.T, files ...string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// with gives options with rules: "allow Bash(x)".
func with(t *testing.T, dir string, rules ...string) policy.GateOptions {
	t.Helper()
	f := policy.File{Path: "settings.json", Base: dir}
	for _, r := range rules {
		tier, text, _ := strings.Cut(r, " ")
		switch tier {
		case "allow":
			f.Allow = append(f.Allow, text)
		case "ask":
			f.Ask = append(f.Ask, text)
		case "deny":
			f.Deny = append(f.Deny, text)
		default:
			t.Fatalf("there is no tier %q", tier)
		}
	}
	rs, err := policy.NewRules(policy.RuleOptions{Dir: dir, Home: "/home/ada"}, f)
	if err != nil {
		t.Fatal(err)
	}
	return policy.GateOptions{Dir: dir, Home: "/home/ada", Rules: rs}
}

func TestRulesMatchCommandsByWords(t *testing.T) {
	dir := folder(t)
	status, curl := with(t, dir, "allow Bash(git status:*)"), with(t, dir, "deny Bash(curl:*)")
	for _, c := range []struct {
		o             policy.GateOptions
		command, want string
	}{
		{status, "git status -s", "allow"}, {status, `"git" status -uno x`, "allow"}, {status, "git status; evil", "ask"}, {status, "git status $(evil)", "ask"},
		{status, "GIT_DIR=x git status", "ask"}, {status, "git -c a=b status", "ask"}, {status, "git statusx", "ask"}, {status, "git\nstatus", "ask"}, {status, "git status --no-such", "allow"},
		{status, "timeout 9 git status --no-such", "allow"}, {status, "git status > out", "ask"}, {status, "git status --x > /dev/null 2>&1", "allow"}, {status, "git status --x\u202e", "ask"},
		{status, "git status --x &", "ask"}, {status, "git status --x | head -1", "allow"}, {status, "if git status --x; then ls; fi", "allow"}, {status, "git status --x < .env", "ask"}, {status, "cat <<'E'\nx\nE", "ask"}, {status, "for f in a; do ls; done", "ask"}, {status, "git status --x <<'E'\nx\nE", "allow"},
		{status, "cd sub && git status --x", "allow"}, {status, "cd sub && git status --x && cat f", "ask"}, {with(t, dir, "allow Bash(tee:*)", "allow Edit(./out)"), "cd sub && ls | tee x > out", "ask"},
		{with(t, dir, "allow Bash(tee:*)", "allow Edit(./out)"), "cd sub && tee x > out", "ask"}, {status, "git status --x * ~", "allow"}, {status, "git status --x\\", "ask"},
		{curl, "env curl x", "deny"}, {curl, "command curl x", "deny"}, {curl, "timeout 5 curl x", "deny"}, {curl, `sh -c "curl x"`, "deny"}, {curl, "/usr/bin/curl x", "deny"},
		{curl, `c""url x`, "deny"}, {curl, "xargs curl < f", "deny"}, {curl, "a=curl; $a x", "ask"}, {curl, "ls; (curl x)", "deny"}, {curl, "echo $(curl x)", "deny"}, {curl, "u=x; curl $u", "deny"}, {curl, "ls", "allow"},
		{curl, "CURL x", "ask"}, {curl, "curl", "deny"}, {curl, "curlx", "ask"}, {curl, "curl x '", "ask"},
		{with(t, dir, "deny Bash(git:*)", "allow Bash(git push origin main)"), "git push origin main", "deny"},
		{with(t, dir, "ask Bash(git:*)", "allow Bash(git push origin main)"), "git push origin main", "ask"},
		{with(t, dir, "ask Bash(git status)"), "git status", "ask"},
		{with(t, dir, "deny Bash"), "ls", "deny"}, {with(t, dir, "deny Bash(*)"), "", "deny"}, {with(t, dir, "ask Bash"), "ls", "ask"},
		{with(t, dir, "allow Bash"), "anything $x > y", "allow"}, {with(t, dir, "allow Bash"), "rm -rf /", "deny"}, {with(t, dir, "allow Bash"), "sudo x", "ask"},
		{with(t, dir, "allow Bash(sudo:*)"), "sudo x", "ask"}, {with(t, dir, "allow Bash(*)"), "evil", "allow"},
		{with(t, dir, "allow Bash(tee:*)", "allow Edit(./out)"), "ls | tee x > out", "allow"}, {with(t, dir, "allow Bash(tee:*)", "allow Edit(./out)"), "ls | tee x > out2", "ask"},
		{with(t, dir, "deny Read(./secret/**)"), "cat secret/x", "deny"}, {with(t, dir, "deny Read(./secret/**)"), "env cat ./a/../SECRET/x", "deny"}, {with(t, dir, "deny Read(./secret/**)"), "f=secret/x; cat $f", "ask"},
		{with(t, dir, "deny Read(./secret/**)"), "cd secret && cat x", "deny"}, {with(t, dir, "deny Read(./secret/**)"), "wc < secret/x", "deny"}, {with(t, dir, "deny Read(./secret)"), "cat s*/x", "ask"},
		{with(t, dir, "deny Edit(./gen/**)", "allow Bash"), "echo x > gen/a", "deny"}, {with(t, dir, "deny Edit(./gen/**)", "allow Bash"), "cp a gen/b", "deny"}, {with(t, dir, "deny Edit(./gen/**)", "allow Bash"), "sed -i s/a/b/ gen/b", "deny"},
		{with(t, dir, "deny Read(LIST)"), "grep LIST f", "allow"}, {with(t, dir, "deny Read(LIST)"), "grep -e x LIST", "deny"},
		{with(t, dir, "allow Read(//etc/hosts)"), "cat /etc/hosts", "allow"}, {with(t, dir, "allow Read(//etc/hosts)"), "cat /etc/hostname", "ask"}, {with(t, dir, "allow Read(.env)"), "cat .env", "allow"},
	} {
		if got := policy.ExplainCommand(c.o, c.command); got.Decision != c.want {
			t.Errorf("%v: %q: %+v, want %s", c.o.Rules.List(), c.command, got, c.want)
		}
	}
}

func TestRulesMatchFilesAsIgnoreFilesDo(t *testing.T) {
	dir := folder(t, "src/a.go", "docs/x/y.md", "real/f")
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ rule, tool, path, want string }{
		{"allow Edit(./src/**)", "Edit", "src/a.go", "allow"}, {"allow Edit(./src/**)", "Write", "src/new/b.go", "allow"}, {"allow Edit(src/*.go)", "Edit", "src/b.go", "allow"},
		{"allow Edit(src/*.go)", "Edit", "lib/b.go", "ask"}, {"allow Edit(src/*.go)", "Edit", "src/b.c", "ask"}, {"allow Edit(*.go)", "Edit", "a/b/c.go", "allow"}, {"allow Edit(/src)", "Edit", "src/a.go", "allow"},
		{"allow Edit(src/)", "Edit", "src/a.go", "allow"}, {"allow Edit(src/**/c.go)", "Edit", "src/a/b/c.go", "allow"}, {"allow Edit(src/**/c.go)", "Edit", "src/c.go", "allow"},
		{"allow Edit", "Write", "x", "allow"}, {"allow Write", "Write", "x", "allow"}, {"allow Write", "Edit", "x", "ask"}, {"allow Edit", "Write", ".git/config", "ask"}, {"allow Edit(**)", "Write", ".git/config", "ask"},
		{"allow Edit(SRC/**)", "Edit", "src/a.go", "ask"}, {"deny Edit(SRC/**)", "Edit", "src/a.go", "deny"}, {"deny Edit(.git)", "Edit", "sub/.GIT/x", "deny"}, {"deny Edit(./link/**)", "Edit", "real/f", "deny"},
		{"deny Read(.env)", "Read", "a/b/.env", "deny"}, {"deny Read(./.env)", "Read", "a/.env", "ask"}, {"deny Read(src)", "Grep", "src/a.go", "deny"}, {"deny Read", "Glob", "src", "deny"}, {"ask Read(*.md)", "Read", "docs/x/y.md", "ask"},
		{"allow Read(//etc/**)", "Read", "/etc/hosts", "allow"}, {"allow Read(~/notes/**)", "Read", "/home/ada/notes/a", "allow"}, {"allow Read(~/notes/**)", "Read", "/home/ada/other", "ask"},
		{"deny Edit(x)", "Read", "x", "allow"}, {"deny Read(x)", "Edit", "x", "deny"}, {"deny Read(x)", "Write", "x", "deny"}, {"ask Read(x)", "Edit", "x", "ask"}, {"deny Read", "Edit", "x", "deny"}, {"deny Read(src/**)", "Grep", "src", "deny"}, {"deny Read(src/*.go)", "Grep", "src", "allow"}, {"deny Read(src/**)", "Grep", "docs", "allow"}, {`allow Edit(./a\[1\])`, "Edit", "a[1]", "allow"}, {"allow Edit(./a[1])", "Edit", "a[1]", "ask"},
		{"allow Edit(../up)", "Edit", filepath.Join(filepath.Dir(dir), "up"), "allow"},
	} {
		o := with(t, dir, c.rule)
		kind := oneloop.TouchRead
		if c.tool == "Edit" || c.tool == "Write" {
			kind = oneloop.TouchWrite
		}
		path := c.path
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		if got := policy.Explain(o, &oneloop.ToolUse{Name: c.tool}, oneloop.Touch{Kind: kind, Name: path}); got.Decision != c.want {
			t.Errorf("%s: %s %s: %+v, want %s", c.rule, c.tool, c.path, got, c.want)
		}
	}
}

func TestOtherToolsHaveRulesOfTheirOwn(t *testing.T) {
	dir := folder(t)
	for _, c := range []struct{ rule, tool, host, input, want string }{
		{"allow WebFetch(domain:example.org)", "WebFetch", "example.org", "", "allow"}, {"allow WebFetch(domain:example.org)", "WebFetch", "EXAMPLE.org.:8080", "", "allow"},
		{"allow WebFetch(domain:example.org)", "WebFetch", "www.example.org", "", "ask"}, {"allow WebFetch(domain:example.org)", "WebFetch", "example.org.evil", "", "ask"},
		{"allow WebFetch(domain:*.example.org)", "WebFetch", "a.b.example.org", "", "allow"}, {"allow WebFetch(domain:*.example.org)", "WebFetch", "xexample.org", "", "ask"},
		{"deny WebFetch", "WebFetch", "example.org", "", "deny"}, {"ask WebFetch", "WebFetch", "example.org", "", "ask"},
		{"allow mcp__notes", "mcp__notes__add", "", "", "allow"}, {"allow mcp__notes__*", "mcp__notes__add", "", "", "allow"}, {"allow mcp__notes__add", "mcp__notes__delete", "", "", "ask"},
		{"allow mcp__notes", "mcp__notesx__add", "", "", "ask"}, {"deny mcp__*", "mcp__notes__add", "", "", "deny"}, {"allow mcp__*", "mcp__notes__add", "", "", "ask"}, {"allow mcp__n", "mcp__n__a__b", "", "", "allow"},
		{"deny Agent(explorer)", "Agent", "", `{"subagent_type":"explorer"}`, "deny"}, {"deny Task(explorer)", "Agent", "", `{"subagent_type":"explorer"}`, "deny"}, {"deny Agent(explorer)", "Agent", "", `{"subagent_type":"other"}`, "allow"}, {"deny Agent(general-purpose)", "Agent", "", `{"prompt":"x"}`, "deny"}, {"deny Agent(explorer)", "Agent", "", `{"prompt":"x"}`, "allow"},
		{"deny Agent(explorer)", "Agent", "", `{`, "deny"}, {"ask Skill(deploy*)", "Skill", "", `{"skill":"deploy-all"}`, "ask"}, {"deny Skill(deploy)", "Skill", "", `{"skill":"/deploy"}`, "deny"}, {"deny TodoWrite", "TodoWrite", "", "{}", "deny"}, {"deny Bash", "TodoWrite", "", "{}", "allow"},
	} {
		var touches []oneloop.Touch
		if c.host != "" {
			touches = []oneloop.Touch{{Kind: oneloop.TouchHost, Name: c.host}}
		}
		if got := policy.Explain(with(t, dir, c.rule), &oneloop.ToolUse{Name: c.tool, Input: []byte(c.input)}, touches...); got.Decision != c.want {
			t.Errorf("%s: %s %s%s: %+v, want %s", c.rule, c.tool, c.host, c.input, got, c.want)
		}
	}
}

func TestAMistakeInARuleIsNoMissingRule(t *testing.T) {
	for _, bad := range []string{"Bahs", "bash", "bash(ls)", "mcp__", "Bash(ls", "Bash()", "", "Edit(!x)", "Edit([)", "Read(~/x)"} {
		for _, f := range []policy.File{{Path: "a.json", Allow: []string{bad}}, {Path: "a.json", Deny: []string{bad}}, {Path: "a.json", Shared: true, Allow: []string{bad}}} {
			if _, err := policy.NewRules(policy.RuleOptions{Dir: "/w"}, f); err == nil || !strings.Contains(err.Error(), "a.json") || !strings.Contains(err.Error(), fmt.Sprintf("%q", bad)) {
				t.Errorf("%q: %v", bad, err)
			}
		}
	}
	if _, err := policy.NewRules(policy.RuleOptions{Dir: "/w", Tools: []string{"Bahs"}}, policy.File{Path: "a", Deny: []string{"Bahs"}}); err != nil {
		t.Error(err)
	}
}

func TestRulesThatWereAddedCanBeTakenAway(t *testing.T) {
	rules, err := policy.NewRules(policy.RuleOptions{Dir: "/w"}, policy.File{Path: "f", Allow: []string{"Bash(ls)"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Bash(git add:*)", "Read(//x/**)"} {
		if err := rules.Add(shell.Allow, text, policy.File{Path: "the skill a"}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(rules.List()); n != 3 {
		t.Fatalf("there are %d rules", n)
	}
	rules.Drop("the skill a")
	if list := rules.List(); len(list) != 1 || list[0].File != "f" {
		t.Errorf("what is left: %v", list)
	}
}

func TestRulesOfAFolderAllowOnlyWhatWasApproved(t *testing.T) {
	dir := folder(t)
	f := policy.File{Path: "project.json", Base: dir, Shared: true, Allow: []string{"Bash(*)"}, Deny: []string{"Bash(curl:*)"}, Ask: []string{"Bash(ls:*)"}}
	for _, approved := range []bool{false, true} {
		f.Approved = approved
		rs, err := policy.NewRules(policy.RuleOptions{Dir: dir}, f)
		if err != nil {
			t.Fatal(err)
		}
		o := policy.GateOptions{Dir: dir, Rules: rs}
		got := []string{policy.ExplainCommand(o, "touch x").Decision, policy.ExplainCommand(o, "curl x").Decision, policy.ExplainCommand(o, "ls").Decision}
		want := []string{"ask", "deny", "ask"}
		if approved {
			want[0] = "allow"
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("approved %v: %s", approved, d)
		}
		if n := strings.Join(rs.Notices(), "\n"); approved != (n == "") || !approved && (!strings.Contains(n, "project.json") || !strings.Contains(n, "Bash(*)")) {
			t.Errorf("approved %v: notices %q", approved, n)
		}
	}
}

func TestFilesThatMatterLaterAndSecretsAreAskedFor(t *testing.T) {
	dir := folder(t, "in")
	outside := folder(t, "secret")
	for name, to := range map[string]string{"out": filepath.Join(outside, "secret"), "far": outside, "g": ".git", "dangling": filepath.Join(outside, "new")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	o := policy.GateOptions{Dir: dir, Home: "/home/ada"}
	for _, c := range []struct{ line, want string }{
		{"Read in", "allow"}, {"Read .", "allow"}, {"Read out", "ask"}, {"Read ../x", "ask"}, {"Read .env", "ask"}, {"Read .env.local", "ask"}, {"Read .env.example", "allow"}, {"Read a/id_rsa", "ask"},
		{"Read /proc/self/environ", "ask"}, {"Read /dev/zero", "ask"}, {"Read /dev/null", "ask"}, {"Read server.key", "ask"}, {"Read keyboard.go", "allow"}, {"Read key.pem", "ask"},
		{"Write in", "ask"}, {"Write .git/hooks/x", "ask"}, {"Bash cat in", "allow"}, {"Bash cat out", "ask"}, {"Bash cat dangling", "ask"}, {"Bash cat far/../in", "ask"}, {"Bash cat far/../none", "ask"}, {"Bash ls < far/../in", "ask"}, {"Bash ls < out", "ask"}, {"Bash cat /dev/null", "ask"}, {"Bash cat .env", "ask"},
		{"Bash cat a/../in", "allow"}, {"Bash grep -r x ..", "ask"}, {"WebFetch example.org", "ask"}, {"mcp__x__y", "ask"}, {"TodoWrite", "allow"},
	} {
		list, err := policy.Test(o, strings.NewReader(c.want+" "+c.line))
		if err != nil || len(list) != 1 || !list[0].OK() {
			t.Errorf("%s: %+v, %v", c.line, list, err)
		}
	}
}

func TestATableOfDecisionsIsReadLineByLine(t *testing.T) {
	list, err := policy.Test(policy.GateOptions{Dir: folder(t)}, strings.NewReader("# comment\n\n allow\tBash   git  status\nask Bash \"ls\\ntouch x\"\nask Bash \"git\" fetch\ndeny Bash rm -rf /\nallow TodoWrite\n"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, o := range list {
		got = append(got, fmt.Sprintf("%d %s %q %v", o.Line, o.Tool, o.What, o.OK()))
	}
	want := []string{`3 Bash "git  status" true`, `4 Bash "ls\ntouch x" true`, `5 Bash "\"git\" fetch" true`, `6 Bash "rm -rf /" true`, `7 TodoWrite "" true`}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	for _, bad := range []string{"maybe Bash ls", "allow", "allow Read", "allow WebFetch", "allow TodoWrite x", "deny"} {
		if _, err := policy.Test(policy.GateOptions{}, strings.NewReader("# x\n"+bad)); err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestLintFindsRulesThatDoNothing(t *testing.T) {
	o := policy.RuleOptions{Dir: "/w", Home: "/home/ada"}
	for _, c := range []struct{ tier, rule, says string }{
		{"allow", "Write(x)", "write Edit(x)"}, {"deny", "Glob(x)", "write Read(x)"}, {"allow", "WebFetch(example.org)", "domain:"}, {"deny", "Bash(curl x | sh)", "no simple command"},
		{"allow", "Bahs", "does not exist"}, {"allow", "mcp__*", "name the server"}, {"allow", "TodoWrite(x)", "write TodoWrite"}, {"allow", "Bash(git push:*)", "Bash(git:*) in permissions.deny of user.json"},
		{"ask", "Bash(git log)", "comes before it"}, {"allow", "Edit(./gen/a.go)", "Edit(gen/**)"}, {"allow", "Bash(make x)", "twice"}, {"allow", "Bash(sudo apt:*)", "danger list"}, {"allow", "Bash(python3:*)", "every command"},
		{"allow", "Bash(bash:*)", "every command"}, {"allow", "Bash(* --help)", ""}, {"allow", "Bash(go test:*)", ""}, {"deny", "Bash(sudo:*)", ""}, {"ask", "Bash(sudo:*)", ""}, {"allow", "Bash(gitk)", ""}, {"allow", "Edit(./src/**)", ""},
		{"deny", "Bash(rm -rf /)", ""}, {"allow", "WebFetch(domain:a.evil.org)", "comes before it"}, {"allow", "Bash(ls *)", ""},
	} {
		user := policy.File{Path: "user.json", Deny: []string{"Bash(git:*)", "Edit(gen/**)", "WebFetch(domain:*.evil.org)"}, Allow: []string{"Bash(make x)"}}
		other := policy.File{Path: "other.json"}
		switch c.tier {
		case "allow":
			other.Allow = []string{c.rule}
		case "ask":
			other.Ask = []string{c.rule}
		case "deny":
			other.Deny = []string{c.rule}
		}
		found := policy.Lint(o, user, other)
		if c.says == "" && len(found) > 0 || c.says != "" && (len(found) != 1 || !strings.Contains(found[0].String(), c.says) || found[0].File != "other.json" || found[0].Tier != c.tier) {
			t.Errorf("%s %s: %v, want %q", c.tier, c.rule, found, c.says)
		}
	}
	if found := policy.Lint(o, policy.File{Path: "p.json", Shared: true, Allow: []string{"Bash(ls)"}}); len(found) != 1 || !strings.Contains(found[0].Text, "not approved") {
		t.Errorf("%v", found)
	}
}

func TestWhatTheSettingsProtectIsWhatTheWorkspaceProtects(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{".git/config", "sub/.GIT/hooks/x", ".oneloop/settings.json", ".mcp.json", ".vscode/tasks.json", ".gitignore", ".github/x.yml"} {
		got := policy.Explain(with(t, dir, "allow Edit"), &oneloop.ToolUse{Name: "Write"}, oneloop.Touch{Kind: oneloop.TouchWrite, Name: filepath.Join(dir, name)})
		if protected := workspace.Protected(name); (got.Decision == "ask") != protected || (got.Decision == "allow") == protected {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// No command that holds a denied one is allowed, however it is built.
func TestNoCompoundWithADeniedPartIsAllowed(t *testing.T) {
	dir := t.TempDir()
	o := with(t, dir, "deny Bash(evil:*)", "allow Bash")
	gate := policy.Gate(policy.GateOptions{Dir: dir, Mode: policy.Bypass, Rules: o.Rules, Isolation: boxed})
	var ran []string
	tool := gate(bash(&ran, oneloop.Once))
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.SampledFrom([]string{"evil", "evil x", "/bin/evil x", `e"v"il`, `ev\il x`, "'evil' $x", "evil > y"}).Draw(t, "part")
		for range rapid.IntRange(0, 4).Draw(t, "layers") {
			wrap := rapid.SampledFrom([]string{"ls && %s", "ls; %s", "%s; ls", "ls || %s", "ls | %s", "%s | ls", "ls\n%s", "%s &", "( %s )", "{ %s; }", "! %s", "if ls; then %s; fi", "while ls; do %s\ndone", "for f in a b; do %s\ndone",
				"echo $( %s )", "echo \"$( %s )\"", "cat <( %s )", "f() { %s\n}", "x=$( %s )", "time %s", "case x in x) %s\nesac", "echo ${a:-$( %s )}", "eval '%s'", "sh -c '%s'"}).Draw(t, "wrap")
			if strings.Contains(wrap, "'") && strings.Contains(part, "'") || strings.Contains(part, "\n") && strings.Contains(wrap, "!") {
				continue
			}
			if strings.HasSuffix(part, "&") && (strings.HasPrefix(wrap, "%s;") || strings.HasPrefix(wrap, "%s |") || strings.HasPrefix(wrap, "%s &") || strings.Contains(wrap, "%s; }") || strings.Contains(wrap, "%s; fi")) {
				continue
			}
			part = strings.Replace(wrap, "%s", part, 1)
		}
		if strings.Contains(part, "\n") { // what follows stands on lines of its own
			part = "{ " + part + "\n}"
		}
		got := policy.ExplainCommand(o, part)
		if got.Decision != "deny" {
			t.Fatalf("%q: %+v", part, got)
		}
		r, err := tool.Run(t.Context(), &oneloop.ToolUse{Name: "Bash", Input: []byte(command(part))}, func(oneloop.Event) {})
		if err != nil || !r.IsError || len(ran) > 0 {
			t.Fatalf("%q ran: %v, %v", part, r, err)
		}
	})
}

func TestADeniedCommandAtTheEndOfManyStaysDenied(t *testing.T) {
	dir := folder(t)
	for _, n := range []int{50, 500, 5000} {
		many := strings.Repeat("true && ", n)
		for _, c := range []struct {
			rules []string
			want  string
		}{{[]string{"deny Bash(evil:*)", "allow Bash"}, "deny"}, {nil, "ask"}, {[]string{"allow Bash(true)"}, "ask"}} {
			began := time.Now()
			got := policy.ExplainCommand(with(t, dir, c.rules...), many+"evil x")
			if took := time.Since(began); got.Decision != c.want || took > 30*time.Second {
				t.Errorf("%d, %v: %+v after %v", n, c.rules, got, took)
			}
		}
		if got := policy.ExplainCommand(with(t, dir), many+"true"); got.Decision != "allow" {
			t.Errorf("%d of nothing: %+v", n, got)
		}
	}
}

func FuzzExplain(f *testing.F) {
	dir := f.TempDir()
	rs, err := policy.NewRules(policy.RuleOptions{Dir: dir, Home: "/home/ada"}, policy.File{Path: "s", Deny: []string{"Bash(evil:*)", "Read(./s*)"}, Ask: []string{"Bash(git * x)"}, Allow: []string{"Bash(ls * y)", "Edit(*.z)"}})
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"ls y", "git $x", "cat s*", "ls > a.z", "evil", "e* x", "ls 'a", "f(){ evil; }"} {
		f.Add(s)
	}
	o := policy.GateOptions{Dir: dir, Home: "/home/ada", Rules: rs}
	f.Fuzz(func(t *testing.T, s string) {
		one := policy.ExplainCommand(o, s).Decision
		if both := policy.ExplainCommand(o, "evil x\n"+s).Decision; both == "allow" || both == "ask" && !strings.ContainsRune(s, 0) && one == "allow" {
			t.Errorf("%q is %s, and %s behind a denied command", s, one, both)
		}
	})
}

func TestRulesForFilesOutsideSayThatToolsDoNotGoThere(t *testing.T) {
	dir, more := t.TempDir(), t.TempDir()
	o := policy.RuleOptions{Dir: dir, Dirs: []string{more}, Home: "/home/u"}
	inside := policy.File{Path: "u.json", Base: "/home/u", Allow: []string{"Edit(//**)", "Read(src/**)", "Edit(*.go)", "Edit(/" + more + "/x)", "Read(/" + filepath.Dir(dir) + "/**/x)"}}
	if found := policy.Lint(o, inside); len(found) > 0 {
		t.Errorf("found %v", found)
	}
	found := policy.Lint(o, policy.File{Path: "u.json", Base: "/home/u", Deny: []string{"Edit(//opt/**)"}, Allow: []string{"Edit(//srv/**)", "Edit(~/notes/**)", "Read(/x)"}})
	if len(found) != 3 || !strings.Contains(found[0].Text, "for commands only") || !strings.Contains(found[0].Text, "--add-dir") {
		t.Errorf("found %v", found)
	}
	rules, err := policy.NewRules(o, policy.File{Path: "u.json", Allow: []string{"Edit(//srv/**)"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := policy.Test(policy.GateOptions{Dir: dir, Dirs: o.Dirs, Rules: rules}, strings.NewReader("allow Edit /srv/x\nask Read /etc/hosts\nallow Read x\nallow Read "+more+"/x\nallow Bash ls\n"))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range list {
		if !c.OK() || strings.Contains(c.Got.Reason, "outside the workspace") != (i < 2) {
			t.Errorf("%+v", c)
		}
	}
}
