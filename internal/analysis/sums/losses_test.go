package sums_test

import (
	"testing"

	"tare/internal/analysis/sums"
	"tare/internal/result"
	"tare/internal/testkit/must"
)

// The losses of a mode are the sum of its valid trials, by place, counter and reason, in the order of the
// path. A trial without counts has only the reason why.
func TestSumLosses(t *testing.T) {
	qdisc := result.LossPlace{Place: result.PlaceQdisc, Where: "a", Counter: "qdisc/eth0 tbf.drops", Count: 7}
	receive := result.LossPlace{Place: result.PlaceReceive, Where: "b", Counter: "SO_MEMINFO drops", Count: 3}
	again, elsewhere := qdisc, qdisc
	again.Count, elsewhere.Where = 5, "b"
	reason := result.DropReason{Reason: "QDISC_DROP", Location: "f", Count: 7}
	other := result.DropReason{Reason: "QDISC_DROP", Location: "g", Count: 1}
	of := func(mode string, status result.TrialStatus, l *result.Losses) result.Trial {
		return result.Trial{Mode: mode, Workload: "udp", Status: status, Losses: l}
	}
	first := result.Losses{Sent: 100, Lost: 10, Unexplained: 0, Places: []result.LossPlace{receive, qdisc}, Reasons: []result.DropReason{reason}, Missing: []string{"x"}}
	second := result.Losses{Sent: 100, Lost: 14, Unexplained: 2, Places: []result.LossPlace{again, elsewhere}, Reasons: []result.DropReason{reason, other}, Missing: []string{"x", "y"}}
	pilot := of("m", result.TrialOK, &first)
	pilot.Pilot = true
	got := sums.Losses([]result.Mode{{ID: "m"}, {ID: "none"}, {ID: "unknown"}, {ID: "tcp"}}, []string{"udp"}, []result.Trial{
		of("m", result.TrialOK, &first), of("m", result.TrialOK, &second), pilot, of("m", result.TrialInvalid, &second), of("m", result.TrialFailed, nil),
		of("none", result.TrialOK, &result.Losses{Sent: 50}), of("unknown", result.TrialOK, &result.Losses{Missing: []string{"z"}}), of("tcp", result.TrialOK, nil),
	})
	qdisc.Count, reason.Count = 12, 14
	want := []result.LossSummary{
		{Mode: "m", Workload: "udp", Trials: 2, Sent: 200, Lost: 24, Unexplained: 2, Places: []result.LossPlace{qdisc, elsewhere, receive}, Reasons: []result.DropReason{reason, other}, Missing: []string{"x", "y"}},
		{Mode: "none", Workload: "udp", Trials: 1, Sent: 50}, {Mode: "unknown", Workload: "udp", Missing: []string{"z"}},
	}
	must.Equal(t, want, got)
}
