package schedule

import (
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A pilot that rises for 3 s makes the warm-up of whole trials as long. Interleaved trials keep
// theirs.
func TestPilotsWarmWholeTrials(t *testing.T) {
	for name, c := range map[string]struct {
		slice, want time.Duration
	}{
		"whole":       {time.Hour, 3 * time.Second},
		"interleaved": {50 * time.Millisecond, 500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			w := study.Workload{ID: "w", Kind: "tcp_stream", Slice: quantity.Duration(c.slice), Warmup: quantity.WaitOf(500 * time.Millisecond), Duration: quantity.Duration(time.Second)}
			s := study.Study{Profile: study.Standard, Modes: study.ModesOf("host", "m"), Workloads: []study.Workload{w}, Blocks: 1, Pilot: quantity.WaitOf(10 * time.Second)}
			p := plan.Make(s)
			sc := New(config(s), p)
			for trial := range p.Trials() {
				if !trial.Pilot() {
					sc.Todo = append(sc.Todo, trial)
					continue
				}
				series := &result.Series{Metric: "goodput", Interval: 0.1}
				for i := range 100 {
					level := 1e9 + 1e5*float64(i%5) // batches are alike
					if i < 30 {
						level = 5e8
					}
					series.Values = append(series.Values, level)
				}
				sc.Record(result.Trial{Block: 0, Mode: trial.Mode, Workload: "w", Pilot: true, Status: result.TrialOK, Series: series, Window: 10})
			}
			sc.warm()
			must.EqualFor(t, "warm-up", c.want, sc.Todo[0].Workload.Warmup.Std())
			if pilots := sc.cfg.Report.Pilots; len(pilots) != 2 || pilots[0].Warmup == nil || *pilots[0].Warmup != 3 {
				t.Errorf("pilots %+v", pilots)
			}
		})
	}
}
