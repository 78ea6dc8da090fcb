package config

import (
	"strconv"
	"time"
)

const bellKey = "bell"

// BellAfter is how long somebody must have waited for the bell to ring, where
// they do not say.
const BellAfter = 10 * time.Second

// ParseBell reads when the bell rings: true, false, or a number of seconds from
// 0.1 to those of a day. Zero: it never does.
func ParseBell(text string) (after time.Duration, ok bool) {
	switch text {
	case "true":
		return BellAfter, true
	case "false":
		return 0, true
	}
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil || !(seconds >= 0.1 && seconds <= 24*60*60) {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// bell decides when the bell rings. Texts were looked at where they came in.
func (l *loader) bell() error {
	v := value{l.Flags.Bell, "--bell"}
	if v.text == "" {
		v = l.own.value(bellKey)
	}
	if v.text != "" {
		l.out.Bell, _ = ParseBell(l.set("bell", v))
	}
	return nil
}
