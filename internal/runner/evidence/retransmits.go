package evidence

import "tare/internal/result"

// retransmitCauses attributes the retransmissions of one network namespace to their
// causes from the increments of its counters; nil if it has no counters. Counters of
// Linux (net/ipv4/tcp_output.c, tcp_timer.c, tcp_recovery.c):
//
//	Tcp.RetransSegs               all of them, in segments
//	TcpExt.TCPFastRetrans         signalled by acknowledgements
//	TcpExt.TCPSlowStartRetrans    after a timeout
//	TcpExt.TCPSynRetrans          of the handshake; its timers are among TCPTimeouts
//	TcpExt.TCPTimeouts            timers that expired, each sending one segment
//	TcpExt.TCPLossProbes          tail loss probes: retransmitted or new segments
//
// The last two also count cases without a retransmission, for example when the first copy
// was still queued on this machine. They therefore get only the rest.
func retransmitCauses(moved map[string]uint64) map[string]int64 {
	all, ok := moved["Tcp.RetransSegs"]
	if !ok {
		return nil
	}
	left := int64(all) //nolint:gosec // far below 2^63
	out := map[string]int64{}
	book := func(cause string, n uint64) {
		v := min(int64(n), left) //nolint:gosec // far below 2^63
		if v > 0 {
			out[cause] += v
			left -= v
		}
	}
	syn := moved["TcpExt.TCPSynRetrans"]
	book(result.RetransmitSYN, syn)
	book(result.RetransmitFast, moved["TcpExt.TCPFastRetrans"])
	book(result.RetransmitTimeout, moved["TcpExt.TCPSlowStartRetrans"])
	timeouts := moved["TcpExt.TCPTimeouts"]
	book(result.RetransmitTimeout, timeouts-min(timeouts, syn))
	book(result.RetransmitProbe, moved["TcpExt.TCPLossProbes"])
	book(result.RetransmitOther, uint64(left)) //nolint:gosec // never below 0
	return out
}
