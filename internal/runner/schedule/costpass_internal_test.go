package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tare/internal/analysis"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// halfway is a run of two modes before its block of that number, whose trials of one
// second each had what speed says.
func halfway(before int, rate quantity.PassRate, speed func(mode string, block int) (bitPerSecond float64, status result.TrialStatus)) *Schedule {
	s := study.Study{
		Seed: 3, Blocks: 4, Modes: study.ModesOf("host", "m"),
		CostPass:  study.CostPass{Rate: rate, FromBlock: 2, Every: 1, Times: 2, Warmup: quantity.WaitOf(0), Duration: quantity.Duration(time.Second)},
		Workloads: []study.Workload{{ID: "t", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Duration: quantity.Duration(time.Second)}},
	}
	r := New(config(s), plan.Make(s))
	r.Began = time.Now()
	for t := range r.Plan.Trials() {
		if t.Block >= before {
			r.Todo = append(r.Todo, t)
		} else if v, status := speed(t.Mode, t.Block); !t.InCostPass() {
			r.Record(result.Trial{Block: t.Block, Mode: t.Mode, Workload: "t", Status: status, Metrics: map[string]float64{"goodput": v}})
		}
	}
	r.cfg.Report.CostPass = analysis.RequestedPass(s)
	return r
}

func steadily(mode string, _ int) (float64, result.TrialStatus) {
	return map[string]float64{"host": 9.99e9, "m": 4.4449e9}[mode], result.TrialOK
}

// The rate is half of what the slowest mode had, rounded down, the same for all trials
// of the pass, and chosen once.
func TestChoosePass(t *testing.T) {
	r := halfway(2, quantity.PassAuto, steadily)
	r.choosePass()
	want := result.CostPass{Asked: "auto", Kind: "tcp_stream", Rate: 2.22e9, Of: "m", Workload: "t", Block: 1}
	must.Equal(t, want, *r.cfg.Report.CostPass)
	n := 0
	for _, tr := range slices.Concat(r.Todo, slices.Collect(r.Plan.Trials())) {
		switch {
		case tr.InCostPass() && tr.Workload.Rate == 2.22e9:
			n++
		case tr.InCostPass() || tr.Workload.Rate != 0:
			t.Errorf("%s in block %d at %s", tr.Workload.ID, tr.Block, tr.Workload.Rate)
		}
	}
	must.Equal(t, 8, n)
	r.Record(result.Trial{Block: 2, Mode: "m", Workload: "t", Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1e9}})
	r.choosePass()
	must.EqualFor(t, fmt.Sprintf("chosen again: %+v", *r.cfg.Report.CostPass), 2.22e9, r.cfg.Report.CostPass.Rate)
}

// A mode without a trial that counts is waited for, for a block; then what is known
// decides. The pass is left out of the blocks before.
func TestChoosePassLater(t *testing.T) {
	r := halfway(2, quantity.PassAuto, func(mode string, _ int) (float64, result.TrialStatus) {
		return 1e9, map[string]result.TrialStatus{"host": result.TrialInvalid, "m": result.TrialFailed}[mode]
	})
	r.choosePass()
	must.Require(t, r.cfg.Report.CostPass.Rate == 0 && !slices.ContainsFunc(r.Todo, func(tr plan.Trial) bool { return tr.InCostPass() && tr.Block == 2 }),
		"a pass in block 2 at %g bit/s", r.cfg.Report.CostPass.Rate)
	must.Require(t, slices.ContainsFunc(r.Todo, func(tr plan.Trial) bool { return tr.InCostPass() && tr.Block == 3 }), "no pass left for block 3")
	r.Todo = slices.DeleteFunc(r.Todo, func(tr plan.Trial) bool { return tr.Block == 2 })
	r.choosePass()
	if c := r.cfg.Report.CostPass; c.Rate != 5e8 || c.Of != "host" || c.Block != 2 {
		t.Errorf("%+v, want half of the host's after block 2", *c)
	}
}

// A run that is resumed goes on at the rate it had, also where its block 1 was run
// again in part, and where all that is left is to be made up for.
func TestChoosePassResumed(t *testing.T) {
	r := halfway(3, quantity.PassAuto, steadily)
	r.Record(result.Trial{Block: 1, Mode: "m", Workload: "t", Requeued: true, Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1e6}})
	r.choosePass()
	if c := r.cfg.Report.CostPass; c.Rate != 2.22e9 || c.Block != 1 {
		t.Errorf("%+v: what was run again decided", *c)
	}
	r = halfway(5, quantity.PassAuto, steadily)
	r.Record(result.Trial{Block: 2, Mode: "m", Workload: study.CostPassID, Rate: 1.5e9, Status: result.TrialOK})
	r.choosePass()
	if c := r.cfg.Report.CostPass; c.Rate != 1.5e9 || c.Of != "" {
		t.Errorf("%+v, want the rate that there was", *c)
	}
	for tr := range r.Plan.Trials() {
		must.True(t, !tr.InCostPass() || tr.Workload.Rate == 1.5e9, "made up for at %s", tr.Workload.Rate)
	}
}

// Without anything to choose from there is no pass, and the run says so once.
func TestNoPass(t *testing.T) {
	r := halfway(2, quantity.PassAuto, func(string, int) (float64, result.TrialStatus) { return 0, result.TrialFailed })
	r.cfg.Report.Status = result.RunComplete
	for block := 2; block <= 4; block++ {
		r.choosePass()
		must.True(t, !slices.ContainsFunc(r.Todo, func(tr plan.Trial) bool { return tr.InCostPass() && tr.Block == block }), "a pass without a rate in block %d", block)
		r.Todo = slices.DeleteFunc(r.Todo, func(tr plan.Trial) bool { return tr.Block == block })
	}
	r.cfg.Report.Modes = r.cfg.Modes()
	*r.cfg.Report = analysis.Evaluate(*r.cfg.Report, analysis.Evidence{Study: r.cfg.Study, Lab: true})
	if c := r.cfg.Report.CostPass; c.Missing == "" || len(r.cfg.Report.Warnings) != 1 || r.cfg.Report.Warnings[0].Code != "cost_pass_missing" {
		t.Errorf("%+v, warnings %+v", *c, r.cfg.Report.Warnings)
	}
	r = halfway(2, 3e9, steadily)
	r.choosePass()
	must.Equal(t, result.CostPass{Asked: "3Gbit/s", Kind: "tcp_stream", Rate: 3e9}, *r.cfg.Report.CostPass)
}
