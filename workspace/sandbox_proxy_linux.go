//go:build amd64 || arm64

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	hosts "oneloop/internal/guard"
)

type dialFunc func(ctx context.Context, network, host string, port int) (net.Conn, error)

// proxy is the way out for commands: an HTTP proxy that we serve on a listener
// of theirs. It decides nothing but which spellings of a host are ones.
type proxy struct {
	dial    dialFunc
	refused func(text string) // tells of a host that may not be reached
	server  *http.Server
	web     *http.Transport
	ctx     context.Context
	cancel  context.CancelFunc
	work    sync.WaitGroup
	slots   chan struct{} // held by requests
}

const (
	proxyConns = 256              // at a time; more are turned away
	proxyIdle  = 10 * time.Minute // without a byte in either direction
	proxyBytes = 64 << 30         // of one connection, both directions together
)

// proxyEnv are the variables that programs look for a proxy in.
func proxyEnv(port int) []string {
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	const local = "localhost,127.0.0.1,::1"
	return []string{
		"HTTP_PROXY=" + at, "http_proxy=" + at, "HTTPS_PROXY=" + at, "https_proxy=" + at, "ALL_PROXY=" + at, "all_proxy=" + at,
		"NO_PROXY=" + local, "no_proxy=" + local,
		"NODE_USE_ENV_PROXY=1", // Node's own client looks for them only then
	}
}

func serveProxy(file *os.File, dial dialFunc, refused func(string)) (*proxy, error) {
	listener, err := net.FileListener(file)
	file.Close()
	if err != nil {
		return nil, fmt.Errorf("start the proxy of the sandbox: %w", err)
	}
	p := &proxy{dial: dial, refused: refused, slots: make(chan struct{}, proxyConns)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.web = &http.Transport{
		DialContext:         func(ctx context.Context, _, address string) (net.Conn, error) { return p.connect(ctx, address) },
		DisableCompression:  true,
		MaxIdleConnsPerHost: -1, // each request asks anew
	}
	p.server = &http.Server{
		Handler:           p,
		ReadHeaderTimeout: 30 * time.Second,
		IdleTimeout:       2 * time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // standard error is the user's; what fails is told by the command
		MaxHeaderBytes:    64 << 10,
		BaseContext:       func(net.Listener) context.Context { return p.ctx },
	}
	p.work.Go(func() { p.server.Serve(listener) })
	return p, nil
}

// close ends all connections.
func (p *proxy) close() {
	p.cancel()
	p.server.Close()
	p.web.CloseIdleConnections()
	p.work.Wait()
}

// connect gives a connection to a host and a port.
func (p *proxy) connect(ctx context.Context, address string) (net.Conn, error) {
	name, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	host, err := hosts.Form(name)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("%q is no port", service)
	}
	conn, err := p.reach(ctx, host, int(port))
	if err != nil {
		return nil, err
	}
	m := &metered{Conn: conn}
	m.left.Store(proxyBytes)
	return m, nil
}

// reach dials. It does so also in goroutines of package http, where a panic
// would end the program.
func (p *proxy) reach(ctx context.Context, host string, port int) (conn net.Conn, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%w: %v", errInternal, v)
		}
	}()
	return p.dial(ctx, "tcp", host, port)
}

var errInternal = errors.New("internal error")

// metered is a connection with limits on its bytes and on silence.
type metered struct {
	net.Conn
	left atomic.Int64
}

var errMuch = fmt.Errorf("a connection carries %d GiB at most", proxyBytes>>30)

func (m *metered) Read(b []byte) (int, error)  { return m.count(m.Conn.Read, b) }
func (m *metered) Write(b []byte) (int, error) { return m.count(m.Conn.Write, b) }

func (m *metered) count(do func([]byte) (int, error), b []byte) (n int, err error) {
	defer func() {
		if v := recover(); v != nil { // see reach
			err = fmt.Errorf("%w: %v", errInternal, v)
		}
	}()
	if m.left.Load() <= 0 {
		return 0, errMuch
	}
	m.SetDeadline(time.Now().Add(proxyIdle)) // also of the other direction
	n, err = do(b)
	m.left.Add(-int64(n))
	return n, err
}

func (m *metered) CloseWrite() error {
	if half, ok := m.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return m.Close()
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v != http.ErrAbortHandler {
			p.refused(fmt.Sprintf("the sandbox broke off a connection to %s: %v: %v", r.Host, errInternal, v))
		}
		panic(http.ErrAbortHandler) // which package http takes for the end of the connection
	}()
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, fmt.Sprintf("the sandbox has no more than %d connections at a time", proxyConns), http.StatusServiceUnavailable)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.tunnel(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "" && r.URL.User == nil:
		p.forward(w, r)
	default:
		http.Error(w, "this is the proxy of the sandbox: it takes CONNECT, and http:// addresses", http.StatusBadRequest)
	}
}

// tunnel connects and passes on bytes.
func (p *proxy) tunnel(w http.ResponseWriter, r *http.Request) {
	out, err := p.connect(r.Context(), r.Host)
	if err != nil {
		p.refuse(w, r.Host, err)
		return
	}
	defer out.Close()
	in, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, "the connection cannot be taken over", http.StatusInternalServerError)
		return
	}
	defer in.Close()
	stop := context.AfterFunc(p.ctx, func() { in.Close(); out.Close() })
	defer stop()
	if _, err := io.WriteString(in, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { pass(out, buffered) })
	both.Go(func() { pass(in, out) })
	both.Wait()
}

// pass copies one direction, and passes on its end.
func pass(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	half, ok := to.(interface{ CloseWrite() error })
	if err != nil || !ok || half.CloseWrite() != nil {
		to.Close()
	}
}

// forward does one request of plain HTTP.
func (p *proxy) forward(w http.ResponseWriter, r *http.Request) {
	out := r.Clone(r.Context())
	out.RequestURI = ""
	out.Host = r.URL.Host
	for _, name := range append(out.Header.Values("Connection"), "Connection", "Proxy-Connection", "Proxy-Authorization", "Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade") {
		out.Header.Del(name)
	}
	answer, err := p.web.RoundTrip(out)
	if err != nil {
		p.refuse(w, r.URL.Host, err)
		return
	}
	defer answer.Body.Close()
	for name, values := range answer.Header {
		if name != "Connection" && name != "Keep-Alive" && name != "Transfer-Encoding" {
			w.Header()[name] = values
		}
	}
	w.WriteHeader(answer.StatusCode)
	if _, err := io.Copy(w, answer.Body); err != nil {
		panic(http.ErrAbortHandler) // what was sent is not all
	}
}

// refuse says why a host is not reached. Programs show the status line or the
// text, some of them neither: what may not be reached is told otherwise too.
func (p *proxy) refuse(w http.ResponseWriter, host string, err error) {
	status := http.StatusBadGateway
	text := fmt.Sprintf("the sandbox does not connect to %s: %v", host, err)
	if errors.Is(err, fs.ErrPermission) {
		status = http.StatusForbidden
	}
	if status == http.StatusForbidden || errors.Is(err, errInternal) {
		p.refused(text)
	}
	http.Error(w, text, status)
}
