package mail

import (
	"errors"
	"fmt"
	"slices"
)

// LongestName is how many characters the name of an agent has at most.
const LongestName = 40

// CheckName says why name is no name of an agent. Names become those of files,
// on every system: small letters, digits and hyphens, a letter or a digit first.
func CheckName(name string) error {
	const rule = "a name has 1 to 40 small letters, digits and hyphens, and begins with a letter or a digit"
	if name == "" || len(name) > LongestName || name[0] == '-' {
		return fmt.Errorf("%.60q is no name: %s", name, rule)
	}
	for _, c := range []byte(name) {
		if !('a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == '-') {
			return fmt.Errorf("%.60q is no name: %s", name, rule)
		}
	}
	if device(name) {
		return fmt.Errorf("%q is no name: some systems have a device of that name", name)
	}
	return nil
}

// device reports whether Windows takes a file of that name, with whatever
// ending, for a device.
func device(name string) bool {
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, name) {
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && '0' <= name[3] && name[3] <= '9'
}

// What a message is refused for. The text of the error says more.
var (
	ErrUnknown = errors.New("there is no such agent")
	ErrSelf    = errors.New("nobody writes to itself")
	ErrAway    = errors.New("the agent reads no more")
	ErrText    = errors.New("this text is not sent")
	ErrFull    = errors.New("the mailbox is full")
	ErrTooMany = errors.New("too many messages")
	ErrRead    = errors.New("somebody else reads this mailbox")
)

// refusal is one of the errors above in its own words.
type refusal struct {
	kind error
	text string
}

func (r *refusal) Error() string { return r.text }
func (r *refusal) Unwrap() error { return r.kind }

func refuse(kind error, format string, args ...any) error {
	return &refusal{kind, fmt.Sprintf(format, args...)}
}
