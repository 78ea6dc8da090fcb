// Package guard decides which network addresses may be reached on behalf of
// a model or of what it read: the public internet, and nothing that only this
// machine or its network can reach. It knows nothing of rules and never asks.
//
// The check that counts is that of the address a socket is about to connect
// to. Everything before it, such as the grammar of hosts, is there to say
// what is wrong in better words and to refuse spellings that other programs
// read differently.
package guard

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"syscall"
	"time"
)

// Guard dials. The zero value is the strictest: public addresses only, ports
// 80 and 443. It is safe for concurrent use as long as nobody changes it.
type Guard struct {
	// Ports that may be dialled; nil: 80 and 443.
	Ports []uint16
	// Allow names addresses that may be dialled although they would be
	// refused, for those who embed the guard or test with it. An entry is an
	// address and a port, and stands for exactly that.
	Allow []netip.AddrPort
	// Near names hosts inside that somebody wants to be reached: a host and a
	// port, as [net.JoinHostPort] gives them, and exactly that. An address may
	// be any, "localhost" is loopback, and another name may lead to private
	// addresses besides public ones, not to loopback or link-local ones.
	Near []string
	// Resolver finds the addresses of a name; nil: the system's. It is asked
	// once for a dial, and what it said is what is dialled.
	Resolver Resolver
	// Interfaces gives the addresses of this machine, which are refused also
	// when they are public; nil: [net.InterfaceAddrs].
	Interfaces func() ([]net.Addr, error)
	// Timeout is for one address; 0: 10 seconds.
	Timeout time.Duration
}

// Resolver is what is used of a [net.Resolver].
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// RefusedError says that an address or a host is not to be reached.
type RefusedError struct {
	What string // the address or host
	Why  string
}

func (e *RefusedError) Error() string { return e.What + " is refused: " + e.Why }

// Is makes it a kind of [fs.ErrPermission].
func (e *RefusedError) Is(target error) bool { return target == fs.ErrPermission }

// DialContext connects to address, a host and a port, as [net.Dialer] does.
// A name is resolved once. When one of its addresses is refused all of it is:
// a public name that leads inside is a mistake or an attack.
func (g *Guard) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := g.dial(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", address, err)
	}
	return conn, nil
}

func (g *Guard) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		return nil, &RefusedError{network, "only tcp is dialled"}
	}
	name, service, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("port %q: it is no number up to 65535", service)
	}
	host, err := Form(name)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if slices.Contains(g.Near, net.JoinHostPort(host, service)) {
		if addrs, err = g.near(ctx, host); err != nil {
			return nil, err
		}
		g = g.letting(addrs, uint16(port))
	} else if err = public(host); err == nil {
		addrs, err = g.resolve(ctx, host)
	}
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err := g.Check(netip.AddrPortFrom(a, uint16(port))); err != nil {
			return nil, err
		}
	}
	var failed []error
	for _, a := range addrs {
		conn, err := g.connect(ctx, network, netip.AddrPortFrom(a, uint16(port)))
		if err == nil {
			return conn, nil
		}
		if failed = append(failed, err); ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failed...)
}

// Look refuses a host, in the form of [Form], and a port as far as that needs no
// resolver: so that nobody is asked about what is not dialled anyway.
func (g *Guard) Look(host string, port uint16) error {
	if slices.Contains(g.Near, net.JoinHostPort(host, strconv.Itoa(int(port)))) {
		return nil
	}
	if a, err := netip.ParseAddr(host); err == nil {
		return g.Check(netip.AddrPortFrom(a, port))
	}
	return public(host)
}

// near gives the addresses of a host that is one of Near.
func (g *Guard) near(ctx context.Context, host string) ([]netip.Addr, error) {
	if host == "localhost" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return g.resolve(ctx, host)
}

// letting is g for one dial of a host of Near: what is private may be dialled,
// and loopback or an address that was named itself.
func (g *Guard) letting(addrs []netip.Addr, port uint16) *Guard {
	other := *g
	other.Allow = slices.Clone(g.Allow)
	for _, a := range addrs {
		to := netip.AddrPortFrom(a.Unmap(), port)
		written := slices.Contains(g.Near, to.String()) || a.IsLoopback() && slices.Contains(g.Near, net.JoinHostPort("localhost", strconv.Itoa(int(port))))
		if written || to.Addr().IsPrivate() && !credentials(to.Addr()) {
			other.Allow = append(other.Allow, to)
		}
	}
	return &other
}

// credentials reports whether a private address is one of those where a cloud
// answers with credentials.
func credentials(a netip.Addr) bool {
	b := a.As16()
	return [4]byte(b[:4]) == [4]byte{0xfd, 0, 0x0e, 0xc2}
}

// resolve gives the addresses of a host in the form [Host] returns.
func (g *Guard) resolve(ctx context.Context, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	var r Resolver = net.DefaultResolver
	if g.Resolver != nil {
		r = g.Resolver
	}
	// With the dot no search domain is tried.
	addrs, err := r.LookupNetIP(ctx, "ip", host+".")
	if err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, fmt.Errorf("%s has no address", host)
	}
	return addrs, nil
}

func (g *Guard) connect(ctx context.Context, network string, to netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: g.Timeout, Control: g.Control}
	if d.Timeout <= 0 {
		d.Timeout = 10 * time.Second
	}
	return d.DialContext(ctx, network, to.String())
}

// Control is for [net.Dialer.Control]: it sees the address a socket is about
// to connect to, whatever name led there.
func (g *Guard) Control(network, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return &RefusedError{address, "it is no address"}
	}
	return g.Check(to)
}

// Check refuses, with a [RefusedError], what is not to be dialled.
func (g *Guard) Check(to netip.AddrPort) error {
	plain := netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	if to.Addr().Zone() == "" && slices.Contains(g.Allow, plain) {
		return nil
	}
	ports := g.Ports
	if ports == nil {
		ports = []uint16{80, 443}
	}
	if !slices.Contains(ports, to.Port()) {
		return &RefusedError{to.String(), fmt.Sprintf("port %d is none of %d", to.Port(), ports)}
	}
	if why := Inside(to.Addr()); why != "" {
		return &RefusedError{to.Addr().String(), why}
	}
	return g.own(plain.Addr())
}

// own refuses the addresses of this machine.
func (g *Guard) own(a netip.Addr) error {
	interfaces := g.Interfaces
	if interfaces == nil {
		interfaces = net.InterfaceAddrs
	}
	list, err := interfaces()
	if err != nil {
		return fmt.Errorf("list the addresses of this machine: %w", err)
	}
	for _, i := range list {
		if n, ok := i.(*net.IPNet); ok {
			if ip, ok := netip.AddrFromSlice(n.IP); ok && ip.Unmap() == a {
				return &RefusedError{a.String(), "it is an address of this machine"}
			}
		}
	}
	return nil
}

// Transport is an HTTP transport that dials through g, with no proxy: what a
// proxy connects to cannot be checked here. Its owner closes idle
// connections.
func (g *Guard) Transport() *http.Transport {
	return &http.Transport{
		DialContext:            g.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10,
		MaxIdleConns:           4,
		IdleConnTimeout:        10 * time.Second,
		ForceAttemptHTTP2:      true,
	}
}
