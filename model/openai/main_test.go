package openai_test

import (
	"os"
	"testing"

	"oneloop/workspace"
)

func TestMain(m *testing.M) {
	workspace.Helper() // so that the census finds processes whose parent has ended
	os.Exit(m.Run())
}
