package wording

import (
	"fmt"
	"strconv"
	"time"

	"tare/internal/unit"
)

// Duration shows how long something takes: "12 ms", "2.3 s", "38 s",
// "1 min 20 s", "2 h 5 min".
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return Unknown
	case d == 0:
		return "0 s"
	case d < 95*time.Millisecond:
		return strconv.FormatInt(max(1, d.Round(time.Millisecond).Milliseconds()), 10) + " ms"
	case d < 9950*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	}
	d = d.Round(time.Second)
	if d >= time.Hour {
		d = d.Round(time.Minute)
	}
	h, m, s := int(d/time.Hour), int(d/time.Minute%60), int(d/time.Second%60)
	switch {
	case h > 0 && m > 0:
		return fmt.Sprintf("%d h %d min", h, m)
	case h > 0:
		return fmt.Sprintf("%d h", h)
	case m > 0 && s > 0:
		return fmt.Sprintf("%d min %d s", m, s)
	case m > 0:
		return fmt.Sprintf("%d min", m)
	}
	return fmt.Sprintf("%d s", s)
}

// Age shows how long ago something was, in years and months, in months below a year, or in days below
// two months. A month is a twelfth of 365.25 days.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	const month = 365*day/12 + day/48
	months := int(d / month)
	switch years := months / 12; {
	case d < 0:
		return Unknown
	case months < 2:
		return Count(int(d/day), "day", "days")
	case years == 0:
		return Count(months, "month", "months")
	case months%12 == 0:
		return Count(years, "year", "years")
	default:
		return Count(years, "year", "years") + " " + Count(months%12, "month", "months")
	}
}

// Time shows a moment in UTC to the second; the zero time is "unknown".
func Time(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05 UTC")
}

// Count shows a number of things: "1 block", "4 blocks".
func Count(n int, one, many string) string { return unit.Count(n, one, many) }
