package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// What bash expands once more although it stands in quotes: arithmetic, with
// the values of the variables in it, subscripts, names that builtins assign
// to, prompts.

// evaluated judges the commands in a text that bash expands.
func (j *judge) evaluated(text string, c context) {
	if !strings.Contains(text, "$(") && !strings.Contains(text, "`") && !strings.Contains(text, "${") {
		return
	}
	const end = "END_OF_WHAT_IS_EXPANDED"
	c.st, c.stdin = c.st.clone(), input{}
	j.again(": <<"+end+"\n"+text+"\n"+end+"\n", c)
}

// reads judges what bash expands within a node that is no command.
func (j *judge) reads(n syntax.Node, c context) {
	switch n := n.(type) {
	case *syntax.LetClause, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.CStyleLoop:
		j.arithmetic(n, c)
	case *syntax.Assign:
		if n.Index != nil {
			j.arithmetic(n.Index, c)
		}
	case *syntax.ArrayElem:
		if n.Index != nil {
			j.arithmetic(n.Index, c)
		}
	case *syntax.ParamExp:
		j.parameter(n, c)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet {
			j.arithmetic(n.X, c)
		}
	case *syntax.BinaryTest:
		switch n.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			j.arithmetic(n.X, c)
			j.arithmetic(n.Y, c)
		}
	case *syntax.DeclClause:
		j.declares(n, c)
	}
}

// parameter judges what bash expands in ${…} besides the value: subscripts,
// offsets, a name that another variable holds, prompts.
func (j *judge) parameter(n *syntax.ParamExp, c context) {
	if n.Index != nil {
		j.arithmetic(n.Index, c)
	}
	if n.Slice != nil {
		for _, e := range []syntax.ArithmExpr{n.Slice.Offset, n.Slice.Length} {
			if e != nil {
				j.arithmetic(e, c)
			}
		}
	}
	if n.Param == nil {
		return
	}
	if n.Excl && n.Names == 0 && !isKeys(n) && n.Param.Value != "#" && n.Param.Value != "OPTIND" {
		j.each(c, func(x *expander) bool {
			for _, name := range x.lookup(n.Param.Value).texts() {
				if strings.Contains(name, "[") {
					j.operand(name, x.c, nil)
				} else if strings.Contains(name, unknown) {
					j.perhaps()
				}
			}
			return true
		})
	}
	if n.Exp == nil || n.Exp.Op != syntax.OtherParamOps || n.Exp.Word == nil || n.Exp.Word.Lit() != "P" {
		return
	}
	j.each(c, func(x *expander) bool {
		r := x.lookup(n.Param.Value)
		if n.Excl && len(r.texts()) > 0 {
			r = x.lookup(r.texts()[0])
		}
		for _, text := range r.texts() {
			if strings.Contains(text, unknown) && !c.guess && !strings.HasPrefix(n.Param.Value, "PS") {
				j.report(c, Ask, RuleUnclear, Because("runs-unknown", "it runs what is in %s, which is not known", n.Param.Value))
			}
			j.evaluated(text, x.c)
		}
		return true
	})
}

// isKeys tells ${!a[@]}, which lists the subscripts of an array.
func isKeys(n *syntax.ParamExp) bool {
	w, is := n.Index.(*syntax.Word)
	return is && (w.Lit() == "@" || w.Lit() == "*")
}

// texts are the value, or those of all elements.
func (r result) texts() []string {
	if r.many {
		return r.list
	}
	return []string{r.text}
}

// declares judges what declare and its like make of values, and notes the
// variables whose values are evaluated from now on.
func (j *judge) declares(n *syntax.DeclClause, c context) {
	flags := ""
	for _, a := range n.Args {
		if a.Naked && a.Value != nil && strings.HasPrefix(a.Value.Lit(), "-") {
			flags += a.Value.Lit()
		}
	}
	whole := j.attributes(n.Variant.Value, flags, c)
	for _, a := range n.Args {
		if a.Value != nil && (whole || a.Naked) {
			j.arithmetic(a.Value, c)
		}
		if whole && a.Name != nil && strings.ContainsAny(flags, "in") {
			j.evaluates(a.Name.Value)
		}
	}
}

// attributes reports whether a declaration with these options has its values
// evaluated: as numbers, as lists with subscripts, as names of variables. What
// is set by another name is not followed.
func (j *judge) attributes(declaration, flags string, c context) bool {
	if declaration != "export" && declaration != "readonly" && strings.Contains(flags, "n") || declaration == "nameref" {
		j.report(c, Ask, RuleUnclear, Because("other-name", "it gives a variable another name"))
		return true
	}
	return strings.ContainsAny(flags, "iaA")
}

// evaluates notes a variable whose values bash evaluates when they are set.
func (j *judge) evaluates(name string) {
	if j.evaluating == nil {
		j.evaluating = map[string]bool{}
	}
	j.evaluating[name] = true
}

// keep sets a variable, and judges the value where bash evaluates it.
func (j *judge) keep(name string, v *value, c context) {
	c.st.set(name, v)
	if j.evaluating[name] {
		for _, text := range slices.Concat(v.texts, v.list) {
			j.operand(text, c, nil)
		}
	}
}

// perhaps notes that any command may be run.
func (j *judge) perhaps() {
	if j.parts != nil {
		j.parts.add([]string{unknown}, false)
	}
}

// arithmetic judges the words of an expression: quotes do not keep them from
// being expanded, and variables that it names are evaluated too.
func (j *judge) arithmetic(n syntax.Node, c context) {
	syntax.Walk(n, func(n syntax.Node) bool {
		w, is := n.(*syntax.Word)
		if !is {
			return true
		}
		if name := w.Lit(); len(w.Parts) == 1 && name != "" {
			j.operand(name, c, nil)
			return false
		}
		j.each(c, func(x *expander) bool {
			j.operand(x.single(w), x.c, nil)
			return true
		})
		return true
	})
}

// operand judges a text that is evaluated, and the values of the variables in
// it, which are evaluated in turn. One of which nothing is known is taken for
// a number; one that is known in part may hold any command in a subscript.
func (j *judge) operand(text string, c context, seen map[string]bool) {
	j.evaluated(text, c)
	if strings.ContainsAny(text, unknown+fetched) && strings.ContainsAny(text, "[`") {
		j.perhaps()
	}
	for name := range strings.FieldsFuncSeq(text, func(r rune) bool { return !isNameRune(r) }) {
		v := c.st.vars[name]
		if v == nil || seen[name] {
			continue
		}
		if seen == nil {
			seen = map[string]bool{}
		}
		seen[name] = true
		for _, value := range slices.Concat(v.texts, v.list) {
			j.operand(value, c, seen)
		}
	}
}

func isNameRune(r rune) bool {
	return r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
}

// expanded judges the value of a variable that bash expands or runs on its
// own.
func (j *judge) expanded(name, text string, c context) {
	switch name {
	case "PS0", "PS1", "PS2", "PS4", "BASH_ENV", "ENV":
		j.evaluated(text, c)
	case "PROMPT_COMMAND":
		j.again(text, c)
	}
}

// runs judges builtins that run a text, a command or what stands in a name.
// It reports whether name is one of which nothing else is to be known.
func (j *judge) runs(name string, args []string, c context) bool {
	switch name {
	case "let", "test", "[", "unset", "read", "printf", "declare", "typeset", "local", "export", "readonly", "getopts", "wait":
		flags := ""
		for i, a := range args {
			switch {
			case name == "printf" && (i != 1 || args[0] != "-v"):
				continue
			case name == "let" || strings.Contains(a, "["): // a subscript
				j.operand(a, c, nil)
			default:
				j.evaluated(a, c)
			}
			if strings.HasPrefix(a, "-") {
				flags += a
			}
		}
		if declares(name) && j.attributes(name, flags, c) {
			for _, a := range args {
				variable, text, _ := strings.Cut(a, "=")
				if strings.ContainsAny(flags, "in") {
					j.evaluates(variable)
				}
				j.operand(text, c, nil)
			}
		}
	case "mapfile", "readarray", "compgen", "complete":
		for i, a := range args {
			val := ""
			if len(a) > 2 {
				val = a[2:]
			} else if i+1 < len(args) {
				val = args[i+1]
			}
			switch {
			case strings.HasPrefix(a, "-C"):
				j.again(val, c)
			case strings.HasPrefix(a, "-W"):
				j.evaluated(val, c)
			}
		}
	case "jobs":
		if len(args) > 1 && args[0] == "-x" {
			c.st = c.st.clone()
			j.run(args[1:], c)
		}
	case "hash":
		if len(args) > 2 && args[0] == "-p" {
			src := quoted(args[1]) + ` "$@"`
			if stmts, err := parse(src); err == nil && len(stmts) == 1 && !strings.ContainsAny(args[1], unknown+fetched+process+every) {
				for _, n := range args[2:] {
					c.st.define(n, &function{body: stmts[0], src: src, path: true})
				}
			} else {
				j.report(c, Ask, RuleUnclear, Because("renames-program", "it gives a program another name"))
			}
		}
	default:
		return false
	}
	return name == "let" || name == "test" || name == "[" || name == "compgen" || name == "complete" || name == "jobs" || name == "hash"
}

// declares tells the builtins that give variables attributes.
func declares(name string) bool {
	return slices.Contains([]string{"declare", "typeset", "local", "export", "readonly"}, name)
}

// gitRuns judges the commands that git is given to run.
func (j *judge) gitRuns(sub string, args []string, c context) {
	c.st = c.st.clone()
	for i, a := range args {
		name, val, has := strings.Cut(a, "=")
		if !has && i+1 < len(args) {
			val = args[i+1]
		}
		switch {
		case sub == "submodule" && a == "foreach":
			rest := args[i+1:]
			for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
				rest = rest[1:]
			}
			j.again(strings.Join(rest, " "), c)
			return
		case sub == "bisect" && i == 0 && a == "run":
			j.run(args[1:], c)
			return
		case sub == "rebase" && (name == "-x" || name == "--exec"),
			sub == "difftool" && (name == "-x" || name == "--extcmd"),
			sub == "filter-branch" && strings.HasSuffix(name, "-filter"),
			sub == "rebase" && len(name) > 3 && strings.HasPrefix("--exec", name),
			sub == "difftool" && len(name) > 3 && strings.HasPrefix("--extcmd", name):
			j.again(val, c)
		case sub == "rebase", sub == "difftool":
			if joined, is := amongFlags(a, "x", "XsCSrt"); is {
				if joined == "" && i+1 < len(args) {
					joined = args[i+1]
				}
				j.again(joined, c)
			}
		case sub == "config" && strings.HasPrefix(val, "!"):
			j.again(val[1:], c)
		}
	}
}

// amongFlags looks for one of some letters among the short options that are
// joined in a word, up to one that takes what follows for its value. It
// returns what stands behind the letter.
func amongFlags(word, letters, values string) (joined string, is bool) {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return "", false
	}
	for i := 1; i < len(word); i++ {
		switch {
		case strings.IndexByte(letters, word[i]) >= 0:
			return word[i+1:], true
		case strings.IndexByte(values, word[i]) >= 0:
			return "", false
		}
	}
	return "", false
}

// partitions judges programs that lay out a disk anew. Many of them only show
// it when asked to.
func (j *judge) partitions(name string, args []string, c context) bool {
	shows := func(options ...string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return slices.Contains(options, a) })
	}
	only := false
	switch name {
	case "fdisk", "cfdisk":
		only = shows("-l", "--list", "-x", "--list-details", "-s", "--getsz")
	case "sfdisk":
		only = shows("-l", "--list", "-d", "--dump", "-J", "--json", "-s", "--show-size", "-V", "--verify", "-F", "--list-free", "-T", "--list-types", "-n", "--no-act")
	case "gdisk":
		only = shows("-l")
	case "sgdisk":
		only = !slices.ContainsFunc(args, func(a string) bool {
			name, _, _ := strings.Cut(a, "=")
			switch name {
			case "-p", "--print", "-i", "--info", "-v", "--verify", "-O", "--print-mbr", "-b", "--backup", "-L", "--list-types", "-E", "-F", "-f", "-D", "-P", "--pretend":
				return false
			}
			return strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "-i") && !strings.HasPrefix(a, "-b")
		}) || shows("-P", "--pretend")
	case "parted":
		only = !slices.ContainsFunc(args, func(a string) bool {
			switch a {
			case "mklabel", "mktable", "mkpart", "rm", "resizepart", "rescue", "name", "set", "toggle", "disk_set", "disk_toggle", "type", "mkfs", "mkpartfs", "cp", "move", "resize":
				return true
			}
			return false
		})
	case "cryptsetup":
		only = !shows("luksFormat", "luksErase", "erase", "reencrypt", "luksHeaderRestore", "format", "create", "luksKillSlot")
	case "mdadm":
		only = !shows("--create", "-C", "--zero-superblock")
	case "badblocks":
		only = !shows("-w", "-n")
	case "nvme":
		only = !shows("format", "sanitize", "write", "write-zeroes")
	case "hdparm":
		only = !slices.ContainsFunc(args, func(a string) bool {
			return strings.HasPrefix(a, "--security-erase") || strings.HasPrefix(a, "--trim") || a == "--write-sector"
		})
	case "pvcreate", "pvremove", "vgcreate", "lvremove", "zpool":
		only = name == "zpool" && !shows("create", "add", "replace", "labelclear", "attach") || shows("-t", "--test", "-n")
	default:
		return false
	}
	if only || onlyHelp(args) {
		return true
	}
	for _, a := range args {
		j.written(a, c)
	}
	return true
}
