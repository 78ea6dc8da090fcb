package looptest_test

import (
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	m.Run()
}

func TestAHistoryKeepsTheContract(t *testing.T) {
	looptest.TestTranscript(t, func(testing.TB) oneloop.Transcript { return &oneloop.History{} })
}
