package workspace_test

import (
	"testing"

	"oneloop/looptest"
	"oneloop/workspace"
)

func TestALocalWorkspaceKeepsTheContract(t *testing.T) {
	looptest.TestWorkspace(t, func(t testing.TB) workspace.Workspace { return open(t, workspace.LocalOptions{}) })
}
