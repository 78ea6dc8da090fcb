package wire_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"oneloop/internal/wire"

	"github.com/google/go-cmp/cmp"
)

func TestEndpointTakesEveryShapeOfBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"http://h:1":                     "http://h:1/v1/messages",
		" http://h:1/ \n":                "http://h:1/v1/messages",
		"http://h:1/v1":                  "http://h:1/v1/messages",
		"http://h:1/v1/":                 "http://h:1/v1/messages",
		"http://h:1//":                   "http://h:1/v1/messages",
		"http://h:1/gw/anthropic":        "http://h:1/gw/anthropic/v1/messages",
		"http://h:1/gw/anthropic/":       "http://h:1/gw/anthropic/v1/messages",
		"http://h:1/gw/anthropic/v1":     "http://h:1/gw/anthropic/v1/messages",
		"http://h:1/gw//anthropic/v1//":  "http://h:1/gw/anthropic/v1/messages",
		"http://h:1/v1/messages":         "http://h:1/v1/messages",
		"http://h:1/gw/v1/messages/":     "http://h:1/gw/v1/messages",
		"http://h:1/myv1":                "http://h:1/myv1/v1/messages",
		"http://h:1/a%2Fb/v1":            "http://h:1/a%2Fb/v1/messages",
		"http://h:1/gw?tenant=a&x=1":     "http://h:1/gw/v1/messages?tenant=a&x=1",
		"HTTPS://Host.example/gw/v1?t=1": "https://Host.example/gw/v1/messages?t=1",
		"http://[::1]:8080/v1":           "http://[::1]:8080/v1/messages",
		"http://h:1/gw#part":             "http://h:1/gw/v1/messages",
	} {
		u, err := wire.Endpoint(base, "v1/messages")
		if err != nil {
			t.Errorf("%q: %v", base, err)
		} else if u.String() != want {
			t.Errorf("%q gives %s, want %s", base, u, want)
		}
	}
}

func TestABaseURLThatCannotBeUsedIsOneClearErrorWithoutItsSecrets(t *testing.T) {
	for _, base := range []string{"", "h:1", "localhost:8080/v1", "ftp://h", "http://", "/v1", "http://u:hunter2@h", "http://h:hunter2/", "http://[::1"} {
		u, err := wire.Endpoint(base, "v1/messages")
		if err == nil {
			t.Errorf("%q gives %s", base, u)
		} else if strings.Contains(err.Error(), "hunter2") || !strings.HasPrefix(err.Error(), "the base URL ") {
			t.Errorf("%q: %v", base, err)
		}
	}
}

func TestWhatIsShownHasNoSecrets(t *testing.T) {
	u, err := url.Parse("https://u:pw@h/p?sig=s3cret&x=")
	if err != nil {
		t.Fatal(err)
	}
	if got := wire.SafeURL(u); got != "https://h/p?sig=MASKED&x=MASKED" {
		t.Error(got)
	}
	h := http.Header{"X-Api-Key": {"k"}, "Authorization": {"Bearer t"}, "Proxy-Authorization": {"p"}, "Cookie": {"c"}, "Set-Cookie": {"a", "b"},
		"X-Gateway-Secret": {"s"}, "Accept": {"x"}, "Anthropic-Ratelimit-Tokens-Limit": {"5"}}
	want := http.Header{"X-Api-Key": {"MASKED"}, "Authorization": {"MASKED"}, "Proxy-Authorization": {"MASKED"}, "Cookie": {"MASKED"},
		"Set-Cookie": {"MASKED", "MASKED"}, "X-Gateway-Secret": {"MASKED"}, "Accept": {"x"}, "Anthropic-Ratelimit-Tokens-Limit": {"5"}}
	if d := cmp.Diff(want, wire.MaskHeader(h)); d != "" {
		t.Error(d)
	}
	if h.Get("X-Api-Key") != "k" {
		t.Error("the header itself was changed")
	}
	if got := wire.Redact("key sk-123 is wrong", "", "is", "sk-123"); got != "key MASKED is wrong" {
		t.Error(got)
	}
}

func TestRetryAfterUnderstandsEveryForm(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 900e6, time.UTC)
	date := func(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
	for _, c := range []struct {
		header http.Header
		want   time.Duration
	}{
		{http.Header{"Retry-After": {"3"}}, 3 * time.Second},
		{http.Header{"Retry-After": {"1.5"}}, 1500 * time.Millisecond},
		{http.Header{"Retry-After": {"9"}, "Retry-After-Ms": {"250"}}, 250 * time.Millisecond},
		{http.Header{"Retry-After": {"7200"}}, 2 * time.Hour},
		{http.Header{"Retry-After": {date(now.Add(3 * time.Second))}, "Date": {date(now)}}, 3 * time.Second},
		{http.Header{"Retry-After": {date(now.Add(3 * time.Second))}}, 2100 * time.Millisecond},
		{http.Header{"Retry-After": {date(now.Add(-time.Hour))}}, 0},
		{http.Header{"Retry-After": {"0"}}, 0},
		{http.Header{"Retry-After": {"-5"}}, 0},
		{http.Header{"Retry-After": {"abc"}}, 0},
		{http.Header{"Retry-After": {"NaN"}}, 0},
		{http.Header{"Retry-After": {"1e300"}}, 0},
		{http.Header{}, 0},
	} {
		if got := wire.RetryAfter(c.header, now); got != c.want {
			t.Errorf("%v: %v, want %v", c.header, got, c.want)
		}
	}
}

func TestPrintableKeepsOneLineOfWhatCanBeRead(t *testing.T) {
	in := "<html>\r\n\t<b>\x1b[31m坏\x00 \u202enews\xff</b>\u200b " + strings.Repeat("x", 300)
	got := wire.Printable([]byte(in), 40)
	if want := "<html> <b>[31m坏 news</b> " + strings.Repeat("x", 15); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestGzipIsGivenOutAsItWasFlushed(t *testing.T) {
	pr, pw := io.Pipe()
	defer pr.Close()
	r, err := wire.Decode(pr, "gzip")
	if err != nil {
		t.Fatal(err)
	}
	zw := gzip.NewWriter(pw)
	steps := make(chan string)
	go func() { // ends when the test closes the pipe or steps
		for s := range steps {
			io.WriteString(zw, s)
			zw.Flush()
		}
		zw.Close()
		pw.Close()
	}()
	buf := make([]byte, 100)
	for _, s := range []string{"data: 1\n\n", "data: 2\n\n"} {
		steps <- s // nothing after it is written until it was read
		n, err := io.ReadAtLeast(r, buf, len(s))
		if err != nil || string(buf[:n]) != s {
			t.Fatalf("read %q, %v", buf[:n], err)
		}
	}
	close(steps)
	if n, err := r.Read(buf); n != 0 || err != io.EOF {
		t.Errorf("%d bytes and %v at the end", n, err)
	}
	if _, err := wire.Decode(nil, "br"); err == nil || !strings.Contains(err.Error(), `"br"`) {
		t.Errorf("an unknown encoding gives %v", err)
	}
}

func TestABodyInPartsIsReadInFullPieces(t *testing.T) {
	req, err := http.NewRequest("POST", "http://h", nil)
	if err != nil {
		t.Fatal(err)
	}
	wire.SetBody(req, [][]byte{[]byte("a"), []byte("bcd"), nil, []byte("ef"), nil})
	var got []string
	for p := make([]byte, 4); ; {
		n, err := req.Body.Read(p)
		if n > 0 {
			got = append(got, string(p[:n]))
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"abcd", "ef"}, got); d != "" {
		t.Error(d)
	}
}

func TestABodyInPartsIsSentOnceAndAgain(t *testing.T) {
	req, err := http.NewRequest("POST", "http://h", nil)
	if err != nil {
		t.Fatal(err)
	}
	wire.SetBody(req, [][]byte{[]byte("ab"), nil, []byte("c")})
	for range 2 {
		body, err := req.GetBody()
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(body)
		if err != nil || string(b) != "abc" || req.ContentLength != 3 {
			t.Errorf("%q of %d bytes, %v", b, req.ContentLength, err)
		}
	}
}

func TestRequestsArriveWholeThroughMemoryThatIsUsedAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Write(body)
	}))
	defer server.Close()
	client := wire.Client(nil)
	defer client.CloseIdleConnections()
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for size := range 8 {
				sent := bytes.Repeat([]byte{byte('a' + i), byte('0' + size)}, 10_000*size)
				req, err := http.NewRequest("POST", server.URL, nil)
				if err != nil {
					t.Error(err)
					return
				}
				wire.SetBody(req, [][]byte{sent[:size], sent[size:]})
				resp, err := client.Do(req)
				if err != nil {
					t.Error(err)
					return
				}
				got, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || !bytes.Equal(got, sent) {
					t.Errorf("%d bytes came of %d, or others: %v", len(got), len(sent), err)
				}
			}
		})
	}
	wg.Wait()
}
