package evidence

import (
	"slices"

	"tare/internal/observe/losses"
	"tare/internal/result"
	"tare/internal/warning"
)

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

// A loss is noted from that share of the segments and that number on: a busy machine explains fewer.
const (
	lostShare = 0.001
	minLost   = 5
)

// NoteLost adds a note to a trial of exchanges or connections over TCP that lost packets, with where and why as far
// as counters show it. A bulk transfer loses packets on most paths, which is how TCP finds its rate. Segments that
// were sent again although they had arrived are not lost (duplicate selective acknowledgements, RFC 2883). Beside a load the counters have
// what that lost.
func (t *Trial) NoteLost() {
	if w := t.Planned.Workload; t.Failed() || OverUDP(w) || w.Kind == "tcp_stream" || w.WithLoad != "" {
		return
	}
	var sent, lost uint64
	stacks := slices.DeleteFunc(t.lossStacks(), func(s losses.Stack) bool { return s.Sockets != nil && s.Shared })
	for _, s := range stacks {
		if c := s.Deltas.Counters; s.Sockets != nil {
			again := c["Tcp.RetransSegs"]
			sent += c["Tcp.OutSegs"] + again
			lost += again - min(again, c["TcpExt.TCPDSACKRecv"])
		}
	}
	if lost < minLost || float64(lost) < lostShare*float64(sent) {
		return
	}
	text := ""
	if cause := (losses.Failure{Stacks: stacks}).Cause(); cause != "" {
		text = ": " + cause
	}
	t.Record.Notes = append(t.Record.Notes, warning.NewNote(warning.TCPLoss, "%s %% of the packets were lost and sent again%s",
		warning.Said(losses.Percent(float64(lost)/float64(sent))), text))
}
