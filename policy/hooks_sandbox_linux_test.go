package policy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"oneloop/workspace"
)

func TestHooksRunInTheSandboxOfTheirWorkspace(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	h := newHooked(t, one("PreToolUse", "", `cat > input; printf "from %s" "the hook" >&2; (echo x > `+outside+`) 2> refused; exit 2`))
	ws, err := workspace.Sandboxed(h.dir, workspace.SandboxOptions{State: t.TempDir()})
	if err != nil {
		t.Skip("no sandbox here: ", err)
	}
	t.Cleanup(func() {
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := ws.Prepare(); err != nil {
		t.Skip("no sandbox here: ", err)
	}
	h.Workspace = ws
	ran, r, _ := h.call("ls")
	if len(ran) > 0 || !strings.Contains(r.Text(), "from the hook") {
		t.Fatalf("ran %q, answer %q", ran, r.Text())
	}
	if h.input()["tool_name"] != "Bash" {
		t.Errorf("told %v", h.input())
	}
	if _, err := os.Stat(outside); err == nil {
		t.Error("it wrote outside of the workspace")
	}
}
