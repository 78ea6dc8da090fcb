// Command server is a scripted model in a program of its own, for a test that
// would spend its time in the race detector otherwise: the detector is much
// slower than the program under test at reading megabytes byte by byte.
//
// It asks for a command with an input of as many bytes as its argument says, and
// then ends the turn. It prints its URL, and "asked" when the second request has
// arrived, to which it replies once it has read a line. When its input ends, it
// prints what was wrong with the requests, and exits with 1 if something was.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"oneloop/looptest/script"
)

func main() {
	if err := serve(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func serve() error {
	size, err := strconv.Atoi(os.Args[1])
	if err != nil {
		return err
	}
	input, err := json.Marshal(map[string]string{"command": "cat > big.txt <<'E'\n" + strings.Repeat("0123456789abcdef", size/16) + "\nE"})
	if err != nil {
		return err
	}
	lines := make(chan struct{}, 1)
	server := script.New(
		script.Say(script.ToolPieces("t1", "Bash", string(input))),
		script.Reply{React: func(script.Request) script.Reply {
			fmt.Println("asked")
			<-lines
			return script.Say(script.Text("ok"))
		}},
	)
	if err := server.Start(); err != nil {
		return err
	}
	defer server.Close()
	fmt.Println(server.URL())
	for stdin := bufio.NewScanner(os.Stdin); stdin.Scan(); {
		lines <- struct{}{}
	}
	close(lines)
	return server.Check()
}
