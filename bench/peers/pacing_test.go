package peers

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tare/internal/testkit/must"
)

// regular are datagrams of 1000 B, moved off an even schedule as move says.
func regular(n int, gap time.Duration, move func(k int) time.Duration) []packet {
	all := make([]packet, n)
	for k := range all {
		all[k] = packet{at: time.Duration(k)*gap + move(k), payload: 1000}
	}
	return all
}

func TestJudge(t *testing.T) {
	const gap, n = 100 * time.Microsecond, 11001
	even := func(int) time.Duration { return 0 }
	for _, c := range []struct {
		name     string
		all      []packet
		p50, p99 float64 // bounds, s
		burst    [2]float64
		rate     float64
	}{
		{"even", regular(n, gap, even), 1e-9, 1e-9, [2]float64{0.999, 1.001}, 8e7},
		// Eight datagrams wait for the last of them and leave together.
		{"in eights", regular(n, gap, func(k int) time.Duration { return time.Duration(7-k%8) * gap }), 401e-6, 401e-6, [2]float64{7.9, 8.1}, 8e7},
		// One in a hundred is half a gap late: p50 does not see it, p99 might.
		{"rarely late", regular(n, gap, func(k int) time.Duration {
			if k%100 == 99 {
				return gap / 2
			}
			return 0
		}), 2e-6, 51e-6, [2]float64{1.49, 1.51}, 8e7},
		// A steady rate that is 1 % too high is no unevenness, and no burst.
		{"too fast", regular(n, gap*99/100, even), 1e-9, 1e-9, [2]float64{0.999, 1.001}, 8e7 / 0.99},
	} {
		e := must.Get(judge(c.all, gap.Seconds()))(must.Named(t, c.name))
		if e.p50 > c.p50 || e.p99 > c.p99 || e.burst < c.burst[0] || e.burst > c.burst[1] || math.Abs(e.rate/c.rate-1) > 1e-3 {
			t.Errorf("%s: %+v, want at most %g and %g, a burst of %v, %g bit/s", c.name, e, c.p50, c.p99, c.burst, c.rate)
		}
	}
	if _, err := judge(regular(50, gap, even), gap.Seconds()); err == nil {
		t.Error("too few: no error")
	}
}

func TestWithinAsked(t *testing.T) {
	for _, c := range []struct {
		off        float64
		kept, runs int
		want       string
	}{
		{0.0019, 7, 7, "yes"},
		{0.0021, 7, 7, "no"},
		{0.0021, 3, 7, "no"},
		{0.0019, 3, 7, "yes, in the 3 of 7 runs that missed no slot"},
		{0, 0, 7, "slots were missed in all runs"},
	} {
		must.EqualFor(t, fmt.Sprintf("off by %g in %d of %d", c.off, c.kept, c.runs), c.want, withinAsked(c.off, c.kept, c.runs))
	}
}

func TestAsEven(t *testing.T) {
	good := evenness{p50: 9e-6, p99: 99e-6, burst: burst + 1}
	for _, c := range []struct {
		name string
		odd  evenness
		want string
	}{
		{"good", good, "yes"},
		// One run of three moves no median, but no burst may be over the cap.
		{"one uneven", evenness{p50: 1, p99: 1, burst: 1}, "yes"},
		{"one burst", evenness{burst: burst + 2}, "no"},
	} {
		must.EqualFor(t, c.name, c.want, asEven([]evenness{good, c.odd, good}))
	}
	must.EqualFor(t, "p50 of 11 us", "no", asEven([]evenness{{p50: 11e-6}}))
	must.EqualFor(t, "p99 of 101 us", "no", asEven([]evenness{{p99: 101e-6}}))
}
