package evidence

import (
	"testing"

	"tare/internal/driver"
	"tare/internal/plan"
	"tare/internal/study"
)

// If stacks cannot be sampled, the run reports that once and continues.
func TestNoStacksIsToldOnce(t *testing.T) {
	var warnings told
	hosts := []driver.Host{{Name: "a"}} // of which nothing is known here
	passing := trialOf(Config{Asked: study.Evidence{Stacks: study.AutoWord}, Hosts: hosts, Warn: warnings.warn}, mode{}, plan.Trial{Block: 1, Workload: study.Workload{ID: study.CostPassID}})
	o := passing.observer
	for range 3 {
		if got := o.Sampling([]*Trial{passing}); got != nil {
			t.Fatalf("sampling %+v", got)
		}
	}
	if len(warnings) != 1 || warnings[0].Code != "stacks_unavailable" {
		t.Errorf("warnings %+v", warnings)
	}
	done := 0
	var none *Sampling
	none.Window(passing, func() { done++ })
	none.Slice(passing, func() { done++ })
	none.Record()
	if done != 2 || passing.Record.Stacks != nil {
		t.Errorf("without sampling: done %d times, stacks %+v", done, passing.Record.Stacks)
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
		o := New(Config{Asked: study.Evidence{Stacks: tt.word}})
		if got := o.wantsStacks(tt.trial); got != tt.want {
			t.Errorf("%q, %+v: %t", tt.word, tt.trial, got)
		}
	}
}
