package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"oneloop/internal/config"
	"oneloop/internal/tui"
	"oneloop/workspace"
)

// diagnosis is what doctor found. Why a sandbox does not work and what would
// mend that, and the JSON, are English.
type diagnosis struct {
	Version     string          `json:"version"`
	Go          string          `json:"go"`
	Platform    string          `json:"platform"`
	Folder      string          `json:"folder"`
	Credentials []foundKey      `json:"credentials"`
	Model       string          `json:"model"`
	Endpoint    string          `json:"endpoint"` // the host, and a port that was given
	Bash        string          `json:"bash"`     // a path; empty: there is none outside the folder
	Git         string          `json:"git"`
	Rg          string          `json:"rg"`
	Terminal    bool            `json:"terminal"`
	Term        string          `json:"term"`
	Files       []settingsFile  `json:"files"`
	Sandbox     sandboxFindings `json:"sandbox"`
	Lacks       []string        `json:"lacks"` // what is needed and missing, in the user's language
	code        int
}

// foundKey is a credential that is there. Its value is nowhere in here.
type foundKey struct {
	Kind string `json:"kind"` // "key" or "token"
	From string `json:"from"` // a variable, or a file
}

type settingsFile struct {
	Path string `json:"path"`
	Used bool   `json:"used"`
}

type sandboxFindings struct {
	Asked  string           `json:"asked"`  // "auto", a backend, "none"
	Picked string           `json:"picked"` // a backend, "none", or empty: nothing would run
	Offers []sandboxOffered `json:"offers"`
	Error  string           `json:"error,omitempty"`
}

type sandboxOffered struct {
	Backend string   `json:"backend"`
	Works   bool     `json:"works"`
	Why     string   `json:"why,omitempty"`
	Mend    string   `json:"mend,omitempty"`
	Weaker  []string `json:"weaker"`
}

// doctor tells what this program finds here, and what it lacks. It asks
// nothing, needs no key, sends nothing anywhere and changes no setting.
func (p *program) doctor(ctx context.Context) error {
	dir, err := p.folder()
	if err != nil {
		return err
	}
	d := &diagnosis{Version: version(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH, Folder: dir, Credentials: []foundKey{}, Files: []settingsFile{}}
	in, err := p.input(dir)
	if err != nil {
		return err
	}
	in.Flags.Model, in.Flags.Fallback = p.opts.model, p.opts.fallback
	s, err := config.Load(ctx, in)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		d.lack(exitConfig, p.explain(err))
		s = &config.Settings{Sandbox: cmp.Or(p.opts.sandbox, "auto")}
	} else {
		p.settings, p.words = s, tui.Messages(s.Language)
		p.lookAtSettings(d, s)
	}
	p.settings = s
	p.lookAtPrograms(d, dir)
	p.lookAtSandbox(d, dir)
	if p.opts.json {
		err = p.printJSON(d)
	} else {
		err = p.printDiagnosis(d)
	}
	if err == nil && d.code != exitDone {
		err = &silentError{code: d.code}
	}
	return err
}

func (d *diagnosis) lack(code int, what string) {
	d.Lacks = append(d.Lacks, what)
	if d.code == exitDone {
		d.code = code
	}
}

func (p *program) lookAtSettings(d *diagnosis, s *config.Settings) {
	a, _ := s.Access(s.Model.Provider)
	for _, c := range []struct {
		kind string
		set  bool
	}{{"key", a.Key.Set() || a.Commanded()}, {"token", a.Token.Set()}} {
		if c.set {
			d.Credentials = append(d.Credentials, foundKey{c.kind, a.From})
		}
	}
	p.lookAtModel(d, s)
	for _, name := range []string{"settings.json", "config.env"} {
		path := filepath.Join(s.ConfigDir, name)
		if _, err := os.Stat(path); s.ConfigDir != "" && err == nil {
			d.Files = append(d.Files, settingsFile{path, true})
		}
	}
	if s.Trusted != nil {
		for _, f := range s.Trusted.Found {
			d.Files = append(d.Files, settingsFile{filepath.Join(d.Folder, filepath.FromSlash(f.Name)), s.Trusted.Has(f.Name)})
		}
	}
}

// lookAtModel tells who would be asked, and what for that is missing.
func (p *program) lookAtModel(d *diagnosis, s *config.Settings) {
	a, _ := s.Access(s.Model.Provider)
	if s.Undecided != nil {
		for _, a := range s.Reachable() {
			if a.From != "" && a.Key.Set() {
				d.Credentials = append(d.Credentials, foundKey{"key", a.From})
			}
		}
		d.lack(exitConfig, p.undecided(s.Undecided))
		return
	}
	if a.Name != "anthropic" {
		d.Credentials = []foundKey{}
		if a.From != "" {
			d.Credentials = append(d.Credentials, foundKey{"key", a.From})
		}
	}
	switch {
	case a.Configured():
	case a.Name == "anthropic":
		d.lack(exitConfig, p.words.DoctorNoKey)
	default:
		d.lack(exitConfig, p.unkeyed(a).Error())
	}
	if a.Through != "" {
		if self, err := os.Executable(); err == nil {
			if path, there := cloudPath(self, a.Through); !there {
				d.lack(exitConfig, p.cloudMissing(a, path).Error())
			}
		}
	}
	d.Model = p.chosenModel()
	if u, err := url.Parse(p.address()); err == nil {
		d.Endpoint = u.Host
	}
}

func (p *program) lookAtPrograms(d *diagnosis, dir string) {
	d.Terminal, d.Term = tui.IsTerminal(p.stdin) && tui.IsTerminal(p.stdout), p.variable("TERM")
	w, err := workspace.Local(dir, workspace.LocalOptions{Secrets: p.settings.Secrets()})
	if err != nil {
		d.lack(exitFailed, err.Error())
		return
	}
	for name, at := range map[string]*string{"bash": &d.Bash, "git": &d.Git, "rg": &d.Rg} {
		*at, _ = w.Program(name) // empty when there is none
	}
	if d.Bash == "" {
		d.lack(exitFailed, p.words.NoBash)
	}
}

func (p *program) lookAtSandbox(d *diagnosis, dir string) {
	d.Sandbox.Asked, d.Sandbox.Offers = p.settings.Sandbox, []sandboxOffered{}
	trials, err := workspace.TrySandbox(dir, workspace.SandboxOptions{Secrets: p.settings.Secrets(), Dirs: p.besides(dir), Memory: p.memory()})
	if err != nil {
		d.Sandbox.Error = err.Error()
	}
	for _, t := range trials {
		d.Sandbox.Offers = append(d.Sandbox.Offers, sandboxOffered{t.Backend, t.Works, t.Why, t.Mend, append([]string{}, t.Weaker...)})
		if t.Works && d.Sandbox.Picked == "" && (d.Sandbox.Asked == "auto" || d.Sandbox.Asked == t.Backend) {
			d.Sandbox.Picked = t.Backend
		}
	}
	if d.Sandbox.Asked == "none" {
		d.Sandbox.Picked = "none"
	}
	if d.Sandbox.Picked == "" {
		d.lack(exitFailed, p.words.DoctorNoSandbox+" "+p.words.SandboxMissing)
	}
}

// memory is the user's folder for what can be found out or made again, e.g.
// which sandboxes do not work here. Empty: there is no place for it.
func (p *program) memory() string {
	home := p.variable("XDG_CACHE_HOME")
	if !filepath.IsAbs(home) {
		if home = p.home(); home == "" {
			return ""
		}
		home = filepath.Join(home, ".cache")
	}
	return filepath.Join(home, "oneloop")
}

func (p *program) printDiagnosis(d *diagnosis) error {
	t := p.words
	label := t.DoctorLabels
	var out strings.Builder
	line := func(label, format string, args ...any) {
		fmt.Fprintf(&out, "%s: %s\n", label, tui.Visible(fmt.Sprintf(format, args...)))
	}
	fmt.Fprintf(&out, t.Version+"\n", d.Version, d.Go, d.Platform)
	line(label[0], "%s", d.Folder)
	for _, c := range d.Credentials {
		line(label[1], "%s", c.From)
	}
	if len(d.Credentials) == 0 {
		line(label[1], "%s", t.DoctorNone)
	}
	if d.Model != "" {
		line(label[2], "%s", d.Model)
		line(label[3], "%s", d.Endpoint)
	}
	for _, program := range [][2]string{{"bash", d.Bash}, {"git", d.Git}, {"rg", d.Rg}} {
		line(program[0], "%s", cmp.Or(program[1], t.DoctorNone))
	}
	terminal := t.DoctorNone
	if d.Terminal {
		terminal = cmp.Or(d.Term, "TERM=")
	}
	line(label[4], "%s", terminal)
	for _, f := range d.Files {
		state := t.DoctorRead
		if !f.Used {
			state = t.DoctorUntrusted
		}
		line(label[5], "%s: %s", f.Path, state)
	}
	line(label[6], t.DoctorPicked, cmp.Or(d.Sandbox.Picked, t.DoctorNone), d.Sandbox.Asked)
	p.printOffers(d, &out)
	if len(d.Lacks) == 0 {
		fmt.Fprintln(&out, t.DoctorWell)
	}
	for _, what := range d.Lacks {
		fmt.Fprintf(&out, t.DoctorLacks+"\n", tui.Visible(what))
	}
	_, err := io.WriteString(p.stdout, out.String())
	return err
}

func (p *program) printOffers(d *diagnosis, out io.Writer) {
	t := p.words
	if d.Sandbox.Error != "" {
		fmt.Fprintf(out, "  %s\n", tui.Visible(d.Sandbox.Error))
	}
	for _, o := range d.Sandbox.Offers {
		if o.Works {
			fmt.Fprintf(out, "  %s: %s\n", o.Backend, t.DoctorWorks)
		} else {
			fmt.Fprintf(out, "  "+t.DoctorFails+"\n", o.Backend, tui.Visible(o.Why))
		}
		for _, w := range o.Weaker {
			fmt.Fprintf(out, "    "+t.DoctorWeaker+"\n", tui.Visible(t.Weakness(w)))
		}
		if o.Mend != "" {
			fmt.Fprintf(out, "    "+t.DoctorMend+"\n", tui.Visible(o.Mend))
		}
	}
}
