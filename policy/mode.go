// Package policy decides which calls of a model run: by permission mode and
// by the danger list of package policy/shell. It wraps tools; what it lets
// through is confined by package workspace, not by it. A list of dangerous
// commands keeps mistakes from doing damage. It is no boundary.
package policy

import (
	"fmt"
	"strings"
)

// Mode says what happens to calls that no rule decides. The zero value is
// [Default].
type Mode int

const (
	Default     Mode = iota // ask where asking is due
	AcceptEdits             // edits inside the workspace are not asked for
	Plan                    // only calls that change nothing
	DontAsk                 // what would be asked is denied
	Bypass                  // what would be asked is allowed
)

// modeNames are the names of the modes on the command line and in settings.
var modeNames = [...]string{"default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"}

// ParseMode reads the name of a mode. "manual" is another name for "default".
func ParseMode(name string) (Mode, error) {
	if name == "manual" {
		return Default, nil
	}
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return Default, fmt.Errorf("there is no permission mode named %q; the modes are %s", name, strings.Join(modeNames[:], ", "))
}

func (m Mode) String() string {
	if m < 0 || int(m) >= len(modeNames) {
		return fmt.Sprintf("mode %d", int(m))
	}
	return modeNames[m]
}

// MarshalText gives the name, so that settings in JSON can be read.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }
