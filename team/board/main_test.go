package board_test

import (
	"os"
	"testing"
)

// TestMain is also the processes that are killed.
func TestMain(m *testing.M) {
	switch {
	case os.Getenv("BOARD_TEST_HOLDER") != "":
		hold(os.Getenv("BOARD_TEST_HOLDER"), os.Getenv("BOARD_TEST_ID"))
	case os.Getenv("BOARD_TEST_WORKER") != "":
		work(os.Getenv("BOARD_TEST_WORKER"), os.Getenv("BOARD_TEST_NAME"))
	default:
		os.Exit(m.Run())
	}
}
