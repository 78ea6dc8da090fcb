package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"oneloop/policy"
)

// network is what one file says of the sandbox's network.
type network struct {
	allowed, denied []policy.Domain
	strict          bool
}

// takeNetwork reads the object sandbox.network.
func (f *file) takeNetwork(data, raw []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("%s:%d: sandbox.network must be an object", f.path, lineOf(data, "network"))
	}
	for name, value := range object {
		var err error
		switch name {
		case "allowedDomains":
			f.network.allowed, err = f.domains(value)
		case "deniedDomains":
			f.network.denied, err = f.domains(value)
		case "strictAllowlist":
			if json.Unmarshal(value, &f.network.strict) != nil {
				err = fmt.Errorf("it must be true or false")
			}
		default:
			f.other = append(f.other, "sandbox.network."+name)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: sandbox.network.%s: %w", f.path, lineOf(data, name), name, err)
		}
	}
	slices.Sort(f.other)
	return nil
}

func (f *file) domains(raw json.RawMessage) ([]policy.Domain, error) {
	var texts []string
	if err := json.Unmarshal(raw, &texts); err != nil {
		return nil, fmt.Errorf("it must be a list of hosts in quotes, as in [\"example.org\", \"*.example.org\"]")
	}
	var list []policy.Domain
	for _, text := range texts {
		d, err := policy.ParseDomain(text, f.path)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// hosts collects what the files say of the sandbox's network. A folder's file
// makes it narrower, never wider.
func (l *loader) hosts() error {
	n := &l.out.Network
	for _, f := range append([]*file{l.own}, l.project...) {
		if f == nil {
			continue
		}
		n.Denied = append(n.Denied, f.network.denied...)
		if f.network.strict && n.Strict == "" {
			n.Strict = f.path
		}
	}
	if l.own != nil {
		n.Allowed = l.own.network.allowed
	}
	return nil
}
