package policy

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"

	"oneloop/policy/shell"
)

// command judges a shell command: every part of it by the rules that deny or
// ask, and what is written by those that allow and by the read-only table.
func (j judge) command(text string) finding {
	a := shell.Analyse(text, shell.Place{Dir: j.at.Root, Home: j.at.Home})
	found := j.stopped(a)
	if found.tier == shell.Deny {
		return found
	}
	return worse(found, j.allowed(a))
}

// stopped is what the danger list and the rules that deny or ask say.
func (j judge) stopped(a *shell.Analysis) (found finding) {
	if v := a.Verdict; v.Tier > shell.Allow {
		found = finding{tier: v.Tier, kind: byDanger, rule: "danger list: " + v.Rule, reason: v.Reason, part: shell.Visible(v.Part), danger: v.Rule}
	}
	for _, r := range j.rules.List() {
		if r.Tier == shell.Allow || r.dead != "" {
			continue
		}
		if r.tool == "Bash" {
			found = worse(found, r.stops(a))
		}
	}
	for _, f := range a.Files {
		if t := j.stoppedFile(f); t.tier > shell.Allow {
			found = worse(found, t)
		}
	}
	return found
}

// stops is what one rule that denies or asks says of the parts of a command.
func (r Rule) stops(a *shell.Analysis) (found finding) {
	for _, p := range a.Parts {
		var f finding
		switch r.pattern.Match(p) {
		case shell.No:
			continue
		case shell.Yes:
			f = ruled(r, shell.Because("named", "a rule names it"))
		case shell.Perhaps:
			f = ruled(r, shell.Because("maybe-named", "it may turn out to be what a rule names"))
			f.tier, f.firm = shell.Ask, r.Tier == shell.Deny
		}
		f.part = shell.Visible(p.Text())
		if found = worse(found, f); found.tier == r.Tier {
			break
		}
	}
	if a.Unclear != nil && r.Tier == shell.Deny && found.tier < shell.Deny {
		f := ruled(r, shell.Because("uncompared", "it cannot be compared with a rule, as %s", a.Unclear))
		f.tier, f.firm, f.danger = shell.Ask, true, a.Verdict.Rule
		found = worse(found, f)
	}
	if r.spec == "" && found.tier == shell.Allow { // also what has no parts
		found = ruled(r, shell.Because("every-command", "a rule names every command"))
	}
	return found
}

// stoppedFile is what the rules that deny or ask say of a file a command uses.
func (j judge) stoppedFile(f shell.Access) finding {
	only := judge{rules: &Rules{all: slices.DeleteFunc(slices.Clone(j.rules.List()), func(r Rule) bool { return r.Tier == shell.Allow || r.path == nil })}, at: j.at}
	if len(only.rules.all) == 0 {
		return finding{}
	}
	names := []string{filepath.Clean(f.Path)}
	if real, err := j.real(f.Path); err == nil && real != names[0] {
		names = append(names, real)
	}
	var found finding
	for _, name := range names {
		t := only.path(name, f.Write, f.Sure, nil)
		if f.Tree {
			t = worse(t, only.tree(name, f.Write, f.Sure))
		}
		if t.kind == byRule {
			t.reason = shell.Because("uses", "it uses %s: %s", j.short(name), t.reason)
			found = worse(found, t)
		}
	}
	return found
}

// allowed is what the rules that allow and the read-only table say.
func (j judge) allowed(a *shell.Analysis) finding {
	rules := slices.DeleteFunc(slices.Clone(j.rules.List()), func(r Rule) bool { return r.Tier > shell.Allow || r.tool != "Bash" || r.dead != "" })
	if i := slices.IndexFunc(rules, func(r Rule) bool { return r.spec == "" }); i >= 0 {
		return ruled(rules[i], shell.Because("every-command-allowed", "a rule allows every command"))
	}
	if why := cmp.Or(a.Odd, a.Unclear, a.Moving); why != nil {
		return finding{tier: shell.Ask, kind: byDefaultRun, reason: why}
	}
	var found finding
	used := false
	for _, c := range a.Commands {
		i := slices.IndexFunc(rules, func(r Rule) bool { return r.pattern.Allows(c) })
		if i >= 0 {
			used = true
			found = worse(found, ruled(rules[i], shell.Because("rule-allows", "a rule allows it")))
			continue
		}
		found = worse(found, j.looks(c))
	}
	for _, name := range a.Reads {
		found = worse(found, j.touched(name, false, true))
	}
	for _, name := range a.Writes {
		found = worse(found, j.touched(name, true, true))
	}
	if found.tier == shell.Allow && !used && !a.ReadOnly() {
		found = finding{tier: shell.Ask, kind: byDefaultRun, reason: a.Changes}
	}
	if found.tier == shell.Allow && found.rule == "" {
		found.reason = shell.Because("only-looks", "it only looks")
	}
	return found
}

// looks is what the read-only table says of a command that no rule allows.
func (j judge) looks(c shell.Command) finding {
	if c.Changes != nil {
		f := finding{tier: shell.Ask, kind: byDefaultRun, reason: c.Changes, part: shell.Visible(c.Text)}
		if want := suggest(c.Words); want != "" {
			f.wants = []string{want}
		}
		return f
	}
	var found finding
	if c.Words[0] == "git" && len(c.Words) > 1 && slices.Contains([]string{"status", "diff", "blame", "ls-files"}, c.Words[1]) {
		if why := gitFilters(j.at.Root); why != nil {
			found = finding{tier: shell.Ask, kind: byDefaultRun, reason: why, part: shell.Visible(c.Text)}
		}
	}
	for _, name := range c.Reads {
		f := j.touched(name, false, true)
		if f.tier > shell.Allow {
			f.part = shell.Visible(c.Text)
		}
		found = worse(found, f)
	}
	return found
}

// suggest is a rule that would allow a command: its first two words where
// whatever follows does no more than they do, else all of it. Empty: none.
func suggest(words []string) string {
	for _, w := range words {
		if w == "" || strings.ContainsAny(w, "\x00*?[(){}'\"\\$`;&|<># \t\n~!") {
			return ""
		}
	}
	if len(words) > 1 && slices.Contains(families[words[0]], words[1]) {
		return "Bash(" + words[0] + " " + words[1] + ":*)"
	}
	rule := "Bash(" + strings.Join(words, " ") + ")"
	if strings.HasSuffix(rule, ":*)") {
		return ""
	}
	return rule
}

// families are the commands that do the same whatever follows them: they build
// or test what is in the workspace.
var families = map[string][]string{
	"go":      {"build", "test", "vet", "doc", "list"},
	"cargo":   {"build", "test", "check", "clippy", "fmt", "doc"},
	"dotnet":  {"build", "test", "format"},
	"swift":   {"build", "test"},
	"zig":     {"build", "test", "fmt"},
	"mix":     {"compile", "test", "format"},
	"flutter": {"analyze", "test"},
	"dart":    {"analyze", "test", "format"},
}

// open are programs that run whatever they are given, by another program's
// arguments, by a file of the folder, or over the network. "Always" to one of
// them means more than whoever says so sees.
var open = []string{
	"sh", "bash", "dash", "zsh", "fish", "ksh", "python", "pypy", "perl", "ruby", "node", "nodejs", "deno", "bun", "php", "lua", "tclsh", "osascript", "pwsh", "awk", "gawk", "sed", "ed", "vi", "vim", "nvim", "emacs",
	"env", "command", "builtin", "exec", "eval", "source", ".", "nohup", "setsid", "nice", "ionice", "timeout", "time", "stdbuf", "xargs", "parallel", "watch", "script", "flock", "strace", "ltrace", "gdb", "busybox", "sudo", "doas", "su", "pkexec",
	"git", "gh", "find", "fd", "fdfind", "make", "gmake", "cmake", "ninja", "just", "task", "rake", "npm", "npx", "pnpm", "yarn", "bunx", "pip", "pipx", "uv", "uvx", "poetry", "gem", "bundle", "composer", "mvn", "gradle", "ant", "bazel", "nix", "brew", "apt", "apt-get", "dnf", "yum", "pacman", "snap",
	"docker", "podman", "kubectl", "helm", "vagrant", "terraform", "ansible", "ssh", "scp", "sftp", "rsync", "curl", "wget", "nc", "ncat", "socat", "telnet", "ftp", "aws", "gcloud", "az", "psql", "mysql", "sqlite3", "redis-cli", "mongosh",
	"tar", "zip", "unzip", "dd", "tee", "rm", "mv", "cp", "ln", "chmod", "chown", "kill", "pkill", "killall", "crontab", "at", "systemctl", "service", "mount", "umount", "export", "alias", "trap", "cd",
}

// always reports whether a rule may be offered to be kept.
func always(want string) bool {
	r, err := parseRule(shell.Allow, want, place{}, nil)
	if err != nil || r.tool != "Bash" {
		return true
	}
	name := strings.TrimRight(r.pattern.Program(), "0123456789.")
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return r.dead == "" && name != "" && !slices.Contains(open, name)
}
