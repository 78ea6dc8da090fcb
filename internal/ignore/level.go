package ignore

// Level is what a folder says of the names below it, and, by Up, what the
// folders above it say. A nil Level ignores nothing.
type Level struct {
	Up    *Level
	Cut   int    // so many bytes of a path from the root of the tree stand for this folder
	Add   string // or this is what leads from this folder to the root
	Rules *List
	Repo  bool  // a repository begins here: nothing above counts
	More  *List // what the repository ignores besides
}

// Ignored reports whether a path from the root of the tree is left out: the
// innermost folder that says anything of it decides.
func (l *Level) Ignored(path string, dir bool) bool {
	for ; l != nil; l = l.Up {
		text := path[l.Cut:]
		if l.Add != "" {
			text = l.Add + path
		}
		if v := l.Rules.Match(text, dir); v != Silent {
			return v == Ignored
		}
		if l.Repo {
			return l.More.Match(text, dir) == Ignored
		}
	}
	return false
}
