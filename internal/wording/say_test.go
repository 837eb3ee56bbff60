package wording

import (
	"math"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/testkit/must"
)

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"":                         "",
		"netns/vxlan":              "netns/vxlan",
		"two\r\nlines\tand  more ": "two lines and  more",
		"\x1b[31mred\x1b[0m":       "[31mred[0m",
		"a\u202eb\u2066c\u200fd":   "abcd",
		"nul\x00del\x7fc1\u009b":   "nuldelc1",
		"bad \xff utf":             "bad \ufffd utf",
		"zero\u200bwidth\ufeff":    "zerowidth",
		"line\u2028sep\u0085x":     "line sep x",
		"grüße 世界":                 "grüße 世界",
	} {
		must.EqualFor(t, in, want, Clean(in))
	}
}

func TestCutAndWrap(t *testing.T) {
	must.Equal(t, "abcd...", Cut("abcdefgh", 7))
	must.Equal(t, "世...", Cut("世界世界", 6))
	for _, c := range []struct {
		text  string
		width int
		want  []string
	}{
		{"", 10, []string{""}},
		{"one two three", 7, []string{"one two", "three"}},
		{"a abcdefghijk b", 4, []string{"a", "abcd", "efgh", "ijk", "b"}},
		{"世界世界", 3, []string{"世", "界", "世", "界"}},
		{"世", 1, []string{"世"}},
		{"same within 5 %", 13, []string{"same within", "5 %"}}, // a number keeps its sign
		{"% of what", 4, []string{"% of", "what"}},
	} {
		must.EqualFor(t, c.text, c.want, Wrap(c.text, c.width))
	}
}

func TestValue(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{23.41e9, "bit/s", "23.4 Gbit/s"},
		{999.6e6, "bit/s", "1.00 Gbit/s"},
		{941.2e6, "bit/s", "941 Mbit/s"},
		{12, "bit/s", "12.0 bit/s"},
		{1.2345e13, "bit/s", "12.3 Tbit/s"},
		{0, "bit/s", "0 bit/s"},
		{22.6e-6, "s", "22.6 us"},
		{0.0015, "s", "1.50 ms"},
		{9.996e-6, "s", "10.0 us"},
		{850e-9, "s", "850 ns"},
		{75, "s", "75.0 s"},
		{41234, "1/s", "41.2 k/s"},
		{7, "1/s", "7.00 /s"},
		{118, "segments", "118 segments"},
		{0, "segments", "0 segments"},
		{14.37, "segments", "14.4 segments"},
		{123456, "segments", "123456 segments"},
		{0.0123, "ratio", "1.23 %"},
		{1.5, "CPU s/Gbit", "1.50 CPU s/Gbit"},
		{2, "", "2.00"},
		{math.NaN(), "s", "-"},
		{math.Inf(1), "s", "-"},
	} {
		must.EqualFor(t, c.v, c.want, Value(c.v, c.unit))
	}
}

func TestEstimate(t *testing.T) {
	gbit := ScaleFor("bit/s", 23e9)
	for _, c := range []struct {
		s    Scale
		v    *float64
		ci   *result.Interval
		want string
	}{
		{gbit, ptr(23.4e9), &result.Interval{22.9e9, 23.9e9}, "23.4 (22.9-23.9)"},
		{gbit, ptr(0.8e9), &result.Interval{0.79e9, 0.81e9}, "0.800 (0.790-0.810)"},
		{gbit, ptr(23.41e9), &result.Interval{23.402e9, 23.418e9}, "23.41 (23.40-23.42)"},
		{gbit, ptr(23.4e9), nil, "23.4"},
		{gbit, nil, &result.Interval{1, 2}, "-"},
		{gbit, ptr(math.NaN()), nil, "-"},
		{gbit, ptr(0.0), &result.Interval{}, "0"},
		{ScaleFor("segments", 12), ptr(12.4), &result.Interval{-4, 28.8}, "12.4 (-4.0 to 28.8)"},
		{ScaleFor("segments", 12), ptr(12.0), &result.Interval{10.2, 13.9}, "12 (10-14)"},
	} {
		must.Equal(t, c.want, c.s.Estimate(c.v, c.ci))
	}
}

func TestRatio(t *testing.T) {
	for _, c := range []struct {
		r    *float64
		ci   *result.Interval
		want string
	}{
		{ptr(0.83), &result.Interval{0.81, 0.86}, "0.83 (0.81-0.86)"},
		{ptr(0.95), &result.Interval{0.90, 0.998}, "0.950 (0.900-0.998)"}, // does not seem to reach 1
		{ptr(1.0), &result.Interval{0.9982, 1.0021}, "1.000 (0.998-1.002)"},
		{ptr(1.0), &result.Interval{0.99999, 1.00001}, "1.0000 (1.0000-1.0000)"},
		{ptr(1.0), &result.Interval{1, 1}, "1.00 (1.00-1.00)"},
		{ptr(0.0043), &result.Interval{0.0041, 0.0045}, "0.0043 (0.0041-0.0045)"},
		{ptr(12.34), &result.Interval{11.8, 12.9}, "12.3 (11.8-12.9)"},
		{ptr(0.5), nil, "0.50"},
		{ptr(0.5), &result.Interval{0.1, math.Inf(1)}, "0.50"},
		{nil, nil, "-"},
	} {
		must.Equal(t, c.want, Ratio(c.r, c.ci))
	}
}

func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		name string
		cell result.Cell
		want string
	}{
		{"worse", result.Cell{Judgement: result.Judgement{Verdict: result.Worse, Ratio: ptr(0.83), RatioCI: &result.Interval{0.81, 0.86}}, Better: result.Higher},
			"worse: 0.83 (0.81-0.86) of host"},
		{"worse where lower is better", result.Cell{Judgement: result.Judgement{Verdict: result.Worse, Ratio: ptr(1.3), RatioCI: &result.Interval{1.25, 1.36}}, Better: result.Lower},
			"worse: 1.30 (1.25-1.36) times host"},
		{"better", result.Cell{Judgement: result.Judgement{Verdict: result.Better, Ratio: ptr(1.07), RatioCI: &result.Interval{1.02, 1.12}}, Better: result.Higher},
			"better: 1.07 (1.02-1.12) times host"},
		{"better where lower is better", result.Cell{Judgement: result.Judgement{Verdict: result.Better, Ratio: ptr(0.8), RatioCI: &result.Interval{0.7, 0.9}}, Better: result.Lower},
			"better: 0.80 (0.70-0.90) of host"},
		{"worse without a figure", result.Cell{Judgement: result.Judgement{Verdict: result.Worse}}, "worse than host"},
		{"same", result.Cell{Judgement: result.Judgement{Verdict: result.Same, Margin: 0.05}}, "same within 5 %"},
		{"same, odd margin", result.Cell{Judgement: result.Judgement{Verdict: result.Same, Margin: 0.025}}, "same within 2.5 %"},
		{"small", result.Cell{Judgement: result.Judgement{Verdict: result.Small, Margin: 0.05}}, "different, but less than 5 %"},
		{"small, no margin", result.Cell{Judgement: result.Judgement{Verdict: result.Small}}, "different, but less than the margin"},
		{"cannot tell", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.91, 1.04}, BlocksNeeded: ptr(12)}},
			"cannot tell: between -9 % and +4 %; about 12 more blocks"},
		{"cannot tell, one block", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.9852, 1.0004}, BlocksNeeded: ptr(1)}},
			"cannot tell: between -1.5 % and 0 %; about 1 more block"},
		{"cannot tell after correction", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.91, 0.97}}},
			"cannot tell: between -9 % and -3 %; not after correction for several comparisons"},
		{"two blocks", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.91, 0.97}}, Baseline: "host", N: 2},
			"cannot tell: between -9 % and -3 %; indicative: fewer than three blocks"},
		{"two values of the baseline", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, P: new(0.01), RatioCI: &result.Interval{0.91, 0.97}}, Baseline: "host", N: 9, Unpaired: true},
			"cannot tell: between -9 % and -3 %; indicative: fewer than three values of each"},
		{"cannot tell, wide", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.1, 12}}},
			"cannot tell: between 0.10 and 12.0 times host"},
		{"cannot tell, nearly anything", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{2.2e-8, 530703}}},
			"cannot tell: from less than a hundredth to more than a hundred times host"},
		{"cannot tell, far away", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.01098, 0.01167}}},
			"cannot tell: between 0.011 and 0.012 of host; not after correction for several comparisons"},
		{"cannot tell, near each other", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.71012, 0.71049}}},
			"cannot tell: between 0.7101 and 0.7105 of host; not after correction for several comparisons"},
		{"cannot tell, generator", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell, RatioCI: &result.Interval{0.91, 1.04}}, AtLeast: true},
			"cannot tell: the generator could not keep up"},
		{"cannot tell, the search's end", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell}, Metric: "throughput_0", AtLeast: true},
			"cannot tell: no higher load could be offered"},
		{"cannot tell, nothing known", result.Cell{Judgement: result.Judgement{Verdict: result.CannotTell}}, "cannot tell"},
		{"of one set-up", result.Cell{Judgement: result.Judgement{Verdict: result.Same, Margin: 0.05, Setups: 1}, N: 7}, "same within 5 %; indicative: of one set-up"},
		{"not judged", result.Cell{}, "not judged"},
		{"from the future", result.Cell{Judgement: result.Judgement{Verdict: "odd\x1b"}}, "unknown verdict: odd"},
	} {
		c.cell.Baseline = "host"
		must.EqualFor(t, c.name, c.want, Verdict(c.cell))
	}
	must.Equal(t, "not compared", Verdict(result.Cell{}))
}

func TestSmallThings(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Duration(0), "0 s"},
		{Duration(-1), "-"},
		{Duration(12 * time.Millisecond), "12 ms"},
		{Duration(96 * time.Millisecond), "0.1 s"},
		{Duration(2345 * time.Millisecond), "2.3 s"},
		{Duration(9970 * time.Millisecond), "10 s"},
		{Duration(38 * time.Second), "38 s"},
		{Duration(80 * time.Second), "1 min 20 s"},
		{Duration(2 * time.Minute), "2 min"},
		{Duration(125*time.Minute + 10*time.Second), "2 h 5 min"},
		{Duration(time.Hour), "1 h"},
		{Time(time.Time{}), "unknown"},
		{Time(time.Date(2026, 8, 1, 12, 0, 0, 0, time.FixedZone("", 7200))), "2026-08-01 10:00:00 UTC"},
		{P(nil), "-"},
		{P(ptr(0.0001)), "<0.001"},
		{P(ptr(0.0123)), "0.012"},
		{P(ptr(0.5)), "0.50"},
		{Percent(0.1), "10 %"},
		{Percent(0.047), "4.7 %"},
		{Percent(0.123), "12 %"},
		{Percent(math.NaN()), "-"},
		{Change(1), "0 %"},
		{Change(0.9999), "0 %"},
		{Change(0.996), "-0.4 %"},
		{Word(result.CannotTell), "cannot tell"},
		{AtLeast(result.Cell{AtLeast: true}, "23.4"), "≥ 23.4"},
		{AtLeast(result.Cell{AtLeast: true}, Unknown), Unknown},
		{AtLeast(result.Cell{}, "23.4"), "23.4"},
		{Count(1, "block", "blocks"), "1 block"},
		{Lossy(0, 21, "trials"), "0 of 21 trials lossy: < 13 % of trials"},
		{Lossy(1, 5, "trials"), "1 of 5 trials lossy (1-72 %)"},
		{Lossy(5, 5, "steps"), "5 of 5 steps lossy (48-100 %)"},
		{Lossy(0, 0, "trials"), "0 of 0 trials lossy"},
		{Plain(2), "2"},
		{Plain(0.5), "0.5"},
		{Plain(math.Inf(1)), "-"},
	} {
		must.Equal(t, c.want, c.got)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("plain", 10)
	f.Add("\x1b]0;title\x07\u202e\xff", 3)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = max(4, width%200)
		c := Clean(s)
		must.EqualFor(t, "cleaning twice", c, Clean(c))
		if w := Width(Cut(c, width)); w > width {
			t.Errorf("cut to %d is %d wide", width, w)
		}
		for _, l := range Wrap(c, width) {
			if Width(l) > width {
				t.Errorf("line of %d in %d: %q", Width(l), width, l)
			}
		}
	})
}

func ptr[T any](v T) *T { return &v }

func TestBlocks(t *testing.T) {
	for want, c := range map[string]result.Cell{"7": {N: 7}, "7 (4 set-ups)": {N: 7, Judgement: result.Judgement{Setups: 4}}, "7 (1 set-up)": {N: 7, Judgement: result.Judgement{Setups: 1}}} {
		must.Equal(t, want, Blocks(c))
	}
}
