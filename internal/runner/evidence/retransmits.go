package evidence

import "tare/internal/result"

// retransmitCauses books what the kernel of one network namespace sent again to its
// causes, from how far its counters moved; nil where it does not count. Counters of
// Linux (net/ipv4/tcp_output.c, tcp_timer.c, tcp_recovery.c):
//
//	Tcp.RetransSegs               all of them, in segments
//	TcpExt.TCPFastRetrans         told by acknowledgements
//	TcpExt.TCPSlowStartRetrans    behind a timeout
//	TcpExt.TCPSynRetrans          of the handshake; its timers are among TCPTimeouts
//	TcpExt.TCPTimeouts            timers that ran out, each sending one segment
//	TcpExt.TCPLossProbes          tail loss probes: segments sent again, or new ones
//
// The last two also count what sent nothing again, as when the first copy still
// waited in a queue of this machine. So they only get what the others leave over.
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
