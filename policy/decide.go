package policy

import (
	"cmp"
	"encoding/json"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"oneloop"
	"oneloop/policy/shell"
	"oneloop/workspace"
)

// kind says what decided, and so what may decide otherwise. A greater one is
// told of first among equals.
type kind int

const (
	byDefault     kind = iota // no rule matched, and it is none of the following
	byDefaultRun              // a command: confined in a sandbox
	byDefaultEdit             // a file of the workspace: a mode may allow it
	byGuard                   // a file that matters later, or that holds secrets
	byRule
	byDanger // the danger list
	byHook   // a program of the user's
)

// finding is what is thought of a call or of a part of it.
type finding struct {
	tier   shell.Tier
	kind   kind
	rule   string // that decided
	file   string // the rule is in
	reason *shell.Reason
	part   string   // of a command it is about; empty: all of it
	wants  []string // rules that would allow what is only asked for; empty: none would
	danger string   // the danger list's own name of its rule
	firm   bool     // it may be what a rule denies, or a hook asks: no mode allows it
}

// worse returns the stricter of two findings. What would allow both is what
// would allow either.
func worse(a, b finding) finding {
	if a.tier == shell.Ask && b.tier == shell.Ask {
		wants := slices.Clone(a.wants)
		for _, w := range b.wants {
			if !slices.Contains(wants, w) {
				wants = append(wants, w)
			}
		}
		if len(a.wants) == 0 || len(b.wants) == 0 {
			wants = nil
		}
		if b.kind > a.kind && !a.firm || b.firm && !a.firm {
			a = b
		}
		a.wants = wants
		return a
	}
	if b.tier > a.tier || b.tier == a.tier && (b.kind > a.kind || a.reason == nil) {
		return b
	}
	return a
}

// ruled is a finding by a rule.
func ruled(r Rule, reason *shell.Reason) finding {
	return finding{tier: r.Tier, kind: byRule, rule: r.Text, file: r.File, reason: reason}
}

// judge decides about calls by rules and by what they touch.
type judge struct {
	rules   *Rules
	at      workspace.Info // root, further folders, home
	resolve func(string) (string, error)
}

// call judges a call by the rules alone: neither mode nor sandbox count.
func (j judge) call(call *oneloop.ToolUse, touches []oneloop.Touch) finding {
	var found finding
	commands := 0
	for _, t := range touches {
		switch t.Kind {
		case oneloop.TouchCommand:
			commands++
			found = worse(found, j.command(t.Name))
		case oneloop.TouchHost:
			found = worse(found, j.host(t.Name))
		default:
			found = worse(found, j.file(call.Name, t.Name, t.Kind == oneloop.TouchWrite))
		}
	}
	return worse(found, j.name(call, len(touches) > 0))
}

// name judges a call by the name of its tool.
func (j judge) name(call *oneloop.ToolUse, touches bool) finding {
	for _, r := range j.rules.List() {
		if !r.is(call.Name) || r.tool == "Bash" || r.spec != "" && !r.kindOf(call) {
			continue
		}
		if r.Tier == shell.Allow && touches { // what it touches decides
			continue
		}
		return ruled(r, shell.Because("rule-for", "a rule for %s", r.tool))
	}
	if strings.HasPrefix(call.Name, "mcp__") && !touches {
		return finding{tier: shell.Ask, kind: byDefault, reason: shell.Because("server-unknown", "what the tools of a server do is not known"), wants: []string{call.Name}}
	}
	return finding{}
}

// kindOf reports whether the scope of a rule for agents or skills is that of a
// call.
func (r *Rule) kindOf(call *oneloop.ToolUse) bool {
	var in struct {
		Type  string `json:"subagent_type"`
		Skill string `json:"skill"`
		Name  string `json:"name"`
	}
	err := json.Unmarshal(call.Input, &in)
	switch r.tool {
	case "Agent", "Task", "Skill":
		if err != nil {
			return r.Tier > shell.Allow
		}
	}
	switch r.tool {
	case "Agent", "Task":
		return star(r.spec, cmp.Or(in.Type, "general-purpose")) // as an agent is called that is of no kind
	case "Skill":
		return star(r.spec, strings.TrimPrefix(cmp.Or(in.Skill, in.Name), "/")) // as a person calls it, the tool takes it too
	}
	return false
}

// star matches a name with a pattern that may end in *.
func star(pattern, name string) bool {
	prefix, open := strings.CutSuffix(pattern, "*")
	return name == pattern || open && strings.HasPrefix(name, prefix)
}

// host judges a connection.
func (j judge) host(name string) finding {
	for _, r := range j.rules.List() {
		if r.host(name) {
			return ruled(r, shell.Because("rule-for", "a rule for %s", cmp.Or(strings.TrimPrefix(r.spec, "domain:"), "every host")))
		}
	}
	return finding{
		tier: shell.Ask, kind: byDefault, reason: shell.Because("host-unruled", "no rule allows the host %s", hostname(name)),
		wants: []string{"WebFetch(domain:" + hostname(name) + ")"},
	}
}

// file judges reading or writing a file by a tool. name is its real path.
func (j judge) file(tool, name string, write bool) finding {
	ruler := "Read"
	if write {
		ruler = "Edit"
	}
	f := j.path(name, write, true, func(r Rule) bool { return r.spec == "" && (r.tool == ruler || r.tool == tool) })
	if write { // who changes a file is shown what is in it
		for _, r := range j.rules.List() {
			if r.Tier == shell.Deny && r.tool == "Read" && (r.spec == "" || r.path != nil && r.path.match(name)) {
				f = worse(f, ruled(r, shell.Because("rule-keeps", "a rule keeps it from being read")))
			}
		}
	}
	if f.tier > shell.Allow && f.part == "" {
		f.reason = j.done(name, write, f.reason)
	}
	return f
}

// path judges reading or writing a file, whoever does it. bare says which
// rules without a path count.
func (j judge) path(name string, write, sure bool, bare func(Rule) bool) finding {
	tool := "Read"
	if write {
		tool = "Edit"
	}
	var allow finding
	for _, r := range j.rules.List() {
		switch {
		case bare != nil && bare(r):
		case r.tool != tool || r.path == nil:
			continue
		case r.path.match(name), r.Tier > shell.Allow && r.path.whole(name):
		case r.Tier > shell.Allow && strings.ContainsAny(name, "*?[") && (r.path.perhaps(name) || r.path.perhaps(name+"/x")):
			f := ruled(r, shell.Because("maybe-named-file", "it may be a file that a rule names"))
			f.tier, f.firm = shell.Ask, r.Tier == shell.Deny
			return f
		default:
			continue
		}
		f := ruled(r, shell.Because("named", "a rule names it"))
		switch {
		case r.Tier == shell.Deny && !sure:
			f.tier, f.firm, f.reason = shell.Ask, true, shell.Because("maybe-named-file", "it may be a file that a rule names")
			return f
		case r.Tier > shell.Allow:
			return f
		}
		allow = f
		break
	}
	return j.pathDefault(name, write, allow)
}

// tree is what the rules say of something in a folder that is used with all
// that is in it. Only what they name is looked for, not what there is.
func (j judge) tree(name string, write, sure bool) (found finding) {
	tool := "Read"
	if write {
		tool = "Edit"
	}
	for _, r := range j.rules.List() {
		if r.Tier == shell.Allow || r.tool != tool || r.path == nil {
			continue
		}
		holds, plain := r.path.holds(name)
		if !holds {
			continue
		}
		f := ruled(r, shell.Because("named-in-it", "a rule names a file in it"))
		if r.Tier == shell.Deny && !(plain && sure) {
			f.tier, f.firm = shell.Ask, true
		}
		found = worse(found, f)
	}
	return found
}

// withheld tells the files that a rule denies to read; nil: there are none.
func (j judge) withheld() func(string) bool {
	var denied []*pathPattern
	for _, r := range j.rules.List() {
		if r.Tier == shell.Deny && r.tool == "Read" && r.path != nil {
			denied = append(denied, r.path)
		}
	}
	if denied == nil {
		return nil
	}
	return func(name string) bool {
		return slices.ContainsFunc(denied, func(p *pathPattern) bool { return p.match(name) })
	}
}

// pathDefault is what is thought of a file that no rule denies or asks for.
func (j judge) pathDefault(name string, write bool, allow finding) finding {
	if write && j.at.Protected(name) {
		return finding{tier: shell.Ask, kind: byGuard, reason: shell.Because("obeyed-later", "what is written there is run or obeyed later, outside of this agent")}
	}
	if allow.rule != "" {
		return allow
	}
	want := "Read(" + j.ruled(name) + ")"
	if !write {
		if why := secret(name, j.at.Home); why != nil {
			return finding{tier: shell.Ask, kind: byGuard, reason: why, wants: []string{want}}
		}
	}
	switch {
	case !j.inside(name):
		if write {
			want = "Edit(" + j.ruled(name) + ")"
		}
		return finding{tier: shell.Ask, kind: byDefault, reason: shell.Because("outside", "it is outside the workspace"), wants: []string{want}}
	case write:
		return finding{tier: shell.Ask, kind: byDefaultEdit, reason: shell.Because("edit-unruled", "no rule allows to change it"), wants: []string{"Edit(" + j.ruled(name) + ")"}}
	}
	return finding{}
}

// inside reports whether a real path is in a folder of the workspace.
func (j judge) inside(name string) bool {
	for _, root := range append([]string{j.at.Root}, j.at.Dirs...) {
		if rel, err := filepath.Rel(root, name); err == nil && filepath.IsLocal(rel) {
			return true
		}
	}
	return false
}

// done is why a file is not simply read or written.
func (j judge) done(name string, write bool, why *shell.Reason) *shell.Reason {
	if write {
		return shell.Because("writes", "it writes %s: %s", j.short(name), why)
	}
	return shell.Because("reads", "it reads %s: %s", j.short(name), why)
}

// short is a path as people call it: from the root of the workspace if it is
// in there.
func (j judge) short(name string) string {
	if rel, err := filepath.Rel(j.at.Root, name); err == nil && filepath.IsLocal(rel) {
		return shell.Visible(filepath.ToSlash(rel))
	}
	return shell.Visible(name)
}

// ruled is a path as a rule writes it; what means something in a pattern is
// taken as it is.
func (j judge) ruled(name string) string {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace
	if filepath.Separator == '\\' {
		escape = strings.NewReplacer("*", "?").Replace
	}
	if rel, err := filepath.Rel(j.at.Root, name); err == nil && filepath.IsLocal(rel) {
		return "./" + filepath.ToSlash(escape(rel))
	}
	return "/" + filepath.ToSlash(escape(name))
}

// secret says why a file should not be read without a word: it holds
// credentials, or it is no file that ends.
func secret(name, home string) *shell.Reason {
	name = filepath.ToSlash(name)
	switch {
	case name == "/dev/null":
		return nil
	case strings.HasPrefix(name, "/dev/"):
		return shell.Because("device", "it is a device")
	case strings.HasPrefix(name, "/proc/") && name != "/proc/cpuinfo" && name != "/proc/meminfo" && name != "/proc/version":
		return shell.Because("kernel", "it is the kernel's, and tells of processes")
	case name == "/etc/shadow" || name == "/etc/gshadow" || strings.HasPrefix(name, "/etc/ssl/private/"):
		return credentials()
	}
	comps := split(strings.ToLower(name))
	for i, c := range comps {
		last := i == len(comps)-1
		switch c {
		case ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".password-store":
			return credentials()
		case ".env", ".netrc", "_netrc", ".npmrc", ".pypirc", ".pgpass", ".my.cnf", ".git-credentials", ".htpasswd", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "credentials.json":
			if last {
				return credentials()
			}
		}
	}
	if len(comps) == 0 {
		return nil
	}
	base, above := comps[len(comps)-1], ""
	if len(comps) > 1 {
		above = comps[len(comps)-2]
	}
	switch {
	case strings.HasPrefix(base, ".env.") && !slices.Contains([]string{".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults"}, base):
	case path.Ext(base) == ".p12" || path.Ext(base) == ".pfx" || path.Ext(base) == ".jks" || path.Ext(base) == ".keystore" || path.Ext(base) == ".kdbx":
	case path.Ext(base) == ".key" || path.Ext(base) == ".pem" && strings.Contains(base, "key"):
	case above == ".docker" && base == "config.json", above == "gh" && base == "hosts.yml", above == "oneloop" && base == "config.env", above == "gcloud" && strings.Contains(base, "credential"):
	default:
		return nil
	}
	return credentials()
}

// HoldsCredentials reports whether a file is by its name, a path, one that
// holds credentials, or a device or a file of the kernel.
func HoldsCredentials(name, home string) bool { return secret(name, home) != nil }

// credentials is why a file is not read without a word.
func credentials() *shell.Reason {
	return shell.Because("credentials", "files of that name hold credentials, and what is read goes to the model's provider")
}

// touched judges what a command does with a file.
func (j judge) touched(raw string, write, sure bool) finding {
	name := filepath.Clean(raw)
	f := j.path(name, write, sure, nil)
	if real, err := j.real(raw); err != nil || real != name {
		if err != nil {
			f = worse(f, finding{tier: shell.Ask, kind: byDefault, reason: shell.Because("leads-nowhere", "where it leads cannot be told")})
		} else {
			f = worse(f, j.path(real, write, sure, nil))
		}
	}
	if f.tier == shell.Ask && (f.kind < byGuard || f.kind == byGuard && f.reason.Code != "credentials") {
		if f.kind != byDefaultEdit || write && j.at.Protected(name) {
			f.kind = byDefaultRun // a sandbox decides
		}
	}
	if f.tier > shell.Allow {
		f.reason = j.done(name, write, f.reason)
	}
	return f
}

func (j judge) real(name string) (string, error) {
	if strings.ContainsAny(name, "\x00*?[") {
		return filepath.Clean(name), nil
	}
	if j.resolve != nil {
		return j.resolve(name)
	}
	return follow(name)
}

// follow gives the real path of a file as the kernel finds it, also of one that
// is not there yet. A link that leads nowhere is an error: what is written
// there is made elsewhere.
func follow(name string) (string, error) {
	led, err := filepath.EvalSymlinks(name)
	if err == nil {
		return led, nil
	}
	if _, is := os.Lstat(name); is == nil {
		return "", err
	}
	name = strings.TrimRight(name, string(filepath.Separator))
	i := strings.LastIndexByte(name, filepath.Separator)
	if i < 0 {
		return filepath.Clean(name), nil
	}
	up, err := follow(name[:i+1])
	if err != nil {
		return "", err
	}
	return filepath.Join(up, name[i+1:]), nil
}
