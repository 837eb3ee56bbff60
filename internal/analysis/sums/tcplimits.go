package sums

import (
	"fmt"

	"tare/internal/result"
	"tare/internal/study"
)

// TCPLimits sums up what limited TCP in the valid trials of each mode and bulk TCP workload.
// Where no trial has it, the sum has the reason.
func TCPLimits(modes []result.Mode, workloads []study.Workload, trials []result.Trial) []result.TCPLimits {
	var out []result.TCPLimits
	for _, w := range workloads {
		for _, m := range modes {
			var own []result.Trial
			for _, t := range trials {
				if t.Mode == m.ID && t.Workload == w.ID && t.Status == result.TrialOK && !t.Aside() {
					own = append(own, t)
				}
			}
			if len(own) > 0 && tcpBulk(w) {
				out = append(out, sumLimits(m.ID, w, own)...)
			}
		}
	}
	return out
}

// tcpBulk says whether a workload is a bulk TCP transfer.
func tcpBulk(w study.Workload) bool { return w.Kind == "tcp_stream" }

// sumLimits is, for each sender, the mean of the shares and the sum of the counts over the
// trials of one mode and workload.
func sumLimits(mode string, w study.Workload, trials []result.Trial) []result.TCPLimits {
	var out []result.TCPLimits
	for _, sender := range senders(w) {
		sum := result.TCPLimits{Mode: mode, Workload: w.ID, Sender: sender}
		var application, window, buffer, network float64
		for _, t := range trials {
			for _, l := range t.Limits {
				if l.Sender != sender {
					continue
				}
				if l.Retransmits != nil && sum.Retransmits == nil {
					sum.Retransmits = map[string]int64{} // known, even if 0
				}
				for cause, n := range l.Retransmits {
					sum.Retransmits[cause] += n
				}
				if l.Application == nil || l.ReceiveWindow == nil || l.SendBuffer == nil || l.Network == nil {
					continue
				}
				sum.Trials++
				application += *l.Application
				window += *l.ReceiveWindow
				buffer += *l.SendBuffer
				network += *l.Network
			}
		}
		if n := float64(sum.Trials); n > 0 {
			share := func(v float64) *float64 { v /= n; return &v }
			sum.Application, sum.ReceiveWindow, sum.SendBuffer, sum.Network = share(application), share(window), share(buffer), share(network)
		} else {
			sum.Missing = append(sum.Missing, noLimits(sender, trials[0]))
		}
		out = append(out, sum)
	}
	return out
}

// noLimits is the reason why it is unknown what limited a sender.
func noLimits(sender string, t result.Trial) string {
	if t.Tool != nil {
		return fmt.Sprintf("what limited TCP is unknown: %s does not report it", t.Tool.Name)
	}
	return fmt.Sprintf("what limited TCP is unknown: the kernel of the %s does not report it (Linux 4.10 and later do, in TCP_INFO)", sender)
}

// senders are the sides that send payload in a workload.
func senders(w study.Workload) []string {
	switch w.Direction {
	case study.Both:
		return []string{"client", "server"}
	case study.Reverse:
		return []string{"server"}
	}
	return []string{"client"}
}
