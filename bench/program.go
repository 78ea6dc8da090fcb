package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A program is an agent that takes its prompt as the last argument.
type program struct {
	Name string
	Path string
	Args []string // before the prompt
	Size int64    // bytes of the binary
}

// build compiles the package without cgo and symbols.
func build(ctx context.Context, dir, name, pkg string) (program, error) {
	p := program{Name: name, Path: filepath.Join(dir, name)}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", p.Path, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("build %s: %w\n%s", pkg, err, out)
	}
	return p.measured()
}

// shipped is the program as make build has it.
func shipped(ctx context.Context, dir string) (program, error) {
	p := program{Name: "oneloop", Path: filepath.Join(dir, "oneloop"), Args: unconfined}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return p, fmt.Errorf("find the folder of the module: %w", err)
	}
	cmd := exec.CommandContext(ctx, "make", "-C", strings.TrimSpace(string(root)), "build", "BIN="+p.Path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return p, fmt.Errorf("make build: %w\n%s", err, out)
	}
	return p.measured()
}

func (p program) measured() (program, error) {
	info, err := os.Stat(p.Path)
	if err != nil {
		return p, fmt.Errorf("measure the size of %s: %w", p.Name, err)
	}
	p.Size = info.Size()
	return p, nil
}

// A run is what one run of a program took.
type run struct {
	Start  time.Duration   // from before the fork to the first request read
	Gaps   []time.Duration // Gaps[k-1]: answer k written to request k+1 read
	Peak   int64           // most memory the process itself held, bytes; 0 where that is not known
	Prompt int             // bytes of system prompt and tools
	Wire   int             // bytes of the last request
}

// play runs p against the script in a fresh home and a fresh folder, with
// nothing of the caller's environment but PATH.
func (p program) play(ctx context.Context, s script) (run, error) {
	var r run
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)

	var pid atomic.Int64
	var peakErr error
	s.Last = func() { r.Peak, peakErr = peak(int(pid.Load())) }
	server, err := serve(s)
	if err != nil {
		return r, err
	}
	cmd, out, err := p.command(ctx, dir, server.URL(), s)
	if err != nil {
		server.Close()
		return r, err
	}
	defer out.Close()

	runtime.GC() // not during the run
	begin := time.Now()
	if err = cmd.Start(); err == nil {
		pid.Store(int64(cmd.Process.Pid))
		err = cmd.Wait()
	}
	visits, serveErr := server.Close()
	if err = errors.Join(err, serveErr, peakErr); err == nil && len(visits) != s.Turns+1 {
		err = fmt.Errorf("it sent %d requests where the script has %d", len(visits), s.Turns+1)
	}
	if err != nil {
		return r, fmt.Errorf("run %s: %w\n%s", p.Name, err, tail(out.Name()))
	}
	r.Start, r.Prompt = visits[0].Read.Sub(begin), visits[0].Prompt
	r.Wire = visits[len(visits)-1].Bytes
	for i, v := range visits[1:] {
		r.Gaps = append(r.Gaps, v.Read.Sub(visits[i].Answered))
	}
	return r, nil
}

// command prepares a run below dir. What the program prints goes to a file,
// so that no goroutine here copies while it is measured.
func (p program) command(ctx context.Context, dir, url string, s script) (*exec.Cmd, *os.File, error) {
	home, work := filepath.Join(dir, "home"), filepath.Join(dir, "work")
	for _, d := range []string{filepath.Join(home, "tmp"), work} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, nil, err
		}
	}
	if s.Work != nil {
		if err := s.Work(work); err != nil {
			return nil, nil, err
		}
	}
	out, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.CommandContext(ctx, p.Path, append(p.Args[:len(p.Args):len(p.Args)], "Run what is to be run.")...)
	cmd.Dir = work
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "PWD=" + work,
		"SHELL=/bin/bash", "TERM=dumb", "LANG=C.UTF-8", "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=none"}
	cmd.Env = append(cmd.Env, s.Env...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd, out, nil
}

// peak reads the most memory that a process has held so far. The kernel's
// figure for a process that has ended would also hold the size of this program
// at the fork, so it is read while the process lives.
func peak(pid int) (int64, error) {
	if runtime.GOOS != "linux" {
		return 0, nil
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("read the peak memory: %w", err)
	}
	_, rest, _ := bytes.Cut(status, []byte("VmHWM:"))
	fields := bytes.Fields(rest)
	if len(fields) == 0 {
		return 0, fmt.Errorf("read the peak memory: no VmHWM in the status of process %d", pid)
	}
	kb, err := strconv.ParseInt(string(fields[0]), 10, 64)
	return kb << 10, err
}

// tail is the end of what a program printed.
func tail(path string) []byte {
	b, err := os.ReadFile(path)
	if err != nil {
		return []byte(err.Error())
	}
	return b[max(0, len(b)-1000):]
}
