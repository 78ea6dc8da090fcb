package schedule_test

import (
	"strconv"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"pgregory.net/rapid"

	"oneloop/team/schedule"
)

func TestWhenIsNext(t *testing.T) {
	const form = "2006-01-02 15:04 MST"
	for _, c := range []struct{ cron, zone, from, want string }{
		{"* * * * *", "UTC", "2026-12-01 10:00", "2026-12-01 10:01 UTC"},
		{"*/15 * * * *", "UTC", "2026-12-01 10:00", "2026-12-01 10:15 UTC"},
		{"5/20 * * * *", "UTC", "2026-12-01 10:26", "2026-12-01 10:45 UTC"},
		{"30 9 * * 1-5", "UTC", "2026-12-04 09:30", "2026-12-07 09:30 UTC"},
		{"30 9 * * mon-FRI", "UTC", "2026-12-04 09:29", "2026-12-04 09:30 UTC"},
		{"0 0 * * 7", "UTC", "2026-12-01 00:00", "2026-12-06 00:00 UTC"},
		{"0 0 13 * fri", "UTC", "2026-12-01 00:00", "2026-12-04 00:00 UTC"}, // either is enough
		{"0 0 13 * fri", "UTC", "2026-12-11 00:00", "2026-12-13 00:00 UTC"},
		{"0 0 */2 * fri", "UTC", "2026-12-01 00:00", "2026-12-11 00:00 UTC"}, // with a star both
		{"0 12 29 2 *", "UTC", "2026-12-01 00:00", "2028-02-29 12:00 UTC"},
		{"0 12 31 * *", "UTC", "2026-12-31 12:00", "2027-01-31 12:00 UTC"},
		{"0,30 8-10/2 1 jan,JUL *", "UTC", "2027-01-01 08:30", "2027-01-01 10:00 UTC"},
		{"@daily", "Asia/Shanghai", "2026-12-01 10:00", "2026-12-02 00:00 CST"},
		{"0 9 * * *", "Asia/Kolkata", "2026-12-01 10:00", "2026-12-02 09:00 IST"},
		// 2:00 to 3:00 is left out there on 2027-03-14.
		{"30 2 * * *", "America/New_York", "2027-03-13 03:00", "2027-03-14 03:00 EDT"},
		{"30 2 * * *", "America/New_York", "2027-03-14 03:00", "2027-03-15 02:30 EDT"},
		{"*/30 * * * *", "America/New_York", "2027-03-14 01:30", "2027-03-14 03:00 EDT"},
		{"0 3 * * *", "America/New_York", "2027-03-14 01:00", "2027-03-14 03:00 EDT"},
		// 1:00 to 2:00 comes twice on 2026-11-01.
		{"30 1 * * *", "America/New_York", "2026-11-01 00:00", "2026-11-01 01:30 EDT"},
		// A whole day is left out there, 2011-12-30.
		{"0 12 30 12 *", "Pacific/Apia", "2011-12-29 00:00", "2011-12-31 00:00 +14"},
		// Midnight is left out there on 2026-04-24 (Egypt).
		{"0 0 * * *", "Africa/Cairo", "2026-04-23 12:00", "2026-04-24 01:00 EEST"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, err := time.ParseInLocation("2006-01-02 15:04", c.from, zone)
		if err != nil {
			t.Fatal(err)
		}
		cron, err := schedule.Parse(c.cron)
		if err != nil {
			t.Error(err)
			continue
		}
		if got := cron.Next(from.Add(17 * time.Second)).Format(form); got != c.want {
			// Seconds of the minute that has begun do not matter.
			t.Errorf("%s after %s in %s: %s, not %s", c.cron, c.from, c.zone, got, c.want)
		}
	}
}

// TestAnHourThatComesTwice counts what is due on a day of 25 hours.
func TestAnHourThatComesTwice(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	day, end := time.Date(2026, 11, 1, 0, 0, 0, 0, zone), time.Date(2026, 11, 2, 0, 0, 0, 0, zone)
	for text, want := range map[string]int{"30 1 * * *": 1, "*/30 1 * * *": 2, "30 * * * *": 25, "0 0-23 * * *": 24, "30 2 * * *": 1} {
		cron, err := schedule.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for at := cron.Next(day.Add(-time.Second)); at.Before(end); at = cron.Next(at) {
			n++
		}
		if n != want {
			t.Errorf("%s: %d times, not %d", text, n, want)
		}
	}
}

func TestWhatIsNoExpression(t *testing.T) {
	for text, want := range map[string]string{
		"": "five", "* * * *": "4 fields", "* * * * * *": "6 fields", "60 * * * *": "minute", "* 24 * * *": "hour", "* * 0 * *": "day of the month",
		"* * * 13 *": "month", "* * * * 8": "day of the week", "5-1 * * * *": "backwards", "*/0 * * * *": "step", "a * * * *": "minute",
		"* * * foo *": "month", "+1 * * * *": "number", "-1 * * * *": "number", "1,,2 * * * *": "number", "* * 30 2 *": "never", "* * 31 4,6 *": "never", "@often": "1 fields",
		"*/99999999999999999999 * * * *": "step",
	} {
		if c, err := schedule.Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, %v; want %q", text, c, err, want)
		}
	}
}

// slow is the same by looking at each minute.
func slow(minute, hour, day, week int, from time.Time) time.Time {
	for t := from.Truncate(time.Minute).Add(time.Minute); ; t = t.Add(time.Minute) {
		if t.Minute() == minute && t.Hour() == hour && (t.Day() == day || int(t.Weekday()) == week) {
			return t
		}
	}
}

func TestNextIsTheFirstMinuteThatFits(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		minute, hour := rapid.IntRange(0, 59).Draw(r, "minute"), rapid.IntRange(0, 23).Draw(r, "hour")
		day, week := rapid.IntRange(1, 28).Draw(r, "day"), rapid.IntRange(0, 6).Draw(r, "week")
		from := time.Unix(rapid.Int64Range(0, 4e9).Draw(r, "from"), 0).UTC()
		c, err := schedule.Parse(strings.Join([]string{num(minute), num(hour), num(day), "*", num(week)}, " "))
		if err != nil {
			r.Fatal(err)
		}
		if got, want := c.Next(from), slow(minute, hour, day, week, from); !got.Equal(want) {
			r.Fatalf("%s after %s: %s, not %s", c, from, got, want)
		}
	})
}

// TestNothingComesTwiceOrBackwards walks through years in places whose clocks
// change in odd ways.
func TestNothingComesTwiceOrBackwards(t *testing.T) {
	zones := []string{"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "Africa/Cairo", "America/Sao_Paulo", "Pacific/Apia", "Africa/Monrovia", "Asia/Shanghai"}
	rapid.Check(t, func(r *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(r, "zone"))
		if err != nil {
			r.Fatal(err)
		}
		text := rapid.SampledFrom([]string{"30 2 * * *", "0 0 * * *", "*/20 * * * *", "15 1-3 * * *", "59 23 * * 0", "0 0 31 12 *"}).Draw(r, "cron")
		c, err := schedule.Parse(text)
		if err != nil {
			r.Fatal(err)
		}
		at := time.Unix(rapid.Int64Range(0, 2e9).Draw(r, "from"), 0).In(zone)
		days := map[string]int{}
		for range 100 {
			next := c.Next(at)
			if !next.After(at) {
				r.Fatalf("%s in %s: %s after %s", text, zone, next, at)
			}
			at = next
			days[at.Format(time.DateOnly)]++
		}
		for day, n := range days {
			if strings.HasPrefix(text, "30 2") && n > 1 {
				r.Errorf("%s in %s: %d times on %s", text, zone, n, day)
			}
		}
	})
}

func num(n int) string { return strconv.Itoa(n) }

func FuzzParse(f *testing.F) {
	for _, s := range []string{"* * * * *", "*/5 1-2,4 1 jan mon", "@daily", "0 0 29 2 7"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := schedule.Parse(s)
		if err != nil {
			return
		}
		from := time.Date(2026, 12, 1, 0, 0, 0, 0, time.UTC)
		next := c.Next(from)
		if !next.After(from) {
			t.Errorf("%q: next is %v", s, next)
		}
		if again, err := schedule.Parse(c.String()); err != nil || again != c {
			t.Errorf("%q is %q, which is %v, %v", s, c, again, err)
		}
	})
}
