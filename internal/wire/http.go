// Package wire is the HTTP that the adapters of model APIs share.
package wire

import (
	"compress/flate"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"oneloop/internal/unseen"
)

// Endpoint joins a base URL and a path such as "v1/messages". A path prefix
// and a query of the base are kept; the base may also end with a slash, with
// the path or with the first part of it ("/v1"). The error never holds the
// URL, which may have credentials in it.
func Endpoint(base, path string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(base))
	if err != nil {
		return nil, errors.New("the base URL cannot be read: it should look like https://host/prefix")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the base URL should begin with http:// or https:// and a host")
	}
	if u.User != nil {
		return nil, errors.New("the base URL has a user name in it: give credentials as a key or a token")
	}
	u.Fragment, u.RawFragment = "", ""
	first, _, _ := strings.Cut(path, "/")
	u = u.JoinPath() // cleans it
	for _, end := range []string{"/" + path, "/" + first} {
		trimmed := strings.TrimRight(u.Path, "/")
		if cut, ok := strings.CutSuffix(trimmed, end); ok {
			u.RawPath = strings.TrimSuffix(strings.TrimRight(u.RawPath, "/"), end)
			u.Path = cut
			break
		}
	}
	return u.JoinPath(path), nil
}

// SafeURL is u as it may be shown: without credentials, the values of its
// query masked.
func SafeURL(u *url.URL) string {
	c := *u
	c.User = nil
	if c.RawQuery != "" {
		q := c.Query()
		for k := range q {
			q[k] = []string{Mask}
		}
		c.RawQuery = q.Encode()
	}
	return c.String()
}

// Mask stands for what is not shown.
const Mask = "MASKED"

// MaskHeader returns a copy of a header as it may be shown: what carries
// credentials, or by its name may, is masked as a whole.
func MaskHeader(h http.Header) http.Header {
	out := h.Clone()
	for name, values := range out {
		if Secret(name) {
			for i := range values {
				values[i] = Mask
			}
		}
	}
	return out
}

// Secret reports whether a header's name sounds as if it carried credentials.
func Secret(name string) bool {
	name = strings.ToLower(name)
	if strings.HasPrefix(name, "anthropic-ratelimit-") || strings.HasPrefix(name, "x-ratelimit-") {
		return false // they count tokens
	}
	for _, part := range []string{"auth", "key", "token", "secret", "cookie", "password", "credential"} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}

// Redact masks secrets in text that came from elsewhere, such as an error
// that repeats the key it refuses. What has fewer than 6 bytes is no secret.
func Redact(text string, secrets ...string) string {
	for _, s := range secrets {
		if len(s) >= 6 {
			text = strings.ReplaceAll(text, s, Mask)
		}
	}
	return text
}

// Client returns the client to use: c, or one with the proxy of the
// environment, made for long streams, when c is nil. It follows no redirect:
// the credentials are for the address that was set.
func Client(c *http.Client) *http.Client {
	out := http.Client{}
	if c != nil {
		out = *c
	} else if t, ok := http.DefaultTransport.(*http.Transport); ok {
		t = t.Clone()
		t.DisableCompression = true // streams are decoded by Decode
		dial := t.DialContext
		t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := dial(ctx, network, address)
			if tcp, ok := c.(*net.TCPConn); ok {
				return conn{tcp}, err
			}
			return c, err
		}
		out.Transport = t
	}
	out.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &out
}

// conn sends requests through memory that is used again. What comes without
// TLS would take up to 32 KB with each of them, of a program that needs no more
// for a turn.
type conn struct{ *net.TCPConn }

var copies = sync.Pool{New: func() any { return new([32 << 10]byte) }}

func (c conn) ReadFrom(r io.Reader) (int64, error) {
	buf := copies.Get().(*[32 << 10]byte)
	defer copies.Put(buf)
	return io.CopyBuffer(struct{ io.Writer }{c.TCPConn}, struct{ io.Reader }{r}, buf[:])
}

// SetBody makes parts the body of a request without copying them.
func SetBody(req *http.Request, parts [][]byte) {
	req.ContentLength = 0
	for _, p := range parts {
		req.ContentLength += int64(len(p))
	}
	req.GetBody = func() (io.ReadCloser, error) { return &body{rest: parts}, nil }
	req.Body, _ = req.GetBody() // never fails
}

// body reads parts as one. Each Read is as full as it can be, for each is a
// packet on its way: a reader that stops at the end of every part sends a
// short request in as many.
type body struct {
	rest [][]byte
	done int // bytes of the first of rest
}

func (b *body) Read(p []byte) (n int, err error) {
	for len(b.rest) > 0 {
		k := copy(p[n:], b.rest[0][b.done:])
		n, b.done = n+k, b.done+k
		if b.done < len(b.rest[0]) {
			return n, nil
		}
		b.rest, b.done = b.rest[1:], 0
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (b *body) Close() error { return nil }

// Decode returns the body of an answer without its compression. It gives out
// what has come as soon as the sender flushed it.
func Decode(body io.Reader, encoding string) (io.Reader, error) {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "identity":
		return body, nil
	case "gzip", "x-gzip":
		return &gunzip{body: body}, nil
	}
	return nil, fmt.Errorf("the answer is compressed in a way that was not asked for: %q", encoding)
}

// ErrNoGzip says that what came is not what it was said to be.
var ErrNoGzip = errors.New("it is said to be compressed with gzip and is not, or is damaged")

// gunzip begins to read with its first Read, so that making one never waits.
type gunzip struct {
	body io.Reader
	r    *gzip.Reader
}

func (g *gunzip) Read(p []byte) (int, error) {
	if g.r == nil {
		r, err := gzip.NewReader(g.body)
		if err != nil {
			return 0, damaged(err)
		}
		g.r = r
	}
	n, err := g.r.Read(p)
	return n, damaged(err)
}

func damaged(err error) error {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	if corrupt || errors.Is(err, gzip.ErrHeader) || errors.Is(err, gzip.ErrChecksum) {
		return fmt.Errorf("%w: %w", ErrNoGzip, err)
	}
	return err
}

// NoHTTP reports whether the error of a transport says that something
// answered, and not in HTTP as it is spoken here. net/http has no types for
// these errors.
func NoHTTP(err error) bool {
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return true
	}
	text := err.Error()
	return strings.Contains(text, "malformed ") || strings.Contains(text, "response headers exceeded") ||
		strings.Contains(text, "server gave HTTP response to HTTPS client")
}

// Printable returns the first n printable characters of what somebody sent,
// in one line: no control or invisible characters, runs of white space as
// one.
func Printable(b []byte, n int) string {
	var out strings.Builder
	gap := false
	for len(b) > 0 && n > 0 {
		r, size := utf8.DecodeRune(b)
		b = b[size:]
		switch {
		case unicode.IsSpace(r):
			gap = out.Len() > 0
			continue
		case r == utf8.RuneError || !unicode.IsPrint(r) || unseen.Is(r):
			continue
		}
		if gap {
			out.WriteByte(' ')
			gap = false
			n--
		}
		out.WriteRune(r)
		n--
	}
	return out.String()
}

// RetryAfter is how long a server asks to wait; 0 when it does not, or not in
// a way that makes sense. A date is taken by our clock or by the server's own,
// whichever asks for more.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if d, ok := seconds(h.Get("Retry-After-Ms"), time.Millisecond); ok {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if d, ok := seconds(value, time.Second); ok {
		return d
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	wait := at.Sub(now)
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		wait = max(wait, at.Sub(theirs))
	}
	return max(wait, 0)
}

// seconds reads a number of units; what is negative or longer than a year is
// none.
func seconds(s string, unit time.Duration) (time.Duration, bool) {
	f, err := strconv.ParseFloat(strings.TrimSpace(s), 64)
	if err != nil || !(f >= 0) || f*float64(unit) > float64(365*24*time.Hour) {
		return 0, false
	}
	return time.Duration(f * float64(unit)), true
}
