package runner

import "slices"

// enough reports whether a trial of exchanges has used so much of its time that its remaining slices
// are left out. On a path that loses packets, a slice of 20 ms lasts as long as a retransmission, and
// the exchanges of the slices so far are its sample. Only the client knows the slices.
func (tr *trialRun) enough() bool {
	return slices.Contains([]string{"tcp_rr", "tcp_crr", "http", "udp_rr"}, tr.Workload.Kind) && tr.elapsed > tr.budget/2
}
