package policy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"oneloop"
)

// ErrUntrusted says that a file of a folder may not be used, because the user
// did not say that it is trusted.
var ErrUntrusted = errors.New("the user has not trusted it")

// FindingKind says what a [Finding] can do.
type FindingKind int

const (
	Settings     FindingKind = iota // run commands, allow calls, add folders, change how the agent works
	Servers                         // start programs and connect to servers that give the model tools
	Variables                       // decide whose key is used and where requests go
	Scripts                         // be run by hooks
	Instructions                    // tell the model what to do
	Agents                          // be agents the model can start
	Commands                        // be prompts the user can call by name
	Skills                          // tell the model how to do things, and bring programs for it
)

// kindTexts say of each kind what it does.
var kindTexts = [...]string{
	Settings:     "settings, which can run commands, let calls run unasked and add folders to write in",
	Servers:      "servers of tools, which are programs to start or addresses to connect to",
	Variables:    "variables, which decide whose key is used and where requests go",
	Scripts:      "scripts, which hooks can run",
	Instructions: "instructions to the model",
	Agents:       "agents that the model can start",
	Commands:     "prompts to be called by name",
	Skills:       "skills, which instruct the model and bring programs along",
}

func (k FindingKind) String() string {
	if k < 0 || int(k) >= len(kindTexts) {
		return fmt.Sprintf("finding of kind %d", int(k))
	}
	return kindTexts[k]
}

// Finding is one thing a folder brings along that would run, redirect or
// instruct if it was used.
type Finding struct {
	Name    string      // its path from the folder, with slashes
	Kind    FindingKind //
	Items   []string    // what is in it, one line each, fit to be shown; may be empty
	Changed bool        // it was trusted before and is another now
	// Sum is the SHA-256 of what was found, in hex; empty when it could not be
	// read. Such a finding is asked for again each time.
	Sum string

	data []byte
	err  error // why it could not be read
}

// TrustOptions are the options of [Trust].
type TrustOptions struct {
	Dir   string // the folder, as it was opened
	Home  string // the user's home folder, which is never trusted as a whole; empty: there is none
	Store string // the folder that keeps the answers, made when there is one to keep; empty: nothing is kept
	// Like is a folder that Dir is a copy of, as a worktree is one of the main
	// checkout: what the user trusts there is trusted in Dir where it is the
	// same, byte for byte, under the same name. Empty: there is none.
	Like string
	More []Finding
	// Instructions, unless it is nil, is given the real path of the folder and
	// what of [Instructions] was found by its name, also when that is nothing. It
	// gives what there is instead: the files by themselves, and those that they
	// lead to.
	Instructions func(dir string, found []Finding) []Finding
	// Grant trusts everything without a question and keeps nothing; see
	// [Trusted.Approved].
	Grant bool
	Ask   oneloop.Ask // nil: nobody is there to answer
	// Question words the question; nil: [TrustQuestion].
	Question func(dir string, found []Finding) oneloop.Question
}

// Trusted is what of a folder may be used. Nil trusts nothing.
type Trusted struct {
	Dir     string    // real path of the folder
	Found   []Finding // all that there is
	Ignored []Finding // that part of it which may not be used
	Notices []string  // what the user should know, each one line

	granted []string // names of what may be used by Grant alone

	again sync.Mutex
	since map[string]string // sums of folders that the user trusts as they are now, by name
}

// Trust decides what of a folder may be used. It looks for what can run,
// redirect or instruct, passes over what the user has trusted before and is
// the same since, and asks once for all the rest.
//
// What was trusted holds for this folder, known by its real path, and for
// those bytes. Nothing that the folder says of itself, such as where its
// git repository is, makes it another folder. "/" and the user's home are
// never trusted as a whole, also not by Grant.
//
// The error is the cause of ctx when that ended the question.
func Trust(ctx context.Context, o TrustOptions) (*Trusted, error) {
	dir := realPath(o.Dir)
	t := &Trusted{Dir: dir, Found: append(o.instructed(dir, survey(dir, o.Home)), o.More...)}
	if len(t.Found) == 0 {
		return t, nil
	}
	if wide := tooWide(dir, o.Home); wide != "" {
		t.ignore(t.Found, wide+" is never trusted as a whole. Work in a folder of its own.")
		return t, nil
	}
	store := trustStore(o.Store)
	var open []Finding
	kept, like := store.read(dir), map[string]string(nil)
	if o.Like != "" {
		like = store.read(realPath(o.Like))
	}
	for i := range t.Found {
		f := &t.Found[i]
		if f.Sum != "" && (kept[f.Name] == f.Sum || like[f.Name] == f.Sum) {
			continue
		}
		f.Changed = kept[f.Name] != "" || like[f.Name] != ""
		open = append(open, *f)
	}
	if o.Grant {
		for _, f := range open {
			t.granted = append(t.granted, f.Name)
		}
		return t, nil
	}
	if len(open) == 0 {
		return t, nil
	}
	return t, t.ask(ctx, o, open)
}

// instructed is what was found, with the instructions as the caller reads them.
func (o TrustOptions) instructed(dir string, found []Finding) []Finding {
	if o.Instructions == nil {
		return found
	}
	var named, others []Finding
	for _, f := range found {
		if f.Kind == Instructions {
			named = append(named, f)
		} else {
			others = append(others, f)
		}
	}
	return append(others, o.Instructions(dir, named)...)
}

// ask puts the question about what is open.
func (t *Trusted) ask(ctx context.Context, o TrustOptions, open []Finding) error {
	if o.Ask == nil {
		t.ignore(open, "this folder is not trusted and nobody is there to ask. Use it with --trust.")
		return nil
	}
	question := o.Question
	if question == nil {
		question = TrustQuestion
	}
	answer, err := o.Ask(ctx, question(t.Dir, open))
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil || !answer.Allow {
		t.ignore(open, "you did not say that it is trusted.")
		return nil
	}
	if err := trustStore(o.Store).add(t.Dir, open); err != nil {
		t.Notices = append(t.Notices, fmt.Sprintf("the answer about what %s brings along could not be kept (%v), so it is asked again next time.", oneLine(t.Dir), err))
	}
	return nil
}

// ignore keeps what is not to be used from being used, and says so.
func (t *Trusted) ignore(list []Finding, why string) {
	t.Ignored = list
	names := make([]string, len(list))
	for i, f := range list {
		names[i] = oneLine(filepath.Join(t.Dir, filepath.FromSlash(f.Name)))
		if f.Kind == Variables && len(f.Items) > 0 {
			names[i] += " (sets " + strings.Join(f.Items, ", ") + ")"
		}
	}
	verb := " is ignored: "
	if len(names) > 1 {
		verb = " are ignored: "
	}
	t.Notices = append(t.Notices, strings.Join(names, ", ")+verb+why)
}

// Has reports whether the folder brings name along, a path as in
// [Finding].Name, and the user trusts it.
func (t *Trusted) Has(name string) bool {
	_, err := t.find(name)
	return err == nil
}

// Approved reports whether the user said yes to name as it is. What may be used
// only because Grant was given is not approved.
func (t *Trusted) Approved(name string) bool { return t.Has(name) && !slices.Contains(t.granted, name) }

// Remember keeps in a store, as in [TrustOptions], that name is trusted with
// this content: the caller wrote it for the user.
func (t *Trusted) Remember(store, name string, data []byte) error {
	return trustStore(store).add(t.Dir, []Finding{FoundFile(name, Settings, data, nil)})
}

// Ignores reports whether something of this kind may not be used.
func (t *Trusted) Ignores(kind FindingKind) bool {
	return t != nil && slices.ContainsFunc(t.Ignored, func(f Finding) bool { return f.Kind == kind })
}

// Read gives the content of a file as it was when it was judged, also if it
// was changed since. It is [fs.ErrNotExist] for what the folder does not bring
// along and [ErrUntrusted] for what may not be used. For folders, such as
// those of skills, it gives nothing: use Has.
func (t *Trusted) Read(name string) ([]byte, error) {
	f, err := t.find(name)
	if err == nil {
		err = f.err
	}
	return f.data, err
}

func (t *Trusted) find(name string) (Finding, error) {
	if t == nil {
		return Finding{}, fs.ErrNotExist
	}
	for _, f := range t.Ignored {
		if f.Name == name {
			return Finding{}, ErrUntrusted
		}
	}
	for _, f := range t.Found {
		if f.Name == name {
			return f, nil
		}
	}
	return Finding{}, fs.ErrNotExist
}

// Again looks at a folder once more, name as in [Finding].Name, before what is
// in it is used: a long time after it was judged it may be another. If it is, it
// is asked for as [Trust] does, with the same options. The error is
// [ErrUntrusted], [fs.ErrNotExist], or the cause of ctx.
func (t *Trusted) Again(ctx context.Context, o TrustOptions, name string) error {
	is, err := t.find(name)
	if err != nil {
		return err
	}
	t.again.Lock()
	defer t.again.Unlock()
	was := cmp.Or(t.since[name], is.Sum)
	is.Sum, is.Items, is.err = treeSum(filepath.Join(t.Dir, filepath.FromSlash(name)))
	switch {
	case is.err != nil:
		return withoutPath(is.err)
	case is.Sum == was:
		return nil
	case is.Sum == "":
		return fs.ErrNotExist
	case o.Grant:
		return nil
	case o.Ask == nil:
		return fmt.Errorf("%w as it is now: it was changed since", ErrUntrusted)
	}
	is.Changed = true
	seen := &Trusted{Dir: t.Dir, Found: []Finding{is}}
	if err := seen.ask(ctx, o, seen.Found); err != nil {
		return err
	}
	if len(seen.Ignored) > 0 {
		return fmt.Errorf("%w as it is now: it was changed since", ErrUntrusted)
	}
	if t.since == nil {
		t.since = map[string]string{}
	}
	t.since[name] = is.Sum
	return nil
}

// TrustQuestion is the question about what the folder dir brings along.
func TrustQuestion(dir string, found []Finding) oneloop.Question {
	return oneloop.Question{
		Kind:   "trust",
		Title:  "Trust what " + oneLine(dir) + " brings along?",
		Detail: TrustDetail(dir, found, FindingKind.String, "changed since you trusted it"),
		Reason: "whoever wrote this folder wrote that too; what it says is done with your rights",
	}
}

// TrustDetail lists findings for a question: each with its path, what kind
// says of it, changed if it is, and its items below.
func TrustDetail(dir string, found []Finding, kind func(FindingKind) string, changed string) string {
	var b strings.Builder
	for i, f := range found {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s", oneLine(filepath.Join(dir, filepath.FromSlash(f.Name))), kind(f.Kind))
		if f.Changed {
			fmt.Fprintf(&b, " (%s)", changed)
		}
		for _, item := range f.Items {
			b.WriteString("\n  " + item)
		}
	}
	return b.String()
}

// tooWide names a folder that is never trusted as a whole.
func tooWide(dir, home string) string {
	switch {
	case filepath.Dir(dir) == dir:
		return "the root of the file system"
	case home != "" && dir == realPath(home):
		return "your home folder"
	}
	return ""
}

// realPath is the path by which a folder is known, whatever link led to it.
func realPath(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}
