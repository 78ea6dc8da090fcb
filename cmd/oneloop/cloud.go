package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"oneloop/internal/config"
	"oneloop/trace"
)

// cloud is client for a provider that is asked through a program: each
// connection is a process of it, which ends with the connection. The program is
// looked for beside this one, and nowhere else.
func (p *program) cloud(a config.Access, client *http.Client) (*http.Client, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	path, there := cloudPath(self, a.Through)
	if !there {
		return nil, p.cloudMissing(a, path)
	}
	t := p.clouds.transport(a.Name, func(context.Context, string, string) (net.Conn, error) {
		return startCloud(path, a.Name, p.env, p.stderr)
	})
	if client == nil {
		return &http.Client{Transport: t}, nil
	}
	if rec, ok := client.Transport.(*trace.Recorder); ok {
		rec.Base = t
	}
	return client, nil
}

// cloudPath is where the program of this name is looked for: beside this one.
func cloudPath(self, name string) (path string, there bool) {
	path = filepath.Join(filepath.Dir(self), name)
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	info, err := os.Stat(path)
	return path, err == nil && info.Mode().IsRegular()
}

func (p *program) cloudMissing(a config.Access, path string) error {
	return &codeError{exitConfig, fmt.Errorf(p.words.CloudMissing, a.Name, a.Through, path)}
}

// clouds are the connections of all agents, by service.
type clouds struct {
	mu  sync.Mutex
	all map[string]*http.Transport
}

func (c *clouds) transport(service string, dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.all[service] == nil {
		if c.all == nil {
			c.all = map[string]*http.Transport{}
		}
		c.all[service] = &http.Transport{DisableCompression: true, IdleConnTimeout: 30 * time.Second, DialContext: dial}
	}
	return c.all[service]
}

// leave ends the processes that are idle; those at work have ended with their
// requests.
func (c *clouds) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, t := range c.all {
		t.CloseIdleConnections()
	}
}

// startCloud starts the program and speaks to it over its standard input and
// output.
func startCloud(path, service string, env []string, stderr io.Writer) (net.Conn, error) {
	cmd := exec.Command(path, service)
	cmd.Env, cmd.Stderr = env, stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &pipes{cmd: cmd, in: in, out: out}, nil
}

// pipes are a connection to a process.
type pipes struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	once sync.Once
	done error
}

func (p *pipes) Read(b []byte) (int, error)  { return p.out.Read(b) }
func (p *pipes) Write(b []byte) (int, error) { return p.in.Write(b) }

// cloudEnds is how long the program may take to see that its input has ended.
const cloudEnds = 2 * time.Second

// Close ends the process: its input ends, and a moment later it is killed.
func (p *pipes) Close() error {
	p.once.Do(func() {
		p.done = p.in.Close()
		kill := time.AfterFunc(cloudEnds, func() { p.cmd.Process.Kill() }) // it may have ended
		defer kill.Stop()
		p.out.Close() // what it still writes finds no reader
		var exit *exec.ExitError
		if err := p.cmd.Wait(); err != nil && !errors.As(err, &exit) {
			p.done = errors.Join(p.done, err)
		}
	})
	return p.done
}

func (p *pipes) LocalAddr() net.Addr              { return pipeAddress{} }
func (p *pipes) RemoteAddr() net.Addr             { return pipeAddress{} }
func (p *pipes) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (p *pipes) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (p *pipes) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

type pipeAddress struct{}

func (pipeAddress) Network() string { return "pipe" }
func (pipeAddress) String() string  { return "oneloop-cloud" }
