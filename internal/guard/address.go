package guard

import (
	"net/netip"
	"sync"
)

// A block is a range of addresses that is not the public internet.
type block struct {
	prefix netip.Prefix
	why    string
}

func blocks(why string, prefixes ...string) []block {
	list := make([]block, len(prefixes))
	for i, p := range prefixes {
		list[i] = block{netip.MustParsePrefix(p), why}
	}
	return list
}

// inside4 is by the registry of special IPv4 addresses (RFC 6890 and what
// updates it), and one address that a cloud gives to its own service.
func inside4() []block {
	var all []block
	all = append(all, blocks("it is loopback", "127.0.0.0/8")...)
	all = append(all, blocks("it stands for this host", "0.0.0.0/8")...)
	all = append(all, blocks("it is private", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")...)
	all = append(all, blocks("it is link-local, where clouds answer with credentials", "169.254.0.0/16")...)
	all = append(all, blocks("it is shared inside a provider's network", "100.64.0.0/10")...)
	all = append(all, blocks("it is multicast", "224.0.0.0/4")...)
	all = append(all, blocks("it is a metadata service", "168.63.129.16/32")...)
	return append(all, blocks("it is reserved", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4")...)
}

// inside6 is what is special within the addresses given out, 2000::/3.
func inside6() []block {
	return append(
		blocks("it is reserved", "2001::/23", "2001:db8::/32", "3fff::/20"),
		blocks("it wraps an IPv4 address", "2002::/16")...)
}

// Made when first needed, to keep them out of the start of the program.
var (
	special4 = sync.OnceValue(inside4)
	special6 = sync.OnceValue(inside6)
)

// nat64 is where an IPv6-only network puts all IPv4 addresses.
var nat64 = [12]byte{0, 0x64, 0xff, 0x9b}

// Inside says why an address is not the public internet; empty when it is. An
// IPv4 address inside of an IPv6 one is judged as what it is.
func Inside(a netip.Addr) string {
	if !a.IsValid() {
		return "it is no address"
	}
	if a.Zone() != "" {
		return "it has a zone"
	}
	a = a.Unmap()
	if b := a.As16(); a.Is6() && [12]byte(b[:12]) == nat64 {
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	list := special4()
	if a.Is6() {
		list = special6()
	}
	for _, b := range list {
		if b.prefix.Contains(a) {
			return b.why
		}
	}
	if b := a.As16(); a.Is4() || b[0]>>5 == 0x20>>5 {
		return ""
	}
	switch {
	case a.IsLoopback():
		return "it is loopback"
	case a.IsUnspecified():
		return "it stands for this host"
	case a.IsPrivate():
		return "it is private"
	case a.IsLinkLocalUnicast():
		return "it is link-local"
	case a.IsMulticast():
		return "it is multicast"
	}
	return "it is reserved"
}
