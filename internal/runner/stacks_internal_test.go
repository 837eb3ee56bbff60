package runner

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/plan"
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
