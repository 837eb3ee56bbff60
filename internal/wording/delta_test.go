package wording

import (
	"math"
	"testing"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestDelta(t *testing.T) {
	for _, c := range []struct {
		ratio    float64
		lo, hi   float64
		change   string
		interval string
	}{
		{0.78, 0.76, 0.79, "-22 %", "(-24 .. -21)"},
		{4.1, 3.9, 4.3, "4.1x", "(3.9 .. 4.3)"},
		{0.18, 0.15, 0.21, "0.18x", "(0.15 .. 0.21)"},
		{63.6, 2.27, 1785.3, "64x", "(2 .. 1785)"},
		{3, 2.9, 3.1, "+200 %", "(+190 .. +210)"},
		{0.966, 0.911, 1.024, "-3 %", "(-9 .. +2)"},
		{1.21, 0.001, 18737.2, "+21 %", "(-100 .. over +900)"},
		{0.547, 0.5445, 0.5500, "-45 %", "(-46 .. -45)"},
		{1.034, 1.004, 1.064, "+3 %", "(+0.4 .. +6)"},
		{0.998, 0.996, 1.0004, "-0.2 %", "(-0.4 .. +0.04)"},
		{1.1038, 1.0003, 1.2181, "+10 %", "(+0.03 .. +22)"},
		{1.0067, 1.003, 1.0098, "+0.7 %", "(+0.3 .. +1.0)"},
		{1, 1, 1, "0.0 %", "(0.0 .. 0.0)"},
		{1.00001, 1.000001, 1.00002, "+0.001 %", "(0.000 .. +0.002)"},
	} {
		change, interval := Delta(&c.ratio, &result.Interval{c.lo, c.hi})
		must.True(t, change == c.change && interval == c.interval, "Delta(%v, %v, %v) = %q %q, want %q %q", c.ratio, c.lo, c.hi, change, interval, c.change, c.interval)
	}
	for _, c := range []struct {
		ratio *float64
		ci    *result.Interval
		want  string
	}{
		{nil, nil, Unknown},
		{ptr(math.NaN()), nil, Unknown},
		{ptr(0.83), nil, "-17 %"},
		{ptr(1.012), &result.Interval{math.NaN(), 2}, "+1.2 %"},
		{ptr(5.0), nil, "5.0x"},
	} {
		if change, interval := Delta(c.ratio, c.ci); change != c.want || interval != "" {
			t.Errorf("Delta(%v, %v) = %q %q, want %q", c.ratio, c.ci, change, interval, c.want)
		}
	}
}

// An added time has its sign, two digits and the unit of its column, and is of one exchange where the unit is of a thousand.
func TestAdded(t *testing.T) {
	for _, c := range []struct {
		added            result.Added
		change, interval string
		of               string
	}{
		{result.Added{Amount: result.Amount{Value: 2.41e-6, CI: &result.Interval{2.3e-6, 2.5e-6}}, Unit: "s/transaction"}, "+2.4 us", "(+2.3 .. +2.5)", "transaction"},
		{result.Added{Amount: result.Amount{Value: -2.2e-5}, Unit: "s"}, "-22 us", "", ""},
		{result.Added{Amount: result.Amount{Value: 5.2e-3}, Unit: "s/1000 connections"}, "+5.2 us", "", "connection"},
		{result.Added{Amount: result.Amount{Value: math.NaN()}, Unit: "s"}, Unknown, "", ""},
	} {
		a, of := Each(c.added)
		change, interval := ScaleFor("s", a.Value).Added(a)
		must.Equal(t, []string{c.change, c.interval, c.of}, []string{change, interval, of})
	}
}
