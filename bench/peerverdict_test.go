package main

import "testing"

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
		if got := withinAsked(c.off, c.kept, c.runs); got != c.want {
			t.Errorf("off by %g in %d of %d runs: %q, want %q", c.off, c.kept, c.runs, got, c.want)
		}
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
		if got := asEven([]evenness{good, c.odd, good}); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	if got := asEven([]evenness{{p50: 11e-6}}); got != "no" {
		t.Errorf("p50 of 11 us: %s", got)
	}
	if got := asEven([]evenness{{p99: 101e-6}}); got != "no" {
		t.Errorf("p99 of 101 us: %s", got)
	}
}

func TestDominated(t *testing.T) {
	even, uneven := []evenness{{p50: 1, p99: 2}}, []evenness{{p50: 3, p99: 4}}
	for _, c := range []struct {
		ours, theirs float64
		us, them     []evenness
		want         string
	}{
		{2, 1, uneven, even, "yes"},
		{1, 2, uneven, even, "no"}, // dearer
		{2, 1, even, uneven, "no"}, // less even
		{1, 1, even, even, "no"},
	} {
		if got := dominated(c.ours, c.theirs, c.us, c.them); got != c.want {
			t.Errorf("%+v: %s, want %s", c, got, c.want)
		}
	}
}
