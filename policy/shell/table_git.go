package shell

import (
	"path"
	"slices"
	"strings"

	"oneloop/internal/gitsafe"
)

// base options of git's commands that show changes.
const showing = "p u s U= n= -# w b a i R S= G= W M=? C=? z O=? --patch --no-patch --stat=? --shortstat --numstat --dirstat=? --summary --compact-summary " +
	"--name-only --name-status --raw --unified= --word-diff=? --color-words=? --color=? --no-color --minimal --patience --histogram --diff-algorithm= --find-renames=? " +
	"--no-renames --find-copies=? --diff-filter= --ignore-all-space --ignore-space-change --ignore-space-at-eol --ignore-blank-lines --function-context " +
	"--text --full-index --abbrev=? --no-prefix --src-prefix= --dst-prefix= --no-ext-diff --no-textconv --exit-code --quiet --check --pickaxe-all --pickaxe-regex " +
	"--relative=? --no-relative --submodule=? --ignore-submodules=? --indent-heuristic --inter-hunk-context= --ws-error-highlight= "

const telling = showing + "E F L= c m --oneline --graph --decorate=? --no-decorate --all --branches=? --tags=? --remotes=? --author= --committer= --grep= --all-match --invert-grep " +
	"--regexp-ignore-case --extended-regexp --fixed-strings --perl-regexp --since= --after= --until= --before= --format= --pretty=? --abbrev-commit --no-abbrev-commit " +
	"--date= --relative-date --reverse --follow --first-parent --merges --no-merges --min-parents= --max-parents= --max-count= --skip= --topo-order --date-order " +
	"--author-date-order --full-history --simplify-merges --ancestry-path --left-right --left-only --right-only --cherry-pick --cherry-mark --cherry --no-walk=? --parents --children --source " +
	"--no-notes --log-size --full-diff --boundary --simplify-by-decoration --encoding= --expand-tabs=? --no-expand-tabs --no-mailmap --mailmap --cc --diff-merges= "

// gitTable are the commands of git that only look. None of its options before
// the command is on the table: -c and --git-dir decide what it runs.
var gitTable = map[string]string{
	"status": "s b z u=? --short --branch --show-stash --porcelain=? --long --untracked-files=? --ignored=? --ignore-submodules=? " +
		"--ahead-behind --no-ahead-behind --renames --no-renames --find-renames=? --no-column",
	"log":  telling,
	"show": telling,
	"diff": showing + "--cached --staged --merge-base --base --ours --theirs --cc",
	"rev-parse": "q --verify --quiet --short=? --abbrev-ref=? --symbolic --symbolic-full-name --show-toplevel --show-prefix --show-cdup --git-dir " +
		"--absolute-git-dir --git-common-dir --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --all --branches=? --tags=? --remotes=? " +
		"--show-superproject-working-tree --show-object-format=? --revs-only --no-revs --flags --no-flags --default= --path-format=",
	"ls-files": "c d m o i s u k t v z f x= --cached --deleted --modified --others --ignored --stage --unmerged --killed --directory --no-empty-directory " +
		"--exclude= --exclude-standard --error-unmatch --full-name --abbrev=? --eol --deduplicate --debug",
	"blame": "b c e f l n p s t w L= M=? C=? --root --show-stats --porcelain --line-porcelain --incremental --show-name --show-number --show-email " +
		"--abbrev= --date= --since= --reverse --first-parent --score-debug --no-textconv",
	"branch": "a r v l --list --all --remotes --verbose --show-current --contains= --no-contains= --merged=? --no-merged=? --sort= --format= --points-at= " +
		"--color=? --no-color --column=? --no-column --abbrev= --no-abbrev --ignore-case i",
}

// looksAtHistory reads the arguments of git.
func looksAtHistory(args []string) (files []string, changes *Reason) {
	if len(args) == 0 || args[0] == "" || args[0][0] == '-' {
		return nil, Because("options-before", "options before its command are not on the read-only table")
	}
	command := args[0]
	spec, known := gitTable[command]
	if !known {
		return nil, Because("command-not-read-only", "its command %s is not on the read-only table", command)
	}
	given, operands, changes := options(spec, args[1:])
	if changes != nil {
		return nil, changes
	}
	if changes = starts(command, given); changes != nil {
		return nil, changes
	}
	if command == "branch" {
		_, l := given["l"]
		_, list := given["--list"]
		if len(operands) > 0 && !l && !list {
			return nil, Because("makes-branch", "it makes a branch; --list only lists them")
		}
		return nil, nil
	}
	if command == "rev-parse" {
		return nil, nil
	}
	for _, o := range operands {
		name, _, _ := strings.Cut(o, ":")                                        // what follows is in a commit, and never outside of it
		if path.IsAbs(name) || slices.Contains(strings.Split(name, "/"), "..") { // git diff reads files outside a repository too
			files = append(files, o)
		}
	}
	return files, nil
}

// starts says which of the values that options are given make git run a
// program; empty: none.
func starts(command string, given map[string][]string) *Reason {
	for name, values := range given {
		for _, v := range values {
			switch name {
			case "--format", "--pretty", "--sort":
				if strings.Contains(v, "%G") || strings.Contains(v, "signature") {
					return Because("checks-signatures", "its format checks signatures, for which it runs another program")
				}
				if (command == "log" || command == "show") && !plainFormat(v) {
					return Because("format-of-settings", "what its format %s means is in its settings", printable(v))
				}
			case "--diff-merges":
				switch v {
				case "off", "none", "on", "m", "1", "first-parent", "separate", "c", "combined", "cc", "dense-combined":
				default:
					return Because("merges", "its %s may merge again, for which it runs other programs", name+"="+printable(v))
				}
			case "--submodule":
				if v != "" && v != "short" && v != "log" {
					return Because("submodules", "its %s runs git in submodules, which have settings of their own", name+"="+printable(v))
				}
			case "--ignore-submodules":
				if v != "" && v != "all" && v != "dirty" {
					return Because("submodules", "its %s runs git in submodules, which have settings of their own", name+"="+printable(v))
				}
			}
		}
	}
	return nil
}

// plainFormat tells the formats of log that mean the same in every repository.
func plainFormat(v string) bool {
	switch v {
	case "", "oneline", "short", "medium", "full", "fuller", "reference", "email", "mboxrd", "raw":
		return true
	}
	return strings.HasPrefix(v, "format:") || strings.HasPrefix(v, "tformat:") || strings.Contains(v, "%")
}

// settings are variables that are set for a command that runs without a
// question, for the same reason as guards.
func settings(name string) [][2]string {
	if name == "git" {
		return gitsafe.Env
	}
	return nil
}

// guards are what is put between the name of a program and the rest of a
// command that runs without a question, so that no settings in a repository
// or in the environment make it run something else.
func guards(words []string) []string {
	switch words[0] {
	case "git":
		out := []string{"git", "--no-pager", "--no-optional-locks"}
		for _, s := range gitsafe.Settings {
			out = append(out, "-c", s[0]+"="+s[1])
		}
		out = append(append(out, words[1]), gitsafe.Flags(words[1])...)
		return append(out, words[2:]...)
	case "rg":
		return append([]string{"rg", "--no-config"}, words[1:]...)
	}
	return words
}
