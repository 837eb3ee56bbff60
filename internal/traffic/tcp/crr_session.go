package tcp

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"tare/internal/result"
	"tare/internal/timelimit"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/warning"
)

// crrServed is what a server counted.
type crrServed struct {
	connections int64 // with the right tag
	messages    int64 // responses sent
}

// crrWindow is one window of a trial at the client and its counts. It may be used by one thread, or
// by several that lock mu.
type crrWindow struct {
	crrTrial   // Warmup and Duration are those of this window
	mu         sync.Mutex
	bins       traffic.LoopCounter
	connect    *traffic.Distribution
	firstByte  *traffic.Distribution
	made       int64         // connections in this window and before
	portMisses int64         // connection attempts without a free source port
	stalled    time.Duration // time without a source port in the timed part, sum of all flows
	searching  time.Duration // time spent on opening connections, for consecutive ones that each took longer than slowPortSearch
	before     int64         // exchanges before this window
	failed     tally         // connections of the timed part
	tried      tries         // connections in this window and before
	inRow      tally         // connections since the last that succeeded
	searched   bool          // opening the last connection took longer
}

// done counts a connection by the times at which it was begun, was connected, had its first byte
// and was closed. late says that its handshake lost a packet.
func (w *crrWindow) done(begun, connected, first, closed time.Duration, late bool) {
	w.inRow = tally{}
	if late {
		w.tried.Late++
	}
	if w.bins.Add(begun, closed, true) {
		w.connect.Record(connected - begun)
		w.firstByte.Record(first - begun)
	}
}

// stall adds a time during which a flow had no source port.
func (w *crrWindow) stall(from, to time.Duration) {
	from, to = max(from, w.bins.Warmup), min(to, w.bins.End)
	w.stalled += max(to-from, 0)
}

// countSearch adds the time that opening a connection took, which includes the search for a source
// port. A single long one does not count: it was probably delayed by another process on its CPU.
func (w *crrWindow) countSearch(timed time.Duration) {
	if timed > slowPortSearch && w.searched {
		w.searching += timed
	}
	w.searched = timed > slowPortSearch
}

// noPortTimeout is how long a flow waits before it tries again to get a source port.
const noPortTimeout = 10 * time.Millisecond

// slowPortSearch is much longer than opening a connection takes, unless the kernel searches all
// source ports for a free one.
const slowPortSearch = time.Millisecond

// serverReplyTimeout bounds the time from the start of a connection to its response.
func serverReplyTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// crrSession is the client, which measures the time.
type crrSession struct {
	path           path
	t              crrTrial
	addr           netip.AddrPort
	control        conns
	kernel         kernelTCP
	connect, first *traffic.Distribution
	made, total    int64 // connections and exchanges
	portMisses     int64
	searching      time.Duration
	stalled        time.Duration
	driven         time.Duration
	window         traffic.Window
	failed, inRow  tally
	tried          tries
	restore        func()
}

// Drive opens connections for warmup + timed and counts those that end in the second part.
func (s *crrSession) Drive(ctx context.Context, warmup, timed time.Duration) error {
	t := s.t
	t.Warmup, t.Duration = warmup, timed
	w := &crrWindow{crrTrial: t, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(t.Params).ReportTo(t.Meter.Begin(1), 0), Flows: t.Streams}, connect: s.connect, firstByte: s.first, made: s.made, before: s.total, inRow: s.inRow, tried: s.tried}
	began := clock.Now()
	err := s.path.runCRR(ctx, s.addr, w)
	s.driven += began.Since()
	s.made, s.inRow, s.tried = w.made, w.inRow, w.tried
	s.total += w.bins.Total
	s.tried.Tried = s.total + s.tried.Failed()
	if err != nil {
		return traffic.WithAttempts(tooManyFiles(err, t.Params), s.tried.Attempts)
	}
	s.portMisses += w.portMisses
	s.searching += w.searching
	s.stalled += w.stalled / time.Duration(t.Streams)
	s.window.Messages += w.bins.Counted()
	s.window.Failed += w.bins.Failed
	for f, n := range w.failed {
		s.failed[f] += n
	}
	s.window.Seconds += w.bins.Time().Seconds()
	if timed > 0 {
		s.window.Series = append(s.window.Series, traffic.Series(t.Params, []*traffic.BinCounter{w.bins.BinCounter})...)
		s.window.Interval = min(traffic.SeriesInterval, timed).Seconds()
		s.window.AddProfile(w.bins.BinCounter)
	}
	return nil
}

// RTT is that of the control connection, over the same path.
func (s *crrSession) RTT() time.Duration { return s.control.leastRTT() }

func (s *crrSession) Close() traffic.Report {
	defer s.restore()
	defer s.control.close()
	r := traffic.Report{Traffic: s.driven.Seconds(), Messages: s.total, Window: s.window,
		End: result.End{CPU: s.t.Pinned(), Sent: s.made * int64(s.t.RequestSize), Received: s.total * int64(s.t.ResponseSize)}}
	s.control.fillReport(&r)
	kernel := readKernelTCP()
	r.Connections = int(s.made)
	s.t.estimate(&r, s.made, s.t.requestBytes(), int(s.t.ResponseSize), kernel.retransmits-s.kernel.retransmits)
	w := &r.Window
	w.Sent, w.Received = w.Messages*int64(s.t.RequestSize), w.Messages*int64(s.t.ResponseSize)
	w.Connect, w.FirstByte = s.connect, s.first
	if s.portMisses > 0 {
		w.Seconds = max(w.Seconds-s.stalled.Seconds(), 0)
	}
	r.Notes = append(r.Notes, s.notes(kernel)...)
	r.Attempts, r.OwnTime = &s.tried.Attempts, s.t.ownTime()
	return r
}

// notes reports which resources ran out.
func (s *crrSession) notes(now kernelTCP) []result.Note {
	var notes []result.Note
	if n := s.window.Failed; n > 0 {
		notes = append(notes, warning.NewNote(warning.LostExchanges, "%d of %d connections failed: %s", n, n+s.window.Messages, s.failed))
	}
	const advice = "to avoid it, set close: rst, widen net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=1"
	switch {
	case s.portMisses > 0:
		notes = append(notes, warning.NewNote(warning.PortsExhausted,
			"source ports ran out: of the timed %.3g s, %.3g s passed without a free one. %d connections were opened in total, and the connection rate is that of the remaining time; %s",
			s.window.Seconds, s.stalled.Seconds(), s.made, advice))
	// The kernel assigns every other port first, so it becomes slow at half of them.
	case s.searching*searchingShare > s.driven && now.timeWait*5 > now.sourcePorts*2:
		notes = append(notes, warning.NewNote(warning.PortsExhausted,
			"source ports were nearly used up: %d sockets in TIME_WAIT at the end, of %d ports, and the search for a free one took %.3g s of %.3g s. This lowers the connection rate of the %d connections; %s",
			now.timeWait, now.sourcePorts, s.searching.Seconds(), s.driven.Seconds(), s.made, advice))
	}
	if n := now.timeWaitOverflows - s.kernel.timeWaitOverflows; n > 0 {
		notes = append(notes, warning.NewNote(warning.TimeWaitFull,
			"the kernel's table of TIME_WAIT sockets was full: connections closed without TIME_WAIT, which is cheaper: %d; raise net.ipv4.tcp_max_tw_buckets", n))
	}
	return notes
}

// searchingShare is the share of the time, as 1/searchingShare, from which the search for ports is
// reported.
const searchingShare = 20

// estimate adds an upper bound of what the data connections put on the wire at one endpoint.
// Reading it from the kernel for each connection would cost more than the connection. Besides the
// segments of payload (including the tag) and one acknowledgement for each received, an endpoint
// sends at most five: SYN, the acknowledgement of the other SYN, FIN or RST, the acknowledgement of
// the other FIN, and a window update. The retransmissions of the whole namespace are added.
func (t crrTrial) estimate(r *traffic.Report, connections int64, out, in int, resent int64) {
	const frame = 5
	// No path has a smaller MTU than 576 bytes (IPv4; here without headers, RFC 9293, 3.7.1).
	mss := 536
	if r.MSS > 0 {
		mss = r.MSS
	}
	each := frame + (out+mss-1)/mss + (in+mss-1)/mss
	r.TCP.Segments += uint64(connections)*uint64(each) + uint64(resent)
	r.TCP.Wire += uint64(connections)*uint64(out) + uint64(resent)*uint64(mss)
}
