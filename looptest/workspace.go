package looptest

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/workspace"
)

// TestWorkspace checks the contract of [workspace.Workspace]. open gives one
// on an empty folder; it is called for each part. Processes are tried where
// the workspace has bash, and the test's log says where it has none.
func TestWorkspace(t *testing.T, open func(t testing.TB) workspace.Workspace) {
	for _, part := range []struct {
		name  string
		check func(*place)
	}{
		{"it says what it is", (*place).describes},
		{"files are made, read, renamed and removed", (*place).files},
		{"a new file never replaces one", (*place).createsOnly},
		{"a file is replaced whole", (*place).replaces},
		{"names that lead outside are refused", (*place).staysInside},
	} {
		t.Run(part.name, func(t *testing.T) { part.check(&place{t, open(t)}) })
	}
	if open(t).Describe().Shell == "" {
		t.Log("COMMANDS WERE NOT TRIED: the workspace has no bash")
		return
	}
	for _, part := range []struct {
		name  string
		check func(*place)
	}{
		{"a command works where the files are", (*place).sameFolder},
		{"links that lead outside are refused", (*place).followsNoLink},
		{"output comes in order and the exit is told", (*place).exits},
		{"nothing is read from standard input", (*place).emptyInput},
		{"variables reach the command", (*place).environment},
		{"a command gets only the variables it is to keep", (*place).keptEnvironment},
		{"open files reach the command", (*place).descriptors},
		{"standard input and error can be other files", (*place).otherStreams},
		{"a program that is missing is named", (*place).noProgram},
		{"the end of the context ends everything", (*place).endedContext},
		{"the limit on time ends everything", (*place).timeLimit},
		{"what is left is ended and named", (*place).leftovers},
		{"commands run side by side", (*place).sideBySide},
	} {
		t.Run(part.name, func(t *testing.T) { part.check(&place{t, open(t)}) })
	}
}

// place is a workspace under test.
type place struct {
	*testing.T
	workspace.Workspace
}

func (p *place) write(name, text string) {
	p.Helper()
	f, err := p.Files().Create(name, 0o600)
	if err != nil {
		p.Fatal(err)
	}
	if _, err := io.WriteString(f, text); err != nil {
		p.Fatal(err)
	}
	if err := f.Close(); err != nil {
		p.Fatal(err)
	}
}

func (p *place) read(name string) string {
	p.Helper()
	f, err := p.Files().Open(name)
	if err != nil {
		p.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		p.Fatal(err)
	}
	return string(b)
}

// output keeps what a command prints. It closes spoke with the first piece.
type output struct {
	mu    sync.Mutex
	text  strings.Builder
	spoke chan struct{}
	once  sync.Once
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.once.Do(func() { close(o.spoke) })
	return o.text.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// start starts a line of bash, with cmd for the rest.
func (p *place) start(ctx context.Context, line string, cmd workspace.Cmd) (workspace.Process, *output) {
	p.Helper()
	out := &output{spoke: make(chan struct{})}
	cmd.Argv, cmd.Output = []string{"bash", "-c", line}, out
	proc, err := p.Start(ctx, cmd)
	if err != nil {
		p.Fatal(err)
	}
	return proc, out
}

// run gives what a line of bash prints.
func (p *place) run(line string, cmd workspace.Cmd) (string, workspace.Exit) {
	p.Helper()
	proc, out := p.start(p.Context(), line, cmd)
	exit, err := proc.Wait()
	if err != nil {
		p.Fatalf("%s: %v", line, err)
	}
	return out.String(), exit
}

func (p *place) describes() {
	info := p.Describe()
	if !filepath.IsAbs(info.Root) || info.OS == "" || info.Sandbox == "" {
		p.Errorf("it describes itself as %+v", info)
	}
	if info.Shell != "" && !filepath.IsAbs(info.Shell) {
		p.Errorf("the shell is %q, want a whole path", info.Shell)
	}
}

func (p *place) files() {
	files := p.Files()
	if err := files.MkdirAll("a/b", 0o755); err != nil {
		p.Fatal(err)
	}
	p.write("a/b/two", "zwei")
	p.write("a/b/one", "eins")
	p.write("a/new", "drei")
	if got := p.read(filepath.Join(p.Describe().Root, "a", "b", "one")); got != "eins" {
		p.Errorf("by its whole path it reads %q", got)
	}
	if err := files.Rename("a/new", "a/b/two"); err != nil {
		p.Errorf("rename over a file: %v", err)
	}
	if got := p.read("a/b/two"); got != "drei" {
		p.Errorf("after the rename it reads %q", got)
	}
	list, err := files.ReadDir("a/b")
	if err != nil || len(list) != 2 || list[0].Name() != "one" || list[1].Name() != "two" {
		p.Errorf("the folder holds %v, %v", list, err)
	}
	if info, err := files.Stat("a/b/one"); err != nil || info.Size() != 4 || info.IsDir() {
		p.Errorf("stat gives %v, %v", info, err)
	}
	if err := files.Remove("a/b"); err == nil {
		p.Error("a folder was removed with what is in it")
	}
	if err := files.Remove("a/b/one"); err != nil {
		p.Error(err)
	}
	if _, err := files.Lstat("a/b/one"); !errors.Is(err, fs.ErrNotExist) {
		p.Errorf("after it was removed: %v", err)
	}
}

func (p *place) createsOnly() {
	p.write("f", "mine")
	if f, err := p.Files().Create("f", 0o600); !errors.Is(err, fs.ErrExist) {
		p.Errorf("making it again gives %v", err)
		if err == nil {
			f.Close()
		}
	}
	if got := p.read("f"); got != "mine" {
		p.Errorf("it then reads %q", got)
	}
}

func (p *place) replaces() {
	files := p.Files()
	path := filepath.Join(p.Describe().Root, "f")
	if got, err := files.Resolve("./sub/../f"); got != path || err != nil {
		p.Errorf("it leads to %s, %v; want %s", got, err, path)
	}
	for n, text := range []string{"new and long", "other"} {
		done, err := files.Replace("f", []byte(text), 0o640)
		if err != nil || done.Path != path || done.Created != (n == 0) || done.InPlace != (done.Why != "") {
			p.Errorf("replacing it gives %+v, %v", done, err)
		}
		if got := p.read("f"); got != text {
			p.Errorf("it then reads %q", got)
		}
	}
	if err := files.Chmod("f", 0o444); err != nil {
		p.Fatal(err)
	}
	if _, err := files.Replace("f", []byte("x"), 0); !errors.Is(err, workspace.ErrReadOnly) {
		p.Errorf("replacing a file that nobody may write gives %v", err)
	}
	if got := p.read("f"); got != "other" {
		p.Errorf("it then reads %q", got)
	}
	if list, err := files.ReadDir(""); err != nil || len(list) != 1 {
		p.Errorf("the folder holds %v, %v", list, err)
	}
}

func (p *place) staysInside() {
	outside := filepath.Join(filepath.Dir(p.Describe().Root), "looptest-outside")
	for _, name := range []string{"../looptest-outside", "a/../../looptest-outside", outside} {
		p.refuses(name)
	}
}

// refuses checks that no operation takes a name that leads outside.
func (p *place) refuses(name string) {
	p.Helper()
	files := p.Files()
	if f, err := files.Create(name, 0o600); err == nil {
		f.Close()
		p.Errorf("%s was made", name)
	}
	if f, err := files.Open(name); err == nil {
		f.Close()
		p.Errorf("%s was opened", name)
	} else if errors.Is(err, fs.ErrNotExist) {
		p.Errorf("%s was looked for: %v", name, err)
	}
	if _, err := files.Replace(name, nil, 0); !errors.Is(err, workspace.ErrOutside) {
		p.Errorf("replacing %s gives %v", name, err)
	}
	if path, err := files.Resolve(name); !errors.Is(err, workspace.ErrOutside) {
		p.Errorf("%s leads to %s, %v", name, path, err)
	}
	if err := files.MkdirAll(name, 0o700); err == nil {
		p.Errorf("%s was made a folder", name)
	}
	if err := files.Remove(name); err == nil {
		p.Errorf("%s was removed", name)
	}
	if err := files.Rename(name, "in"); err == nil {
		p.Errorf("%s was moved inside", name)
	}
}

func (p *place) sameFolder() {
	p.write("in", "text")
	if err := p.Files().MkdirAll("sub", 0o755); err != nil {
		p.Fatal(err)
	}
	got, _ := p.run("pwd; cat in; cat in > out", workspace.Cmd{})
	if want := p.Describe().Root + "\ntext"; got != want {
		p.Errorf("it prints %q, want %q", got, want)
	}
	if got := p.read("out"); got != "text" {
		p.Errorf("what it wrote reads %q", got)
	}
	if got, _ := p.run("pwd", workspace.Cmd{Dir: "sub"}); got != filepath.Join(p.Describe().Root, "sub")+"\n" {
		p.Errorf("in a folder below it prints %q", got)
	}
}

func (p *place) followsNoLink() {
	p.run("ln -s / link && ln -s /etc/passwd file", workspace.Cmd{})
	for _, name := range []string{"link/etc/passwd", "file"} {
		if f, err := p.Files().Open(name); err == nil {
			f.Close()
			p.Errorf("%s was opened", name)
		}
	}
	p.run("ln -s ../looptest-outside away", workspace.Cmd{})
	if _, err := p.Files().Replace("away", nil, 0); !errors.Is(err, workspace.ErrOutside) {
		p.Errorf("replacing what a link outside leads to gives %v", err)
	}
	if info, err := p.Files().Lstat("link"); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		p.Errorf("the link itself: %v, %v", info, err)
	}
}

func (p *place) exits() {
	got, exit := p.run("echo a; echo b >&2; echo c; exit 3", workspace.Cmd{})
	if got != "a\nb\nc\n" || exit.Code != 3 || exit.Signal != "" {
		p.Errorf("%q, %+v", got, exit)
	}
	if _, exit := p.run("kill -KILL $$", workspace.Cmd{}); exit.Code != -1 || exit.Signal != "SIGKILL" {
		p.Errorf("a signal gives %+v", exit)
	}
}

func (p *place) emptyInput() {
	if got, _ := p.run("read x && echo got || echo none", workspace.Cmd{}); got != "none\n" {
		p.Errorf("it prints %q", got)
	}
}

func (p *place) environment() {
	env := []string{"LOOPTEST_A=1", "LOOPTEST_A=2", "LOOPTEST_B=x y"}
	if got, _ := p.run(`echo "$LOOPTEST_A|$LOOPTEST_B"`, workspace.Cmd{Env: env}); got != "2|x y\n" {
		p.Errorf("it prints %q", got)
	}
}

func (p *place) descriptors() {
	r, w, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	defer r.Close()
	p.run("echo hello >&5", workspace.Cmd{Fds: map[int]*os.File{5: w}})
	if err := w.Close(); err != nil {
		p.Errorf("the descriptor did not stay the caller's: %v", err)
	}
	if got, err := io.ReadAll(r); string(got) != "hello\n" || err != nil {
		p.Errorf("it writes %q, %v", got, err)
	}
}

func (p *place) keptEnvironment() {
	env := []string{"LOOPTEST_A=1"}
	if got, _ := p.run(`echo "$LOOPTEST_A|${HOME-none}|$PWD"; type -p env >/dev/null && echo path`, workspace.Cmd{Keep: []string{"PATH"}, Env: env}); got != "1|none|"+p.Describe().Root+"\npath\n" {
		p.Errorf("it prints %q", got)
	}
}

func (p *place) otherStreams() {
	in, err := workspace.TextFile("text")
	if err != nil {
		p.Fatal(err)
	}
	defer in.Close()
	r, w, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	defer r.Close()
	got, _ := p.run("cat; echo apart >&2", workspace.Cmd{Fds: map[int]*os.File{0: in, 2: w}})
	if err := w.Close(); err != nil {
		p.Errorf("the descriptor did not stay the caller's: %v", err)
	}
	if complaint, err := io.ReadAll(r); got != "text" || string(complaint) != "apart\n" || err != nil {
		p.Errorf("it prints %q and %q, %v", got, complaint, err)
	}
}

func (p *place) noProgram() {
	_, err := p.Start(p.Context(), workspace.Cmd{Argv: []string{"looptest-no-such-program"}})
	if !errors.Is(err, workspace.ErrNoProgram) || !strings.Contains(err.Error(), "looptest-no-such-program") {
		p.Errorf("got %v", err)
	}
}

// held starts a line of bash that prints a word and leaves processes behind,
// each of which keeps a pipe open. How they are counted is the workspace's own
// affair; the end of the pipe tells when the last one is gone.
func (p *place) held(ctx context.Context, line string, cmd workspace.Cmd) (proc workspace.Process, out *output, gone func()) {
	p.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { r.Close() })
	cmd.Fds = map[int]*os.File{5: w}
	proc, out = p.start(ctx, line, cmd)
	w.Close()
	return proc, out, func() {
		p.Helper()
		if out.String() != "up\n" {
			p.Fatalf("the command printed %q", out)
		}
		r.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := r.Read(make([]byte, 1)); err != io.EOF {
			p.Errorf("a process of the command is not gone: %v", err)
		}
	}
}

// stubborn stays, and so does a process it started.
const stubborn = "sleep 300 & echo up; wait"

func (p *place) endedContext() {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(p.Context())
	defer cancel(nil)
	proc, out, gone := p.held(ctx, stubborn, workspace.Cmd{})
	go func() {
		select {
		case <-out.spoke:
		case <-ctx.Done():
		}
		cancel(why)
	}()
	if _, err := proc.Wait(); !errors.Is(err, why) {
		p.Errorf("Wait gives %v, want the cause", err)
	}
	gone()
	if _, err := p.Start(ctx, workspace.Cmd{Argv: []string{"true"}}); !errors.Is(err, why) {
		p.Errorf("Start under an ended context gives %v", err)
	}
}

func (p *place) timeLimit() {
	proc, _, gone := p.held(p.Context(), stubborn, workspace.Cmd{Limits: workspace.Limits{Time: 300 * time.Millisecond}})
	if _, err := proc.Wait(); !errors.Is(err, workspace.ErrTime) {
		p.Errorf("Wait gives %v, want ErrTime", err)
	}
	gone()
}

func (p *place) leftovers() {
	proc, _, gone := p.held(p.Context(), "sleep 300 & echo up", workspace.Cmd{})
	exit, err := proc.Wait()
	if err != nil || exit.Code != 0 {
		p.Errorf("%+v, %v", exit, err)
	}
	if len(exit.Left) != 1 || !strings.Contains(exit.Left[0], "sleep") {
		p.Errorf("it names %q as left", exit.Left)
	}
	gone()
}

func (p *place) sideBySide() {
	// Each waits for the other's file: one after the other they never end.
	meet := func(mine, other string) string {
		return "touch " + mine + "; until [ -e " + other + " ]; do sleep 0.01; done; echo met"
	}
	limit := workspace.Limits{Time: 20 * time.Second}
	a, outA := p.start(p.Context(), meet("a", "b"), workspace.Cmd{Limits: limit})
	b, outB := p.start(p.Context(), meet("b", "a"), workspace.Cmd{Limits: limit})
	var wg sync.WaitGroup
	for _, proc := range []workspace.Process{a, b} {
		wg.Go(func() {
			if _, err := proc.Wait(); err != nil {
				p.Error(err)
			}
		})
	}
	wg.Wait()
	if outA.String() != "met\n" || outB.String() != "met\n" {
		p.Errorf("they print %q and %q", outA, outB)
	}
}
