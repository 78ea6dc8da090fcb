package workspace_test

import (
	"context"
	"fmt"
	"os"

	"oneloop/workspace"
)

// runJob is what the test binary does when a test starts it as a program:
// it runs the command and prints what came of it.
func runJob(command string) int {
	w, err := workspace.Local(".", workspace.LocalOptions{})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	p, err := w.Start(context.Background(), workspace.Cmd{Argv: []string{"bash", "-c", command}, Output: os.Stdout})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	exit, err := p.Wait()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return exit.Code
}
