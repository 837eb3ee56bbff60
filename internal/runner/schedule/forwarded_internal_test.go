package schedule

import (
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// The bulk transfers of a mode whose packets a process forwards are in one piece from the first block on, and nothing else is: not its exchanges, not what has a
// rate, and not the other modes. What a trial has decided meanwhile stays.
func TestForwardedInOnePiece(t *testing.T) {
	ms := func(n int) quantity.Duration { return quantity.Duration(time.Duration(n) * time.Millisecond) }
	work := func(id, kind string, rate quantity.Load) study.Workload {
		return study.Workload{ID: id, Kind: kind, Rate: rate, Slice: ms(50), Warmup: quantity.WaitOf(50 * time.Millisecond), Duration: ms(400)}
	}
	all := []study.Workload{work("bulk", "tcp_stream", quantity.Unlimited), work("paced", "tcp_stream", 1e8), work("tcp_rr", "tcp_rr", 0), work("slow", "tcp_stream", quantity.Unlimited)}
	sc := New(config(study.Study{Profile: study.Quick}), plan.Plan{Blocks: 3, Modes: []string{"host", "m"}, Workloads: all})
	longer := plan.Trial{Block: 1, Mode: "m", Workload: work("slow", "tcp_stream", quantity.Unlimited)}.InOnePiece(time.Second, 2*time.Second, 8*time.Second)
	sc.Plan.MeasureWhole(longer)
	for block := 1; block <= 3; block++ {
		for _, w := range all {
			for _, m := range sc.cfg.Modes() {
				sc.Todo = append(sc.Todo, sc.Plan.InOnePiece(plan.Trial{Block: block, Mode: m.ID, Workload: w}))
			}
		}
	}
	sc.Forwarded([]string{"m"})
	seen := 0
	for _, tr := range sc.Todo {
		w := tr.Workload
		want := 400 * time.Millisecond
		switch {
		case tr.Mode == "m" && w.ID == "bulk":
			want, seen = study.WholeDuration.Std(), seen+1
			must.Equal(t, study.WholeWarmup.Std(), w.Warmup.Std())
		case tr.Mode == "m" && w.ID == "slow":
			want, seen = 8*time.Second, seen+1
		}
		if w.Duration.Std() != want || tr.Sliced() != (want == 400*time.Millisecond) {
			t.Errorf("block %d, %s of %s: %s timed, in slices %t", tr.Block, w.ID, tr.Mode, w.Duration, tr.Sliced())
		}
	}
	must.Equal(t, 6, seen)
	if lengths := sc.cfg.Report.Lengths; len(lengths) != 1 || lengths[0].Mode != "m" || lengths[0].Workload != "bulk" || lengths[0].FromBlock != 1 || sc.Announced <= 0 {
		t.Errorf("recorded %+v, %s more announced", lengths, sc.Announced)
	}
}
