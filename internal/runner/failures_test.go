//go:build linux

package runner_test

import (
	"math"
	"testing"
	"time"

	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// A connection that a firewall turns away, whose SYN it drops, or that it ends in the middle of a trial, ends no trial:
// each is counted by its kind, in the trial and in the run, and the other connections go on.
func TestFailedConnections(t *testing.T) {
	needNFT(t)
	rr, crr, whole := exchanges("tcp_rr"), exchanges("tcp_crr"), exchanges("tcp_crr")
	for _, w := range []*study.Workload{&rr, &crr} { // in slices that no round trip of a busy machine is too long for
		w.Slice, w.Duration = quantity.Duration(100*time.Millisecond), quantity.Duration(400*time.Millisecond)
	}
	rr.Flows = 4
	whole.Slice, whole.Duration = quantity.AtOnce, quantity.Duration(3*time.Second) // each slice would wait a second for a SYN
	for _, tt := range []struct {
		name, rule string
		w          study.Workload
		holds      func(a result.Attempts) bool
	}{
		{"some SYNs dropped", "tcp flags & (syn|ack) == syn numgen inc mod 7 == 6 drop", whole, func(a result.Attempts) bool {
			return a.Late > 0 && a.Late < a.Tried/2 && a.Failed() == 0
		}},
		{"some SYNs rejected", "tcp flags & (syn|ack) == syn numgen inc mod 7 == 6 reject with tcp reset", crr, func(a result.Attempts) bool {
			return a.Refused > 0 && a.Refused < a.Tried/2 && a.TimedOut+a.Reset == 0 && a.Late < a.Refused
		}},
		// The server never learns of it: its connection stays open.
		{"one connection reset", "tcp flags & psh == psh numgen inc mod 1000000 == 40 reject with tcp reset", rr, func(a result.Attempts) bool {
			a.Late = 0 // on a busy machine a handshake may be
			return a == result.Attempts{Tried: 4, Reset: 1}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			run, trials := runStudy(t.Context(), t, spoiled{spoil: func(l *lab.Lab) error {
				return nft(l.B.NS, "table inet spoil {\nchain c { type filter hook input priority 10; policy accept; "+tt.rule+"; }\n}\n")
			}}, []string{"host"}, func(s *study.Study) { s.Workloads = []study.Workload{tt.w} }, nil)
			for _, tr := range trials {
				must.Require(t, tr.Status == result.TrialOK && tr.Attempts != nil, "no attempts: %v", outcomes(trials))
				must.True(t, tt.holds(*tr.Attempts), "%+v", *tr.Attempts)
			}
			must.Require(t, len(run.Attempts) == 1, "%+v", run.Attempts)
			s := run.Attempts[0]
			must.Equal(t, *trials[0].Attempts, s.Attempts)
			if v := s.FailedShare; math.Round(v.Value*float64(s.Tried)) != float64(s.Failed()) || !(v.High > v.Value) {
				t.Errorf("%+v", s)
			}
		})
	}
}
