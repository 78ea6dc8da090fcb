package workspace

import (
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What is listed here is run, or changes what is run, later and outside any
// confinement: at the person's next git command, in their editor, at their
// next login. The names are lower case; see [fold].
var (
	// guardedNames are protected wherever they are a component of a path.
	guardedNames = []string{".git", ".oneloop", ".claude", ".mcp.json", ".vscode", ".idea", ".envrc", ".gitmodules"}

	// guardedToo are as well. Fewer people have them, and keeping a name from
	// being made costs each command in a sandbox some of its time: there they
	// are protected where they exist, and named where they are new.
	guardedToo = []string{".cursor", ".zed", ".devcontainer", ".gemini", ".codex", ".kiro", ".roo", ".windsurf", ".opencode", ".vs", ".exrc", ".nvim.lua", ".nvimrc", "opencode.json", "opencode.jsonc", ".devcontainer.json"}

	// guardedEnd is that of further names of this kind.
	guardedEnd = ".code-workspace"

	// guardedInGit are what commands in a sandbox may not write in a git
	// folder, which they must else be able to. A slash at the end marks a
	// folder.
	guardedInGit = []string{"hooks/", "config", "config.worktree", "commondir", "info/attributes"}

	// guardedInHome are protected below the user's home folder. A slash at
	// the end marks a folder.
	guardedInHome = []string{
		".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile",
		".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout",
		".kshrc", ".cshrc", ".tcshrc", ".login", ".logout", ".inputrc", ".config/fish/",
		".xprofile", ".xinitrc", ".xsession", ".xsessionrc", ".pam_environment",
		".config/environment.d/", ".config/autostart/", ".config/systemd/", "library/launchagents/",
		".ssh/", ".gnupg/", ".gitconfig", ".config/git/", ".netrc", ".npmrc", ".yarnrc", ".cargo/config", ".cargo/config.toml",
		".vimrc", ".vim/", ".config/nvim/", ".emacs", ".emacs.d/", ".config/emacs/", ".tmux.conf", ".config/tmux/", ".screenrc",
		".gdbinit", ".pythonstartup", ".direnvrc", ".config/direnv/", ".config/oneloop/", ".mcp/", ".cursor/",
		".local/bin/", "bin/", "documents/powershell/", "documents/windowspowershell/",
	}
)

// Protected reports whether what is written at rel, a path from a folder of a
// workspace, takes effect later: anything of git's own, of agents and
// editors. It goes by the name alone and not by case, since some file systems
// do not either; see [Info.Protected].
func Protected(rel string) bool {
	return slices.ContainsFunc(components(rel), guardedName)
}

// guardedName reports whether a folded name is one of those that are protected
// wherever they are.
func guardedName(name string) bool {
	return slices.Contains(guardedNames, name) || slices.Contains(guardedToo, name) || strings.HasSuffix(name, guardedEnd)
}

// Protected reports whether what is written at path, as [Files.Resolve] gives
// it, takes effect later: [Protected] says so, or it is a start-up file of the
// user.
func (i Info) Protected(path string) bool {
	return protectedPath(append([]string{i.Root}, i.Dirs...), i.Home, path)
}

func (f rooted) protected(path string) bool {
	var roots []string
	for _, d := range f.folders {
		roots = append(roots, d.real)
	}
	return protectedPath(roots, f.home, path)
}

func protectedPath(roots []string, home, path string) bool {
	inside := false
	for _, root := range roots {
		rel, ok := below(root, path)
		if !ok {
			continue
		}
		inside = true
		// A root that lies in a git folder is no way around.
		if Protected(rel) || slices.Contains(components(root), ".git") {
			return true
		}
		if home != "" && !startsUp(home, root) && startsUp(home, path) {
			return true
		}
	}
	return !inside && Protected(path)
}

// startsUp reports whether path is one of guardedInHome or in one of them.
// Somebody who opens such a folder as a workspace means to work in it.
func startsUp(home, path string) bool {
	rel, ok := below(home, path)
	if !ok {
		return false
	}
	rel = strings.Join(components(rel), "/")
	return slices.ContainsFunc(guardedInHome, func(name string) bool {
		dir, isDir := strings.CutSuffix(name, "/")
		return rel == dir || isDir && strings.HasPrefix(rel, name)
	})
}

// components gives the parts of a path, folded. A backslash separates too.
func components(path string) []string {
	parts := strings.FieldsFunc(filepath.ToSlash(path), func(r rune) bool { return r == '/' || r == '\\' })
	kept := parts[:0]
	for _, p := range parts {
		if p = fold(p); p != "" {
			kept = append(kept, p)
		}
	}
	return kept
}

// fold gives the name that the most forgiving file system takes a name for:
// macOS ignores case and some invisible characters, Windows case, dots and
// spaces at the end, and what follows a colon; there .git is also GIT~1.
func fold(name string) string {
	if plainName(name) {
		return name
	}
	name, _, _ = strings.Cut(name, ":")
	name = strings.Map(func(r rune) rune {
		if r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x206a && r <= 0x206f || r == 0xfeff {
			return -1
		}
		// The smallest of the runes that are equal but for case.
		least := r
		for next := unicode.SimpleFold(r); next != r; next = unicode.SimpleFold(next) {
			least = min(least, next)
		}
		return unicode.ToLower(least)
	}, name)
	name = strings.TrimRight(name, ". ")
	if name == "git~1" {
		return ".git"
	}
	return name
}

// plainName reports whether a name is for sure one that all file systems take
// as it is. Most are.
func plainName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c >= utf8.RuneSelf || c >= 'A' && c <= 'Z' || c == ':' || c == '~' {
			return false
		}
	}
	return name != "" && name[len(name)-1] != '.' && name[len(name)-1] != ' '
}
