package analysis

import (
	"fmt"
	"math"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// Of a run whose end is lost, the trials tell at which rate its pass was, and how that had
// been chosen.
func TestCostPassOfTrials(t *testing.T) {
	s := study.Study{
		Modes:     study.ModesOf("host", "m"),
		CostPass:  study.CostPass{Rate: study.PassAuto, FromBlock: 2, Every: 1, Times: 2, Warmup: study.WaitOf(0), Duration: study.Duration(time.Second)},
		Workloads: []study.Workload{{ID: "t", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Duration: study.Duration(time.Second)}},
	}
	killed := result.Run{Status: result.RunInterrupted, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "m", Status: result.ModeMeasured}}}
	of := func(s study.Study, trials ...result.Trial) *result.CostPass {
		e := &evaluation{run: killed, in: Evidence{Study: s, Trials: trials}}
		e.passed()
		return e.run.CostPass
	}
	if c := of(s); c == nil || c.Missing != "the run ended before its rate could be chosen" || c.Rate != 0 {
		t.Errorf("without trials: %+v", c)
	}
	if c := of(s, result.Trial{Workload: "t"}, result.Trial{Workload: study.CostPassID, Rate: 4e9}); c == nil || c.Missing != "" || c.Rate != 4e9 || c.Asked != "auto" || c.Of != "" {
		t.Errorf("with a trial of the pass: %+v", c)
	}
	trial := func(mode string, goodput float64) result.Trial {
		return result.Trial{Block: 1, Mode: mode, Workload: "t", Status: result.TrialOK, Metrics: map[string]float64{"goodput": goodput}}
	}
	c := of(s, trial("host", 9e9), trial("m", 8e9), result.Trial{Block: 2, Mode: "m", Workload: study.CostPassID, Rate: 4e9})
	if want := (result.CostPass{Asked: "auto", Kind: "tcp_stream", Rate: 4e9, Of: "m", Workload: "t", Block: 1}); c == nil || *c != want {
		t.Errorf("%+v, want %+v", c, want)
	}
	s.CostPass = study.CostPass{Rate: study.NoPass}
	must.Equal(t, (*result.CostPass)(nil), of(s))
}

func TestPassRate(t *testing.T) {
	for of, want := range map[float64]float64{
		9.99e9: 4.99e9, 10e9: 5e9, 4.4449e9: 2.22e9, 123456: 61700, 2000: 1000, 555: 277, 2: 1, 1: 0, 0: 0, -5: 0, math.Inf(1): 0,
	} {
		must.EqualFor(t, fmt.Sprintf("half of %g", of), want, passRate(of))
	}
	must.EqualFor(t, "half of NaN", 0.0, passRate(math.NaN()))
}
