package shell

import (
	"path"
	"slices"
	"strings"

	"oneloop/internal/system"
)

// place is a folder that must stay.
type place struct {
	path string
	what *Reason
}

// protect notes the folders that must not be removed: the root, the home
// folder, all that they and the working folder are in, and the system's.
func (j *judge) protect(dir string) {
	add := func(p string, what *Reason) { j.protected = append(j.protected, place{p, what}) }
	add("/", Because("root-folder", "the root folder"))
	add(path.Clean(j.home), Because("home-folder", "the home folder"))
	for p := path.Dir(path.Clean(j.home)); p != "/" && p != "."; p = path.Dir(p) {
		add(p, Because("above-home", "a folder the home folder is in"))
	}
	for p := path.Dir(path.Clean(dir)); p != "/" && p != "."; p = path.Dir(p) {
		add(p, Because("above-work", "a folder the working folder is in"))
	}
	ofSystem := Because("system-folder", "a folder of the system")
	for _, p := range append(system.Folders(), "/home", "/opt", "/root", "/var", "/Applications", "/Users") {
		add(p, ofSystem)
	}
}

// remove judges the arguments of rm.
func (j *judge) remove(args []string, c context) {
	recursive, unclear := false, false
	var targets []string
	for i, a := range args {
		if a == "--" {
			targets = append(targets, args[i+1:]...)
			break
		}
		switch {
		case len(a) < 2 || a[0] != '-':
			targets = append(targets, a)
			unclear = unclear || strings.HasPrefix(a, unknown)
		case strings.HasPrefix(a, "--"):
			recursive = recursive || len(a) > 2 && strings.HasPrefix("--recursive", a) || strings.Contains(a, unknown)
		default:
			recursive = recursive || strings.ContainsAny(a, "rR"+unknown)
		}
	}
	for _, t := range targets {
		if t == "" {
			continue // rm refuses it
		}
		if what := j.vital(t, c.st.dirs); what != nil && (recursive || unclear || walked(t)) {
			j.report(c, Deny, RuleRemove, Because("removes", "it removes %s", what))
		}
		if what := j.spread(t, c.st.dirs); what != nil {
			j.report(c, Ask, RuleWide, Because("removes-all-over", "it removes files all over %s", what))
		}
		if recursive && c.guess && adrift(t, c.st.dirs) {
			c.guess = false // that it is not known is reason enough
			j.report(c, Ask, RuleUnset, Because("removes-unknown-folder", "it removes everything in a folder that is not known before it runs"))
			c.guess = true
		}
		if what := j.history(t, recursive, c.st.dirs); what != nil {
			j.report(c, Ask, RuleGit, Because("removes", "it removes %s", what))
		}
	}
}

// vital says what of the protected folders a recursive rm of target removes.
func (j *judge) vital(target string, dirs []string) *Reason {
	if onlyUp(target) {
		return Because("above-work", "a folder the working folder is in")
	}
	for _, dir := range dirs {
		p := components(rooted(target, dir))
		if n := len(p); n > 0 && strings.HasPrefix(p[n-1], "~") && path.Dir("/"+strings.Join(p, "/")) == path.Dir(j.home) {
			return Because("a-home-folder", "the home folder of a user")
		}
		for _, keep := range j.protected {
			k := components(keep.path)
			switch {
			case match(p, k):
				return keep.what
			case len(p) > 0 && everything(p[len(p)-1]) && match(p[:len(p)-1], k):
				return Because("everything-in", "everything in %s", keep.what)
			}
		}
	}
	return nil
}

// adrift reports whether target is the whole of a folder of which nothing is
// known.
func adrift(target string, dirs []string) bool {
	for _, dir := range dirs {
		p := rooted(target, dir)
		if everything(path.Base(p)) {
			p = path.Dir(p)
		}
		if p == lost || strings.HasPrefix(p, nowhere) && strings.HasPrefix(lost, p+"/") {
			return true
		}
	}
	return false
}

// walked reports whether target stands for all that is in a tree.
func walked(target string) bool { return target == every || strings.HasSuffix(target, "/"+every) }

// spread says of which protected folder target is a part that may be anywhere
// in it. All that has some name may be meant where people keep their own files,
// and is not meant on the whole machine.
func (j *judge) spread(target string, dirs []string) *Reason {
	for _, dir := range dirs {
		p := components(rooted(target, dir))
		i := slices.Index(p, every)
		if i < 0 || i == len(p)-1 {
			continue
		}
		for _, keep := range j.protected {
			if match(p[:i], components(keep.path)) && (i == 0 || everything(p[len(p)-1])) {
				return keep.what
			}
		}
	}
	return nil
}

// onlyUp tells "..", "../..", "./../" and the like.
func onlyUp(p string) bool {
	up := false
	for c := range strings.SplitSeq(p, "/") {
		switch c {
		case "..":
			up = true
		case "", ".":
		default:
			return false
		}
	}
	return up && !strings.HasPrefix(p, "/")
}

// history says what of git's own folder rm of target removes.
func (j *judge) history(target string, recursive bool, dirs []string) *Reason {
	for _, dir := range dirs {
		abs := rooted(target, dir)
		p := components(abs)
		n := len(p)
		if n > 0 && isGit(p[n-1]) {
			return Because("git-folder", "a git repository's own folder")
		}
		if n > 1 && isGit(p[n-2]) && (everything(p[n-1]) || recursive && (p[n-1] == "objects" || p[n-1] == "refs")) {
			return Because("git-data", "what a git repository keeps")
		}
		if recursive && abs == j.dir || walked(abs) && path.Dir(abs) == j.dir {
			return Because("work-folder", "the working folder itself")
		}
	}
	return nil
}

// isGit tells .git, in any case, and wildcards that it is one of. Wildcards
// match a leading dot only with a dot.
func isGit(name string) bool {
	name = strings.ToLower(name)
	return name == ".git" || strings.HasPrefix(name, ".") && name != ".." && matches(name, ".git")
}

// components splits an absolute path. The root of a process is the root.
func components(p string) []string {
	for {
		rest, is := strings.CutPrefix(p, "/proc/")
		_, rest, more := strings.Cut(rest, "/root")
		if !is || !more || rest != "" && rest[0] != '/' {
			break
		}
		p = path.Clean("/" + rest)
	}
	if p == "/" {
		return nil
	}
	return strings.Split(strings.TrimPrefix(p, "/"), "/")
}

// match compares a path that may hold wildcards with one that does not.
func match(pattern, p []string) bool {
	if len(pattern) != len(p) {
		return false
	}
	for i := range p {
		if !matches(pattern[i], p[i]) {
			return false
		}
	}
	return true
}

// matches compares one name with a pattern as bash does, but for a leading
// dot.
func matches(pattern, name string) bool {
	if pattern == name {
		return true
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return false
	}
	ok, err := path.Match(strings.ReplaceAll(pattern, "[!", "[^"), name)
	return err == nil && ok
}

// everything tells patterns that match all names in a folder, or all that
// begin with a dot, or nearly so: they hold no letter and no digit outside of
// brackets.
func everything(pattern string) bool {
	if pattern == every {
		return true
	}
	if !strings.ContainsAny(pattern, "*?[") {
		return false
	}
	in := false
	for _, r := range pattern {
		switch {
		case r == '[':
			in = true
		case r == ']':
			in = false
		case in || strings.ContainsRune("*?.", r):
		default:
			return false
		}
	}
	return true
}
