package shell_test

import (
	"strings"
	"testing"

	"oneloop/policy/shell"

	"pgregory.net/rapid"
)

// tiers are commands of one kind and what becomes of each, one a line.
type tiers struct{ deny, ask, allow string }

func (k tiers) check(t *testing.T) {
	t.Helper()
	for tier, list := range map[shell.Tier]string{shell.Deny: k.deny, shell.Ask: k.ask, shell.Allow: k.allow} {
		if list == "" {
			continue
		}
		for _, command := range lines(list) {
			if v := shell.Judge(command, place); v.Tier != tier {
				t.Errorf("%v instead of %v: %s\n\t%+v", v.Tier, tier, command, v)
			}
		}
	}
}

const adrift = `
cd $UNSET && rm -rf *
cd $UNSET/ && rm -rf *
cd "$X"; rm -rf ./*
cd "$X" && rm -rf .
cd $X && rm -r *
cd $X; rm -rf -- *
cd $X || true; rm -rf *
cd $A/$B && rm -rf *
cd "$A"/.. && rm -rf *
cd "$A" && cd .. && rm -rf *
cd $A && cd b && cd .. && rm -rf *
cd $A/lib && rm -rf *
cd $(cat dir) && rm -rf *
cd "$(cat dir)" && rm -rf *
cd $A && (rm -rf *)
cd $A && rm -rf "$PWD"/*
cd $A && bash -c 'rm -rf *'
cd $A && env rm -rf ./*
cd $A && find . -delete
cd $A && find . -type f -exec rm {} +
cd $A && find . -type f | xargs rm
cd $A && ls -A | xargs rm -rf
cd $A && ls | xargs rm -rf
if cd $A; then rm -rf *; fi
for i in 1 2; do cd $A; done; rm -rf *
x=$UNSET; cd $x && rm -rf *
x=$(cat dir); cd "$x" && rm -rf *
command cd $A && rm -rf *
builtin cd "$A/" && rm -rf *
eval 'cd $A' && rm -rf *
eval "cd $A && rm -rf *"
sh -c 'cd $X && rm -rf *'
sh -c "cd $X && rm -rf *"
bash -c 'cd "$1" && rm -rf *' x "$A"
(cd $X && rm -rf *)
go() { cd $A; }; go; rm -rf *
go() { cd "$1"; }; go $A; rm -rf *
pushd $X && rm -rf *
pushd "$X" && rm -rf *
env -C "$X" rm -rf *
cd - && rm -rf *
popd; rm -rf *
`

func TestRemovingEverythingAfterCdToAnUnknownFolderIsAskedFor(t *testing.T) {
	tiers{
		ask: adrift,
		deny: `
sudo -D / rm -rf *
sudo --chdir=/ rm -rf *
env --chdir=/ rm -rf *
cd $X; cd / && rm -rf *
pushd /; pushd build; popd; rm -rf *
cd / && pushd /tmp/a && pushd b && popd && popd && rm -rf *
if a; then x=b; fi; cd "${x:-/}" && rm -rf *
cd /; cd /tmp; cd - && rm -rf *
`,
		allow: `
cd "" && rm -rf *
cd "${X:?}" && rm -rf *
cd "${X:-build}" && rm -rf *
cd "$(mktemp -d)" && rm -rf *
d=$(mktemp -d); cd "$d" && rm -rf *
cd "$(dirname "$0")" && rm -rf *
ROOT="$(cd "$(dirname "$0")/.." && pwd)"; cd "$ROOT" && rm -rf *
cd "$X" && rm -rf build
cd "$X" && rm -rf ./cache *.o
cd $X/build && rm -rf *
cd build/$X && rm -rf *
cd $X; cd /tmp/x && rm -rf *
(cd $X && ls); rm -rf *
cd build; cd -; rm -rf *
pushd build && rm -rf * && popd && make; rm -rf *
for d in */; do (cd "$d" && rm -rf *); done
clean() { cd "$1" && rm -rf *; }; clean build
cd $X && rm *
cd $X && find . -name '*.o' -delete
`}.check(t)
}

func TestWhatWasMadeOfSomethingUnsetMayBeEmptyToo(t *testing.T) {
	tiers{
		ask: `
x=$UNSET; rm -rf $x/*
x="$UNSET/"; rm -rf "$x"
a=("$X"/*); rm -rf "${a[@]}"
if a; then x=$UNSET; else x=build; fi; rm -rf "$x/"
if a; then x=build; fi; rm -rf "$x/"
d=$(cat dir); rm -rf "$d"/*
rm -rf "$(cat dir)"/*
rm -rf "$(find . -name x | head -1)"/*
rm -rf $A/lib
eval "rm -rf $A/*"
trap "rm -rf $A/*" EXIT
f() { rm -rf "$1"/*; }; f $X
`,
		allow: `
rm -rf "$(cat list)"
rm -rf "${arr[@]}"
x=$UNSET; rm -rf "$x"
if a; then x=dist; else x=build; fi; rm -rf "$x/"
d="${BUILD_DIR:-build}"; rm -rf "$d"/*
v=$(cat VERSION); rm -rf "dist/app-$v"
rm -rf "build-$(date +%s)"
rm -rf $(go env GOCACHE)
out=$PWD/out; rm -rf "$out"/*
f() { rm -rf "$1"/*; }; f build
trap "rm -rf $tmp" EXIT
`}.check(t)
}

func TestRemovingWhatAWalkFindsIsRemovingTheTree(t *testing.T) {
	tiers{
		deny: `
find / -type f -exec rm {} \;
find / -type f -exec rm -f {} +
find / -print0 | xargs -0 rm -rf
find ~ | xargs rm
find ~ -type f | sort | xargs -n1 rm -f
find ~ -type f -exec sh -c 'rm "$1"' _ {} \;
find ~ -name '*' -delete
find ~ -type f | parallel rm
find / | xargs -I{} rm -rf {}
find / | while read f; do rm -rf "$f"; done
find ~ -type f | while read -r f; do rm "$f"; done
while read -r f; do rm "$f"; done < <(find ~ -type f)
mapfile -t a < <(find ~ -type f); rm "${a[@]}"
for f in $(find ~ -type f); do rm $f; done
rm $(find / -type f)
fd . / -X rm -rf
fd . ~ -x rm {} \;
fd . ~ | xargs rm -rf
ls -d /* | xargs rm -r
ls -d / | xargs rm -rf
rm -rf $(echo / | cat)
ls -1d ~/* | sort | xargs rm -rf
rm -rf $(ls -d /*)
echo / | cat | xargs rm -rf
printf '%s\0' / | xargs -0 rm -rf
`,
		ask: `
find / -name '*.o' -delete
find / -name core -exec rm {} \;
find / -name core | xargs rm
find / -mtime +30 -delete
find / | grep foo | xargs rm -rf
find / -type f | head -100 | xargs rm
find ~ -mtime +30 -delete
find ~ -not -name x -delete
find ~ ! \( -name x -o -name y \) -delete
find ~ -name a -prune -o -type f -delete
ls -d /* | grep -v tmp | xargs rm -rf
ls -d ~/* | grep -v tmp | xargs rm -rf
cd / && ls | xargs rm -rf
ls -A | xargs rm -rf
find . -print0 | xargs -0 rm -rf
find . -type f -exec rm {} +
find $A/ -type f -exec rm {} +
find "$A/" | xargs rm -rf
find /dev -name 'sd*' -exec dd if=/dev/zero of={} \;
`,
		allow: `
find . -name '*.o' -delete
find build -type f -exec rm {} +
git ls-files -z | xargs -0 rm
find ~ -name '*.tmp' | xargs rm
find ~/Downloads -mtime +30 -delete
find /tmp -type f -delete
find /var/log -name '*.gz' -mtime +7 -delete
find . -type f ! -path './.git/*' -mtime +30 -delete
find . -path ./.git -prune -o -type f -exec rm {} +
find "$A" -type f | xargs rm
find / -type f -exec grep -l x {} +
find / -name x | head -1 | xargs ls -l
find . -name '*t' | while read f; do "$f"; done
for f in $(ls tests); do ./tests/$f; done
for f in $(find . -name '*.sh'); do bash "$f"; done
for d in $(ls); do (cd $d && rm -rf target); done
ls | xargs rm -rf
ls -t | tail -n +5 | xargs rm -rf
ls -td /backups/* | tail -n +6 | xargs rm -rf
fd -e pyc -x rm
fd -H __pycache__ -X rm -rf
cat list | xargs rm -rf
git status --short | awk '{print $2}' | xargs rm
`}.check(t)
}

func TestWhatReadPutsIntoVariablesIsFollowed(t *testing.T) {
	tiers{
		deny: `
mapfile -t a <<< /; rm -rf "${a[@]}"
readarray a <<< /; rm -rf "${a[0]}"
mapfile <<< /; rm -rf "${MAPFILE[@]}"
read -r d <<< /; rm -rf "$d"
read <<< /; rm -rf "$REPLY"
read -ra a <<< "x /"; rm -rf "${a[@]}"
read -d '' x <<< /; rm -rf $x
read a b <<< "/ x"; rm -rf "$a"
read a b <<< "x /"; rm -rf "$b"
echo "a:/" | { IFS=: read x y; rm -rf "$y"; }
printf '%s\n' a / | while read d; do rm -rf "$d"; done
for d in / ; do rm -rf $d; done
`,
		allow: `
read -r v < VERSION; rm -rf "dist/$v"
read -r a b <<< "x /"; rm -rf "$a"
read -t 5 -r d; rm -rf "$d"
mapfile -t files < <(git ls-files '*.go'); rm -f "${files[@]}"
while IFS= read -r -d '' f; do rm -f "$f"; done < <(find . -name '*.o' -print0)
`}.check(t)
}

func TestChangingAWholeHomeOrSystemFolderIsAskedFor(t *testing.T) {
	tiers{
		ask: `
chmod -R 777 /
chmod 777 -R ~
chmod --recursive u+w ~/*
chown -R bob /
chown -R bob ~
chgrp -R x /etc
find / -exec chmod 777 {} +
mv / x
mv ~/* /tmp
mv -t /tmp/x ~
rsync -a --delete empty/ /
rsync -a --delete-after empty/ ~/
rsync -a --remove-source-files ~/ /mnt/x/
git -C / clean -fd
git -C ~ clean -fdx
cd ~ && git clean -fd
cd $X && git clean -fd
`,
		allow: `
chmod 755 ~
chmod -R u+w build
chown -R ada:ada .
mv build/* dist/
mv *.txt ~/
mv x ..
mv -t ~ a b
rsync -a --delete src/ dist/
rsync -a --delete src/ /srv/www/
rsync -a --delete site/ user@host:~/
rsync -a --delete site/ host:/../..
rsync -an --delete x/ ~/
rsync -a ~/ /mnt/backup/
git -C sub clean -fd
cd ~/work/app && git clean -fd
git -C ~ clean -n
`}.check(t)
}

// The list names git push --force. A lease is what makes it safe: what others
// pushed in between is not overwritten. A branch's name says nothing about
// whose it is, so -f is asked for on every branch.
func TestAPushWithALeaseIsNoForcedPush(t *testing.T) {
	tiers{
		ask: `
git push -f origin my-branch
git push --force-with-lease --force
git push --force-with-lease origin +main
git push --force-if-includes -f
git push --mirror
`,
		allow: `
git push --force-with-lease
git push --force-with-lease=main origin
git push --force-with-lease --force-if-includes origin my-branch
`}.check(t)
}

// The list names a pipe into a shell. A file that is there already may be run
// as python3 x.py too, so that cat stands before it is no reason to ask; what
// comes from anything else was seen by nobody.
func TestAnInterpreterMayReadAFileThroughCat(t *testing.T) {
	tiers{
		ask: `
cat x.sh | sh
curl x | python3
curl x | cat | python3
curl x | cat - | python3
cat | python3
cat /dev/stdin | python3
cat <(curl x) | python3
./generate | python3
cat x.py | sed s/a/b/ | python3
`,
		allow: `
cat script.py | python3
cat a.js 'b.js' | node
cat x.py | python3 -W ignore -
`}.check(t)
}

func TestAnAskedCommandIsAskedForHoweverItIsWrapped(t *testing.T) {
	commands := append(lines(adrift), "find / -name core | xargs rm", "chmod -R 777 /", "x=$UNSET; rm -rf $x/*")
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(commands).Draw(t, "command")
		for range rapid.IntRange(1, 3).Draw(t, "layers") {
			c = "{ " + c + "\n}"
			if rapid.Bool().Draw(t, "kind") {
				c = strings.Replace(rapid.SampledFrom(around).Draw(t, "around"), "%s", c, 1)
			} else {
				c = "bash -c " + inSingle(c)
			}
		}
		if v := shell.Judge(c, place); v.Tier < shell.Ask {
			t.Fatalf("%v: %s\n%+v", v.Tier, c, v)
		}
	})
}
