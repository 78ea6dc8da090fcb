//go:build amd64 || arm64

package workspace_test

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/looptest"
	"oneloop/workspace"
)

func TestSandboxReachesHostsThroughTheProxyOnly(t *testing.T) {
	inNamespaces(t, reachesHostsThroughTheProxyOnly)
}

func reachesHostsThroughTheProxyOnly(t *testing.T, backend string) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, so nothing is fetched")
	}
	looptest.Census(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %q", r.Method, r.Host, r.URL.Path, body)
	}))
	t.Cleanup(server.Close)
	var mu sync.Mutex
	var asked []string
	w := sandbox(t, workspace.SandboxOptions{Backend: backend, Dial: func(ctx context.Context, network, host string, port int) (net.Conn, error) {
		mu.Lock()
		asked = append(asked, fmt.Sprintf("%s:%d", host, port))
		mu.Unlock()
		if host == "broken.example" {
			panic("the dialler broke")
		}
		if host != "registry.example" {
			return nil, fmt.Errorf("%w: nobody allowed it; a rule WebFetch(domain:%s) would", fs.ErrPermission, host)
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}})
	const raw = "exec 3<>/dev/tcp/127.0.0.1/${http_proxy##*:}; "
	for _, c := range []struct{ command, want string }{
		{"curl -sS -d body http://Registry.Example/a", `POST Registry.Example /a "body"`},
		{"curl -sS -p http://registry.example:8080/b", `GET registry.example:8080 /b ""`}, // -p: by CONNECT
		{"curl -sS http://other.example/", "WebFetch(domain:other.example)"},
		{"curl -sS http://broken.example/", "internal error: the dialler broke"},
		{"curl -sS -p http://broken.example:8080/ || curl -sS -p -i http://broken.example:8080/", "502"},
		{"curl -sS --noproxy '*' " + server.URL, "onnect"},
		{"curl -sS --noproxy '' http://localhost/", "does not connect"},
		{raw + `printf 'CONNECT 127.1:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3; timeout 5 cat <&3`, "does not connect"},
		{raw + `printf 'CONNECT 0x7f000001:80 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n' >&3; timeout 5 cat <&3`, "403"},
		{raw + `printf 'CONNECT registry.example\0.evil.example:80 HTTP/1.1\r\nHost: x\r\n\r\n' | cat >&3; timeout 5 cat <&3`, "400"},
		{"curl -sS -x $http_proxy http://registry.example:0/", "no port"},
		{"curl -sS -x $http_proxy http://user:pw@registry.example/c", `GET registry.example /c`},
		{raw + `printf 'GET / HTTP/1.1\r\nHost: registry.example\r\n\r\n' >&3; head -1 <&3`, "400 Bad Request"},
	} {
		out, exit := bash(t, w, 30*time.Second, c.command)
		if !strings.Contains(out, c.want) {
			t.Errorf("%s: %q (%+v), want %q", c.command, out, exit, c.want)
		}
		if told := strings.Contains(strings.Join(exit.Notes, "\n"), "WebFetch(domain:"); told != strings.Contains(out, "nobody allowed it") {
			t.Errorf("%s: the notes are %q", c.command, exit.Notes)
		}
		if told := strings.Contains(strings.Join(exit.Notes, "\n"), "the dialler broke"); told != strings.Contains(c.command, "broken") {
			t.Errorf("%s: the notes are %q", c.command, exit.Notes)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(asked, " "); got != "registry.example:80 registry.example:8080 other.example:80 broken.example:80 broken.example:8080 broken.example:8080 localhost:80 registry.example:80" {
		t.Errorf("asked for %s", got)
	}
	if s := w.Status(); s.Network != "proxy" {
		t.Errorf("it says %+v", s)
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
