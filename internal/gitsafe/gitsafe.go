// Package gitsafe lists what keeps git from running programs that the settings
// of a repository name, for all who call git in a folder whose content somebody
// else may have written.
//
// Settings that are given by a command win over those of files. What they
// cannot turn off are drivers under names of the repository's own choice
// (filter.NAME.clean, diff.NAME.textconv and others): see [Drivers] and [Flags]. [Config] reads such a file as git does.
package gitsafe

// nowhere is a program that cannot be run. Unlike "false" it is not looked for.
const nowhere = "/dev/null"

// HooksPath is the value that [Settings] give core.hooksPath.
const HooksPath = nowhere

// Settings are what git is to be given, as keys and values. Nobody may change
// them.
var Settings = [][2]string{
	{"core.hooksPath", nowhere},
	{"core.fsmonitor", "false"},
	{"core.pager", "cat"},
	{"core.editor", ":"},
	{"sequence.editor", ":"},
	{"core.askPass", ""},
	{"core.sshCommand", "false"},
	{"core.gitProxy", ""},
	{"core.alternateRefsCommand", ""},
	{"credential.helper", ""},
	{"protocol.allow", "never"},
	{"protocol.ext.allow", "never"},
	{"gpg.program", nowhere},
	{"gpg.openpgp.program", nowhere},
	{"gpg.x509.program", nowhere},
	{"gpg.ssh.program", nowhere},
	{"gpg.ssh.defaultKeyCommand", ""},
	{"commit.gpgSign", "false"},
	{"tag.gpgSign", "false"},
	{"log.showSignature", "false"},
	{"log.diffMerges", "separate"}, // git's own default; "remerge" runs merge drivers
	{"format.pretty", "medium"},
	{"submodule.recurse", "false"},
	{"diff.ignoreSubmodules", "dirty"},
	{"diff.submodule", "short"},
	{"status.submoduleSummary", "false"},
	{"interactive.diffFilter", ""},
	{"init.templateDir", ""},
	{"gc.auto", "0"},
	{"maintenance.auto", "false"},
	{"color.ui", "false"},
}

// Env are variables that keep git from fetching what a repository lacks, with
// the programs that its settings name.
var Env = [][2]string{
	{"GIT_ALLOW_PROTOCOL", ""},
	{"GIT_NO_LAZY_FETCH", "1"},
}

// Drivers are the settings by which a repository names programs under names of
// its own choice, section.NAME.key, with what makes them harmless.
func Drivers(section string) [][2]string {
	switch section {
	case "filter":
		return [][2]string{{"clean", ""}, {"smudge", ""}, {"process", ""}, {"required", "false"}}
	case "diff":
		return [][2]string{{"textconv", ""}, {"command", ""}}
	case "merge":
		return [][2]string{{"driver", "false"}}
	case "hook":
		return [][2]string{{"enabled", "false"}}
	}
	return nil
}

// Flags are the options that a command of git is to be given. A submodule has
// settings of its own, so that git must not start there.
func Flags(command string) []string {
	switch command {
	case "status":
		return []string{"--ignore-submodules=dirty"}
	case "diff", "diff-files", "diff-index", "diff-tree", "log", "show":
		return []string{"--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty"}
	case "blame":
		return []string{"--no-textconv"}
	}
	return nil
}
