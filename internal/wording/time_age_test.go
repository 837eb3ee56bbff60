package wording

import (
	"testing"
	"time"

	"tare/internal/testkit/must"
)

func TestAge(t *testing.T) {
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-1: Unknown, 0: "0 days", day: "1 day", 60 * day: "60 days", 61 * day: "2 months", 360 * day: "11 months",
		366 * day: "1 year", 400 * day: "1 year 1 month", 800 * day: "2 years 2 months", 5*365*day + 340*day: "5 years 11 months",
	} {
		must.EqualFor(t, d, want, Age(d))
	}
}
