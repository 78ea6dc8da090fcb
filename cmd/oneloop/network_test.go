//go:build linux

package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oneloop/looptest/script"
)

// settles writes the user's settings.
func (p *product) settles(text string) {
	p.t.Helper()
	path := filepath.Join(p.home(), ".config", "oneloop", "settings.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// site is a server on this machine that counts who comes.
func site(t *testing.T) (at string, hits *atomic.Int32) {
	t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("LOUD: curl is not installed, so no host was asked for")
	}
	hits = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		fmt.Fprint(w, "the site answers")
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String(), hits
}

// get is a command that asks the proxy, also for this machine.
func get(id, at string) script.Block { return shell(id, "curl -sS --noproxy '' http://"+at+"/") }

func TestHostsAreReachedAsTheSettingsSay(t *testing.T) {
	at, hits := site(t)
	other, _ := site(t)
	p := newProduct(t, script.Say(get("t1", at), get("t2", other), get("t3", "x.invalid"), get("t4", "bad.invalid"), get("t5", "169.254.169.254")), say("seen"))
	p.settles(`{"sandbox":{"network":{"allowedDomains":["` + at + `"]}},"permissions":{"deny":["WebFetch(domain:bad.invalid)"]}}`)
	file := filepath.Join(t.TempDir(), "trace")
	o := p.run("--permission-mode", "default", "--trace="+file, "go on")
	if o.code != exitDenied || hits.Load() != 1 {
		t.Errorf("exit %d, %d visits\n%s", o.code, hits.Load(), o.stderr)
	}
	contains(t, p.result(2, "t1"), "the site answers")
	contains(t, p.result(2, "t2"), "is refused: it is loopback", "[the sandbox does not connect to "+other)
	contains(t, p.result(2, "t3"), "the sandbox does not connect to x.invalid", "nobody is there", "permissions.allow of the settings: WebFetch(domain:x.invalid)")
	contains(t, p.result(2, "t4"), "is denied (by WebFetch(domain:bad.invalid) in ")
	contains(t, p.result(2, "t5"), "is refused: it is link-local")
	contains(t, o.stderr, "nobody could be asked; to allow it: WebFetch(domain:x.invalid)", "network: "+at+" ×1")
	lacks(t, p.result(2, "t1"), "network: ")
	trace, err := os.ReadFile(file)
	if err != nil || strings.Count(string(trace), `"kind":"denied"`) != 2 || !strings.Contains(string(trace), "network: "+at) {
		t.Errorf("the trace does not tell of the hosts: %v\n%s", err, trace)
	}
}

func TestBypassReachesHostsButNotThisMachine(t *testing.T) {
	at, hits := site(t)
	p := newProduct(t, script.Say(get("t1", at), get("t2", "x.invalid")), say("seen"))
	p.done("go on")
	contains(t, p.result(2, "t1"), "is refused: it is loopback")
	contains(t, p.result(2, "t2"), "does not connect to x.invalid") // and not for want of a rule
	lacks(t, p.result(2, "t2"), "WebFetch(")
	if hits.Load() != 0 {
		t.Errorf("%d visits", hits.Load())
	}
}

func TestASubtaskReachesWhatItsParentDoes(t *testing.T) {
	at, hits := site(t)
	p := newProduct(t)
	p.server.Route("go on", script.Say(shell("t1", `oneloop "fetch it"`)), say("seen"))
	p.server.Route("fetch it", script.Say(get("c1", at), get("c2", "x.invalid")), say("fetched"))
	p.settles(`{"sandbox":{"network":{"allowedDomains":["` + at + `"]}}}`)
	o := p.run("--permission-mode", "default", "go on")
	if hits.Load() != 1 || o.code != exitDenied {
		t.Errorf("exit %d, %d visits\n%s", o.code, hits.Load(), o.stderr)
	}
	contains(t, o.stderr, "WebFetch(domain:x.invalid)")
}

func TestAHostIsAskedForLive(t *testing.T) {
	at, hits := site(t)
	// A time limit that is shorter than the person takes.
	slow := script.Tool("t1", "Bash", `{"command":"curl -sS --noproxy '' http://`+at+`/ http://`+at+`/","timeout":1500}`)
	p := newProduct(t, script.Say(slow), script.Say(get("t2", at)), script.Say(get("t3", "x.invalid"), get("t4", "x.invalid")), say("seen"))
	// The rule that asks makes a host of this machine one to ask for.
	p.settles(`{"sandbox":{"network":{"allowedDomains":["` + at + `"]}},"permissions":{"ask":["WebFetch(domain:127.0.0.1)"]}}`)
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	c.sees("Connect to this host?", at)
	time.Sleep(1700 * time.Millisecond) // the person thinks for longer than the command has
	c.types("y\r")
	c.answers("n not there\r", "Connect to this host?", at)
	kept := filepath.Join(p.dir, ".oneloop", "settings.local.json")
	c.answers("a\r", "Connect to this host?", "x.invalid:80", "WebFetch(domain:x.invalid) (kept in "+kept)
	c.sees("seen")
	contains(t, p.result(2, "t1"), "the site answersthe site answers")
	contains(t, p.result(3, "t2"), "the user was asked", "said no", "not there")
	lacks(t, p.result(4, "t3"), "needs the user's permission")
	if text, err := os.ReadFile(kept); err != nil || !strings.Contains(string(text), "WebFetch(domain:x.invalid)") {
		t.Errorf("%s is %s, %v", kept, text, err)
	}
	if hits.Load() != 2 {
		t.Errorf("%d visits", hits.Load())
	}
	c.types("\x04")
	c.ends()
}

func TestWhoIsAskedForAHostSeesEveryCommandItMayBeFor(t *testing.T) {
	site(t) // needs curl, too
	p := newProduct(t,
		script.Say(behind("t1", "while ! [ -e go ]; do sleep 0.02; done; curl -sS --noproxy '' http://x.invalid/; touch asked; sleep 300"),
			shell("t2", "echo harmless; touch go; while ! [ -e asked ]; do sleep 0.02; done")), say("seen"))
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	c.answers("n\r", "Connect to this host?", "x.invalid:80", "curl -sS", "# or", "echo harmless")
	c.sees("seen")
	contains(t, p.result(2, "t2"), "harmless")
	c.types("\x04")
	c.ends()
}

func TestWhoIsAskedForAHostIsToldWhichAgentConnects(t *testing.T) {
	site(t) // needs curl, too
	p := newProduct(t, script.Say(script.Tool("t1", "Agent", `{"description":"Part one","prompt":"do one"}`)),
		script.Say(script.Tool("t2", "Agent", `{"description":"Part two","prompt":"do two"}`), script.Tool("t3", "Agent", `{"description":"Part three","prompt":"do three"}`)),
		say("all are back"))
	p.server.Route("do one", script.Say(get("c1", "x.invalid")), say("one has ended"))
	p.server.Route("do two", script.Say(shell("c2", "while ! [ -e go ]; do sleep 0.02; done; curl -sS --noproxy '' http://x.invalid/; touch asked")), say("two has ended"))
	p.server.Route("do three", script.Say(shell("c3", "echo harmless; touch go; while ! [ -e asked ]; do sleep 0.02; done")), say("three has ended"))
	c := p.converse("--permission-mode", "default")
	c.types("go on\r")
	c.sees("Connect to this host?", "n REASON")
	c.says("the agent " + c.path("Part one") + " asks")
	c.types("n\r")
	c.sees("Connect to this host?", "harmless", "n REASON")
	c.says("# of the agent " + c.path("Part two") + ":")
	c.says("# of the agent " + c.path("Part three") + ":")
	c.types("n\r")
	c.sees("all are back")
	c.types("\x04")
	c.ends()
}
