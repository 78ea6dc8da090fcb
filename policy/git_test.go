package policy_test

import (
	"os"
	"path/filepath"
	"testing"

	"oneloop/policy"
	"oneloop/policy/shell"
)

// Git runs filters where it compares files, and no option keeps it from all.
func TestWhereARepositoryNamesFiltersComparingFilesIsAskedFor(t *testing.T) {
	for name, c := range map[string]struct {
		files map[string]string
		asks  bool
	}{
		"none":                {map[string]string{".git/config": "[core]\n\tbare = false\n[remote \"filter\"]\n\turl = x\n"}, false},
		"a filter":            {map[string]string{".git/config": "[core]\n\tbare = false\n[filter \"x\"]\n\tclean = evil\n"}, true},
		"on one line":         {map[string]string{".git/config": "[core][FILTER.x]clean=evil"}, true},
		"an included file":    {map[string]string{".git/config": "[include]\npath = x\n"}, true},
		"of a worktree":       {map[string]string{".git/config": "", ".git/config.worktree": "[filter \"x\"]\nprocess = evil"}, true},
		"elsewhere":           {map[string]string{".git": "gitdir: other\n", "other/config": "[filter \"x\"]\nclean = evil"}, true},
		"of a common folder":  {map[string]string{".git": "gitdir: other/worktrees/a\n", "other/worktrees/a/commondir": "../..\n", "other/config": "[filter \"x\"]\nclean = evil"}, true},
		"in a bare one":       {map[string]string{"HEAD": "x", "objects/x": "", "refs/x": "", "config": "[filter \"x\"]\nclean = evil"}, true},
		"no repository":       {map[string]string{"config": "[filter \"x\"]\nclean = evil"}, false},
		"what cannot be read": {map[string]string{".git/config/x": ""}, true},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			for f, text := range c.files {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, f)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, f), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			for command, compares := range map[string]bool{"git status": true, "git diff x": true, "git blame x": true, "git ls-files -m": true, "git log -3": false, "git rev-parse HEAD": false} {
				want := shell.Allow.String()
				if compares && c.asks {
					want = shell.Ask.String()
				}
				if got := policy.ExplainCommand(policy.GateOptions{Dir: root}, command); got.Decision != want {
					t.Errorf("%s: %v (%s)", command, got.Decision, got.Reason)
				}
			}
		})
	}
}
