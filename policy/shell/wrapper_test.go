package shell_test

import (
	"slices"
	"strings"
	"testing"

	"oneloop/policy/shell"
)

// Every form in which a wrapper is called; X stands for the command.
const wrappers = `
env X
env - X
env -i - X
env - A=b X
env -u A - X
env -iu A X
env --uns A X
env --unset A --chd /tmp X
env -C /tmp X
env --chdir=/tmp X
env --block-signal X
env --block-signal=INT --default-signal X
env -v -0 X
env -a name X
env -S 'X'
env -iS 'X'
env -S'X' y
env --split-string='X'
env --split='X'
timeout -k 5 -s KILL 5 X
timeout --sig KILL 5 X
timeout --foreground -v 5s X
nice -5 X
nice --5 X
nice -n5 X
nice --adj 5 X
nohup X
setsid X
setsid -w X
setsid --fork X
stdbuf -i0 -oL -e 0 X
stdbuf --output L X
ionice -c2 -n 7 -t X
chrt -f 50 X
chrt --idle X
chrt -i 0 X
taskset 0x3 X
taskset -c 0,1 X
setarch -R X
setarch x86_64 -R X
linux32 -R X
unshare -rm X
unshare --map-root-user --fork X
nsenter -t 1 -m X
flock -n /tmp/l X
flock -E 4 --wait 5 /tmp/l X
flock /tmp/l -c 'X'
watch X
watch -n 1 -d X
watch -x X
watch 'X'
script -c 'X' f
script -qec 'X'
script -q f X
script --quiet --command 'X' f
command time -f %e X
/usr/bin/time -o f -a X
command -p X
command -- X
exec -a name X
exec -cl X
busybox X
toybox X
coreutils --coreutils-prog=X
xargs X
xargs -0 -r X
xargs -n1 -P 4 X
xargs --replace X
xargs -i X
xargs -l X
xargs --max-lines X
xargs --max-p 2 X
xargs -I{} X
xargs -d '\n' -a f X
parallel X
parallel -j4 X
parallel --unheard-of 5 X
parallel X ::: a b
parallel -k 'X' ::: a
parallel ::: 'X' 'ls'
echo 'X' | parallel
watch --unheard-of 5 X
chpst -n 5 X
setpriv --reset-env --no-new-privs X
xvfb-run -a X
systemd-run -t X
bwrap --ro-bind / / --dev /dev --unshare-all X
proxychains4 -q X
strace -f -e trace=open X
entr -r X
fd . / -x X
fd . / --exec=X
fd . / --exec-batch=X
fd . / -tf -xX
fd . / -HxX
fd . / -Ix X
fd . / -x ls \; -x X
git rebase -x 'X' main
git rebase -x'X' main
git rebase -ix'X' main
git rebase -ix 'X' main
git rebase -iqx 'X' main
git rebase --exe 'X' main
git difftool -yx 'X'
git difftool -yx'X' HEAD
git difftool --ext='X'
hyperfine -w 3 'X'
`

func TestACommandIsFoundInEveryFormOfAWrapper(t *testing.T) {
	for _, form := range lines(wrappers) {
		for command, want := range map[string]shell.Tier{"rm -rf /": shell.Deny, "git reset --hard": shell.Ask} {
			line := strings.ReplaceAll(form, "X", command)
			if v := shell.Judge(line, place); v.Tier != want {
				t.Errorf("%v instead of %v: %s", v.Tier, want, line)
			}
		}
		a := shell.Analyse(strings.ReplaceAll(form, "X", "curl x"), here)
		if !slices.ContainsFunc(a.Parts, func(p shell.Part) bool { return len(p.Words) > 1 && p.Words[0] == "curl" && p.Words[1] == "x" }) {
			t.Errorf("%s: the parts are %q", form, parts(a))
		}
	}
	for _, form := range lines(`
sudo -A X
sudo -n -E X
sudo --pro p X
doas -n X
runuser -u bob -- X
runuser - bob -c 'X'
su - -c 'X'
su --com 'X'
gosu bob X
chpst -u bob X
`) {
		if line := strings.ReplaceAll(form, "X", "rm -rf /"); shell.Judge(line, place).Tier != shell.Deny {
			t.Errorf("not denied: %s", line)
		}
	}
}

func TestAWrapperAroundSomethingHarmlessIsHarmless(t *testing.T) {
	tiers{allow: `
env - PATH=/bin make
env -i bash -c 'echo rm'
env -S 'bash -c "ls; pwd"'
git ls-files -z | xargs -0 -r grep -n rm
git ls-files | xargs --no-run-if-empty grep -l 'rm -rf /'
timeout --preserve-status 60 go test ./...
parallel -j4 gzip ::: a b c
parallel --bar 'convert {} {.}.png' ::: a.jpg
ls *.c | parallel gcc -c
watch -n 1 -d ls -l
strace -f -o out ls
time -p make
nice -n 10 make -j4
script -q -c 'make test' log
flock -n /tmp/lock make
xvfb-run -a npm test
find . -name '*.go' | entr -r go test ./...
setarch -R ./a.out
fd -tx -HI -e go rm
fd -ex -x gofmt -l
fd --exec=wc --exec-batch=ls
git rebase -Xours -ix 'make test' main
git rebase -s x 'rm -rf /'
git difftool -ytx 'rm -rf /'
`}.check(t)
}
