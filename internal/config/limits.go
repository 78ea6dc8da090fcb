package config

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"oneloop/workspace"
)

// Limits are those of each command in the sandbox, as the settings give them.
// Zero is what is not set: the sandbox's own. -1 is none.
type Limits struct {
	Processes int64 `json:"processes,omitempty"` // and threads, at a time
	Memory    int64 `json:"memory,omitempty"`    // bytes of all processes together
	File      int64 `json:"file,omitempty"`      // bytes of one file
	Disk      int64 `json:"disk,omitempty"`      // bytes of all files that are changed
}

const (
	noLimit = -1
	// mostProcesses is what the kernel takes.
	mostProcesses = 1 << 22
)

// limit is one of Limits.
type limit struct {
	name  string
	at    func(*Limits) *int64
	least int64 // below it hardly a command runs, or the kernel takes no smaller one
	size  bool  // in bytes
}

func limits() []limit {
	return []limit{
		{"disk", func(l *Limits) *int64 { return &l.Disk }, 1 << 20, true},
		{"file", func(l *Limits) *int64 { return &l.File }, 64 << 10, true},
		{"memory", func(l *Limits) *int64 { return &l.Memory }, 64 << 20, true},
		{"processes", func(l *Limits) *int64 { return &l.Processes }, 301, false},
	}
}

// takeLimits reads the object sandbox.limits.
func (f *file) takeLimits(data, raw []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return fmt.Errorf("%s:%d: sandbox.limits must be an object", f.path, lineOf(data, "limits"))
	}
	for _, l := range limits() {
		value, set := object[l.name]
		delete(object, l.name)
		if !set || string(value) == "null" {
			continue
		}
		n, err := l.parse(value)
		if err != nil {
			return fmt.Errorf("%s:%d: sandbox.limits.%s: %w", f.path, lineOf(data, l.name), l.name, err)
		}
		*l.at(&f.limits) = n
	}
	for name := range object {
		f.other = append(f.other, "sandbox.limits."+name)
	}
	slices.Sort(f.other)
	return nil
}

func (l limit) parse(raw json.RawMessage) (int64, error) {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		text = string(raw)
	}
	text = strings.TrimSpace(text)
	if text == "none" {
		return noLimit, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	wanted := fmt.Sprintf("a number up to %d, as in 2000", mostProcesses)
	if l.size {
		n, err = parseSize(text)
		wanted = `a size, as in "512MiB" or "2GiB"`
	}
	switch {
	case err != nil || !l.size && n > mostProcesses:
		return 0, fmt.Errorf(`%s is not %s; "none" is no limit`, raw, wanted)
	case n >= l.least:
		return n, nil
	case l.size:
		return 0, fmt.Errorf(`%s is too small, it must be %s at least; "none" is no limit`, raw, FormatSize(l.least))
	}
	return 0, fmt.Errorf(`%s is too small, it must be %d at least; "none" is no limit`, raw, l.least)
}

// units are those of sizes, the larger ones first of each kind.
var units = [...]struct {
	name  string
	bytes int64
}{{"TiB", 1 << 40}, {"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"TB", 1e12}, {"GB", 1e9}, {"MB", 1e6}, {"kB", 1e3}, {"B", 1}}

// parseSize takes a whole number with a unit; without one it is bytes.
func parseSize(text string) (int64, error) {
	unit := int64(1)
	for _, u := range units {
		at := len(text) - len(u.name)
		if at > 0 && strings.EqualFold(text[at:], u.name) {
			text, unit = strings.TrimSpace(text[:at]), u.bytes
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err == nil && (n < 0 || n > math.MaxInt64/unit) {
		err = strconv.ErrRange
	}
	return n * unit, err
}

// FormatSize writes a number of bytes in the largest unit that it is a whole
// number of.
func FormatSize(n int64) string {
	for _, u := range units[:4] {
		if n >= u.bytes && n%u.bytes == 0 {
			return fmt.Sprintf("%d %s", n/u.bytes, u.name)
		}
	}
	return fmt.Sprintf("%d bytes", n)
}

// limitCommands takes the user's limits. A folder's file lowers them, and
// never raises one.
func (l *loader) limitCommands() error {
	out := &l.out.Limits
	if l.own != nil {
		*out = l.own.limits
	}
	for _, f := range l.project {
		var dropped []string
		for _, limit := range limits() {
			have, want := limit.at(out), *limit.at(&f.limits)
			now := *have
			if now == 0 && !limit.size {
				now = workspace.DefaultProcesses
			}
			switch {
			case want == 0:
			case want != noLimit && (now <= 0 || want <= now):
				*have = want
			default:
				dropped = append(dropped, "sandbox.limits."+limit.name)
			}
		}
		if len(dropped) > 0 {
			l.notice("%s sets %s higher than it is, which only the user's own settings may; it is ignored.", f.path, strings.Join(dropped, ", "))
		}
	}
	return nil
}
