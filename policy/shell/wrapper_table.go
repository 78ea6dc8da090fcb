package shell

import "strings"

// wrapping says how a program that runs another one is called:
//
//	name [options] [assignments] [skip arguments] command [arguments]
//
// An option that is in none of the lists is followed both as one with a value
// and as one without.
type wrapping struct {
	values   string          // short options that take a value
	joined   string          // short ones that may have a value, joined to them
	flags    string          // short ones that have none
	longs    string          // long options that take one, each between blanks
	switches string          // long ones that have none, or only behind a =
	pairs    string          // long ones with two
	skip     int             // arguments before the command
	assigns  bool            // NAME=value may stand before the command
	root     bool            // it runs the command as another user
	texts    map[string]bool // options whose value is a text for a shell: "-c"
	folder   string          // the option for the folder it runs the command in, a letter
	special  string
}

// maxAlts is how many options of one command are read in two ways.
const maxAlts = 4

// wrapper tells the wrappers by name.
func wrapper(name string) (wrapping, bool) {
	for _, list := range []func(string) (wrapping, bool){plainWrapper, ruledWrapper, boxWrapper, rootWrapper} {
		if w, is := list(name); is {
			return w, true
		}
	}
	if strings.HasPrefix(name, "ld-linux") || strings.HasPrefix(name, "ld-musl") {
		return wrapping{longs: " --library-path --argv0 --preload --audit "}, true
	}
	return wrapping{}, false
}

// plainWrapper tells those that run the command much as it is.
func plainWrapper(name string) (wrapping, bool) {
	switch name {
	case "command", "builtin", "exec":
		return wrapping{values: "a", flags: "pvVcl", special: name}, true
	case "nohup", "setsid", "eatmydata", "catchsegv", "unbuffer", "chronic", "nocache", "torsocks", "tsocks", "torify", "tini", "dumb-init", "catatonit", "winpty", "dotenv":
		return wrapping{flags: "cfwpev", switches: " --ctty --fork --wait "}, true
	case "fakeroot":
		return wrapping{values: "lisb", flags: "uhv", longs: " --lib --faked --fd-base ", switches: " --unknown-is-real "}, true
	case "dbus-run-session":
		return wrapping{longs: " --config-file --dbus-daemon "}, true
	case "env":
		return wrapping{values: "uCSPa", flags: "i0v", longs: " --unset --chdir --split-string --argv0 ",
			switches: " --ignore-environment --null --debug --block-signal --default-signal --ignore-signal --list-signal-handling ", folder: "C", assigns: true, special: name}, true
	case "xargs", "gxargs":
		return wrapping{values: "aEIJLnPsRSd", joined: "eil", flags: "0rtpxo", longs: " --arg-file --delimiter --max-args --max-procs --max-chars --process-slot-var ",
			switches: " --null --no-run-if-empty --verbose --interactive --exit --open-tty --show-limits --replace --max-lines --eof ", special: "xargs"}, true
	case "parallel", "sem", "parset":
		return wrapping{values: "jNnIaSdLsCPp", joined: "ilU", flags: "0kmuXqrtxvDz", special: "parallel",
			longs: " --jobs --max-procs --arg-file --delimiter --max-args --max-replace-args --colsep --delay --timeout --retries --joblog --results --tagstring --halt --wd --workdir --tmpdir --env " +
				"--sshlogin --sshloginfile --load --memfree --nice --id --basefile --return --trc --transferfile --block --recstart --recend --shebang --semaphorename --profile --max-chars --max-lines --colour ",
			switches: " --null --keep-order --group --ungroup --line-buffer --lb --bar --progress --eta --dry-run --dryrun --quote --no-run-if-empty --tag --verbose --will-cite --silent --pipe --resume --resume-failed --xargs --link --shuf --fg --bg --wait --plain --replace "}, true
	case "busybox", "toybox":
		return wrapping{}, true
	case "coreutils":
		return wrapping{special: name}, true
	case "strace":
		return wrapping{values: "abeEIoOpPsSuUX", flags: "cCdDfFhikntTrqvVwxyYzZ", longs: " --output --trace --attach --signal --user --env --string-limit "}, true
	case "ltrace":
		return wrapping{values: "aAeFlnopsuxDX", flags: "bcCfhiLrStTV", longs: " --output --library --config "}, true
	case "watch":
		return wrapping{values: "nqs", flags: "bcCdegptwxrf", longs: " --interval --equexit --shotsdir ",
			switches: " --beep --color --no-color --differences --errexit --chgexit --precise --no-title --no-wrap --exec --no-rerun ", special: "text"}, true
	case "hyperfine":
		return wrapping{values: "wmMrspcSuLnC", flags: "Ni", longs: " --warmup --min-runs --max-runs --runs --setup --prepare --conclude --cleanup --shell --time-unit --export-json --export-csv --export-markdown --command-name --style ",
			texts: map[string]bool{"p": true, "s": true, "c": true, "--prepare": true, "--setup": true, "--cleanup": true, "--conclude": true}, special: "texts"}, true
	case "entr":
		return wrapping{flags: "acdnprsxz"}, true
	case "script":
		return wrapping{values: "BEIOTmo", joined: "t", flags: "aefqadkrF", longs: " --log-io --log-in --log-out --log-timing --logging-format --echo --output-limit ", switches: " --append --return --flush --force --quiet --timing ",
			texts: map[string]bool{"c": true, "--command": true}, special: "script"}, true
	case "flock":
		return wrapping{values: "wE", flags: "sxeunoFv", longs: " --timeout --wait --conflict-exit-code ",
			switches: " --shared --exclusive --unlock --nonblock --nb --close --no-fork --verbose ", skip: 1, special: "flock"}, true
	case "find":
		return wrapping{special: name}, true
	}
	return wrapping{}, false
}

// ruledWrapper tells those that change what a command may use, its time and
// its place in the queue.
func ruledWrapper(name string) (wrapping, bool) {
	switch name {
	case "nice", "gnice":
		return wrapping{values: "n", longs: " --adjustment "}, true
	case "ionice":
		return wrapping{values: "cnpPu", flags: "t", longs: " --class --classdata --pid --pgid --uid ", switches: " --ignore "}, true
	case "chrt":
		return wrapping{values: "TPD", flags: "abdfimoprRv", longs: " --sched-runtime --sched-period --sched-deadline ",
			switches: " --fifo --rr --other --batch --idle --deadline --all-tasks --reset-on-fork --verbose ", skip: 1, special: name}, true
	case "taskset":
		return wrapping{flags: "apc", switches: " --all-tasks --pid --cpu-list ", skip: 1}, true
	case "setarch", "linux32", "linux64", "i386", "i486", "i586", "i686", "x86_64", "uname26", // setarch may be given one of the others
		"arm", "armh", "aarch64", "ppc", "ppc32", "ppc64", "ppc64le", "sparc", "sparc32", "sparc64", "s390", "s390x", "mips", "mips64", "parisc", "alpha", "ia64", "athlon":
		return wrapping{values: "p", flags: "BFILRSTXZ34v", switches: " --addr-no-randomize --3gb --4gb --32bit --uname-2.6 --verbose --show --list "}, true
	case "numactl":
		return wrapping{values: "iNmCpPw", flags: "alHsbB", longs: " --interleave --membind --cpunodebind --physcpubind --preferred --preferred-many --weighted-interleave ", switches: " --localalloc --all --balancing "}, true
	case "timeout", "gtimeout":
		return wrapping{values: "ks", flags: "fpv", longs: " --kill-after --signal ", switches: " --foreground --preserve-status --verbose ", skip: 1}, true
	case "time", "gtime":
		return wrapping{values: "fo", flags: "apvqlh", longs: " --format --output ", switches: " --append --portability --verbose --quiet "}, true
	case "stdbuf", "gstdbuf":
		return wrapping{values: "ioe", longs: " --input --output --error "}, true
	case "prlimit":
		return wrapping{values: "po", joined: "cdefilmnqrstuvxy", longs: " --pid --output "}, true
	case "cpulimit":
		return wrapping{values: "lpePc", flags: "zibfvm", longs: " --limit --pid --exe --path --cpu "}, true
	case "caffeinate":
		return wrapping{values: "tw", flags: "dimsu"}, true
	case "faketime":
		return wrapping{values: "p", flags: "mf", longs: " --exclude-monotonic ", skip: 1}, true
	case "logsave":
		return wrapping{flags: "asv", skip: 1}, true
	case "proxychains", "proxychains4":
		return wrapping{values: "f", flags: "q"}, true
	case "sshpass":
		return wrapping{values: "pfdP", flags: "ev"}, true
	case "envdir":
		return wrapping{skip: 1}, true
	case "systemd-run":
		return wrapping{values: "pMHEuC", flags: "tPGdqrS", folder: "--working-directory",
			longs: " --property --machine --host --unit --slice --uid --gid --description --working-directory --setenv --nice --service-type --on-active --on-boot --on-startup --on-unit-active " +
				"--on-unit-inactive --on-calendar --timer-property --path-property --socket-property --capsule --background ",
			switches: " --user --system --scope --pty --pipe --quiet --wait --collect --same-dir --remain-after-exit --send-sighup --no-block --no-ask-password --shell --slice-inherit "}, true
	case "systemd-inhibit":
		return wrapping{longs: " --what --who --why --mode ", switches: " --list --no-pager --no-legend --no-ask-password "}, true
	case "ssh-agent":
		return wrapping{values: "atEPO", flags: "cDdks"}, true
	case "xvfb-run":
		return wrapping{values: "efnpsw", flags: "ahl", longs: " --error-file --auth-file --server-num --xauth-protocol --server-args --wait ", switches: " --auto-servernum --listen-tcp "}, true
	}
	return wrapping{}, false
}

// boxWrapper tells those that run a command in another view of the system.
func boxWrapper(name string) (wrapping, bool) {
	switch name {
	case "chroot":
		return wrapping{longs: " --groups --userspec ", switches: " --skip-chdir ", skip: 1}, true
	case "unshare":
		return wrapping{values: "SGRwl", joined: "muinpUCT", flags: "frc", folder: "w",
			longs: " --setuid --setgid --root --wd --map-user --map-group --map-users --map-groups --propagation --setgroups --boottime --monotonic --load-interp --owner "}, true
	case "nsenter":
		return wrapping{values: "tSGWN", joined: "muinpUCTrw", flags: "aeFZc", folder: "W", longs: " --target --setuid --setgid --wdns --net-socket "}, true
	case "proot":
		return wrapping{values: "rbmqwRSk", flags: "0lvHip", folder: "w", longs: " --rootfs --bind --mount --qemu --cwd --pwd --kernel-release "}, true
	case "bwrap":
		return wrapping{
			pairs: " --bind --bind-try --dev-bind --dev-bind-try --ro-bind --ro-bind-try --symlink --setenv --file --bind-data --ro-bind-data --chmod --bind-fd --ro-bind-fd ",
			longs: " --chdir --unsetenv --proc --dev --tmpfs --mqueue --dir --hostname --lock-file --sync-fd --block-fd --userns --userns2 --pidns --uid --gid --exec-label --file-label --seccomp " +
				"--add-seccomp-fd --info-fd --json-status-fd --userns-block-fd --cap-add --cap-drop --perms --size --remount-ro --args --argv0 --overlay-src --tmp-overlay --ro-overlay ",
			switches: " --unshare-all --share-net --unshare-user --unshare-user-try --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --unshare-cgroup-try --disable-userns " +
				"--clearenv --new-session --die-with-parent --as-pid-1 --level-prefix --assert-userns-disabled ",
		}, true
	case "cgexec":
		return wrapping{values: "g"}, true
	case "firejail":
		return wrapping{}, true
	}
	return wrapping{}, false
}

// rootWrapper tells those that run a command as another user.
func rootWrapper(name string) (wrapping, bool) {
	switch name {
	case "sudo", "doas":
		return wrapping{values: "ugpChDrtTRUac", flags: "AbBEeHiKklLnNPsSvV", folder: "D", assigns: true, root: true,
			longs:    " --user --group --prompt --close-from --host --chdir --role --type --command-timeout --chroot --other-user --login-class --auth-type ",
			switches: " --askpass --background --bell --preserve-env --edit --set-home --login --remove-timestamp --reset-timestamp --list --non-interactive --no-update --preserve-groups --stdin --shell --validate "}, true
	case "pkexec", "run0":
		return wrapping{values: "uDg", folder: "D", root: true, longs: " --user --group --chdir --unit --property --description --slice --nice --setenv --background --machine ",
			switches: " --disable-internal-agent --keep-cwd --no-ask-password --slice-inherit "}, true
	case "su", "runuser":
		return wrapping{values: "uGgsw", flags: "lmpfPT", longs: " --user --group --supp-group --shell --whitelist-environment ", root: true, special: name,
			switches: " --login --preserve-environment --fast --pty --no-pty ",
			texts:    map[string]bool{"c": true, "--command": true, "--session-command": true}}, true
	case "gosu", "su-exec", "setuidgid":
		return wrapping{root: true, skip: 1}, true
	case "chpst", "softlimit":
		return wrapping{values: "uUe/nbmdopfctrlas", flags: "LPvV012", root: name == "chpst"}, true
	case "setpriv":
		return wrapping{flags: "dhV", switches: " --clear-groups --keep-groups --init-groups --no-new-privs --nnp --reset-env --list-caps --dump ",
			longs: " --reuid --regid --ruid --euid --rgid --egid --groups --ambient-caps --inh-caps --bounding-set --securebits --pdeathsig --selinux-label --apparmor-profile --landlock-access --landlock-rule --seccomp-filter --ptracer "}, true
	}
	return wrapping{}, false
}
