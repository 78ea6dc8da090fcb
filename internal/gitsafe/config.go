package gitsafe

import (
	"slices"
	"strings"
)

// Setting is one in a file of settings of git. Section and key are in lower
// case, as git takes them.
type Setting struct{ Section, Sub, Key, Value string }

// Name is how "git config" calls it.
func (s Setting) Name() string {
	if s.Sub != "" {
		return s.Section + "." + s.Sub + "." + s.Key
	}
	return s.Section + "." + s.Key
}

// Config reads settings as git does. odd says that git would not read it,
// or that we cannot.
func Config(text string) (list []Setting, odd bool) {
	p := configText{rest: strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")}
	var at Setting
	for {
		p.rest = strings.TrimLeft(p.rest, " \t\n\r\v\f")
		switch {
		case p.rest == "":
			return list, p.odd
		case p.rest[0] == '#' || p.rest[0] == ';':
			_, p.rest, _ = strings.Cut(p.rest, "\n")
		case p.rest[0] == '[':
			at = p.header()
		default:
			at.Key = strings.ToLower(p.word())
			at.Value = p.value()
			if at.Section == "" || at.Key == "" {
				p.odd = true
			}
			list = append(list, at)
		}
		if p.odd {
			return list, true
		}
	}
}

// configText is what is left to read.
type configText struct {
	rest string
	odd  bool
}

func (p *configText) next() byte {
	if p.rest == "" {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	p.odd = p.odd || c == 0
	return c
}

// word takes letters, digits and hyphens.
func (p *configText) word() string {
	n := 0
	for n < len(p.rest) && wordByte(p.rest[n]) {
		n++
	}
	word := p.rest[:n]
	p.rest = p.rest[n:]
	return word
}

func wordByte(c byte) bool {
	return c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// header takes [section], [section.sub] or [section "sub"].
func (p *configText) header() (s Setting) {
	p.next()
	s.Section = strings.ToLower(p.word())
	if strings.HasPrefix(p.rest, ".") {
		head, _, _ := strings.Cut(p.rest[1:], "]")
		p.rest = p.rest[1+len(head):]
		s.Sub = strings.ToLower(head)
		p.odd = p.odd || strings.ContainsAny(head, " \t\n\"[")
	}
	if blank := strings.TrimLeft(p.rest, " \t"); blank != p.rest {
		p.rest = blank
		var sub strings.Builder
		p.odd = p.odd || p.next() != '"'
		for c := p.next(); c != '"' && !p.odd; c = p.next() {
			if c == '\\' {
				c = p.next()
			}
			p.odd = p.odd || c == 0 || c == '\n'
			sub.WriteByte(c)
		}
		s.Sub += sub.String()
	}
	p.odd = p.odd || s.Section == "" || p.next() != ']'
	return s
}

// value takes what follows a key, to the end of the line.
func (p *configText) value() string {
	p.rest = strings.TrimLeft(p.rest, " \t")
	switch p.next() {
	case 0, '\n':
		return "true"
	case '=':
	default:
		p.odd = true
		return ""
	}
	var text strings.Builder
	quoted, end := false, 0 // end is where the value would end but for blanks
	for {
		c := p.next()
		switch {
		case c == 0 || c == '\n':
			p.odd = p.odd || quoted
			return strings.TrimLeft(text.String()[:end], " \t")
		case !quoted && (c == '#' || c == ';'):
			_, p.rest, _ = strings.Cut(p.rest, "\n")
			return strings.TrimLeft(text.String()[:end], " \t")
		case c == '"':
			quoted = !quoted
			end = text.Len()
			continue
		case c == '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case 't':
				c = '\t'
			case 'n':
				c = '\n'
			case 'b':
				c = '\b'
			case '\\', '"':
			default:
				p.odd = true
			}
			text.WriteByte(c)
			end = text.Len()
			continue
		}
		text.WriteByte(c)
		if quoted || c != ' ' && c != '\t' {
			end = text.Len()
		}
	}
}

// Strong are the settings in a file that are not known to be mild, as
// "name=value".
func Strong(text string) []string {
	list, odd := Config(text)
	var strong []string
	for _, s := range list {
		if !s.mild() {
			strong = append(strong, s.Name()+"="+s.Value)
		}
	}
	if odd {
		strong = append(strong, "a line that cannot be read")
	}
	return strong
}

// mild reports whether a setting makes git run no program and obey no other
// file. What is not known is not mild.
func (s Setting) mild() bool {
	switch {
	case runsHelper(s.Value):
		return false
	case s.Section == "color" || s.Section == "advice":
		return true
	case s.Sub == "":
		return slices.Contains(strings.Fields(mildSettings(s.Section)), s.Key)
	}
	switch s.Section {
	case "remote":
		return slices.Contains([]string{"url", "fetch", "pushurl", "push", "tagopt", "prune", "prunetags", "mirror", "promisor", "partialclonefilter", "skipdefaultupdate", "skipfetchall", "followremotehead", "gh-resolved"}, s.Key)
	case "branch":
		return slices.Contains([]string{"remote", "pushremote", "merge", "rebase", "description", "gh-merge-base", "vscode-merge-base"}, s.Key)
	case "submodule":
		return slices.Contains([]string{"url", "active", "branch", "ignore", "shallow"}, s.Key) ||
			s.Key == "update" && slices.Contains([]string{"checkout", "rebase", "merge", "none"}, s.Value)
	case "maintenance":
		return slices.Contains([]string{"enabled", "schedule", "auto"}, s.Key)
	}
	return false
}

// runsHelper reports whether a value can be an address for which git runs a
// program of that name, "ext::…" among them.
func runsHelper(value string) bool {
	if !strings.Contains(value, "::") {
		return false
	}
	for _, scheme := range []string{"https://[", "http://[", "ssh://[", "git://["} {
		if strings.HasPrefix(value, scheme) {
			return false
		}
	}
	return true
}

// mildSettings are the keys of a section, without a name in the middle, that a
// repository may have.
func mildSettings(section string) string {
	switch section {
	case "core":
		return "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol safecrlf quotepath compression loosecompression abbrev " +
			"sparsecheckout sparsecheckoutcone sharedrepository untrackedcache preloadindex commitgraph multipackindex longpaths protecthfs protectntfs " +
			"checkstat trustctime fscache whitespace commentchar deltabasecachelimit packedgitlimit packedgitwindowsize bigfilethreshold warnambiguousrefs hidedotfiles"
	case "extensions":
		return "objectformat refstorage partialclone compatobjectformat worktreeconfig relativeworktrees noop preciousobjects"
	case "user":
		return "name email useconfigonly"
	case "author", "committer":
		return "name email"
	case "branch":
		return "autosetupmerge autosetuprebase sort"
	case "remote":
		return "pushdefault"
	case "submodule":
		return "active fetchjobs"
	case "init":
		return "defaultbranch"
	case "commit":
		return "gpgsign verbose cleanup status"
	case "tag":
		return "gpgsign sort"
	case "fetch":
		return "prune prunetags parallel fsckobjects writecommitgraph all recursesubmodules unpacklimit showforcedupdates output negotiationalgorithm"
	case "pull":
		return "rebase ff"
	case "push":
		return "default followtags autosetupremote recursesubmodules usebitmaps negotiate useforceifincludes"
	case "rebase":
		return "autosquash autostash updaterefs stat missingcommitscheck forkpoint abbreviatecommands reschedulefailedexec rebasemerges"
	case "merge":
		return "ff conflictstyle renames renamelimit directoryrenames stat log autostash"
	case "diff":
		return "algorithm renames renamelimit context interhunkcontext mnemonicprefix noprefix colormoved submodule indentheuristic"
	case "rerere":
		return "enabled autoupdate"
	case "gc":
		return "auto autopacklimit autodetach pruneexpire worktreepruneexpire reflogexpire reflogexpireunreachable rerereresolved rerereunresolved aggressivedepth aggressivewindow packrefs bigpackthreshold cruftpacks writecommitgraph"
	case "pack":
		return "window depth threads windowmemory compression indexversion packsizelimit usebitmaps writebitmaphashcache deltacachesize deltacachelimit usesparse allowpackreuse"
	case "repack":
		return "usedeltabaseoffset packkeptobjects writebitmaps usedeltaislands updateserverinfo"
	case "maintenance":
		return "auto autodetach strategy"
	case "index":
		return "version threads sparse skiphash recordendofindexentries recordoffsettable"
	case "feature":
		return "manyfiles experimental"
	case "status":
		return "showuntrackedfiles short branch relativepaths aheadbehind renames renamelimit displaycommentprefix showstash"
	case "log":
		return "date decorate follow abbrevcommit showroot mailmap diffmerges"
	case "receive":
		return "denycurrentbranch denynonfastforwards denydeletes denydeletecurrent fsckobjects unpacklimit autogc"
	case "lfs":
		return "repositoryformatversion"
	}
	return ""
}
