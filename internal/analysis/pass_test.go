package analysis

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// Of a run whose end is lost, the trials tell at which rate its pass was, and how that had
// been chosen.
func TestCostPassOfTrials(t *testing.T) {
	s := study.Study{
		Modes:     study.ModesOf("host", "m"),
		CostPass:  study.CostPass{Rate: quantity.PassAuto, FromBlock: 2, Every: 1, Times: 2, Warmup: quantity.WaitOf(0), Duration: quantity.Duration(time.Second)},
		Workloads: []study.Workload{{ID: "t", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Duration: quantity.Duration(time.Second)}},
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
	want := (result.CostPass{Asked: "auto", Kind: "tcp_stream", Rate: 4e9, Of: "m", Workload: "t", Block: 1})
	must.True(t, c != nil && *c == want, "%+v, want %+v", c, want)
	s.CostPass = study.CostPass{Rate: quantity.NoPass}
	must.Equal(t, (*result.CostPass)(nil), of(s))
}

// A breakdown with too many unknown or lost samples has a warning.
func TestBreakdownWarns(t *testing.T) {
	trial := func(mode string, unknown, lost int) result.Trial {
		return result.Trial{Mode: mode, Workload: study.CostPassID, Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1e9},
			Stacks: &result.Stacks{CPUs: 1, Busy: 100, Lost: lost, Components: map[string]int{"copy": 100 - unknown, result.Unclassified: unknown}}}
	}
	e := &evaluation{in: Evidence{Study: study.Study{
		Blocks: 2, CostPass: study.CostPass{Rate: 1e9, FromBlock: 1, Every: 1, Duration: 1e9}, Workloads: []study.Workload{{ID: "t", Kind: "tcp_stream"}},
	}}}
	e.run.Modes = []result.Mode{{ID: "good", Status: result.ModeMeasured}, {ID: "odd", Status: result.ModeMeasured}, {ID: "busy", Status: result.ModeMeasured}}
	e.in.Trials = []result.Trial{trial("good", 15, 5), trial("odd", 16, 0), trial("busy", 0, 20)}
	e.breakdowns()
	must.Require(t, len(e.run.Breakdowns) == 3 && e.run.Breakdowns[0].File == "stacks/good.cost_pass.folded", "%+v", e.run.Breakdowns)
	codes := map[string]string{}
	for _, w := range e.run.Warnings {
		codes[w.Code] = w.Scope
	}
	must.EqualFor(t, fmt.Sprintf("warnings %+v", e.run.Warnings), []any{2, "odd cost_pass", "busy cost_pass"}, []any{len(codes), codes["stacks_unknown"], codes["stacks_lost"]})
}
