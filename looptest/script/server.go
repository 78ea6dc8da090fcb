package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// Server plays replies. Make one with [New]; its fields are set before Start.
type Server struct {
	// Unbound lets reasoning come back in a conversation other than the one
	// it was sent in. By default it is refused, as newer models refuse it:
	// system prompt, tools and all earlier messages must be what they were.
	Unbound bool

	// Wire is another API for the server to speak; nil: the Messages API.
	Wire *Wire

	mu       sync.Mutex
	routes   []*route // the last one takes what no other wants
	requests []Request
	breaches []Breach
	failures []string
	sent     []played
	arrived  chan struct{} // closed and replaced with every request
	url      string
	server   *http.Server
	stop     context.CancelFunc
	closed   bool
	running  sync.WaitGroup
}

// route is the list of replies for conversations that begin with a text.
type route struct {
	begins  string
	replies []Reply
	next    int
	played  bool // the reply at next was played and repeats
}

// New returns a server that plays replies in order.
func New(replies ...Reply) *Server {
	return &Server{routes: []*route{{replies: replies}}, arrived: make(chan struct{})}
}

// Route gives conversations whose first user message contains text a list of
// replies of their own, so that several can go on at once. The first route
// that fits is taken.
func (s *Server) Route(text string, replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := len(s.routes) - 1
	s.routes = append(s.routes[:last:last], &route{begins: text, replies: replies}, s.routes[last])
}

// Add puts more replies behind those that New got.
func (s *Server) Add(replies ...Reply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last := s.routes[len(s.routes)-1]
	last.replies = append(last.replies, replies...)
}

// Start listens on a free port of the loopback interface.
func (s *Server) Start() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("start scripted server: %w", err)
	}
	s.serve(l, "http://"+l.Addr().String())
	return nil
}

func (s *Server) serve(l net.Listener, url string) {
	ctx, stop := context.WithCancel(context.Background())
	s.url, s.stop = url, stop
	s.server = &http.Server{
		Handler:     http.HandlerFunc(s.handle),
		BaseContext: func(net.Listener) context.Context { return ctx },
		ErrorLog:    log.New(io.Discard, "", 0),
	}
	s.running.Go(func() {
		if err := s.server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			s.fail("serve: %v", err)
		}
	})
}

// Close ends all replies that are still played and waits for them.
func (s *Server) Close() error {
	if s.server == nil {
		return nil
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stop()
	err := s.server.Close()
	s.running.Wait()
	return err
}

// URL is the base URL for clients, without a path.
func (s *Server) URL() string { return s.url }

// Requests returns what has arrived so far, also what the gate refused.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Wait returns when n requests have arrived, or with the cause of ctx.
func (s *Server) Wait(ctx context.Context, n int) error {
	for {
		s.mu.Lock()
		have, more := len(s.requests), s.arrived
		s.mu.Unlock()
		if have >= n {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("wait for request %d, %d came: %w", n, have, context.Cause(ctx))
		}
	}
}

// Breaches returns what the gate found.
func (s *Server) Breaches() []Breach {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Breach(nil), s.breaches...)
}

// Failures returns requests that had no reply, and what went wrong inside.
func (s *Server) Failures() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.failures...)
}

// Unplayed returns how many replies nobody asked for.
func (s *Server) Unplayed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, r := range s.routes {
		n += len(r.replies) - r.next
		if r.played {
			n--
		}
	}
	return n
}

// Check returns one error for all breaches, failures and unplayed replies.
func (s *Server) Check() error {
	var errs []error
	for _, b := range s.Breaches() {
		errs = append(errs, b)
	}
	for _, f := range s.Failures() {
		errs = append(errs, errors.New(f))
	}
	if n := s.Unplayed(); n > 0 {
		errs = append(errs, fmt.Errorf("%d scripted replies were never asked for", n))
	}
	return errors.Join(errs...)
}

func (s *Server) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return
	}
	defer s.running.Done()
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil {
		return // the client left before it had said what it wants
	}
	req := Request{Method: r.Method, Path: r.URL.RequestURI(), Header: r.Header.Clone(), Body: body, At: time.Now()}
	reply, scripted := s.admit(&req)
	if reply.React != nil {
		reply = s.react(reply, req)
	}
	wire := s.wire()
	if scripted {
		s.mu.Lock()
		wire.Sent(reply, &req)
		s.mu.Unlock()
	}
	play(w, r, reply, req, wire)
}

// enter counts a handler that Close has to wait for.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.running.Add(1)
	}
	return !s.closed
}

// admit records the request, puts it through the gate and finds its reply. It
// reports whether the reply is one that was scripted.
func (s *Server) admit(req *Request) (Reply, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wire := s.wire()
	if wire.Aside != nil {
		if reply, ok := wire.Aside(req); ok {
			return reply, false
		}
	}
	req.N = len(s.requests) + 1
	serves := wire.Serves(req)
	var parsed error
	if serves {
		parsed = wire.Read(req)
	}
	s.requests = append(s.requests, *req)
	close(s.arrived)
	s.arrived = make(chan struct{})
	if !serves {
		s.failures = append(s.failures, fmt.Sprintf("request %d: %s %s is not the %s API", req.N, req.Method, req.Path, wire.Name))
		return Fail(http.StatusNotFound, "not_found_error", "not found"), false
	}
	if found := inspect(wire, req, parsed); len(found) > 0 {
		s.breaches = append(s.breaches, found...)
		return refuse(found), false
	}
	rt := s.route(req.FirstText())
	if rt.next >= len(rt.replies) {
		s.failures = append(s.failures, fmt.Sprintf("request %d is not scripted; its last message: %.300s", req.N, req.Last().Raw))
		return Fail(http.StatusInternalServerError, "api_error", "nothing is scripted for this request"), false
	}
	reply := rt.replies[rt.next]
	if reply.Repeat {
		rt.played = true
	} else {
		rt.next++
	}
	return reply, true
}

func (s *Server) route(first string) *route {
	last := len(s.routes) - 1
	for _, r := range s.routes[:last] {
		if strings.Contains(first, r.begins) {
			return r
		}
	}
	return s.routes[last]
}

// react makes the reply. A panic of the test's own function becomes a failure.
func (s *Server) react(reply Reply, req Request) (out Reply) {
	defer func() {
		if v := recover(); v != nil {
			s.fail("request %d: the scripted reaction broke down: %v", req.N, v)
			out = Fail(http.StatusInternalServerError, "api_error", fmt.Sprint(v))
		}
	}()
	for reply.React != nil {
		reply = reply.React(req)
	}
	return reply
}
