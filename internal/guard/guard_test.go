package guard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"oneloop/internal/guard"
)

// names is a resolver: for each name the answers to the first, the second …
// question. The last one stays.
type names struct {
	answers map[string][]string
	asked   atomic.Int32
}

func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	asked := int(n.asked.Add(1)) - 1
	list := n.answers[strings.TrimSuffix(host, ".")]
	if len(list) == 0 {
		return nil, errors.New("no such name")
	}
	var addrs []netip.Addr
	for _, a := range strings.Split(list[min(asked, len(list)-1)], " ") {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	return addrs, nil
}

// trap is a listener that counts who comes.
type trap struct {
	net.Listener
	hits atomic.Int32
}

func listen(t *testing.T, network, address string) *trap {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("LOUD: no listener on %s here, so this did not run: %v", address, err)
	}
	tr := &trap{Listener: l}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tr.hits.Add(1)
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsecret")
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return tr
}

func (l *trap) port() string {
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func (l *trap) addr() netip.AddrPort { return netip.MustParseAddrPort(l.Addr().String()) }

// spellings of this machine, of what is near it, and of nothing at all.
var spellings = []string{
	"127.0.0.1", "127.0.0.2", "127.255.255.254", "0.0.0.0", "0", "2130706433", "0x7f.1", "0x7f000001", "127.1", "0177.0.0.1", "017700000001",
	"[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[::127.0.0.1]",
	"[2002:7f00:1::]", "[fe80::1%25lo]", "[::1%25lo]", "[fd00:ec2::254]", "[fc00::1]", "[ff02::1]", "[2001:db8::1]", "[100::1]", "[64:ff9b:1::7f00:1]",
	"169.254.169.254", "0xa9fea9fe", "10.0.0.1", "172.16.0.1", "192.168.1.1", "100.100.100.200", "168.63.129.16", "224.0.0.1", "255.255.255.255", "198.18.0.1",
	"localhost", "localhost.", "LOCALHOST", "a.localhost", "printer.local", "metadata.google.internal", "router",
	"127.0.0.1.", "127.0.0.01", "127.0.0.1.1", "１２７.0.0.1", "①②⑦.0.0.1", "127。0。0。1", "ⓛocalhost", "l\u00adocalhost", "127.0.0.1%00.example.com", "127.0.0.1\x00.example.com",
	"inside.example.com", "inside4.example.com", "inside6.example.com", "inside-mapped.example.com", "mixed.example.com", "meta.example.com",
}

func TestNoSpellingOfThisMachineReachesItsListener(t *testing.T) {
	l4, l6 := listen(t, "tcp4", "127.0.0.1:0"), (*trap)(nil)
	if probe, err := net.Listen("tcp6", "[::1]:"+l4.port()); err == nil {
		probe.Close()
		l6 = listen(t, "tcp6", "[::1]:"+l4.port())
	}
	resolver := &names{answers: map[string][]string{
		"inside.example.com": {"127.0.0.1"}, "inside4.example.com": {"0.0.0.0"}, "inside6.example.com": {"::1"},
		"inside-mapped.example.com": {"::ffff:127.0.0.1"}, "mixed.example.com": {"203.0.113.9 127.0.0.1"}, "meta.example.com": {"169.254.169.254"},
	}}
	g := &guard.Guard{Resolver: resolver, Ports: []uint16{l4.addr().Port()}}
	transport := g.Transport()
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, s := range spellings {
		host := strings.NewReplacer("[", "", "]", "", "%25", "%").Replace(s)
		if c, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, l4.port())); err == nil {
			t.Errorf("dial %q: connected to %v", s, c.RemoteAddr())
			c.Close()
		}
		target := "http://" + s + ":" + l4.port() + "/"
		if u, err := guard.URL(target); err == nil && !strings.Contains(s, "example.com") && netip.AddrPort.IsValid(addrOf(u)) && guard.Inside(addrOf(u).Addr()) == "" {
			t.Errorf("%q passes for %v", s, u)
		}
		if resp, err := client.Get(target); err == nil {
			t.Errorf("get %q: %s", s, resp.Status)
			resp.Body.Close()
		}
	}
	if n := l4.hits.Load(); n != 0 {
		t.Errorf("%d connections to 127.0.0.1", n)
	}
	if l6 != nil && l6.hits.Load() != 0 {
		t.Errorf("%d connections to ::1", l6.hits.Load())
	}
}

func addrOf(u *url.URL) netip.AddrPort {
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return netip.AddrPort{}
	}
	return netip.AddrPortFrom(a, 1)
}

func TestAnAddressThatIsNamedIsDialledAndNoOther(t *testing.T) {
	l, other := listen(t, "tcp4", "127.0.0.1:0"), listen(t, "tcp4", "127.0.0.1:0")
	g := &guard.Guard{Allow: []netip.AddrPort{l.addr()}, Resolver: &names{answers: map[string][]string{"site.example.com": {"127.0.0.1"}}}}
	for _, host := range []string{"127.0.0.1", "::ffff:127.0.0.1", "site.example.com"} {
		c, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, l.port()))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(c) // so that the listener has counted
		c.Close()
		var refused *guard.RefusedError
		if _, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, other.port())); !errors.As(err, &refused) {
			t.Errorf("another port: %v", err)
		}
	}
	if l.hits.Load() != 3 || other.hits.Load() != 0 {
		t.Errorf("%d and %d connections, want 3 and 0", l.hits.Load(), other.hits.Load())
	}
}

func TestAHostInsideIsDialledWhenItIsNamedWithItsPort(t *testing.T) {
	l, other := listen(t, "tcp4", "127.0.0.1:0"), listen(t, "tcp4", "127.0.0.1:0")
	resolver := &names{answers: map[string][]string{
		"site.example.com": {"127.0.0.1"}, "nexus.corp": {"127.0.0.1"}, "meta.corp": {"169.254.169.254"}, "cloud.corp": {"fd00:ec2::254"},
	}}
	refused := func(near, host, port string) {
		t.Helper()
		g := &guard.Guard{Near: []string{near}, Resolver: resolver}
		c, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, port))
		var no *guard.RefusedError
		if !errors.As(err, &no) {
			t.Errorf("%s with %s named: %v %v", net.JoinHostPort(host, port), near, c, err)
		}
	}
	for _, host := range []string{"127.0.0.1", "localhost"} {
		g := &guard.Guard{Near: []string{net.JoinHostPort(host, l.port())}}
		c, err := g.DialContext(t.Context(), "tcp", net.JoinHostPort(host, l.port()))
		if err != nil {
			t.Fatal(err)
		}
		io.ReadAll(c) // so that the listener has counted
		c.Close()
		refused(net.JoinHostPort(host, l.port()), host, other.port())
	}
	near := &guard.Guard{Near: []string{"localhost:8080", "[::1]:8080"}, Ports: []uint16{8080, 443}}
	for at, want := range map[string]bool{"localhost": true, "::1": true, "127.0.0.1": false, "router": false, "x.example.com": true, "93.184.216.34": true, "10.0.0.1": false} {
		if err := near.Look(at, 8080); (err == nil) != want {
			t.Errorf("a look at %s: %v", at, err)
		}
	}
	if near.Look("localhost", 443) == nil {
		t.Error("localhost passes with another port")
	}
	refused("127.0.0.1:"+l.port(), "127.0.0.2", l.port())
	refused("127.0.0.1:"+l.port(), "2130706433", l.port())
	refused("localhost:"+l.port(), "a.localhost", l.port())
	for _, name := range []string{"site.example.com", "nexus.corp", "meta.corp", "cloud.corp"} {
		refused(name+":"+l.port(), name, l.port())
	}
	if l.hits.Load() != 2 || other.hits.Load() != 0 {
		t.Errorf("%d and %d connections, want 2 and 0", l.hits.Load(), other.hits.Load())
	}
}

func TestANameThatIsNamedMayBePrivate(t *testing.T) {
	resolver := &names{answers: map[string][]string{"nexus.corp": {"10.255.255.1"}}}
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nothing is sent: what counts is that it would be
	for near, refused := range map[string]bool{"nexus.corp:8081": false, "nexus.corp:8082": true, "10.255.255.1:8081": true} {
		g := &guard.Guard{Near: []string{near}, Resolver: resolver}
		_, err := g.DialContext(ctx, "tcp", "nexus.corp:8081")
		var no *guard.RefusedError
		if got := errors.As(err, &no); err == nil || got != refused {
			t.Errorf("with %s named: %v", near, err)
		}
	}
}

func TestANameIsResolvedOnceAndThatAddressIsDialled(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("LOUD: only Linux has all of 127.0.0.0/8, so rebinding was not tested")
	}
	good := listen(t, "tcp4", "127.0.0.2:0")
	bad := listen(t, "tcp4", "127.0.0.1:"+good.port())
	r := &names{answers: map[string][]string{"rebind.example.com": {"127.0.0.2", "127.0.0.1"}}}
	g := &guard.Guard{Allow: []netip.AddrPort{good.addr()}, Resolver: r}
	c, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:"+good.port())
	if err != nil {
		t.Fatal(err)
	}
	io.ReadAll(c)
	c.Close()
	if n := r.asked.Load(); n != 1 {
		t.Errorf("the resolver was asked %d times for one dial", n)
	}
	if _, err := g.DialContext(t.Context(), "tcp", "rebind.example.com:"+good.port()); err == nil {
		t.Error("the second answer, another address, was dialled")
	}
	if good.hits.Load() != 1 || bad.hits.Load() != 0 {
		t.Errorf("%d and %d connections, want 1 and 0", good.hits.Load(), bad.hits.Load())
	}
}

func TestTheSocketsOwnAddressIsChecked(t *testing.T) {
	l := listen(t, "tcp4", "127.0.0.1:0")
	var g guard.Guard
	d := net.Dialer{Control: g.Control} // no check before it
	if c, err := d.DialContext(t.Context(), "tcp", l.Addr().String()); err == nil {
		c.Close()
		t.Error("Control let a loopback address through")
	}
	if l.hits.Load() != 0 {
		t.Error("the listener was reached")
	}
}

func TestPublicAddressesPassAndSpecialOnesDoNot(t *testing.T) {
	var g guard.Guard
	for _, a := range []string{"1.1.1.1", "8.8.8.8", "172.32.0.1", "100.128.0.1", "192.0.3.1", "2606:4700::1111", "2a00:1450::1", "64:ff9b::808:808"} {
		if err := g.Check(netip.AddrPortFrom(netip.MustParseAddr(a), 443)); err != nil {
			t.Error(err)
		}
	}
	for _, a := range []string{"8.8.8.8:22", "8.8.8.8:8080", "8.8.8.8:0", "100.64.0.1:80", "192.0.0.192:80", "[fe80::1]:80", "[::8.8.8.8]:80", "[2001::1]:80", "[3fff::1]:80", "[4000::1]:80"} {
		if err := g.Check(netip.MustParseAddrPort(a)); err == nil {
			t.Errorf("%s passes", a)
		}
	}
}

func TestAnAddressOfThisMachineIsRefusedThoughItIsPublic(t *testing.T) {
	g := guard.Guard{Interfaces: func() ([]net.Addr, error) {
		return []net.Addr{&net.IPNet{IP: net.ParseIP("8.8.4.4"), Mask: net.CIDRMask(24, 32)}}, nil
	}}
	if err := g.Check(netip.MustParseAddrPort("8.8.4.4:443")); err == nil || !strings.Contains(err.Error(), "this machine") {
		t.Errorf("got %v", err)
	}
	if err := g.Check(netip.MustParseAddrPort("8.8.4.5:443")); err != nil {
		t.Error(err)
	}
	g.Interfaces = func() ([]net.Addr, error) { return nil, errors.New("no list") }
	if err := g.Check(netip.MustParseAddrPort("8.8.4.5:443")); err == nil {
		t.Error("it passes though the interfaces are unknown")
	}
}

func TestURLsAreBroughtIntoOneForm(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.COM":              "https://example.com",
		"https://example.com:443/a?b=c#d":  "https://example.com/a?b=c",
		"http://example.com:80/":           "http://example.com/",
		"http://example.com:8080/":         "http://example.com:8080/",
		"https://bücher.example.com/":      "https://xn--bcher-kva.example.com/",
		"https://例子.测试.com/路":              "https://xn--fsqu00a.xn--0zwm56d.com/%E8%B7%AF",
		"https://1.1.1.1/":                 "https://1.1.1.1/",
		"https://[2606:4700::0:1111]/":     "https://[2606:4700::1111]/",
		"https://[::ffff:1.1.1.1]:444/x":   "https://1.1.1.1:444/x",
		"https://user.example.com/@/a:b@c": "https://user.example.com/@/a:b@c",
	} {
		u, err := guard.URL(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if u.String() != want {
			t.Errorf("%s: got %s, want %s", text, u, want)
		}
	}
}

func TestOddURLsAreRefused(t *testing.T) {
	for _, text := range []string{
		"", "example.com", "/etc/passwd", "file:///etc/passwd", "ftp://example.com", "gopher://example.com", "javascript:alert(1)", "//example.com",
		"http://", "http:///x", "http://user@example.com/", "http://user:pw@example.com/", "http://@example.com/", "http://example.com@127.0.0.1/",
		"http://exa mple.com/", " http://example.com", "http://example.com\n", "http://example.com/\x00", "http://example.com\\@evil.example.org/", "http://exam\u200bple.com/", "http://example.com/\u202egnp",
		"http://example..com/", "http://.example.com/", "http://example.com./", "http://-a.example.com/", "http://a-.example.com/", "http://exa_mple.com/", "http://" + strings.Repeat("a", 64) + ".com/",
		"http://example.com:/", "http://example.com:99999/", "http://example.com:-1/", "http://example.com:0x50/", "http://[example.com]/", "http://::1/", "http://1.2.3/", "http://example.0x1/", "http://example.1/", "http://0x/",
		"http://" + strings.Repeat("abcdefg.", 40) + "com/", "http://example.com/" + strings.Repeat("a", 9000), "http://%6cocalhost/", "http://exam%00ple.com/",
	} {
		if u, err := guard.URL(text); err == nil {
			t.Errorf("%.60q passes for %v", text, u)
		}
	}
}

// The address of a URL that passes is read by the dialler as it was judged.
func FuzzURL(f *testing.F) {
	for _, s := range spellings {
		f.Add("http://" + s + "/")
	}
	f.Fuzz(func(t *testing.T, text string) {
		u, err := guard.URL(text)
		if err != nil {
			return
		}
		again, err := guard.URL(u.String())
		if err != nil || again.Host != u.Host {
			t.Fatalf("%q became %q, and that %v, %v", text, u, again, err)
		}
		host, err := guard.Host(u.Hostname())
		if err != nil || host != u.Hostname() {
			t.Fatalf("%q has the host %q, which is read as %q, %v", text, u.Hostname(), host, err)
		}
	})
}
