package plan

import (
	"testing"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// The tail pass has each mode once in each round with the workloads that can run on a schedule and have none, as whole trials.
func TestTails(t *testing.T) {
	s := sample()
	const second = quantity.Duration(time.Second)
	s.Workloads = []study.Workload{
		{ID: "rr", Kind: "tcp_rr", FlowCounts: study.Counts{1, 8}, Slice: second / 50, Duration: second, DurationMax: 9 * second},
		{ID: "open", Kind: "udp_rr", TransactionRate: 1000, Duration: second},
		{ID: "tool", Kind: "tcp_rr", Tool: "iperf2", Duration: second},
		{ID: "bulk", Kind: "tcp_stream", Duration: second},
	}
	must.Equal(t, 0, len(Tails(s)))
	s.Tails = study.On
	trials := Tails(s)
	must.Equal(t, TailTrials*2*len(s.ModeNames()), len(trials))
	type place struct {
		round          int
		mode, workload string
	}
	seen := map[place]bool{}
	for _, tr := range trials {
		seen[place{tr.Block, tr.Mode, tr.Workload.Name()}] = true
		must.True(t, !tr.Sliced() && tr.Aside() && tr.Workload.Duration == 3*second && tr.TailRate() == 0, "%+v", tr)
	}
	must.Equal(t, len(trials), len(seen))
	at := trials[0].AtTailRate(12500)
	must.Equal(t, []any{12500, 12500.0, 0}, []any{at.Workload.TransactionRate, at.TailRate(), trials[0].Workload.TransactionRate})
	at.Workload.Pairs = 4
	must.Equal(t, 3125, at.AtTailRate(12500).Workload.TransactionRate)
	// The estimate of a run includes it.
	with, without := Make(s).Time(2), s
	without.Tails = study.Off
	more := with - Make(without).Time(2)
	must.True(t, more >= time.Duration(len(trials))*3*time.Second, "the run takes %s longer for %d trials", more, len(trials))
}
