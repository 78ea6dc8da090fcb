package shell

import (
	"slices"
	"strings"
)

// danger judges programs that do something dangerous by themselves. It reports
// whether name is one of them.
func (j *judge) danger(name string, args []string, c context) bool {
	switch name {
	case "rm", "grm", "srm":
		j.remove(args, c)
	case "dd", "gdd":
		for _, a := range args {
			if of, is := strings.CutPrefix(a, "of="); is {
				j.written(of, c)
			}
		}
	case "tee", "sponge", "shred", "blkdiscard", "truncate":
		for _, a := range args {
			j.written(a, c)
		}
	case "wipefs":
		if slices.ContainsFunc(args, func(a string) bool {
			return a == "--all" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") && strings.ContainsAny(a, "ao")
		}) {
			for _, a := range args {
				j.written(a, c)
			}
		}
	case "cp", "mv", "install", "gcp", "gmv":
		j.copied(args, c)
		if strings.HasSuffix(name, "mv") {
			j.wide(Because("moves", "moves"), operands(args), c)
		}
	case "chmod", "chown", "chgrp":
		j.changed(name, args, c)
	case "rsync":
		j.synced(args, c)
	case "git":
		j.git(args, c)
	case "fd", "fdfind":
		j.fd(args, c)
	default:
		return j.partitions(name, args, c)
	}
	return true
}

// written judges a path that something is written to.
func (j *judge) written(target string, c context) {
	for _, dir := range c.st.dirs {
		p := rooted(target, dir)
		if p == "/proc/sysrq-trigger" {
			j.report(c, Deny, RulePower, Because("may-halt", "it may halt the machine or restart it"))
		}
		dev, is := strings.CutPrefix(p, "/dev/")
		switch {
		case !is:
		case isBlock(dev):
			j.report(c, Deny, RuleDevice, Because("writes-device", "it writes to the block device %s", printable(p)))
		case strings.HasPrefix(dev, unknown) || strings.HasPrefix(dev, every):
			j.report(c, Ask, RuleDevice, Because("may-write-device", "it may write to a block device"))
		}
	}
}

// printable shows unknown text as an ellipsis.
func printable(s string) string {
	return strings.NewReplacer(unknown, "…", fetched, "…", every, "…", process, "…", "\x01", "…").Replace(s)
}

// isBlock tells the names of block devices below /dev, with wildcards too.
func isBlock(name string) bool {
	for _, folder := range []string{"disk/", "mapper/", "block/", "md/", "vg/"} {
		if strings.HasPrefix(name, folder) && name != "mapper/control" {
			return true
		}
	}
	for _, prefix := range []string{"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "loop", "dm-", "md", "nbd", "zd", "ram", "sr",
		"pmem", "disk", "rdisk", "bcache", "drbd", "rbd", "ubiblock", "dasd", "zram"} {
		rest, is := strings.CutPrefix(name, prefix)
		if !is {
			continue
		}
		if rest == "" || strings.IndexAny(rest, "0123456789*?["+unknown) >= 0 || len(rest) <= 2 && isLetters(rest) && len(prefix) <= 3 {
			return true
		}
	}
	if strings.ContainsAny(name, "*?[") {
		for _, n := range []string{"sda", "sda1", "sdb", "hda", "vda", "vda1", "xvda", "nvme0n1", "mmcblk0", "loop0", "dm-0", "md0"} {
			if matches(name, n) {
				return true
			}
		}
	}
	return name == "root"
}

func isLetters(s string) bool {
	return strings.Trim(s, "abcdefghijklmnopqrstuvwxyz") == ""
}

// copied judges where cp and its like write.
func (j *judge) copied(args []string, c context) {
	var operands []string
	for i, a := range args {
		switch {
		case a == "-t" || a == "--target-directory":
			if i+1 < len(args) {
				j.written(args[i+1], c)
			}
		case len(a) > 1 && a[0] == '-':
		default:
			operands = append(operands, a)
		}
	}
	if len(operands) > 1 {
		j.written(operands[len(operands)-1], c)
	}
}

// operands are the arguments but the options and the last one, where mv and
// rsync write to.
func operands(args []string) []string {
	var out []string
	for i, a := range args {
		switch {
		case len(a) > 1 && a[0] == '-':
		case i > 0 && (args[i-1] == "-t" || args[i-1] == "--target-directory"):
			return append(out, args[i+1:]...)
		default:
			out = append(out, a)
		}
	}
	return out[:max(0, len(out)-1)]
}

// wide judges what is done to the whole of a folder, or to files all over it.
func (j *judge) wide(does *Reason, targets []string, c context) {
	for _, t := range targets {
		if t == "" {
			continue
		}
		if what := j.vital(t, c.st.dirs); what != nil {
			j.report(c, Ask, RuleWide, Because("does", "it %s %s", does, what))
		} else if what := j.spread(t, c.st.dirs); what != nil {
			j.report(c, Ask, RuleWide, Because("does-all-over", "it %s files all over %s", does, what))
		}
	}
}

// changed judges chmod, chown and chgrp. Once done to a system or a home
// folder, nothing tells what it was like before.
func (j *judge) changed(name string, args []string, c context) {
	does := Because("changes-mode", "changes who may use")
	if name != "chmod" {
		does = Because("changes-owner", "changes the owner of")
	}
	recursive := slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "--rec") || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "R")
	})
	for _, a := range args {
		if recursive || strings.Contains(a, every) {
			j.wide(does, []string{a}, c)
		}
	}
}

// synced judges rsync where it removes what it does not copy.
func (j *judge) synced(args []string, c context) {
	deletes, moves := false, false
	for _, a := range args {
		switch {
		case a == "--dry-run" || len(a) > 1 && a[0] == '-' && a[1] != '-' && strings.Contains(a, "n"):
			return
		case strings.HasPrefix(a, "--del"):
			deletes = true
		case a == "--remove-source-files":
			moves = true
		}
	}
	if moves {
		j.wide(Because("moves-out-of", "moves files out of"), operands(args), c)
	}
	if deletes && len(args) > 0 {
		if to := args[len(args)-1]; !strings.Contains(to, ":") { // here, not on another host
			j.wide(Because("syncs", "removes what is not in the source from"), []string{to}, c)
		}
	}
}

// power judges what halts or restarts the machine.
func (j *judge) power(name string, args []string, c context) {
	stops := false
	switch name {
	case "shutdown":
		stops = !onlyHelp(args) && !slices.Contains(args, "-c")
	case "reboot", "halt", "poweroff":
		stops = !onlyHelp(args)
	case "init", "telinit":
		stops = slices.Contains(args, "0") || slices.Contains(args, "6")
	case "systemctl", "loginctl":
		for _, a := range args {
			switch strings.TrimSuffix(a, ".target") {
			case "reboot", "poweroff", "halt", "kexec", "soft-reboot":
				stops = true
			case "shutdown":
				stops = strings.HasSuffix(a, ".target")
			case "status", "show", "cat", "help", "list-units", "list-unit-files", "is-active", "is-enabled", "list-dependencies":
				return
			}
		}
	case "kill":
		stops = killsAll(args)
	case "killall5":
		stops = !onlyHelp(args)
	case "kexec":
		stops = slices.Contains(args, "-e") || slices.Contains(args, "--exec")
	}
	if stops && strings.HasPrefix(name, "kill") {
		j.report(c, Deny, RulePower, Because("ends-all-processes", "it ends every process it may, this agent and the user's session among them"))
	} else if stops {
		j.report(c, Deny, RulePower, Because("halts", "it halts the machine or restarts it"))
	}
}

// killsAll tells a kill whose target is -1: everything. The first word that
// begins with - is the signal and no target.
func killsAll(args []string) bool {
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case a == "-l" || a == "-L" || a == "--list" || a == "--table":
			return false
		case a == "--":
			return slices.Contains(args[i+1:], "-1")
		case a == "-s" || a == "-n" || a == "--signal" || a == "-q" || a == "--queue":
			i++
			fallthrough
		case len(a) > 1 && a[0] == '-':
			return slices.Contains(args[min(i+1, len(args)):], "-1")
		default: // no signal was named
			return slices.Contains(args[i+1:], "-1")
		}
	}
	return false
}

// onlyHelp reports whether a program is only asked about itself.
func onlyHelp(args []string) bool {
	return slices.Contains(args, "--help") || slices.Contains(args, "--version")
}

// git judges the commands of git that lose work.
func (j *judge) git(args []string, c context) {
	c.st = c.st.clone()
	for len(args) > 0 && len(args[0]) > 1 && args[0][0] == '-' {
		a := args[0]
		args = args[1:]
		if len(args) == 0 {
			return
		}
		switch a {
		case "-c", "--config-env":
			if _, text, is := strings.Cut(args[0], "=!"); is && strings.HasPrefix(args[0], "alias.") {
				j.again(text, c)
			}
			args = args[1:]
		case "-C", "--work-tree":
			j.cd("cd", args[:1], c)
			args = args[1:]
		case "--git-dir", "--namespace", "--exec-path", "--super-prefix", "--attr-source":
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return
	}
	sub, args := args[0], args[1:]
	j.gitRuns(sub, args, c)
	var what *Reason
	switch sub {
	case "push":
		if forced(args) {
			what = Because("overwrites-pushed", "it overwrites what others may have pushed")
		}
	case "reset":
		if slices.ContainsFunc(args, func(a string) bool { return len(a) > 3 && strings.HasPrefix("--hard", a) }) {
			what = Because("drops-changes", "it drops changes that are not committed")
		}
	case "clean":
		ignored, forced := cleans(args)
		if ignored {
			what = Because("removes-ignored", "it removes files that git ignores, such as local settings")
		}
		if forced {
			j.wide(Because("cleans", "removes what git does not track from"), []string{"."}, c)
		}
	}
	if what != nil {
		j.report(c, Ask, RuleGit, what)
	}
}

// forced tells a push that overwrites whatever is there. One with a lease
// overwrites only what was fetched before, and is how a branch of one's own is
// pushed after a rebase: it is not on the list.
func forced(args []string) bool {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
		case a == "-o" || a == "--push-option" || a == "--repo" || a == "--receive-pack" || a == "--exec":
			i++
		case strings.HasPrefix(a, "--"):
			if len(a) > 4 && strings.HasPrefix("--force", a) || a == "--mirror" {
				return true
			}
		case len(a) > 1 && a[0] == '-':
			for _, r := range a[1:] {
				if r == 'o' {
					break
				}
				if r == 'f' {
					return true
				}
			}
		case strings.HasPrefix(a, "+") && i > 0:
			return true
		}
	}
	return false
}

// cleans says whether git clean removes what git ignores, and whether it
// removes something at all.
func cleans(args []string) (ignored, forced bool) {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return ignored, forced
		case a == "--dry-run":
			return false, false
		case a == "--force":
			forced = true
		case a == "-e" || a == "--exclude":
			i++
		case strings.HasPrefix(a, "--"):
		case len(a) > 1 && a[0] == '-':
			for _, r := range a[1:] {
				if r == 'e' {
					break
				}
				if r == 'n' {
					return false, false
				}
				ignored = ignored || r == 'x' || r == 'X'
				forced = forced || r == 'f'
			}
		}
	}
	return ignored, forced
}
