package shell

import (
	"path"
	"slices"
	"strings"
)

// arguments notes the files among the arguments of programs that are known to
// read or to write them. Options are not told from their values here: what is
// noted is compared with rules that deny or ask, and a value is no path that
// they name.
func (p *parts) arguments(argv []string, c context) {
	read, write, tree := false, packs(argv), false
	p.results(argv, c)
	switch name := base(argv[0]); name {
	case "cat", "tac", "head", "tail", "less", "more", "nl", "od", "xxd", "hexdump", "strings", "base64", "base32", "grep", "egrep", "fgrep", "rg", "zgrep",
		"awk", "gawk", "mawk", "cut", "sort", "uniq", "wc", "diff", "cmp", "comm", "paste", "join", "jq", "yq", "file", "md5sum", "sha1sum", "sha256sum", "source", ".", "bat", "view",
		"ag", "ack", "pr", "fold", "fmt", "column", "rev", "shuf", "split", "csplit", "expand", "unexpand", "iconv", "colordiff", "sdiff", "diff3", "vimdiff", "batcat",
		"zip", "tar", "gtar", "cpio", "gzip", "gunzip", "bunzip2", "unxz", "lzma", "unlzma", "unzstd", "compress", "uncompress", "zcat", "bzcat", "xzcat", "zstdcat", "bzip2", "xz", "zstd", "cksum", "b2sum", "sha224sum", "sha384sum", "sha512sum", "sum":
		read = true
	case "find", "gfind", "fd", "fdfind":
		p.walks(name, argv[1:], c)
		return
	case "git":
		p.history(argv[1:], c)
		return
	case "sed", "gsed":
		read = true
		write = slices.ContainsFunc(argv[1:], func(a string) bool {
			return strings.HasPrefix(a, "--in-place") || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "i")
		})
	case "cp", "install", "gcp", "ln", "rsync", "scp":
		p.copies(argv[1:], c, goesDown(argv[1:]), false)
		return
	case "mv", "gmv":
		p.copies(argv[1:], c, true, true)
		return
	case "vi", "vim", "nvim", "nano", "ed", "ex", "emacs", "patch":
		read, write = true, true
	case "tee", "touch", "truncate", "rm", "rmdir", "unlink", "shred", "mkdir", "mkfifo", "chmod", "chown", "chgrp", "sponge":
		write, tree = true, goesDown(argv[1:])
	case "dd":
		for _, a := range argv[1:] {
			if f, is := strings.CutPrefix(a, "if="); is {
				p.touch(f, c, false)
			} else if f, is := strings.CutPrefix(a, "of="); is {
				p.touch(f, c, true)
			}
		}
		return
	default:
		if !slices.Contains(quiet, name) {
			p.named(argv[1:], c)
		}
		return
	}
	script := byScript(argv)
	for _, a := range argv[1:] {
		switch {
		case len(a) > 1 && a[0] == '-':
			if read {
				p.option(a, c)
			}
			continue
		case script:
			script = false
			continue
		}
		if read {
			p.touch(a, c, false)
		}
		if write {
			p.use(a, c, true, tree)
		}
	}
}

// option notes the file that an option is joined to: -fF, --files0-from=F.
func (p *parts) option(a string, c context) {
	_, name, _ := strings.Cut(a, "=")
	if !strings.HasPrefix(a, "--") {
		name, _ = amongFlags(a, "f", "eABCm")
	}
	if !leavesOut(a) {
		p.touch(name, c, false)
	}
}

// goesDown reports whether rm, cp and their like are told to take folders with
// all that is in them.
func goesDown(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool {
		_, is := amongFlags(a, "rRa", "t")
		return is || a == "--recursive" || a == "--archive"
	})
}

// walks notes the folders that find and its like go through.
func (p *parts) walks(name string, args []string, c context) {
	if strings.HasPrefix(name, "fd") {
		for i, a := range args {
			if _, runs := fdCommand(args[i:]); runs > 0 {
				break
			}
			if i > 0 && a != "" && a[0] != '-' { // the first is what is looked for
				p.touch(a, c, false)
			}
		}
		return
	}
	for len(args) > 0 && (args[0] == "-H" || args[0] == "-L" || args[0] == "-P" || strings.HasPrefix(args[0], "-O")) {
		args = args[1:]
	}
	for _, a := range args {
		if a != "" && strings.ContainsRune("-(!", rune(a[0])) {
			return
		}
		p.touch(a, c, false)
	}
}

// history notes the files whose content git shows, of whatever time it is:
// they are arguments, or stand behind a colon in one.
func (p *parts) history(args []string, c context) {
	dir := ""
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-C":
			if dir == "" || strings.HasPrefix(args[1], "/") {
				dir = args[1]
			} else {
				dir += "/" + args[1]
			}
			args = args[1:]
		case "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--config-env":
			args = args[1:]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return
	}
	write := false
	switch args[0] {
	case "restore", "checkout", "rm", "clean", "apply", "stash", "mv":
		write = true
	case "diff", "log", "show", "blame", "annotate", "grep", "cat-file", "diff-tree", "diff-index", "diff-files", "format-patch", "archive", "whatchanged", "difftool", "checkout-index", "range-diff":
	default:
		return
	}
	touch := func(name string) {
		if dir != "" && !strings.HasPrefix(name, "/") {
			name = dir + "/" + name
		}
		if !write || args[0] == "mv" {
			p.use(name, c, false, write)
		}
		if write {
			p.use(name, c, true, true)
		}
	}
	tracked := func(name string) { // from the top of the repository, which is here or above
		if strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") {
			touch(name)
			return
		}
		for _, at := range c.st.dirs {
			for at = path.Clean(under(at, dir)); at != "/"; at = path.Dir(at) {
				p.touch(at+"/"+name, c, false)
			}
		}
	}
	for _, a := range args[1:] {
		if i := strings.LastIndexByte(a, ':'); i >= 0 && i+1 < len(a) { // HEAD:file, -L1,5:file, :(top)file, :/file
			rest := a[i+1:]
			if strings.HasPrefix(rest, "(") {
				if _, after, is := strings.Cut(rest, ")"); is {
					rest = after
				}
			}
			if rest = strings.TrimPrefix(rest, "/"); a[0] == '-' {
				touch(rest)
			} else {
				tracked(rest)
			}
		}
		if a != "" && a[0] != '-' && a[0] != ':' {
			touch(a)
		}
	}
}

// byScript reports whether the first operand of a command is no file but what
// is looked for or done.
func byScript(argv []string) bool {
	switch base(argv[0]) {
	case "grep", "egrep", "fgrep", "zgrep", "rg", "sed", "gsed", "awk", "gawk", "mawk", "jq", "yq":
		return !slices.ContainsFunc(argv[1:], func(a string) bool {
			return len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.ContainsAny(a, "ef") || strings.HasPrefix(a, "--regexp") || strings.HasPrefix(a, "--file") || strings.HasPrefix(a, "--expression")
		})
	}
	return false
}

// copies notes what cp and its like read and write; tree: of folders all that is
// in them. What is moved is written too: what a rule names is elsewhere then.
func (p *parts) copies(args []string, c context, tree, moved bool) {
	var files []string
	to := ""
	for i, a := range args {
		switch dir, long := strings.CutPrefix(a, "--target-directory="); {
		case long:
			to = dir
		case a == "-t" || a == "--target-directory":
			to = strings.Join(args[i+1:min(i+2, len(args))], "")
		case i > 0 && (args[i-1] == "-t" || args[i-1] == "--target-directory"): // it is to
		case len(a) > 2 && strings.HasPrefix(a, "-t"):
			to = a[2:]
		case len(a) < 2 || a[0] != '-':
			files = append(files, a)
		}
	}
	p.touch(to, c, true)
	for i, f := range files {
		last := to == "" && i == len(files)-1
		p.use(f, c, last, tree && !last)
		if last {
			to = f
			files = files[:i]
		} else if moved {
			p.use(f, c, true, tree)
		}
	}
	for _, f := range files { // to may be a folder
		if to != "" && strings.Trim(f, "./") != "" {
			p.touch(strings.TrimRight(to, "/")+"/"+base(strings.TrimRight(f, "/")), c, true)
		}
	}
}
