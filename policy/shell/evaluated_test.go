package shell_test

import "testing"

func TestWhatBashExpandsAlthoughItIsQuotedIsFollowed(t *testing.T) {
	tiers{
		deny: `
let 'a[$(rm -rf /)]'
let "a[\$(rm -rf /)]=1"
builtin let 'a[$(rm -rf /)]'
echo $((a['$(rm -rf /)']))
x='a[$(rm -rf /)]'; echo $((x))
x='a[$(rm -rf /)]'; (( x > 1 ))
x='a[$(rm -rf /)]'; [[ x -eq 1 ]]
x='a[$(rm -rf /)]'; if [[ $x -gt 1 ]]; then ls; fi
[[ a -eq 'b[$(rm -rf /)]' ]]
[[ -v 'b[$(rm -rf /)]' ]]
test -v 'b[$(rm -rf /)]'
[ -v 'b[$(rm -rf /)]' ]
declare 'a[$(rm -rf /)]=1'
declare -i x='a[$(rm -rf /)]'
export 'a[$(rm -rf /)]=1'
builtin declare 'a[$(rm -rf /)]=1'
printf -v 'a[$(rm -rf /)]' x
read 'a[$(rm -rf /)]'
unset 'a[$(rm -rf /)]'
x='$(rm -rf /)'; echo "${x@P}"
x='a[$(rm -rf /)]'; echo ${y:x}
x='a[$(rm -rf /)]'; echo ${y:0:x}
x='a[$(rm -rf /)]'; echo "${@:x}"
x='a[$(rm -rf /)]'; echo ${y: -x}
x='a[$(rm -rf /)]'; echo ${y:$x}
x='a[$(rm -rf /)]'; echo ${!x}
x='a[$(rm -rf /)]'; b=([x]=1)
x='a[$(rm -rf /)]'; b+=([x]=1)
x='a[$(rm -rf /)]'; declare -a b=([x]=1)
x='a[$(rm -rf /)]'; declare -a 'b=([x]=1)'
x='([$(rm -rf /)]=1)'; declare -a b="$x"
x='a[$(rm -rf /)]'; builtin declare 'b[x]=1'
x='a[$(rm -rf /)]'; z=x; echo $((z + 1))
x=('a[$(rm -rf /)]'); echo ${y:x}
x='a[${p@P}]'; p='$(rm -rf /)'; echo $((x))
for x in 1 'a[$(rm -rf /)]'; do echo "${y[x]}"; done
read x <<< 'a[$(rm -rf /)]'; echo ${y:x}
x='a[$(rm -rf /)]' bash -c 'echo ${y:x}'
bash -c 'echo ${y:$1}' _ 'a[$(rm -rf /)]'
declare -i n; n='a[$(rm -rf /)]'
declare -ri n='a[$(rm -rf /)]'
f() { local -i n; n='a[$(rm -rf /)]'; }; f
declare -i n; read n <<< 'a[$(rm -rf /)]'
declare -i n; for n in 'a[$(rm -rf /)]'; do :; done
declare -i n; printf -v n %s 'a[$(rm -rf /)]'
builtin declare -i n; n='a[$(rm -rf /)]'
declare -n r='a[$(rm -rf /)]'; echo $r
declare -n r; r='a[$(rm -rf /)]'; r=1
f() { local -n r='a[$(rm -rf /)]'; r=1; }; f
x='$(rm -rf /)'; b=("$x"); echo "${b[@]@P}"
x='$(rm -rf /)'; b=(1 "$x"); echo "${b[1]@P}"
set -- '$(rm -rf /)'; echo "${@@P}"
set -- a '$(rm -rf /)'; echo "${*@P}" "${2@P}"
x='$(rm -rf /)'; y=x; echo "${!y@P}"
getopts x 'a[$(rm -rf /)]'
mapfile -C 'rm -rf /' -c 1 a
mapfile -C'rm -rf /' a < f
readarray -c 1 -C 'rm -rf /' a
compgen -C 'rm -rf /'
compgen -W '$(rm -rf /)'
jobs -x rm -rf /
hash -p /bin/rm foo; foo -rf /
hash -p /bin/rm foo; command foo -rf /
hash -p /bin/rm foo; exec foo -rf /
git submodule foreach 'rm -rf /'
git submodule --quiet foreach --recursive rm -rf /
git bisect run rm -rf /
git rebase -x 'rm -rf /' main
git rebase --exec='rm -rf /' main
git filter-branch --tree-filter 'rm -rf /' HEAD
git config alias.x '!rm -rf /'
PS4='$(rm -rf /)' bash -xc :
PS4='$(rm -rf /)'; set -x; ls
env PS4='$(rm -rf /)' bash -xc :
export BASH_ENV='$(rm -rf /)'
PROMPT_COMMAND='rm -rf /' bash -i
fdisk /dev/sda
sgdisk --zap-all /dev/sda
sgdisk -Z /dev/nvme0n1
sfdisk /dev/sda < table
parted -s /dev/sda mklabel gpt
cryptsetup luksFormat /dev/sda1
cryptsetup -q luksFormat --type luks2 /dev/nvme0n1p2
pvcreate /dev/sdb
wipefs -a /dev/sdb
sudo mdadm --create /dev/md0 --level=1 -n 2 /dev/sda /dev/sdb
zpool create tank /dev/sdb
badblocks -w /dev/sdb
nvme format /dev/nvme0n1
`,
		ask: `
x=$(cat f); echo "${x@P}"
b=($(cat f)); echo "${b[@]@P}"
declare -n r=x; r=1
f() { local -n r=$1; r=1; }
hash -p $X foo
let 'a[$(git reset --hard)]'
`,
		allow: `
let i++
let "i = i + 1"
(( i++ )); echo $((i * 2))
for ((i = 0; i < 3; i++)); do echo $i; done
[[ $x -eq 1 ]] && echo yes
[[ -v HOME ]]
[ -v HOME ]
declare -i n=5
declare -A m=([a]=1)
m['x y']=2
echo "${m[$k]}" "${a[$((i+1))]}"
for i in 0 1 2; do echo "${arr[i]}" "${arr[$i]}"; done
for i in $(seq 3); do echo "${arr[i]}" "${x:i}" $((i + 1)); done
x=abcdef; echo "${x:0:3}" "${x: -2}" "${x:1}" "${@:2}" "${#x}"
n=3; echo "${x:n}" "${x:0:n}" "${a[n - 1]}"
for v in HOME USER; do echo "$v=${!v}"; done
echo "${!#}" "${!arr[@]}" "${!PRE*}" "${!OPTIND}" "${!name}"
x='$(rm -rf /)'; v=x; echo "${!v}"
b=([0]=x [1]='$(rm -rf /)'); echo "${b[@]}"
declare -i n; n=5; n+=1; read n < f
declare -a list=(1 2 '$(rm -rf /)'); declare -a more="$(ls)"
export -n PATH; export x='a[1]'
declare -A m; m[key]=1; echo "${m[key]}"
[ x = 'a[1]' ] && unset 'a[1]'
printf -v line '%s' '$(rm -rf /)'
echo '$(rm -rf /)'
grep -n 'let a[$(rm' notes.txt
x='$(rm -rf /)'; echo "$x"
x='ready'; echo "${x@P}" "${x@Q}" "${1@Q}"
mapfile -t lines < f
compgen -c git
hash -r
hash -p /usr/bin/git foo; foo status
hash -p /usr/bin/git foo; command foo status
hash -p /bin/rm foo; env foo -rf /
jobs -l
git submodule foreach git pull
git submodule foreach --recursive 'git status || :'
git bisect run make test
git rebase -x 'make test' main
git config alias.st status
git config alias.last '!git log -1'
PS1='$(date) $ ' bash -c ls
PS4='+ ${LINENO}: ' bash -x script.sh
fdisk -l /dev/sda
parted /dev/sda print
sgdisk -p /dev/sda
sfdisk --dump /dev/sda
cryptsetup luksFormat disk.img
cryptsetup luksDump /dev/sda1
fdisk disk.img
mdadm --detail /dev/md0
zpool status
nvme list
`,
	}.check(t)
}
