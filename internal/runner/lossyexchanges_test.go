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

// exchanges is a short trial of exchanges of one flow, in slices.
func exchanges(kind string) study.Workload {
	w := study.Workload{
		ID: kind, Kind: kind, Flows: 1, RequestSize: 1, ResponseSize: 1, Family: study.IPv4, Congestion: "reno", Placement: study.OneCore,
		SendBuffer: quantity.AutoBuffer(), ReceiveBuffer: quantity.AutoBuffer(),
		Warmup: quantity.WaitOf(20 * time.Millisecond), Duration: quantity.Duration(100 * time.Millisecond), Slice: quantity.Duration(20 * time.Millisecond),
	}
	switch kind {
	case "tcp_crr":
		w.Close = study.RST
	case "udp_rr":
		w.RequestSize, w.ResponseSize, w.Flows, w.Congestion = 16, 16, 0, ""
	}
	return w
}

// Where packets are lost, exchanges that came back count, those that did not are a rate, and the place is named.
func TestFaultsLossyExchanges(t *testing.T) {
	t.Parallel()
	needNFT(t)
	// Every 13th packet: a number that the packets of a connection do not divide, so that it is not always the same of them.
	_, trials := runStudy(t.Context(), t, spoiled{spoil: func(l *lab.Lab) error {
		return nft(l.B.NS, "table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; numgen inc mod 13 0 counter drop; }\n}\n")
	}}, []string{"netns/published"}, func(s *study.Study) {
		s.Workloads = []study.Workload{exchanges("tcp_rr"), exchanges("tcp_crr"), exchanges("udp_rr")}
		// Most slices end with a lost packet, for which the flow waits 200 ms or 1 s. Five that are sent again are a loss, which those
		// of tcp_crr that end or acknowledge a connection are not: so it has more slices.
		for i, d := range []time.Duration{60, 300, 60} {
			s.Workloads[i].Duration = quantity.Duration(d * time.Millisecond)
		}
	}, nil)
	ok := map[string]result.Trial{}
	for _, tr := range trials {
		if tr.Status == result.TrialOK {
			ok[tr.Workload] = tr
		}
	}
	for _, kind := range []string{"tcp_rr", "tcp_crr", "udp_rr"} {
		if m := ok[kind].Metrics; !(m["transaction_rate"]+m["connection_rate"] > 0) {
			t.Errorf("%s has no valid trial: %v", kind, outcomes(trials))
		}
		var notes string
		for _, n := range ok[kind].Notes {
			notes += n.Code + ": " + n.Text + "\n"
		}
		want := map[string]string{"tcp_rr": "tcp_loss: ", "tcp_crr": "tcp_loss: ", "udp_rr": "lost_exchanges: "}[kind]
		must.True(t, (kind == "udp_rr" || strings.Contains(notes, "dropped on b by rule 2 of inet spoil c")) && strings.Contains(notes, want),
			"%s: notes %s, want %s", kind, notes, want)
	}
	if l := ok["udp_rr"].Metrics["loss_ratio"]; !(l > 0 && l < 0.5) {
		t.Errorf("%g of the exchanges had no answer", l)
	}
}

// A trial of which nothing arrives names where its packets were dropped and by what, with the size of
// the packets, from its own evidence.
func TestFailedTrialNamesItsCause(t *testing.T) {
	t.Parallel()
	needNFT(t)
	_, trials := runStudy(t.Context(), t, spoiled{spoil: func(l *lab.Lab) error {
		return nft(l.B.NS, "table inet spoil {\nchain c { type filter hook forward priority 10; policy accept; meta length > 1400 counter drop; }\n}\n")
	}}, []string{"netns/published"}, func(s *study.Study) {
		s.Workloads = []study.Workload{datagrams(func(w *study.Workload) { w.Rate, w.PayloadSize = 50e6, 1400 })}
	}, nil)
	for _, tr := range trials {
		must.ContainFor(t, tr.Status, tr.Reason, " datagrams of 1,428 bytes dropped on b by rule 2 of inet spoil c")
		must.True(t, !strings.Contains(tr.Reason, "use longer trials"), "advice although the cause is known: %s", tr.Reason)
	}
	must.True(t, len(trials) != 0, "no trial was recorded")
}
