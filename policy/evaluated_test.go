package policy_test

import (
	"testing"

	"oneloop/policy"
)

// A rule that denies holds for what bash makes a command of by evaluating a
// value, also where another rule allows every command.
func TestADenyRuleHoldsForCommandsInValuesThatAreEvaluated(t *testing.T) {
	dir := folder(t)
	o := with(t, dir, "deny Bash(evilx:*)", "allow Bash")
	for command, want := range map[string]string{
		"x='a[$(evilx)]'; echo ${y:x}": "deny", "x='a[$(evilx)]'; echo ${y:0:x}": "deny", "x='a[$(evilx)]'; echo ${@:x}": "deny", "x='a[$(evilx)]'; echo ${!x}": "deny",
		"x='a[$(evilx)]'; b=([x]=1)": "deny", "x='a[$(evilx)]'; b+=([x]=1)": "deny", "x='a[$(evilx)]'; declare -a b=([x]=1)": "deny", "declare -i n; n='a[$(evilx)]'": "deny",
		"declare -n r='a[$(evilx)]'; echo $r": "deny", "declare -n r='a[$(evilx)]'; r=1": "deny", "f() { local -n r='a[$(evilx)]'; echo $r; }; f": "deny",
		"x='$(evilx)'; b=(\"$x\"); echo \"${b[@]@P}\"": "deny", "set -- '$(evilx)'; echo \"${@@P}\"": "deny",
		"x=\"a[$(tr a-z b-z <<< '$(duhk)')]\"; echo ${y:x}": "ask", "x=$(cat f); echo ${!x}": "ask", "x=$(cat f); echo \"${x@P}\"": "ask", "declare -n r=x; r=1": "ask", "b=($(cat f)); echo \"${b[@]@P}\"": "ask",
		"for i in 0 1 2; do echo ${arr[i]} ${arr[$i]}; done": "allow", "x=abc; echo ${x:0:3}": "allow", "for i in $(seq 3); do echo ${arr[i]} $((i + 1)); done": "allow", "n=$(wc -l < f); echo $((n + 1))": "allow",
		"for v in HOME USER; do echo ${!v}; done": "allow", "arr=(a b); echo ${arr[-1]} ${#arr[@]} ${!arr[@]}": "allow", "declare -i n=0; n+=1; echo $n": "allow", "declare -A m=([a]=1); m[b]=2; echo ${m[b]}": "allow",
	} {
		if got := policy.ExplainCommand(o, command); got.Decision != want {
			t.Errorf("%s: %+v, want %s", command, got, want)
		}
	}
}
