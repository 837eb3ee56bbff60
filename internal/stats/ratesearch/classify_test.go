package ratesearch

import (
	"slices"
	"testing"
)

// trials gives n trials of a million datagrams a second.
func trials(n int, seconds, loss float64) []Trial {
	sent := int64(1e6 * seconds)
	return slices.Repeat([]Trial{{
		Load: 1e6, Duration: seconds, Intended: sent, Sent: sent, Received: sent - int64(loss*float64(sent)+0.5),
	}}, n)
}

// Method 5, item 10: the example search of RFC 9971, appendix C. Its tables call the
// last load of points 5 and 6 a lower bound for the fourth goal, although their own
// sums, 42.857 % and 27.273 % of bad time, are above the 20 % allowed: an erratum.
// What the RFC's code gives is Upper.
func TestClassifyGolden(t *testing.T) {
	goals := []Goal{
		{Name: "60f60d0l0e", FinalDuration: 60, DurationSum: 60},
		{Name: "60f120d0l50e", FinalDuration: 60, DurationSum: 120, ExceedRatio: 0.5},
		{Name: "1f120d.5l50e", FinalDuration: 1, DurationSum: 120, LossRatio: 0.005, ExceedRatio: 0.5},
		{Name: "60f60d0.5l20e", FinalDuration: 60, DurationSum: 60, LossRatio: 0.005, ExceedRatio: 0.2},
	}
	points := []struct {
		added []Trial
		want  string
	}{
		{trials(59, 1, 0), "????"},
		{trials(1, 1, 0.01), "U???"},
		{trials(59, 1, 0.01), "U??U"},
		{trials(1, 1, 0), "U?LU"},
		{trials(1, 60, 0.001), "U?LU"},
		{trials(1, 60, 0), "ULLU"},
	}
	var all []Trial
	for i, p := range points {
		all = append(all, p.added...)
		got := ""
		for _, g := range goals {
			got += map[Class]string{Undecided: "?", Lower: "L", Upper: "U"}[Classify(g, all)]
		}
		if got != p.want {
			t.Errorf("point %d: %s, want %s", i+1, got, p.want)
		}
	}
	for i, want := range []float64{1: 1e6, 2: 1e6, 3: 999e3} {
		if i == 0 {
			continue // an upper bound has none
		}
		if got := Throughput(goals[i], 1e6, all); got != want {
			t.Errorf("%s: conditional throughput %g, want %g", goals[i].Name, got, want)
		}
	}
}
