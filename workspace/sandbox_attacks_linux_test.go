//go:build amd64 || arm64

package workspace_test

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"oneloop/workspace"
)

//go:embed testdata/attacks.md
var attackText string

// attack has in beyond, by backend, why that does not stop it.
type attack struct {
	id, title, command, escaped, control string
	beyond                               map[string]string
}

var attackForm = regexp.MustCompile("(?s)^(\\w+) ([^\n]+)\n```bash\n(.*?)\n```\nescaped: `([^\n]+)`\n(?:beyond bwrap: ([^\n]+)\n)?(?:beyond ll: ([^\n]+)\n)?(?:control: ([^\n]+)\n)?\\s*$")

func attacks(t *testing.T) []attack {
	t.Helper()
	var list []attack
	for _, part := range strings.Split(attackText, "\n## ")[1:] {
		m := attackForm.FindStringSubmatch(part)
		if m == nil {
			t.Fatalf("an attack has another form than the others:\n%s", part)
		}
		list = append(list, attack{m[1], m[2], m[3], m[4], m[7], map[string]string{workspace.BackendBwrap: m[5], workspace.BackendLL: m[6]}})
	}
	if len(list) < 50 {
		t.Fatalf("%d attacks were read", len(list))
	}
	return list
}

// attackLimits are what the attacks on limits are measured by.
var attackLimits = workspace.SandboxLimits{Processes: 400, Memory: 1 << 30, Process: 2 << 30, File: 256 << 20, Disk: 512 << 20}

func TestSandboxStopsEveryAttack(t *testing.T) { stopsAttacks(t, workspace.BackendNS) }

func TestSandboxOfBubblewrapStopsMostAttacks(t *testing.T) {
	needBwrap(t)
	stopsAttacks(t, workspace.BackendBwrap)
}

func TestSandboxOfLandlockStopsMostAttacks(t *testing.T) { stopsAttacks(t, workspace.BackendLL) }

func stopsAttacks(t *testing.T, backend string) {
	kit := attackKit(t)
	for _, a := range attacks(t) {
		t.Run(a.id, func(t *testing.T) {
			if a.beyond[backend] != "" {
				t.Skip(a.beyond[backend])
			}
			t.Parallel()
			f := newField(t, kit)
			w := sandboxAt(t, f.ws, workspace.SandboxOptions{
				Backend: backend, Env: f.env(backend), Show: []string{f.base}, Protect: []string{".agent"}, Limits: attackLimits,
				Hide: []string{f.home + "/.ssh", f.home + "/.agent", f.home + "/.git-credentials"},
			})
			out := f.create("output")
			p, err := w.Start(t.Context(), workspace.Cmd{Argv: []string{"bash", "-c", a.command}, Output: out, Limits: workspace.Limits{Time: 30 * time.Second}})
			if err != nil {
				t.Fatal(err)
			}
			exit, err := p.Wait()
			if a.id == "P09" && backend == workspace.BackendLL && os.Geteuid() == 0 {
				// The kernel bars no processes of root, and who counts them may come
				// too late where all processors are busy: that it comes is asked for.
				if len(exit.Notes) == 0 || !strings.Contains(exit.Notes[0], "processes and threads, the limit is 400") {
					t.Errorf("%s: nobody ended it (%+v, %v)", a.title, exit, err)
				}
				return
			}
			if f.escaped(a) {
				text, _ := os.ReadFile(out.Name())
				t.Errorf("%s: it escaped (%+v, %v), and printed:\n%.3000s", a.title, exit, err, text)
			}
		})
	}
}

// TestSandboxIsNeededAgainstEveryAttack shows that the attacks are some: each
// succeeds where there is no sandbox. They are run as an ordinary user only,
// in a temporary folder.
func TestSandboxIsNeededAgainstEveryAttack(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("attacks without a sandbox are run as an ordinary user only: see package workspace/ordinary")
	}
	kit := attackKit(t)
	for _, a := range attacks(t) {
		t.Run(a.id, func(t *testing.T) {
			if a.control != "" {
				t.Skip(a.control)
			}
			f := newField(t, kit)
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			cmd := exec.CommandContext(ctx, "bash", "-c", a.command)
			out := f.create("output")
			cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.ws, append(f.env("plain"), "PWD="+f.ws), out, out
			cmd.ExtraFiles = f.forgotten()
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.Run()
			defer f.killLeft()
			if !f.escaped(a) {
				text, _ := os.ReadFile(out.Name())
				t.Errorf("%s: without a sandbox it does nothing either, and prints:\n%.3000s", a.title, text)
			}
		})
	}
}

// attackKit is a folder with attack.c, built, and a repository.
func attackKit(t *testing.T) string {
	t.Helper()
	kit := t.TempDir()
	source, err := filepath.Abs("testdata/attack.c")
	if dir := os.Getenv("WORKSPACE_TEST_SOURCE"); dir != "" {
		source = filepath.Join(dir, "attack.c")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"gcc -o attack " + source,
		"mkdir ws && cd ws && echo text > file && git init -q . && rm -rf .git/hooks/* && git add -A && git -c user.name=a -c user.email=b commit -qm one",
	} {
		cmd := exec.Command("bash", "-c", line)
		cmd.Dir, cmd.Env = kit, []string{"HOME=" + kit, "PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	return kit
}

// fields counts them, so that each has names of its own.
var fields atomic.Int64

// field is where one attack takes place.
type field struct {
	*testing.T
	base, ws, out, home  string
	hits, socket, attack string
	abstract, mark, stay string
	terminal             string
	port                 int
	agent                *exec.Cmd
}

func newField(t *testing.T, kit string) *field {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f := &field{T: t, base: base, ws: base + "/ws", out: base + "/out", home: base + "/home", hits: base + "/hits", socket: base + "/socket", attack: base + "/attack"}
	n := fields.Add(1)
	f.mark, f.stay = fmt.Sprintf("oneloop-attack-%d-%d", os.Getpid(), n), strconv.Itoa(10_000_000+os.Getpid()*1000+int(n))
	f.abstract = f.mark
	for name, text := range map[string]string{
		"out/victim": "original", "home/.bashrc": "", "home/.ssh/id_rsa": "SECRETKEY", "home/.git-credentials": "SECRETGIT",
		"home/.agent/settings.json": "{}", "home/.agent/sessions/s1.jsonl": "SECRETTRACE", "hits": "", "forgotten": "SECRETFD",
	} {
		f.write(name, text)
	}
	if err := os.CopyFS(base, os.DirFS(kit)); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"opencode.json", "my.code-workspace", "part/.mcp.json", "part/deep/.envrc", "part/deep/.vscode/tasks.json"} {
		f.write("ws/"+name, "{}")
	}
	f.agent = exec.Command("sleep", "9999")
	f.agent.Env = []string{"ANTHROPIC_API_KEY=SECRETENV", "PATH=" + os.Getenv("PATH")}
	if err := f.agent.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.agent.Process.Kill()
		f.agent.Wait()
		for _, dir := range []string{"/tmp", "/var/tmp", "/dev/shm"} {
			os.Remove(filepath.Join(dir, f.mark))
		}
	})
	f.listen()
	f.terminal = terminal(t)
	return f
}

// terminal is the name of a terminal that somebody else has open.
func terminal(t *testing.T) string {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("/dev/pts/%d", n)
}

func (f *field) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.base, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		f.Fatal(err)
	}
}

func (f *field) create(name string) *os.File {
	f.Helper()
	file, err := os.Create(filepath.Join(f.base, name))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	return file
}

// forgotten gives an open file the number 99.
func (f *field) forgotten() []*os.File {
	file, err := os.Open(f.base + "/forgotten")
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { file.Close() })
	return append(make([]*os.File, 96), file)
}

func (f *field) env(sandbox string) []string {
	env := []string{
		"HOME=" + f.home, "FHOME=" + f.home, "WS=" + f.ws, "OUT=" + f.out, "HITS=" + f.hits, "SOCK=" + f.socket, "ABSTRACT=" + f.abstract,
		"PORT=" + strconv.Itoa(f.port), "ATTACK=" + f.attack, "OUTPUT=" + f.base + "/output", "MARK=" + f.mark, "TERMINAL=" + f.terminal, "STAY=" + f.stay, "SANDBOX=" + sandbox,
		"AGENTPID=" + strconv.Itoa(f.agent.Process.Pid), "PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "SOME_API_KEY=SECRETENV",
	}
	return env
}

// escaped asks whether an attack succeeded. What was sent over a network
// takes a moment to be written down, and a child to become what it will be;
// all else is there when the command ends.
func (f *field) escaped(a attack) bool {
	patience := time.Duration(0)
	if a.id[0] == 'N' || a.id[0] == 'P' {
		patience = 100 * time.Millisecond
	}
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		cmd := exec.Command("bash", "-c", a.escaped)
		cmd.Dir, cmd.Env = f.base, f.env("outside")
		if cmd.Run() == nil {
			return true
		}
		if !time.Now().Before(end) {
			return false
		}
	}
}

// listen waits for visitors.
func (f *field) listen() {
	var mu sync.Mutex
	hit := func(word string) {
		mu.Lock()
		defer mu.Unlock()
		file, err := os.OpenFile(f.hits, os.O_APPEND|os.O_WRONLY, 0)
		if err == nil {
			fmt.Fprintln(file, word)
			file.Close()
		}
	}
	accept := func(l net.Listener, word string) {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			hit(word)
			c.Close()
		}
	}
	var tcp net.Listener
	var udp net.PacketConn
	for range 20 { // until the next number is free too
		var err error
		if tcp, err = net.Listen("tcp4", "127.0.0.1:0"); err != nil {
			f.Fatal(err)
		}
		f.port = tcp.Addr().(*net.TCPAddr).Port
		if udp, err = net.ListenPacket("udp4", fmt.Sprintf("127.0.0.1:%d", f.port+1)); err == nil {
			break
		}
		tcp.Close()
	}
	path, err := net.Listen("unix", f.socket)
	if err != nil {
		f.Fatal(err)
	}
	packets, err := net.ListenPacket("unixgram", f.socket+".packets")
	if err != nil {
		f.Fatal(err)
	}
	abstract, err := net.Listen("unix", "@"+f.abstract)
	if err != nil {
		f.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() { accept(tcp, "tcp") })
	wg.Go(func() { accept(path, "unix") })
	wg.Go(func() { accept(abstract, "abstract") })
	listen := func(c net.PacketConn, word string) {
		buf := make([]byte, 100)
		for {
			if _, _, err := c.ReadFrom(buf); err != nil {
				return
			}
			hit(word)
		}
	}
	wg.Go(func() { listen(udp, "udp") })
	wg.Go(func() { listen(packets, "packets") })
	f.Cleanup(func() {
		for _, c := range []interface{ Close() error }{tcp, udp, path, packets, abstract} {
			c.Close()
		}
		wg.Wait()
	})
}

// killLeft ends what an attack left without a sandbox, by its number.
func (f *field) killLeft() {
	out, _ := exec.Command("pgrep", "-f", "^sleep "+f.stay+"$").Output()
	for _, word := range bytes.Fields(out) {
		if pid, err := strconv.Atoi(string(word)); err == nil {
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

func TestSandboxPassesNoForgottenDescriptor(t *testing.T) {
	f := newField(t, attackKit(t))
	forgotten := f.forgotten()[96]
	// As careless code leaves one, without closing it at exec.
	if err := syscall.Dup3(int(forgotten.Fd()), 99, 0); err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(99)
	w := sandboxAt(t, f.ws, workspace.SandboxOptions{Show: []string{f.base}})
	out, _ := bash(t, w, 10*time.Second, `for n in /proc/self/fd/*; do readlink $n; done; cat <&99`)
	if strings.Contains(out, "forgotten") || strings.Contains(out, "SECRETFD") {
		t.Errorf("it gets %s", out)
	}
}

func TestSandboxStartsEachCommandAnew(t *testing.T) {
	w := sandbox(t, workspace.SandboxOptions{})
	bash(t, w, 10*time.Second, `export BASH_ENV="$PWD/be" LD_PRELOAD=/x.so; echo "echo PWNENV" > be; cd /; umask 0`)
	out, _ := bash(t, w, 10*time.Second, "pwd; env")
	if strings.Contains(out, "BASH_ENV") || strings.Contains(out, "LD_PRELOAD") || strings.Contains(out, "PWNENV") || !strings.HasPrefix(out, w.Describe().Root+"\n") {
		t.Errorf("the next command has %s", out)
	}
}

func TestSandboxCoversTheAttacksItIsMeasuredBy(t *testing.T) {
	var ids []string
	for _, a := range attacks(t) {
		if slices.Contains(ids, a.id) {
			t.Errorf("%s is there twice", a.id)
		}
		ids = append(ids, a.id)
	}
	for _, id := range strings.Fields("F01 F02 F04 F05 F06 F07 F09 F10 F11 F15 F16 F17 F19 F20 F22 F23 R01 R02 R03 R04 R06 R08 R09 R11 N01 N02 N03 N04 N06 N07 N08 N09 N10 " +
		"P01 P02 P03 P06 P08 P09 P10 P11 P13 P14 T01 T02 T03 T04 T05 T06 T08 T11 T14 K01 K03 K05 K06 K07 K09 K11 K12") {
		if !slices.Contains(ids, id) {
			t.Errorf("%s is missing", id)
		}
	}
}

// TestTheTableOfAttacksInTheDocumentationIsThatOfTheTests writes the table when
// WORKSPACE_TEST_DOCS is set.
func TestTheTableOfAttacksInTheDocumentationIsThatOfTheTests(t *testing.T) {
	const page, begin, end = "../docs/sandbox.md", "<!-- attacks -->\n", "<!-- /attacks -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, ok := strings.Cut(string(text), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatal("the page has no place for the table")
	}
	var table strings.Builder
	table.WriteString("| | attack | without | `ns` | `bwrap` | `ll` |\n|---|---|---|---|---|---|\n")
	for _, a := range attacks(t) {
		without := "succeeds"
		if a.control != "" {
			without = "not tried: " + a.control
		}
		fmt.Fprintf(&table, "| %s | %s | %s |", a.id, a.title, without)
		for _, backend := range workspace.Backends() {
			if a.beyond[backend] == "" {
				table.WriteString(" stopped |")
				continue
			}
			fmt.Fprintf(&table, " not stopped: %s |", a.beyond[backend])
		}
		table.WriteString("\n")
	}
	want := head + begin + table.String() + end + tail
	if os.Getenv("WORKSPACE_TEST_DOCS") != "" {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Error("docs/sandbox.md has another table: WORKSPACE_TEST_DOCS=1 go test ./workspace -run TestTheTable writes it")
	}
}
