package looptest_test

import (
	"testing"

	"oneloop"
	"oneloop/looptest"
	"oneloop/model/anthropic"
	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper()
	m.Run()
}

func TestTheAdapterOfTheMessagesAPIKeepsTheContract(t *testing.T) {
	looptest.Census(t)
	looptest.TestModel(t, func(t testing.TB, url string) oneloop.Model {
		m, err := anthropic.New(anthropic.Config{BaseURL: url, Key: looptest.Key, Model: "claude-sonnet-5"})
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

func TestAHistoryKeepsTheContract(t *testing.T) {
	looptest.TestTranscript(t, func(testing.TB) oneloop.Transcript { return &oneloop.History{} })
}
