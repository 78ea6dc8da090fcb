package guard

import (
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"oneloop/internal/unseen"
)

// local are the last labels of names that only a machine or its network
// knows.
var local = []string{"localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp", "private"}

// URL reads an address of the web: http or https, no user, a host by [Host].
// The host of the result is in its canonical form, and there is no fragment.
func URL(text string) (*url.URL, error) {
	if len(text) > 8<<10 {
		return nil, fmt.Errorf("the URL is %d bytes long, the limit is 8,192", len(text))
	}
	if i := strings.IndexFunc(text, func(r rune) bool {
		return r == ' ' || r == '\\' || r == utf8.RuneError || unicode.IsControl(r) || unseen.Is(r)
	}); i >= 0 {
		return nil, fmt.Errorf("the URL has a character that does not belong in one: %+q", []rune(text[i:])[0])
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, err
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("the URL has to begin with https:// or http://, not %q", u.Scheme)
	case u.User != nil:
		return nil, fmt.Errorf("the URL has a user name or password before the host, which is refused")
	case u.Host == "":
		return nil, fmt.Errorf("the URL has no host")
	}
	// Only what url.Parse takes for an address in brackets reaches Host as one.
	name := u.Hostname()
	if strings.Contains(name, ":") != strings.HasPrefix(u.Host, "[") {
		return nil, &RefusedError{u.Host, "an IPv6 address stands in brackets, and nothing else does"}
	}
	host, err := Host(name)
	if err != nil {
		return nil, err
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port := u.Port(); port != "" {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil {
			return nil, fmt.Errorf("the port %q is no number up to 65535", port)
		}
		if !(u.Scheme == "http" && n == 80 || u.Scheme == "https" && n == 443) {
			host += ":" + strconv.FormatUint(n, 10)
		}
	} else if strings.HasSuffix(u.Host, ":") {
		return nil, fmt.Errorf("the URL has a colon after the host but no port")
	}
	u.Host, u.Fragment, u.RawFragment = host, "", ""
	return u, nil
}

// Host is [Form] for hosts of the public internet: it refuses names that are
// local by their form.
func Host(name string) (string, error) {
	host, err := Form(name)
	if err == nil {
		err = public(host)
	}
	if err != nil {
		return "", err
	}
	return host, nil
}

// public refuses a host, in its canonical form, that is a local name.
func public(host string) error {
	if _, err := netip.ParseAddr(host); err == nil {
		return nil
	}
	refuse := func(why string) error { return &RefusedError{fmt.Sprintf("host %+q", host), why} }
	last := host[strings.LastIndexByte(host, '.')+1:]
	if slices.Contains(local, last) {
		return refuse("it is a local name")
	}
	if last == host {
		return refuse("it is a local name; a public one has a dot")
	}
	return nil
}

// Form gives the canonical form of a host: lower case, ASCII, an address as
// Go writes it and without brackets. It refuses what programs do not agree
// on: addresses that are short, octal, hexadecimal or one number, trailing
// dots, empty labels, zones.
func Form(name string) (string, error) {
	refuse := func(why string) (string, error) { return "", &RefusedError{fmt.Sprintf("host %+q", name), why} }
	if name == "" || len(name) > 1000 {
		return refuse(fmt.Sprintf("it is %d bytes long", len(name)))
	}
	if a, err := netip.ParseAddr(name); err == nil {
		if a.Zone() != "" {
			return refuse("it has a zone")
		}
		return a.Unmap().String(), nil
	}
	if strings.HasSuffix(name, ".") {
		return refuse("leave out the dot at its end")
	}
	host, err := idna.Lookup.ToASCII(name)
	if err == nil && host != name { // what comes out has to stay as it is
		name, err = idna.Lookup.ToASCII(host)
	}
	if err != nil || host != name || !utf8.ValidString(name) {
		return refuse("it is no name of a host")
	}
	labels := strings.Split(host, ".")
	for _, l := range labels {
		if why := label(l); why != "" {
			return refuse(why)
		}
	}
	last := labels[len(labels)-1]
	if len(host) > 253 {
		return refuse("it is longer than 253 characters")
	}
	if number(last) {
		return refuse("its last part is a number, but it is not an address of four decimal numbers")
	}
	return host, nil
}

// label says what is wrong with a part of a name.
func label(l string) string {
	if l == "" {
		return "a part of it is empty"
	}
	if len(l) > 63 {
		return "a part of it is longer than 63 characters"
	}
	if l[0] == '-' || l[len(l)-1] == '-' {
		return "a part of it begins or ends with a hyphen"
	}
	for _, r := range l {
		if !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-') {
			return fmt.Sprintf("it has the character %+q", r)
		}
	}
	return ""
}

// number reports whether a program may take l for a number, as in 0x7f.
func number(l string) bool {
	if strings.Trim(l, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(l, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}
