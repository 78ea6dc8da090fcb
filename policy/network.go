package policy

import (
	"fmt"
	"net"
	"strconv"
	"strings"

	"oneloop/internal/guard"
)

// Network is what settings say of the network of a sandbox, besides rules.
type Network struct {
	Allowed, Denied []Domain
	Strict          string // the file that keeps the user from being asked for others; empty: none does
}

// Domain is a host, or all hosts below one, in the settings.
type Domain struct {
	Text string // as it is written
	File string // it is written in

	host string // in the form of guard.Form; "*" in front stands for anything
	port int    // 0: any
}

// ParseDomain reads "example.org", "*.example.org" for all below it, or "*" for
// all; a port may follow, as in "localhost:4873" or "[::1]:8080".
func ParseDomain(text, file string) (Domain, error) {
	d := Domain{Text: strings.TrimSpace(text), File: file}
	host := d.Text
	if h, port, err := net.SplitHostPort(host); err == nil {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || n == 0 {
			return d, fmt.Errorf("%q has the port %q, which is no number up to 65535", text, port)
		}
		host, d.port = h, int(n)
	}
	name, wild := strings.CutPrefix(host, "*")
	if wild && name == "" {
		d.host = "*"
		return d, nil
	}
	if wild {
		below, dotted := strings.CutPrefix(name, ".")
		if !dotted {
			return d, fmt.Errorf("%q: a star stands for whole parts in front of a dot, as in *.example.org", text)
		}
		name = below
	}
	name, err := guard.Form(strings.TrimSuffix(strings.TrimPrefix(name, "["), "]"))
	if err != nil {
		return d, fmt.Errorf("%w; write a host as in example.org, *.example.org or localhost:8080", err)
	}
	if d.host = name; wild {
		d.host = "*." + name
	}
	return d, nil
}

func (d Domain) match(host string, port int) bool {
	if d.port != 0 && d.port != port {
		return false
	}
	suffix, wild := strings.CutPrefix(d.host, "*")
	if wild {
		return strings.HasSuffix(host, suffix)
	}
	return host == d.host
}

// Near gives the hosts that are written out with their port, which may
// therefore be inside: see package guard.
func (n Network) Near() []string {
	var list []string
	for _, d := range n.Allowed {
		if d.port != 0 && !strings.HasPrefix(d.host, "*") {
			list = append(list, net.JoinHostPort(d.host, strconv.Itoa(d.port)))
		}
	}
	return list
}
