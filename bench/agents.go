package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	limitCrew   = 2   // to loops with nothing around them
	limitMember = 100 // KB of each beyond its history
	crewTurns   = 20
	crewRuns    = 3
)

// agents measures many agents in one program against as many loops with
// nothing around them. The API is in this process, they are in one of their
// own, so that what the API holds is not theirs.
func (b *bench) agents(ctx context.Context) ([]figure, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the running program: %w", err)
	}
	m, err := serveMany(crewTurns)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	var ours, bare []crewRun
	for range crewRuns {
		for kind, runs := range map[string]*[]crewRun{crewBare: &bare, crewAgents: &ours} {
			r, err := crewIn(ctx, self, kind, m.URL(), b.size.Agents)
			if err != nil {
				return nil, err
			}
			*runs = append(*runs, r)
		}
	}
	if err := m.Close(); err != nil {
		return nil, err
	}
	rate := func(runs []crewRun) float64 {
		return middle(runs, func(r crewRun) float64 { return r.Turns / r.Seconds })
	}
	each := middle(ours, func(r crewRun) float64 { return r.Each / 1e3 })
	failed := 0.0
	for _, r := range append(ours, bare...) {
		failed += r.Failed
	}
	name := fmt.Sprintf("%d agents in one program, %d turns each: ", b.size.Agents, crewTurns)
	return []figure{
		{Name: name + "turns per second of bare loops against", Ours: fmt.Sprintf("%.0f/s", rate(ours)), Against: fmt.Sprintf("%.0f/s", rate(bare)),
			Value: rate(bare) / rate(ours), Limit: limitCrew, Unit: "×"},
		{Name: name + "memory of each beyond its history", Ours: fmt.Sprintf("%.1f KB", each),
			Against: fmt.Sprintf("%.1f KB", middle(bare, func(r crewRun) float64 { return r.Each / 1e3 })), Value: each, Limit: limitMember, Unit: "KB"},
		{Name: name + "errors", Ours: fmt.Sprintf("%.0f", failed), Value: failed, Limit: 0, Unit: ""},
	}, nil
}

func middle(runs []crewRun, value func(crewRun) float64) float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, value(r))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// crewIn runs a crew in a process of its own.
func crewIn(ctx context.Context, self, kind, url string, n int) (r crewRun, err error) {
	ctx, stop := context.WithTimeout(ctx, timeout)
	defer stop()
	cmd := exec.CommandContext(ctx, self, crewWord, kind, url, strconv.Itoa(n))
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &r)
	}
	if err != nil {
		return r, fmt.Errorf("run %d %s: %w\n%s", n, kind, err, said.Bytes())
	}
	return r, nil
}

// many is a Messages API for any number of conversations at once: each calls
// the tool of the same name so many times and is then done. It does next to
// nothing with a request.
type many struct {
	listener net.Listener
	wait     sync.WaitGroup
	replies  [2][]string // by whether a stream is wanted: the answer with so many results

	mu     sync.Mutex
	closed bool
	conns  []net.Conn
	err    error
}

func serveMany(turns int) (*many, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the scripted API: %w", err)
	}
	m := &many{listener: l}
	a := &api{script: script{Command: nothing}, shell: shell{name: "bash", field: "command"}}
	for i, stream := range []bool{false, true} {
		a.shell.stream = stream
		for turn := range turns + 1 {
			m.replies[i] = append(m.replies[i], strings.Join(a.reply(turn+1, turn == turns), ""))
		}
	}
	m.wait.Go(m.accept)
	return m, nil
}

func (m *many) URL() string { return "http://" + m.listener.Addr().String() }

// Close ends the server and returns what went wrong.
func (m *many) Close() error {
	m.listener.Close()
	m.mu.Lock()
	m.closed = true
	for _, c := range m.conns {
		c.Close()
	}
	m.conns = nil
	m.mu.Unlock()
	m.wait.Wait()
	return m.err
}

func (m *many) accept() {
	for {
		c, err := m.listener.Accept()
		if err != nil {
			return // closed
		}
		m.mu.Lock()
		if m.closed {
			c.Close()
		}
		m.conns = append(m.conns, c)
		m.mu.Unlock()
		m.wait.Go(func() {
			defer c.Close()
			if err := m.talk(c); err != nil {
				m.mu.Lock()
				defer m.mu.Unlock()
				if !m.closed {
					m.err = errors.Join(m.err, err)
				}
			}
		})
	}
}

func (m *many) talk(c net.Conn) error {
	in := bufio.NewReader(c)
	var body bytes.Buffer
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return nil // who asked has closed the connection
		}
		body.Reset()
		if _, err := body.ReadFrom(req.Body); err != nil {
			return fmt.Errorf("read the body of a request: %w", err)
		}
		streams := 0
		if bytes.Contains(body.Bytes(), []byte(`"stream":true`)) {
			streams = 1
		}
		turn := bytes.Count(body.Bytes(), []byte(`"tool_use_id"`))
		if turn >= len(m.replies[streams]) {
			return refuse(c, fmt.Errorf("a request with %d results", turn))
		}
		if _, err := io.WriteString(c, m.replies[streams][turn]); err != nil {
			return fmt.Errorf("answer a request: %w", err)
		}
	}
}

// crewWord as the first argument makes this program one that runs a crew.
const crewWord = "crew"

// crewMain is main of such a program.
func crewMain(args []string) int {
	if len(args) != 3 {
		return 2
	}
	n, err := strconv.Atoi(args[2])
	if err == nil {
		var r crewRun
		if r, err = crew(args[0], args[1], n, crewTurns); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(r)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}
