//go:build linux

package runner_test

import (
	"fmt"
	"testing"
	"time"

	"tare/internal/lab"
	"tare/internal/study"
)

func exchanges(kind string) study.Workload {
	w := study.Workload{
		ID: kind, Kind: kind, Family: study.IPv4, SendBuffer: study.AutoBuffer(), ReceiveBuffer: study.AutoBuffer(), Placement: study.OneCore,
		Flows: 1, RequestSize: 1, ResponseSize: 1, Warmup: study.WaitOf(50 * time.Millisecond), Duration: study.Duration(400 * time.Millisecond), Slice: study.Duration(40 * time.Millisecond),
	}
	switch kind {
	case "tcp_rr":
		w.Congestion = "cubic"
	case "tcp_crr":
		w.Congestion, w.Close = "cubic", study.RST
	case "udp_rr":
		w.RequestSize, w.ResponseSize, w.Flows = 16, 16, 0
	}
	return w
}

func TestLossyExchanges(t *testing.T) {
	needNFT(t)
	for _, loss := range []int{20, 200} {
		t.Run(fmt.Sprint(loss), func(t *testing.T) {
			run, trials := runStudy(t.Context(), t, spoiled{spoil: func(l *lab.Lab) error {
				return nft(l.B.NS, fmt.Sprintf("table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; numgen random mod 1000 < %d counter drop; }\n}\n", loss))
			}}, []string{"netns/published"}, func(s *study.Study) {
				s.Workloads = []study.Workload{exchanges("tcp_rr"), exchanges("tcp_crr"), exchanges("udp_rr")}
			}, nil)
			t.Log(run.Status)
			for _, tr := range trials {
				t.Logf("%s %s %q %v elapsed %v", tr.Workload, tr.Status, tr.Reason, tr.Metrics, tr.Elapsed)
			}
		})
	}
}
