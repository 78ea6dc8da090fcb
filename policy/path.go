package policy

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// pathPattern is what a rule says of files, in the syntax of .gitignore: * is
// any text within a name, ** any number of folders, and what names a folder
// names all in it. A name without a slash stands for it in every folder.
type pathPattern struct {
	forms [][]string // by component, absolute; one for each way the path may be written
	fold  bool       // compare without case, as some file systems do
}

// place is what paths in rules are relative to.
type place struct {
	dirs []string // the folders of the workspace, real; the first is where commands start
	home string
	base string // of the file the rule is in
}

// parsePath reads a pattern:
//
//	//etc/hosts   an absolute path
//	~/notes/**    below the home folder
//	/src/*.go     from the folder that the settings are of
//	docs/**       from the workspace, as is ./docs/**
//	*.log         in any folder of the workspace
func parsePath(text string, at place) (*pathPattern, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it names no path")
	}
	if text[0] == '!' {
		return nil, errors.New("a path in a rule cannot begin with !; use another tier instead")
	}
	text = filepath.ToSlash(text)
	var roots []string
	rest := text
	switch {
	case strings.HasPrefix(text, "//"):
		roots, rest = []string{"/"}, text[2:]
	case text == "~" || strings.HasPrefix(text, "~/"):
		if at.home == "" {
			return nil, errors.New("the home folder is not known")
		}
		roots, rest = []string{at.home}, text[1:]
	case strings.HasPrefix(text, "/"):
		if at.base == "" {
			return nil, errors.New("a path with / in front is relative to the file a rule is in, and this one is in none; write // for an absolute path")
		}
		roots, rest = []string{at.base}, text[1:]
	default:
		roots = at.dirs
		if name := strings.TrimSuffix(text, "/"); !strings.Contains(name, "/") && name != "." && name != ".." {
			rest = "**/" + rest
		}
	}
	p := &pathPattern{}
	for _, root := range roots {
		for _, form := range []string{root, real(root)} {
			comps := split(path.Join(filepath.ToSlash(form), "x")) // as a folder
			comps = append(comps[:len(comps)-1:len(comps)-1], split(rest)...)
			p.add(dots(comps))
		}
	}
	for _, form := range p.forms {
		for _, c := range form {
			if _, err := path.Match(c, "x"); err != nil {
				return nil, fmt.Errorf("%q is no pattern: %w", c, err)
			}
		}
	}
	return p, nil
}

// add adds a form, and the one in which the links in its plain part have been
// followed: what is compared with it are real paths.
func (p *pathPattern) add(comps []string) {
	plain := slices.IndexFunc(comps, wild)
	if plain < 0 {
		plain = len(comps)
	}
	led := append(split(real("/"+strings.Join(comps[:plain], "/"))), comps[plain:]...)
	for _, form := range [][]string{comps, led} {
		if !slices.ContainsFunc(p.forms, func(f []string) bool { return slices.Equal(f, form) }) {
			p.forms = append(p.forms, form)
		}
	}
}

// real follows the links in the part of a path that is there.
func real(p string) string {
	rest := ""
	for at := filepath.FromSlash(p); ; {
		if led, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.ToSlash(filepath.Join(led, rest))
		}
		up := filepath.Dir(at)
		if up == at {
			return p
		}
		rest, at = filepath.Join(filepath.Base(at), rest), up
	}
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// dots takes . and .. out.
func dots(comps []string) []string {
	out := comps[:0:0]
	for _, c := range comps {
		switch {
		case c == ".":
		case c == ".." && len(out) > 0:
			out = out[:len(out)-1]
		case c == "..":
		default:
			out = append(out, c)
		}
	}
	return out
}

// match reports whether a file or folder is named by p, or is in a folder that
// is.
func (p *pathPattern) match(name string) bool {
	comps := split(filepath.ToSlash(name))
	return slices.ContainsFunc(p.forms, func(form []string) bool { return p.below(form, comps) })
}

// whole reports whether whatever there may be in a folder is named by p.
func (p *pathPattern) whole(name string) bool {
	return p.match(path.Join(filepath.ToSlash(name), "\x01"))
}

// holds reports whether a folder has something in it that p names by all the
// folders on the way, and whether without any wildcard.
func (p *pathPattern) holds(dir string) (holds, plain bool) {
	comps := split(filepath.ToSlash(dir))
	for _, form := range p.forms {
		if len(form) <= len(comps) || slices.ContainsFunc(form[:len(comps)], wild) {
			continue
		}
		if p.below(form[:len(comps)], comps) {
			holds = true
			plain = plain || !slices.ContainsFunc(form, wild)
		}
	}
	return holds, plain
}

func wild(name string) bool { return strings.ContainsAny(name, `*?[\`) }

func (p *pathPattern) below(form, comps []string) bool {
	for len(form) > 0 {
		if form[0] == "**" {
			if len(form) == 1 {
				return len(comps) > 0 // what is in the folder, not the folder
			}
			for i := range comps {
				if p.below(form[1:], comps[i:]) {
					return true
				}
			}
			return false
		}
		if len(comps) == 0 || !p.name(form[0], comps[0]) {
			return false
		}
		form, comps = form[1:], comps[1:]
	}
	return true
}

func (p *pathPattern) name(pattern, name string) bool {
	if p.fold {
		pattern, name = strings.ToLower(pattern), strings.ToLower(name)
	}
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

// perhaps reports whether a path with wildcards of the shell can turn out to
// be one that p names.
func (p *pathPattern) perhaps(name string) bool {
	comps := split(filepath.ToSlash(name))
	return slices.ContainsFunc(p.forms, func(form []string) bool {
		for i, c := range comps {
			if i == len(form) || form[i] == "**" {
				return true
			}
			wild := strings.ContainsAny(c, "*?[")
			if !wild && !p.name(form[i], c) || wild && !strings.ContainsAny(form[i], "*?[") && !p.name(c, form[i]) {
				return false
			}
		}
		return len(comps) >= len(form)
	})
}

// meets reports whether p can name something in one of the folders.
func (p *pathPattern) meets(dir string, more []string) bool {
	return slices.ContainsFunc(append([]string{dir}, more...), func(root string) bool {
		comps := split(filepath.ToSlash(realPath(root)))
		return slices.ContainsFunc(p.forms, func(form []string) bool {
			for i, c := range comps {
				if i == len(form) || form[i] == "**" {
					return true
				}
				if !p.name(form[i], c) {
					return false
				}
			}
			return true
		})
	})
}
