package runner

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// Where stacks cannot be sampled, the run says so once and goes on.
func TestNoStacksIsToldOnce(t *testing.T) {
	s := study.Study{Evidence: study.Evidence{Stacks: study.AutoWord}}
	r := &run{cfg: Config{Study: s, Listener: nobody{}, Ground: driver.Ground{Hosts: []driver.Host{{Name: "a"}}}}} // of which nothing is known here
	passing := &lane{Trial: plan.Trial{Block: 1, Workload: study.Workload{ID: study.CostPassID}}}
	for range 3 {
		if got := r.sampler(passing); got != nil {
			t.Fatalf("sampling %+v", got)
		}
	}
	if len(r.out.Warnings) != 1 || r.out.Warnings[0].Code != "stacks_unavailable" {
		t.Errorf("warnings %+v", r.out.Warnings)
	}
	done := false
	var none *sampling
	none.while(func() { done = true })
	r.keep(passing, none)
	if !done || passing.out.Stacks != nil {
		t.Errorf("without sampling: done %t, stacks %+v", done, passing.out.Stacks)
	}
}

func TestWantsStacks(t *testing.T) {
	pass, other, own := plan.Trial{Workload: study.Workload{ID: study.CostPassID}}, plan.Trial{Block: 1, Workload: study.Workload{ID: "t"}}, plan.Trial{Block: 1, Profiled: true}
	for _, tt := range []struct {
		word  string
		trial plan.Trial
		want  bool
	}{
		{study.AutoWord, pass, true}, {study.On, pass, true}, {study.Off, pass, false}, {"", pass, false},
		{study.On, other, false}, {study.AutoWord, other, false}, {study.On, own, true},
	} {
		r := &run{cfg: Config{Study: study.Study{Evidence: study.Evidence{Stacks: tt.word}}}}
		if got := r.wantsStacks(&lane{Trial: tt.trial}); got != tt.want {
			t.Errorf("%q, %+v: %t", tt.word, tt.trial, got)
		}
	}
}

// A breakdown that knows too little says so.
func TestBreakdownWarns(t *testing.T) {
	trial := func(mode string, unknown, lost int) result.Trial {
		return result.Trial{Mode: mode, Workload: study.CostPassID, Status: result.TrialOK, Metrics: map[string]float64{"goodput": 1e9},
			Stacks: &result.Stacks{CPUs: 1, Busy: 100, Lost: lost, Components: map[string]int{"copy": 100 - unknown, result.Unclassified: unknown}}}
	}
	r := &run{cfg: Config{Listener: nobody{}, Study: study.Study{
		Blocks: 2, CostPass: study.CostPass{Rate: 1e9, FromBlock: 1, Every: 1, Duration: 1e9}, Workloads: []study.Workload{{ID: "t", Kind: "tcp_stream"}},
	}}}
	r.out.Modes = []result.Mode{{ID: "good", Status: result.ModeMeasured}, {ID: "odd", Status: result.ModeMeasured}, {ID: "busy", Status: result.ModeMeasured}}
	r.trials = []result.Trial{trial("good", 15, 5), trial("odd", 16, 0), trial("busy", 0, 20)}
	r.breakdowns()
	if len(r.out.Breakdowns) != 3 || r.out.Breakdowns[0].File != "stacks/good.cost_pass.folded" {
		t.Fatalf("%+v", r.out.Breakdowns)
	}
	codes := map[string]string{}
	for _, w := range r.out.Warnings {
		codes[w.Code] = w.Scope
	}
	if len(codes) != 2 || codes["stacks_unknown"] != "odd cost_pass" || codes["stacks_lost"] != "busy cost_pass" {
		t.Errorf("warnings %+v", r.out.Warnings)
	}
}
