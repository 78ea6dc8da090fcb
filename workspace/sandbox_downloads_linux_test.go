//go:build amd64 || arm64

package workspace_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"oneloop/workspace"
)

// zipped and tarred make an archive of names and contents.
func zipped(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		w, err := z.Create(files[i])
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, files ...string) []byte {
	t.Helper()
	var b bytes.Buffer
	g := gzip.NewWriter(&b)
	w := tar.NewWriter(g)
	for i := 0; i < len(files); i += 2 {
		err := w.WriteHeader(&tar.Header{Name: files[i], Mode: 0o644, Size: int64(len(files[i+1]))})
		if err == nil {
			_, err = w.Write([]byte(files[i+1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// registry serves a small package of each kind, as a host of that name.
const registryHost = "registry.example"

func registry(t *testing.T) (files map[string][]byte) {
	t.Helper()
	files = map[string][]byte{}
	for _, m := range []string{"example.org/hello", "example.org/bye"} {
		base, mod := "/go/"+m+"/@v/", "module "+m+"\n"
		files[base+"list"] = []byte("v1.0.0\n")
		files[base+"v1.0.0.info"] = []byte(`{"Version":"v1.0.0","Time":"2024-01-01T00:00:00Z"}`)
		files[base+"v1.0.0.mod"] = []byte(mod)
		files[base+"v1.0.0.zip"] = zipped(t, m+"@v1.0.0/go.mod", mod, m+"@v1.0.0/x.go", "package x\n\nconst Word = `fetched`\n")
	}
	pack := tarred(t, "package/package.json", `{"name":"hello","version":"1.0.0","main":"x.js"}`, "package/x.js", "module.exports = 'fetched'\n")
	sum := sha512.Sum512(pack)
	files["/npm/hello.tgz"] = pack
	files["/npm/hello"] = fmt.Appendf(nil, `{"name":"hello","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"hello","version":"1.0.0","main":"x.js","dist":{"tarball":"http://%s/npm/hello.tgz","integrity":"sha512-%s"}}}}`,
		registryHost, base64.StdEncoding.EncodeToString(sum[:]))
	files["/pip/hello-fixture/"] = []byte(`<a href="/pip/hello_fixture-1.0-py3-none-any.whl">hello_fixture-1.0-py3-none-any.whl</a>`)
	files["/pip/hello_fixture-1.0-py3-none-any.whl"] = zipped(t,
		"hello_fixture.py", "word = 'fetched'\n",
		"hello_fixture-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hello-fixture\nVersion: 1.0\n",
		"hello_fixture-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"hello_fixture-1.0.dist-info/RECORD", "hello_fixture.py,,\n")
	crate := tarred(t, "hello-1.0.0/Cargo.toml", "[package]\nname = \"hello\"\nversion = \"1.0.0\"\n", "hello-1.0.0/src/lib.rs", "pub const WORD: &str = \"fetched\";\n")
	files["/cargo/config.json"] = fmt.Appendf(nil, `{"dl":"http://%s/crates/{crate}"}`, registryHost)
	files["/cargo/he/ll/hello"] = fmt.Appendf(nil, `{"name":"hello","vers":"1.0.0","deps":[],"cksum":"%x","features":{},"yanked":false}`, sha256.Sum256(crate))
	files["/crates/hello"] = crate
	files["/file"] = []byte("fetched\n")
	return files
}

// serve serves files, and gives a Dial that leads to them and nowhere else.
func serve(t *testing.T, files map[string][]byte) func(ctx context.Context, network, host string, port int) (net.Conn, error) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, ok := files[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		if strings.HasSuffix(r.URL.Path, "/") {
			w.Header().Set("Content-Type", "text/html")
		}
		w.Write(data)
	}))
	t.Cleanup(server.Close)
	return func(ctx context.Context, network, host string, port int) (net.Conn, error) {
		if host != registryHost || port != 80 {
			return nil, fmt.Errorf("%w: no rule allows %s", fs.ErrPermission, host)
		}
		return (&net.Dialer{}).DialContext(ctx, network, server.Listener.Addr().String())
	}
}

// bare adds a git repository that is fetched as plain files.
func bare(t *testing.T, files map[string][]byte) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("bash", "-c", `git init -q a && cd a && echo fetched > word && git add . && git -c user.name=a -c user.email=b commit -qm one && git clone -q --bare . ../r && cd ../r && git update-server-info`)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	err := fs.WalkDir(os.DirFS(dir), "r", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files["/"+path], err = os.ReadFile(filepath.Join(dir, path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// goSettings keep the go command from what is not the fixture's.
const goSettings = "export GOPROXY=http://" + registryHost + "/go GOSUMDB=off GOTOOLCHAIN=local GOFLAGS=-modcacherw GOTELEMETRY=off; "

func TestSandboxDownloadsThroughTheProxy(t *testing.T) {
	files := registry(t)
	bare(t, files)
	w := sandbox(t, workspace.SandboxOptions{Dial: serve(t, files), Cache: t.TempDir()})
	for _, c := range []struct{ program, command string }{
		{"curl", "curl -fsS http://" + registryHost + "/file"},
		{"wget", "wget -qO- http://" + registryHost + "/file"},
		{"git", "git clone -q http://" + registryHost + "/r cloned && cat cloned/word"},
		{"go", goSettings + `mkdir g && cd g && printf 'module m\n\ngo 1.21\n' > go.mod && go mod download example.org/hello@v1.0.0 && grep -h fetched "$(go env GOMODCACHE)"/example.org/hello@v1.0.0/x.go`},
		{"npm", "mkdir n && cd n && echo '{}' > package.json && npm install --silent --no-audit --no-fund --no-update-notifier --registry http://" + registryHost + "/npm hello && node -p 'require(\"hello\")'"},
		{"python3", "`python3 -c 'import sys; print(sys.executable)'` -m pip install -q --disable-pip-version-check --target p --no-deps --index-url http://" + registryHost + "/pip --trusted-host " + registryHost + " hello-fixture && PYTHONPATH=p python3 -c 'import hello_fixture; print(hello_fixture.word)'"},
		{"cargo", `mkdir -p c/src c/.cargo && cd c && printf '[package]\nname = "c"\nversion = "0.1.0"\n[dependencies]\nhello = "1"\n' > Cargo.toml && touch src/lib.rs && ` +
			`printf '[source.crates-io]\nreplace-with = "r"\n[source.r]\nregistry = "sparse+http://` + registryHost + `/cargo/"\n' > .cargo/config.toml && cargo fetch -q && grep -rh --include=lib.rs fetched "${CARGO_HOME:-$HOME/.cargo}"/registry/src`},
	} {
		if exec.Command(c.program, "--version").Run() != nil && exec.Command(c.program, "version").Run() != nil {
			t.Logf("LOUD: %s does not run here, so its downloads were not tried", c.program)
			continue
		}
		began := time.Now()
		out, exit := bash(t, w, 60*time.Second, c.command)
		t.Logf("%s: %v", c.program, time.Since(began))
		if exit.Code != 0 || !strings.Contains(out, "fetched") || len(exit.Notes) > 0 {
			t.Errorf("%s: %q %+v", c.command, out, exit)
		}
	}
}

func TestSandboxReadsWhatTheUserHasDownloadedAndAddsNothingToIt(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("LOUD: go is not on the PATH, so its modules were not tried")
	}
	dial := serve(t, registry(t))
	home, cache := t.TempDir(), t.TempDir()
	store := filepath.Join(home, "go", "pkg", "mod")
	// The user has one of two modules.
	proxy := t.TempDir()
	for name, data := range registry(t) {
		if rest, ok := strings.CutPrefix(name, "/go/"); ok {
			if err := os.MkdirAll(filepath.Join(proxy, filepath.Dir(rest)), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(proxy, rest), data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd := exec.Command("go", "mod", "download", "example.org/hello@v1.0.0")
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "HOME="+home, "GOMODCACHE="+store, "GOPROXY=file://"+proxy, "GOSUMDB=off", "GOFLAGS=-modcacherw", "GOTOOLCHAIN=local", "GOTELEMETRY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	before := tree(t, store)
	root := t.TempDir()
	env := workspace.Scrub(append(os.Environ(), "HOME="+home, "GOMODCACHE="+store), nil)
	open := func(o workspace.SandboxOptions) *workspace.SandboxWorkspace {
		o.Env, o.Cache = env, cache
		return sandboxAt(t, root, o)
	}
	const look = `cat "$(go env GOMODCACHE)"/example.org/%s@v1.0.0/x.go`
	const project = `mkdir -p lib && printf 'module m\n\ngo 1.21\n\nrequire example.org/hello v1.0.0\n' > go.mod && printf 'package lib\n\nimport hello "example.org/hello"\n\nconst Word = hello.Word\n' > lib/x.go && `
	w := open(workspace.SandboxOptions{}) // without network
	if out, exit := bash(t, w, 60*time.Second, goSettings+project+"go mod tidy && go build ./lib && "+fmt.Sprintf(look, "hello")); exit.Code != 0 {
		t.Errorf("what the user has is not there: %q %+v", out, exit)
	}
	if out, exit := bash(t, w, 60*time.Second, goSettings+"go mod download example.org/bye@v1.0.0"); exit.Code == 0 {
		t.Errorf("without network it got %q", out)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	w = open(workspace.SandboxOptions{Dial: dial})
	second := open(workspace.SandboxOptions{Dial: dial}) // beside it
	for _, w := range []*workspace.SandboxWorkspace{w, second} {
		if out, exit := bash(t, w, 60*time.Second, goSettings+"go mod download example.org/bye@v1.0.0 && "+fmt.Sprintf(look, "bye")); exit.Code != 0 || !strings.Contains(out, "fetched") {
			t.Errorf("%q %+v", out, exit)
		}
	}
	if out, exit := bash(t, w, 30*time.Second, "touch "+cache+".layers/x "+cache+".layers/0/go-mod/upper/x"); exit.Code == 0 {
		t.Errorf("the folders of the layers can be written: %q", out)
	}
	for _, w := range []*workspace.SandboxWorkspace{w, second} {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	w = open(workspace.SandboxOptions{})
	if out, exit := bash(t, w, 30*time.Second, fmt.Sprintf(look, "bye")); exit.Code != 0 {
		t.Errorf("what was downloaded is not kept: %q %+v", out, exit)
	}
	if after := tree(t, store); strings.Join(after, "\n") != strings.Join(before, "\n") {
		t.Errorf("the user's folder changed from\n%q\nto\n%q", before, after)
	}
}

func TestSandboxHidesCredentialsInAFolderThatHasALayer(t *testing.T) {
	home, cache := t.TempDir(), filepath.Join(t.TempDir(), "cache")
	for name, text := range map[string]string{"credentials.toml": "SECRETCARGO", "config.toml": "# settings\n", "bin/tool": "mine"} {
		path := filepath.Join(home, ".cargo", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env := workspace.Scrub(append(os.Environ(), "HOME="+home, "CARGO_HOME="), nil)
	w := sandboxAt(t, t.TempDir(), workspace.SandboxOptions{Env: env, Cache: cache})
	out, _ := bash(t, w, 30*time.Second, `cd ~/.cargo && cat credentials.toml config.toml; mv credentials.toml c; cp credentials.toml d; cat c d; echo theirs > bin/tool; cat bin/tool; grep -r SECRET ~/.cargo "`+cache+`.layers"`)
	if strings.Contains(out, "SECRETCARGO") || !strings.Contains(out, "# settings") || !strings.Contains(out, "theirs") {
		t.Errorf("%q", out)
	}
	if text, err := os.ReadFile(filepath.Join(home, ".cargo", "bin", "tool")); err != nil || string(text) != "mine" {
		t.Errorf("the user's file is %q, %v", text, err)
	}
}

func TestSettingsOfGoAreFoundWhereGoLooks(t *testing.T) {
	home := t.TempDir()
	for name, text := range map[string]string{
		"sdk/bin/go": "#!/bin/sh\n", "sdk/go.env": "# defaults\nGOPROXY=https://shipped.example\nGOSUMDB=off\n", "own/go/env": "GOPROXY=https://own.example\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(home, "sdk", "bin"), filepath.Join(home, "bin")); err != nil {
		t.Fatal(err)
	}
	env := []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin")}
	for _, c := range []struct {
		more, want string
	}{
		{"XDG_CONFIG_HOME=" + home + "/none", "https://shipped.example"},
		{"XDG_CONFIG_HOME=" + home + "/own", "https://own.example"},
		{"GOENV=off", "https://shipped.example"},
		{"GOPROXY=https://said.example", "https://said.example"},
		{"PATH=" + home, ""},
	} {
		if got := workspace.GoValue(append(slices.Clip(env), c.more), "GOPROXY"); got != c.want {
			t.Errorf("with %s it is %q, want %q", c.more, got, c.want)
		}
	}
}
