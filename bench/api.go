package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// A script is what the model does in one run: it calls the shell Turns times
// and then says that it is done.
type script struct {
	Turns   int
	Command func(turn int) string // from 1

	// Work fills the folder that is worked in; nil: it is empty.
	Work func(dir string) error

	// Before is how many results the conversation has that is gone on with.
	Before int

	// Env is what the environment has beside the usual.
	Env []string

	// Last is called when the request that will get the final text has been
	// read, while the program waits for it.
	Last func()

	// Seen is called with the body of each request that is answered.
	Seen func(body []byte) error
}

// A visit is one request as the server saw it.
type visit struct {
	Turn     int       // results in it; 0 for the first request
	Read     time.Time // its last byte was read
	Answered time.Time // the last byte of the answer was written
	Bytes    int       // of its body
	Prompt   int       // bytes of the system prompt and the tools, as JSON; of the first request only
}

// api is a Messages API on the loopback interface that follows a script. Its
// work on a request lies between Read and Answered of the visit, so that it is
// in no gap, and is next to nothing: only the first request is parsed.
type api struct {
	script   script
	listener net.Listener
	wait     sync.WaitGroup

	mu     sync.Mutex
	shell  shell
	visits []visit
	conns  []net.Conn
	err    error // the first thing that went wrong
}

// shell is the program's shell tool as its first request declares it.
type shell struct {
	name, field string
	stream      bool // the program wants events
}

func serve(s script) (*api, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("serve the scripted API: %w", err)
	}
	a := &api{script: s, listener: l}
	a.wait.Go(a.accept)
	return a, nil
}

func (a *api) URL() string { return "http://" + a.listener.Addr().String() }

// Close ends the server and returns what was asked of it.
func (a *api) Close() ([]visit, error) {
	a.listener.Close()
	a.mu.Lock()
	for _, c := range a.conns {
		c.Close()
	}
	a.conns = nil
	a.mu.Unlock()
	a.wait.Wait()
	return a.visits, a.err
}

func (a *api) accept() {
	for {
		c, err := a.listener.Accept()
		if err != nil {
			return // closed
		}
		a.mu.Lock()
		a.conns = append(a.conns, c)
		a.mu.Unlock()
		a.wait.Go(func() {
			defer c.Close()
			if err := a.talk(c); err != nil {
				a.mu.Lock()
				a.err = errors.Join(a.err, err)
				a.mu.Unlock()
			}
		})
	}
}

// talk answers the requests of one connection until the program closes it.
func (a *api) talk(c net.Conn) error {
	in := bufio.NewReaderSize(c, 64<<10)
	var body bytes.Buffer
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return nil // the program, or Close, closed the connection
		}
		body.Reset()
		if _, err := body.ReadFrom(req.Body); err != nil {
			return fmt.Errorf("read the body of a request: %w", err)
		}
		read := time.Now()
		if req.Method != http.MethodPost || req.URL.Path != "/v1/messages" {
			return refuse(c, fmt.Errorf("a request for %s %s", req.Method, req.URL.Path))
		}
		if err := a.answer(c, body.Bytes(), read); err != nil {
			return refuse(c, err)
		}
	}
}

// refuse tells the program why it gets no answer and returns err.
func refuse(c net.Conn, err error) error {
	body := `{"type":"error","error":{"type":"invalid_request_error","message":` + quote(err.Error()) + `}}`
	_, werr := fmt.Fprintf(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	return errors.Join(err, werr)
}

func (a *api) answer(c net.Conn, body []byte, read time.Time) error {
	// Inside a JSON string the quotes would be escaped: this counts keys.
	v := visit{Turn: bytes.Count(body, []byte(`"tool_use_id"`)) - a.script.Before, Read: read, Bytes: len(body)}
	a.mu.Lock()
	defer a.mu.Unlock()
	if v.Turn != len(a.visits) {
		return fmt.Errorf("request %d has the results of %d calls", len(a.visits)+1, v.Turn)
	}
	if v.Turn == 0 {
		var err error
		if a.shell, v.Prompt, err = declared(body); err != nil {
			return err
		}
	}
	if a.script.Seen != nil {
		if err := a.script.Seen(body); err != nil {
			return err
		}
	}
	last := v.Turn >= a.script.Turns
	if last && a.script.Last != nil {
		a.script.Last()
	}
	pieces := a.reply(v.Turn+1, last)
	for _, p := range pieces {
		if _, err := io.WriteString(c, p); err != nil {
			return fmt.Errorf("answer request %d: %w", v.Turn+1, err)
		}
	}
	v.Answered = time.Now()
	a.visits = append(a.visits, v)
	return nil
}

// declared reads off a request how the program's shell tool is called, and
// how many bytes its system prompt and tools take.
func declared(body []byte) (sh shell, size int, err error) {
	var req struct {
		Stream bool
		System json.RawMessage
		Tools  []json.RawMessage
	}
	if err := json.Unmarshal(body, &req); err != nil {
		return sh, 0, fmt.Errorf("parse the first request: %w", err)
	}
	sh.stream = req.Stream
	size = len(req.System)
	for _, raw := range req.Tools {
		size += len(raw)
		var t struct {
			Name   string
			Schema struct {
				Properties map[string]json.RawMessage
			} `json:"input_schema"`
		}
		if err := json.Unmarshal(raw, &t); err != nil {
			return sh, 0, fmt.Errorf("parse a tool: %w", err)
		}
		if _, ok := t.Schema.Properties["command"]; ok && strings.EqualFold(t.Name, "bash") {
			sh.name, sh.field = t.Name, "command"
		}
	}
	if sh.name == "" {
		return sh, 0, errors.New("the first request offers no tool bash with an input command")
	}
	return sh, size, nil
}

const usage = `{"input_tokens":1000,"output_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}`

// reply is the answer to request n in the pieces in which it is written.
func (a *api) reply(n int, last bool) []string {
	r := said{id: fmt.Sprintf("%06d", n), stop: "end_turn", start: `{"type":"text","text":""}`,
		block: `{"type":"text","text":"Done."}`, deltas: []string{`{"type":"text_delta","text":"Done."}`}}
	if !last {
		input := quote(map[string]string{a.shell.field: a.script.Command(n)})
		call := `{"type":"tool_use","id":"toolu_` + r.id + `","name":` + quote(a.shell.name) + `,"input":`
		r.stop, r.start, r.block, r.deltas = "tool_use", call+"{}}", call+input+"}", nil
		const token = 24
		for len(input) > token {
			r.deltas = append(r.deltas, `{"type":"input_json_delta","partial_json":`+quote(input[:token])+`}`)
			input = input[token:]
		}
		r.deltas = append(r.deltas, `{"type":"input_json_delta","partial_json":`+quote(input)+`}`)
	}
	if a.shell.stream {
		return r.events()
	}
	return r.whole()
}

func quote(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings and maps of strings only
	}
	return string(b)
}

// said is one message of the model.
type said struct {
	id, stop     string
	start, block string   // its one block, empty and full
	deltas       []string // what leads from one to the other
}

const head = "HTTP/1.1 200 OK\r\nRequest-Id: req_bench\r\n"

func (s said) message(content, stop string) string {
	return `{"id":"msg_` + s.id + `","type":"message","role":"assistant","model":"bench","content":[` + content +
		`],"stop_reason":` + stop + `,"stop_sequence":null,"usage":` + usage + `}`
}

func (s said) whole() []string {
	m := s.message(s.block, quote(s.stop))
	return []string{head + fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n", len(m)) + m}
}

// events is the message as a stream: one write for each event, the end of the
// body together with the last.
func (s said) events() []string {
	var out []string
	add := func(kind, fields string) {
		e := "event: " + kind + "\ndata: {\"type\":\"" + kind + "\"" + fields + "}\n\n"
		out = append(out, fmt.Sprintf("%x\r\n%s\r\n", len(e), e))
	}
	add("message_start", `,"message":`+s.message("", "null"))
	add("content_block_start", `,"index":0,"content_block":`+s.start)
	add("ping", "")
	for _, d := range s.deltas {
		add("content_block_delta", `,"index":0,"delta":`+d)
	}
	add("content_block_stop", `,"index":0`)
	add("message_delta", `,"delta":{"stop_reason":"`+s.stop+`","stop_sequence":null},"usage":`+usage)
	add("message_stop", "")
	out[0] = head + "Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + out[0]
	out[len(out)-1] += "0\r\n\r\n"
	return out
}
