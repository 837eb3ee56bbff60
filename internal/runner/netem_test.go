//go:build linux

package runner_test

import (
	"strings"
	"testing"
	"time"

	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// What a network does to packets is measured and named, and makes no trial fail that carried what it needs: a delay is in
// the round trips, copies and datagrams out of order are counted beside the loss, and damaged ones are lost where their
// checksum was tested. The kernel of a guest can do all of it: see package guest/inside.
func TestGuestNetem(t *testing.T) {
	needGuest(t, "a kernel with netem")
	paced := datagrams(func(w *study.Workload) { w.Rate, w.Burst, w.Duration = 2e6, 1, quantity.Duration(time.Second) })
	stream := study.Workload{
		ID: "tcp_stream", Kind: "tcp_stream", Streams: 1, Direction: study.Forward, Family: study.IPv4, Congestion: "reno", SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		Placement: study.Free, WriteSize: 64 << 10, Warmup: quantity.WaitOf(20 * time.Millisecond), Duration: quantity.Duration(2 * time.Second),
	}
	for _, tt := range []struct {
		netem string
		w     study.Workload
		holds func(tr result.Trial) bool
	}{
		{"delay 1ms", exchanges("tcp_rr"), roundTrips(1e-3)},
		{"delay 100ms", exchanges("tcp_rr"), roundTrips(100e-3)},
		{"delay 5ms", sliced(exchanges("tcp_rr")), roundTripsOfRate(5e-3)},
		{"delay 20ms", sliced(exchanges("tcp_rr")), roundTripsOfRate(20e-3)},
		{"delay 20ms", sliced(exchanges("udp_rr")), roundTripsOfRate(20e-3)},
		{"delay 100ms", exchanges("tcp_crr"), func(tr result.Trial) bool { return tr.Metrics["connect_p50"] >= 100e-3 }},
		{"delay 20ms reorder 30% 50%", paced, func(tr result.Trial) bool {
			return tr.Metrics["reordered_ratio"] > 0 && tr.Metrics["loss_ratio"] < 0.01 && tr.Metrics["duplicates"] == 0
		}},
		{"delay 2ms reorder 5%", stream, func(tr result.Trial) bool { return tr.Metrics["goodput"] > 0 }},
		{"duplicate 30%", paced, func(tr result.Trial) bool {
			return tr.Metrics["duplicates"] > 0 && tr.Metrics["loss_ratio"] < 0.01 && tr.Metrics["goodput"] <= 2.01e6
		}},
		{"duplicate 30%", exchanges("udp_rr"), func(tr result.Trial) bool { return tr.Metrics["transaction_rate"] > 0 }},
		{"duplicate 30%", study.Workload{
			ID: "udp_dns", Kind: "udp_dns", Flows: 2, Family: study.IPv4, SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(), Placement: study.Free, Duration: quantity.Duration(time.Second),
		}, func(tr result.Trial) bool { return tr.Metrics["transaction_rate"] > 0 }},
		{"duplicate 5%", stream, func(tr result.Trial) bool { return tr.Metrics["goodput"] > 0 }},
		{"corrupt 20%", paced, func(tr result.Trial) bool {
			var damaged int64
			for _, p := range tr.Losses.Places {
				if strings.Contains(strings.ToLower(p.Counter), "csum") {
					damaged += p.Count
				}
			}
			return tr.Metrics["loss_ratio"] > 0 && damaged > tr.Losses.Lost/2
		}},
		{"corrupt 5%", stream, func(tr result.Trial) bool { return tr.Metrics["goodput"] > 0 && tr.Metrics["retransmits"] > 0 }},
		{"loss 10%", exchanges("tcp_rr"), func(tr result.Trial) bool { return tr.Metrics["transaction_rate"] > 0 }},
	} {
		t.Run(tt.netem+" of "+tt.w.Kind, func(t *testing.T) {
			_, trials := runStudy(t.Context(), t, spoiled{spoil: func(l *lab.Lab) error {
				return run(l.A.NS, "", append([]string{"/sbin/tc"}, strings.Fields("qdisc add dev eth0 root netem limit 10000 "+tt.netem)...)...)
			}}, []string{"host"}, func(s *study.Study) { s.Workloads = []study.Workload{tt.w} }, nil)
			for _, tr := range trials {
				if tr.Status == result.TrialOK {
					must.True(t, tt.holds(tr), "%v, losses %+v", tr.Metrics, tr.Losses)
					return
				}
			}
			t.Errorf("no valid trial: %v", outcomes(trials))
		})
	}
}

// roundTrips expects a round trip to last at least as long as the network delays, in s. One flow has one at a time: the half of
// them that took the median or longer took no longer than the trial.
func roundTrips(delay float64) func(result.Trial) bool {
	return func(tr result.Trial) bool {
		p50, n := tr.Metrics["rtt_p50"], tr.Metrics["transaction_rate"]*tr.Window
		return p50 >= delay && n > 0 && p50*n/2 <= tr.Elapsed
	}
}

// sliced is a workload with more than 50 round trips of 5 ms in its window, in slices that are shorter than one of 20 ms.
func sliced(w study.Workload) study.Workload {
	w.Slice, w.Duration = quantity.Duration(15*time.Millisecond), quantity.Duration(600*time.Millisecond)
	return w
}

// roundTripsOfRate expects round trips as roundTrips does, and that what the exchanges of a closed loop took by their rate is a
// mean that the quantiles of their round trips allow, which depends on no speed: a count that is off by one exchange in two, as
// those of slices shorter than an exchange could be, is not.
func roundTripsOfRate(delay float64) func(result.Trial) bool {
	return func(tr result.Trial) bool {
		p50, p90, longest := tr.Metrics["rtt_p50"], tr.Metrics["rtt_p90"], tr.Metrics["rtt_max"]
		least := 0.5*delay + 0.4*p50 + 0.1*p90
		most := 0.5*p50 + 0.4*p90 + 0.1*longest
		mean := 1 / tr.Metrics["transaction_rate"]
		return roundTrips(delay)(tr) && mean > 0.9*least && mean < 1.1*most
	}
}
