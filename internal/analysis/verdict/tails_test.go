package verdict

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"tare/internal/analysis/readings"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// tailStudy are trials of the host and a mode, whose 99.9th percentile in the closed loop is Alike, and with tails, where the
// mode is stalled for 100 ms in every trial.
func tailStudy(tails bool) []result.Trial {
	rng := rand.New(rand.NewPCG(7, 7))
	var out []result.Trial
	for b := 1; b <= 8; b++ {
		for _, mode := range []string{"host", "mode0"} {
			trial := result.Trial{Block: b, Setup: b, Mode: mode, Workload: "rr", Status: result.TrialOK,
				Metrics: map[string]float64{"transaction_rate": 1e4, "rtt_p99": 40e-6, "rtt_p999": 60e-6 * (1 + 0.01*rng.Float64())}}
			out = append(out, trial)
			if !tails {
				continue
			}
			times := map[float64]int64{}
			for i := range 15000 {
				d := 20e-6 + 10e-6*rng.ExpFloat64()
				if mode == "mode0" && i < 500 {
					d = 0.1 * float64(i+1) / 500
				}
				times[d]++
			}
			trial.TailRate, trial.Metrics = 5000, map[string]float64{"rtt_p999": 1}
			trial.Distributions = []result.Distribution{*result.Distribute("rtt", times)}
			out = append(out, trial)
		}
	}
	return out
}

func tailCell(t *testing.T, trials []result.Trial, mode, metric string) *result.Cell {
	t.Helper()
	cells, _ := Cells(Alike(1), []string{"rr"}, trials, Rule{Margin: 0.05})
	var found *result.Cell
	for i := range cells {
		if cells[i].Mode == mode && cells[i].Metric == metric {
			if found != nil {
				t.Fatalf("two cells: %+v and %+v", *found, cells[i])
			}
			found = &cells[i]
		}
	}
	return found
}

// Without the tail pass a percentile beyond the 99th has a value, no verdict, and a reason. With it, the value and the verdict are those of its
// trials; the 99th stays that of the others.
func TestTails(t *testing.T) {
	c := tailCell(t, tailStudy(false), "mode0", "rtt_p999")
	must.True(t, c != nil && c.Value != nil && c.Ratio == nil && c.Verdict == "" && c.Unjudged == noTails, "without the pass: %+v", c)
	p99 := tailCell(t, tailStudy(true), "mode0", "rtt_p99")
	must.True(t, p99 != nil && (*p99.Value == 40e-6 || math.Abs(*p99.Value-40e-6) <= 1e-9) && p99.Tail == nil, "the 99th percentile: %+v", p99)
	for metric, want := range map[string]float64{"rtt_p999": 97e-3, "rtt_p9999": 99.7e-3} {
		c = tailCell(t, tailStudy(true), "mode0", metric)
		if c == nil || c.Value == nil || math.Abs(*c.Value-want) > 0.1*want || c.Verdict != result.Worse || !(c.RatioCI[0] > 100) || c.N != 8 {
			t.Errorf("%s: %+v", metric, c)
			continue
		}
		must.Equal(t, result.Tail{Rate: 5000, Exchanges: 8 * 15000, Above: c.Tail.Above}, *c.Tail)
	}
	host := tailCell(t, tailStudy(true), "host", "rtt_p999")
	must.True(t, host != nil && host.Verdict == "" && host.CI != nil && host.CI[0] < *host.Value && *host.Value < host.CI[1], "the host: %+v", host)
}

// A generator that left out requests, lost exchanges and too few of them are no verdict, or a lower bound.
func TestTailsWithoutVerdict(t *testing.T) {
	change := func(do func(*result.Trial)) []result.Trial {
		trials := tailStudy(true)
		for i := range trials {
			if trials[i].TailRate > 0 {
				do(&trials[i])
			}
		}
		return trials
	}
	late := 0.01
	for name, tt := range map[string]struct {
		do     func(*result.Trial)
		metric string
		says   string
	}{
		"the baseline is late": {func(t *result.Trial) {
			if t.Mode == "host" {
				t.GeneratorLimited = &late
			}
		}, "rtt_p999", "not judged: the generator left out requests of host"},
		"the baseline failed": {func(t *result.Trial) {
			if t.Mode == "host" {
				t.Status = result.TrialFailed
			}
		}, "rtt_p999", "not judged: host has no valid trial of the tail pass"},
		"few exchanges": {func(t *result.Trial) {
			for i := range t.Distributions[0].Counts {
				t.Distributions[0].Counts[i] = min(1, t.Distributions[0].Counts[i])
			}
		}, "rtt_p9999", "not judged: too few exchanges beyond the percentile"},
	} {
		c := tailCell(t, change(tt.do), "mode0", tt.metric)
		if c == nil || c.Ratio != nil || c.Verdict != "" {
			t.Errorf("%s: %+v", name, c)
			continue
		}
		must.ContainFor(t, name, c.Unjudged, tt.says)
	}
	none := change(func(t *result.Trial) { t.Status = result.TrialInvalid })
	must.Equal(t, "not judged: no trial of the tail pass is valid", tailCell(t, none, "mode0", "rtt_p999").Unjudged)
	// Lost exchanges are longer than any other: of a hundredth, no percentile beyond the 99th is known.
	lost := change(func(t *result.Trial) {
		if t.Mode == "mode0" {
			t.Metrics["loss_ratio"] = 0.011
		}
	})
	c := tailCell(t, lost, "mode0", "rtt_p999")
	must.True(t, c == nil || c.Tail == nil, "lost exchanges: %+v", c)
}

// Cells of earlier versions lose what the tail pass would have to show, and no others lose anything.
func TestWithoutTails(t *testing.T) {
	ratio := 1.2
	old := result.Cell{Metric: "rtt_p999", Baseline: "host", Judgement: result.Judgement{Ratio: &ratio, RatioCI: &result.Interval{1.1, 1.3}, Verdict: result.Worse}, N: 7}
	must.Equal(t, result.Cell{Metric: "rtt_p999", Baseline: "host", N: 7, Unjudged: noTails}, WithoutTails(old))
	old.Metric = "rtt_p99"
	must.Equal(t, old, WithoutTails(old))
}

// The rate is half of that of the slowest mode that was measured.
func TestTailRate(t *testing.T) {
	var values readings.Table
	for i, mode := range []string{"a", "b", "c"} {
		values.Add(result.Trial{Block: 1, Mode: mode, Workload: "rr", Status: result.TrialOK, Metrics: map[string]float64{"transaction_rate": []float64{40002, 20004, 100}[i]}})
	}
	modes := []result.Mode{{ID: "a", Status: result.ModeMeasured}, {ID: "b", Status: result.ModeMeasured}, {ID: "c", Status: result.ModeVoid}}
	must.Equal(t, 10000.0, TailRate(modes, &values, "rr"))
	must.Equal(t, 0.0, TailRate(modes, &values, "other"))
}

func TestPassRate(t *testing.T) {
	for of, want := range map[float64]float64{
		9.99e9: 4.99e9, 10e9: 5e9, 4.4449e9: 2.22e9, 123456: 61700, 2000: 1000, 555: 277, 2: 1, 1: 0, 0: 0, -5: 0, math.Inf(1): 0,
	} {
		must.EqualFor(t, fmt.Sprintf("half of %g", of), want, PassRate(of))
	}
	must.EqualFor(t, "half of NaN", 0.0, PassRate(math.NaN()))
}
