package schedule

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// Cron says at which minutes something is due: minute, hour, day of the month,
// month, day of the week, as cron has them.
type Cron struct {
	text                           string
	minute, hour, day, month, week uint64 // a bit for each value
	anyHour, anyDay, anyWeek       bool
}

var fields = []struct {
	name      string
	low, high int
	names     []string // of the values, from low on
}{
	{"minute", 0, 59, nil},
	{"hour", 0, 23, nil},
	{"day of the month", 1, 31, nil},
	{"month", 1, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of the week", 0, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}},
}

// Parse reads an expression of five fields, each "*", a number, a range 1-5, a
// list of these with commas, with steps "*/5" or "8-18/2"; months and days of the
// week by number or by three letters, Sunday is 0 or 7. When day of the month and
// day of the week are both given, either is enough. @hourly, @daily, @weekly,
// @monthly and @yearly are understood. One that never comes, such as February
// 30, is an error.
func Parse(text string) (Cron, error) {
	c := Cron{text: strings.Join(strings.Fields(text), " ")}
	long := c.text
	switch strings.ToLower(long) {
	case "@hourly":
		long = "0 * * * *"
	case "@daily", "@midnight":
		long = "0 0 * * *"
	case "@weekly":
		long = "0 0 * * 0"
	case "@monthly":
		long = "0 0 1 * *"
	case "@yearly", "@annually":
		long = "0 0 1 1 *"
	}
	parts := strings.Split(long, " ")
	if len(parts) != len(fields) {
		return Cron{}, fmt.Errorf("%q has %d fields; there are five: minute, hour, day of the month, month, day of the week, as in \"30 9 * * 1-5\"", c.text, len(parts))
	}
	sets := []*uint64{&c.minute, &c.hour, &c.day, &c.month, &c.week}
	for i, part := range parts {
		f := fields[i]
		for item := range strings.SplitSeq(part, ",") {
			set, err := values(item, f.low, f.high, f.names)
			if err != nil {
				return Cron{}, fmt.Errorf("the %s %q of %q: %w", f.name, part, c.text, err)
			}
			*sets[i] |= set
		}
	}
	if c.week&(1<<7) != 0 {
		c.week = c.week&^(1<<7) | 1
	}
	star := func(i int) bool { return strings.HasPrefix(parts[i], "*") }
	c.anyHour, c.anyDay, c.anyWeek = star(1), star(2), star(4)
	if c.anyWeek && bits.OnesCount64(c.week) == 7 && c.never() {
		return Cron{}, fmt.Errorf("%q never comes: none of its months has such a day", c.text)
	}
	return c, nil
}

// values are those of one item of a list.
func values(item string, low, high int, names []string) (set uint64, err error) {
	span, step, stepped := strings.Cut(item, "/")
	by := 1
	if stepped {
		if by, err = strconv.Atoi(step); err != nil || by < 1 || by > high {
			return 0, fmt.Errorf("a step is a number from 1 to %d", high)
		}
	}
	from, to := low, high
	if span != "*" {
		first, last, ranged := strings.Cut(span, "-")
		if from, err = value(first, low, high, names); err != nil {
			return 0, err
		}
		switch {
		case ranged:
			if to, err = value(last, low, high, names); err != nil {
				return 0, err
			}
		case !stepped: // "5/10" goes on to the end
			to = from
		}
		if from > to {
			return 0, fmt.Errorf("the range %s runs backwards", span)
		}
	} else if high == 7 {
		to = 6
	}
	for v := from; v <= to; v += by {
		set |= 1 << v
	}
	return set, nil
}

func value(text string, low, high int, names []string) (int, error) {
	for i, n := range names {
		if strings.EqualFold(n, text) {
			return low + i, nil
		}
	}
	v, err := strconv.Atoi(text)
	if err != nil || v < low || v > high || text[0] == '+' {
		return 0, fmt.Errorf("a value is a number from %d to %d", low, high)
	}
	return v, nil
}

// never reports whether none of the months has one of the days.
func (c Cron) never() bool {
	for m := 1; m <= 12; m++ {
		longest := time.Date(2024, time.Month(m)+1, 0, 0, 0, 0, 0, time.UTC).Day() // a leap year
		if c.month&(1<<m) != 0 && c.day&(1<<(longest+1)-1)&^1 != 0 {
			return false
		}
	}
	return true
}

func (c Cron) String() string { return c.text }

// horizon is how far ahead a minute is looked for: there are eight years at most
// from one February 29 to the next.
const horizon = 9 * 366 * 24 * time.Hour

// Next is the first minute after t at which c is due, by the clock of t's place.
//
// Where a clock is put forward, what would be due in the hour that is left out is
// due when it is over. Where it is put back, what is due at an hour is due the
// first time; what is due in every hour is due in both. The zero time means
// never.
func (c Cron) Next(t time.Time) time.Time {
	end := t.Add(horizon)
	for t = minuteOf(t).Add(time.Minute); t.Before(end); {
		if !c.dayOf(t) {
			if c.skipped(t) {
				return t
			}
			t = later(t, time.Date(t.Year(), t.Month(), t.Day()+1, 0, 0, 0, 0, t.Location()))
			continue
		}
		if c.at(t) && !c.again(t) || c.skipped(t) {
			return t
		}
		if c.hour&(1<<t.Hour()) == 0 {
			t = later(t, t.Add(time.Duration(60-t.Minute())*time.Minute))
			continue
		}
		t = t.Add(time.Minute)
	}
	return time.Time{}
}

// minuteOf is the minute that t is in, by the seconds of its clock: some places
// were off by half a minute once.
func minuteOf(t time.Time) time.Time {
	return t.Add(-time.Duration(t.Second())*time.Second - time.Duration(t.Nanosecond()))
}

// later is next, if it is ahead; where clocks change at midnight it may not be.
func later(t, next time.Time) time.Time {
	if next.After(t) {
		return next
	}
	return t.Add(time.Minute)
}

// dayOf reports whether c is due on the day of t.
func (c Cron) dayOf(t time.Time) bool {
	if c.month&(1<<int(t.Month())) == 0 {
		return false
	}
	day, week := c.day&(1<<t.Day()) != 0, c.week&(1<<int(t.Weekday())) != 0
	if c.anyDay || c.anyWeek {
		return day && week
	}
	return day || week
}

// at reports whether c is due at what the clock shows at t.
func (c Cron) at(t time.Time) bool {
	return c.minute&(1<<t.Minute()) != 0 && c.hour&(1<<t.Hour()) != 0 && c.dayOf(t)
}

// again reports whether the clock showed the same before, and that was enough.
func (c Cron) again(t time.Time) bool {
	if c.anyHour {
		return false
	}
	_, offset := t.Zone()
	_, before := t.Add(-3 * time.Hour).Zone()
	back := before - offset // seconds by which it was put back
	if back <= 0 {
		return false
	}
	first := t.Add(-time.Duration(back) * time.Second)
	return first.Hour() == t.Hour() && first.Minute() == t.Minute() && first.Day() == t.Day()
}

// skipped reports whether the clock was put forward right before t, over a minute
// at which c is due.
func (c Cron) skipped(t time.Time) bool {
	if c.anyHour {
		return false // the next of these is not far
	}
	_, offset := t.Zone()
	_, before := t.Add(-time.Minute).Zone()
	for left := offset - before; left >= 60; left -= 60 {
		// As the clock would have shown it.
		shown := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC).Add(-time.Duration(left) * time.Second)
		if c.at(shown) {
			return true
		}
	}
	return false
}
