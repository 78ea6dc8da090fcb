package policy_test

import (
	"os"
	"testing"

	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	os.Exit(m.Run())
}
