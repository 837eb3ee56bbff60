package schedule

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"tare/internal/live"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/stats"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/warning"
)

// config is that of a run of two modes without a listener.
func config(s study.Study) Config {
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Baseline: "host", Status: result.ModeMeasured}}
	return Config{
		Study: s, Report: &result.Run{}, Modes: func() []result.Mode { return modes }, SetupTime: func(string) time.Duration { return 0 },
		Tell: func(live.Event) {}, Warn: func(warning.Code, string, string, ...any) {},
	}
}

// made is a run after so many blocks of two modes, whose samples scatter by within
// (of half a second) and whose trials by between beyond that, as parts of the level.
func made(blocks int, within, between float64) *Schedule {
	rng := rand.New(rand.NewPCG(5, 7))
	w := study.Workload{ID: "w", Kind: "tcp_stream", Slice: quantity.AtOnce, Warmup: quantity.WaitOf(time.Second), Duration: quantity.Duration(4 * time.Second),
		DurationMin: quantity.Duration(2 * time.Second), DurationMax: quantity.Duration(15 * time.Second)}
	r := New(config(study.Study{Profile: study.Standard, Margin: 0.05, Stop: &study.Stop{MinBlocks: 5, Width: 0.025, ExtraBlocks: 2}}),
		plan.Plan{Blocks: 12, Workloads: []study.Workload{w}, Settle: 300 * time.Millisecond})
	r.Began, r.Announced = time.Now(), time.Hour
	for block := 1; block <= 12; block++ {
		for _, m := range r.cfg.Modes() {
			if block > blocks {
				r.Todo = append(r.Todo, plan.Trial{Block: block, Mode: m.ID, Workload: w})
				continue
			}
			level := 1e9 * math.Exp(between*rng.NormFloat64())
			series := &result.Series{Metric: "goodput", Interval: 0.1}
			for range 8 { // half a second each, five samples alike
				half := level * math.Exp(within*rng.NormFloat64())
				for range 5 {
					series.Values = append(series.Values, half)
				}
			}
			r.Record(result.Trial{Block: block, Mode: m.ID, Workload: "w", Status: result.TrialOK, Series: series, Window: 4})
		}
	}
	return r
}

// Method 1.5: trials become longer where their own samples are what scatters, shorter
// where it is the trials, and stay as they are where that is narrow enough.
func TestLengths(t *testing.T) {
	for name, c := range map[string]struct {
		within, between float64
		from, to        time.Duration
	}{
		"samples scatter":         {0.20, 0, 8 * time.Second, 15 * time.Second},
		"trials scatter":          {0.01, 0.10, 2 * time.Second, 3 * time.Second},
		"both":                    {0.06, 0.03, 3 * time.Second, 15 * time.Second},
		"nothing that would tell": {0.001, 0.001, 4 * time.Second, 4 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			r := made(3, c.within, c.between)
			r.lengthen()
			for _, trial := range r.Todo {
				if d := trial.Workload.Duration.Std(); d < c.from || d > c.to || d != r.Todo[0].Workload.Duration.Std() {
					t.Fatalf("block %d of %s is timed %s, want %s to %s, the same for all", trial.Block, trial.Mode, d, c.from, c.to)
				}
			}
			must.EqualFor(t, fmt.Sprintf("recorded %+v", r.cfg.Report.Lengths), len(r.cfg.Report.Lengths) == 1, r.Todo[0].Workload.Duration.Std() != 4*time.Second)
		})
	}
}

// They are looked at after the third block, in runs that stop by themselves, once.
func TestLengthsWhen(t *testing.T) {
	if r := made(2, 0.2, 0); true {
		r.lengthen()
		must.EqualFor(t, "lengths chosen after 2 blocks", 0, len(r.chosen))
	}
	r := made(3, 0.2, 0)
	r.cfg.Study.Stop = nil
	r.lengthen()
	must.EqualFor(t, fmt.Sprintf("a run of fixed blocks chose %+v", r.cfg.Report.Lengths), 0, len(r.cfg.Report.Lengths))
	r = made(3, 0.2, 0)
	r.lengthen()
	r.lengthen()
	must.EqualFor(t, fmt.Sprintf("chosen %+v", r.cfg.Report.Lengths), 1, len(r.cfg.Report.Lengths))
}

// No length is chosen that the run's time could not hold.
func TestLengthsInTime(t *testing.T) {
	r := made(3, 0.2, 0)
	r.Announced = r.Plan.Estimate(r.Todo)
	r.lengthen()
	if total, limit := r.Plan.Estimate(r.Todo), r.Limit(); total > limit {
		t.Errorf("trials of %s take %s, the limit is %s", r.Todo[0].Workload.Duration, total, limit)
	}
	must.True(t, len(r.cfg.Report.Lengths) == 1 && r.cfg.Report.Lengths[0].Duration > 4, "lengths %+v, want longer trials within the limit", r.cfg.Report.Lengths)
}

// A run that is resumed keeps to the length it had chosen.
func TestLengthsResumed(t *testing.T) {
	r := made(3, 0.2, 0)
	r.Record(result.Trial{Block: 4, Mode: "host", Workload: "w", Status: result.TrialOK, Window: 7.5})
	r.earlier = len(r.outcomes)
	r.lengthen()
	must.EqualFor(t, "timed", 7500*time.Millisecond, r.Todo[0].Workload.Duration.Std())
}

func TestNeeded(t *testing.T) {
	stop := &study.Stop{MinBlocks: 5, Width: 0.025, ExtraBlocks: 2}
	aim := math.Log1p(stop.Width)
	for _, c := range []struct {
		sd   float64
		want int
	}{{0, 5}, {0.01, 5}, {0.03, 11}, {0.2, 12}} {
		must.EqualFor(t, fmt.Sprintf("spread of %g", c.sd), c.want, needed(stats.Components{Between: c.sd * c.sd}, time.Second, time.Second, aim, stop, 12))
	}
}
