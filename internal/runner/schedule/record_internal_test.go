package schedule

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A mode is given up with its last workload; the cost pass repeats one of them.
func TestDrop(t *testing.T) {
	sc := New(config(study.Study{}), plan.Plan{Blocks: 1, Workloads: []study.Workload{{ID: "a"}, {ID: "b"}, {ID: study.CostPassID}}})
	must.True(t, !sc.Drop("m", "a") && !sc.Drop("host", "b") && sc.Drop("m", "b"), "dropped %+v", sc.dropped)
	var left []string
	for _, one := range sc.Measurable([]plan.Trial{{Mode: "m", Workload: study.Workload{ID: "a"}}, {Mode: "host", Workload: study.Workload{ID: "a"}}, {Mode: "gone", Workload: study.Workload{ID: "a"}}}) {
		left = append(left, one.Mode)
	}
	must.True(t, slices.Equal(left, []string{"host"}), "measurable is %v, want host", left)
}

// A search begins near the result of the last one of its mode that was valid, and a rate is what the
// first trial of a workload reached.
func TestEarlierResults(t *testing.T) {
	sc := New(config(study.Study{}), plan.Plan{})
	must.EqualFor(t, "a search before the first", (*result.Search)(nil), sc.LastSearch("m", "w"))
	for i, status := range []result.TrialStatus{result.TrialOK, result.TrialOK, result.TrialInvalid} {
		sc.Record(result.Trial{Mode: "m", Workload: "w", Status: status, Search: &result.Search{Seconds: float64(i)}})
	}
	if got := sc.LastSearch("m", "w"); got == nil || got.Seconds != 1 || sc.LastSearch("host", "w") != nil {
		t.Errorf("last search %+v", got)
	}
	if _, _, ok := sc.Reached("first"); ok {
		t.Error("a rate before the first trial")
	}
	for mode, tr := range map[string]result.Trial{"host": {Status: result.TrialFailed, Paces: true}, "m": {Status: result.TrialInvalid, Paces: true}, "other": {Status: result.TrialOK}} {
		tr.Mode, tr.Workload, tr.Metrics = mode, "first", map[string]float64{"goodput": 5e9}
		sc.Record(tr)
	}
	if mode, rate, ok := sc.Reached("first"); !ok || mode != "m" || rate != 5e9 {
		t.Errorf("reached %g by %q, %t", rate, mode, ok)
	}
}

// Trials that only sample stacks are as long as those that count, and each is made once.
func TestUnprofiled(t *testing.T) {
	w := study.Workload{ID: "w", Kind: "tcp_stream", Warmup: quantity.WaitOf(time.Second), Duration: quantity.Duration(2 * time.Second)}
	s := study.Study{Modes: study.ModesOf("host", "m"), Workloads: []study.Workload{w}, Blocks: 3, Evidence: study.Evidence{Stacks: study.On}}
	sc := New(config(s), plan.Make(s))
	told := func() (out []string) {
		for _, p := range sc.Unprofiled() {
			out = append(out, fmt.Sprint(p.Mode, " ", p.Block, " ", p.Workload.Warmup.Std(), " ", p.Workload.Duration.Std(), " ", p.Profiled))
		}
		return out
	}
	if got := told(); !slices.Equal(got, []string{"host 3 1s 2s true", "m 3 1s 2s true"}) {
		t.Errorf("planned %q", got)
	}
	sc.Record(result.Trial{Block: 1, Mode: "m", Workload: "w", Status: result.TrialOK, Warmup: 4, Window: 8})
	sc.Record(result.Trial{Block: 3, Mode: "m", Workload: "w", Status: result.TrialInvalid, Profiled: true, Warmup: 1, Window: 1})
	sc.Record(result.Trial{Block: 3, Mode: "host", Workload: "w", Status: result.TrialOK, Profiled: true})
	if got := told(); !slices.Equal(got, []string{"m 3 4s 8s true"}) {
		t.Errorf("left are %q, want that of m, as long as its trial that counts", got)
	}
}
