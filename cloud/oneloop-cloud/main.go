// Command oneloop-cloud answers the Messages API on its standard input and
// output, with Anthropic's models on Amazon Bedrock or Google Vertex AI. It ends
// when its input does.
package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"oneloop/cloud/bedrock"
	"oneloop/cloud/vertex"
)

const usage = `oneloop-cloud SERVICE
	Answers HTTP/1.1 with the Anthropic Messages API (POST /v1/messages) on standard
	input and output; oneloop starts it for models named bedrock/NAME and vertex/NAME.
	SERVICE is bedrock or vertex. Credentials come from where the tools of AWS and
	Google look for them.
`

func main() {
	if len(os.Args) != 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	var handler http.Handler
	switch os.Args[1] {
	case "bedrock":
		handler = bedrock.New()
	case "vertex":
		handler = vertex.New()
	case "-h", "--help", "help":
		fmt.Print(usage)
		return
	default:
		fmt.Fprintf(os.Stderr, "oneloop-cloud: there is no service named %q\n%s", os.Args[1], usage)
		os.Exit(2)
	}
	if err := serve(handler, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "oneloop-cloud:", err)
		os.Exit(1)
	}
}

// serve answers the one connection that in and out are, to its end.
func serve(h http.Handler, in io.ReadCloser, out io.WriteCloser) error {
	l := &listener{conn: make(chan net.Conn, 1), done: make(chan struct{})}
	l.conn <- &conn{ReadCloser: in, out: out, closed: l.Close}
	server := &http.Server{Handler: h}
	if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// listener gives out one connection.
type listener struct {
	conn chan net.Conn
	done chan struct{}
	once sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *listener) Addr() net.Addr { return address{} }

// conn is a connection over two pipes.
type conn struct {
	io.ReadCloser
	out    io.WriteCloser
	closed func() error
}

func (c *conn) Write(p []byte) (int, error) { return c.out.Write(p) }

func (c *conn) Close() error {
	return errors.Join(c.ReadCloser.Close(), c.out.Close(), c.closed())
}

func (c *conn) LocalAddr() net.Addr  { return address{} }
func (c *conn) RemoteAddr() net.Addr { return address{} }

// A pipe that is inherited has no deadlines. The server sets them to take its
// eyes off a connection at the end of a request; without them it does so with the
// first byte of the next one.
func (c *conn) SetDeadline(time.Time) error      { return os.ErrNoDeadline }
func (c *conn) SetReadDeadline(time.Time) error  { return os.ErrNoDeadline }
func (c *conn) SetWriteDeadline(time.Time) error { return os.ErrNoDeadline }

type address struct{}

func (address) Network() string { return "stdio" }
func (address) String() string  { return "stdio" }
