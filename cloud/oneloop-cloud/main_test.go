package main

import (
	"bufio"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if os.Getenv("ONELOOP_CLOUD_TEST") != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// start runs the program with both pipes in hand.
func start(t *testing.T, args ...string) (*exec.Cmd, io.WriteCloser, *bufio.Reader) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), "ONELOOP_CLOUD_TEST=1", "AWS_EC2_METADATA_DISABLED=true", "AWS_REGION=eu-west-1",
		"AWS_BEARER_TOKEN_BEDROCK=token", "AWS_ENDPOINT_URL_BEDROCK_RUNTIME=http://127.0.0.1:1", "HOME="+t.TempDir())
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, in, bufio.NewReader(out)
}

// ended waits for the program.
func ended(t *testing.T, cmd *exec.Cmd) error {
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		return err
	case <-time.After(30 * time.Second):
		t.Fatal("the program does not end with its input")
		return nil
	}
}

func TestSeveralRequestsAreAnsweredOverOnePairOfPipesAndItsEndIsTheEnd(t *testing.T) {
	cmd, in, out := start(t, "bedrock")
	for range 3 {
		if _, err := io.WriteString(in, "POST /v1/messages HTTP/1.1\r\nHost: x\r\nContent-Length: 13\r\n\r\n{\"model\":\"m\"}"); err != nil {
			t.Fatal(err)
		}
		resp, err := http.ReadResponse(out, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != 502 || !strings.Contains(string(body), `{"type":"error","error":{"type":"api_error","message":"ask 127.0.0.1:1:`) {
			t.Errorf("%v, status %d: %s", err, resp.StatusCode, body)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := ended(t, cmd); err != nil {
		t.Errorf("it ended with %v", err)
	}
}

func TestWithAnUnknownServiceItSaysWhatThereIs(t *testing.T) {
	for _, args := range [][]string{nil, {"azure"}} {
		cmd, _, out := start(t, args...)
		io.Copy(io.Discard, out)
		if err := ended(t, cmd); cmd.ProcessState.ExitCode() != 2 {
			t.Errorf("%v: %v", args, err)
		}
	}
}
