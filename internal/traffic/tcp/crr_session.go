package tcp

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tare/internal/traffic"
	"tare/internal/warning"
)

// crrServed is what a server did.
type crrServed struct {
	connections int64 // that showed the tag
	messages    int64 // responses sent
}

// crrWindow is one piece of a trial at the client, and the account of it. One
// thread at a time may use it, or all take turns with mu.
type crrWindow struct {
	crrTrial   // Warmup and Duration are this window's
	mu         sync.Mutex
	bins       *traffic.BinCounter
	connect    *traffic.Distribution
	firstByte  *traffic.Distribution
	made       int64         // connections, in this window and before
	portMisses int64         // attempts that found no source port
	stalled    time.Duration // in the timed part without a source port, all flows together
	searching  time.Duration // spent in beginnings of connections, several in a row, that each took longer than slowPortSearch
	searched   bool          // the last beginning took longer
}

// done counts a connection: when it was begun, connected, had its first byte and
// was closed.
func (w *crrWindow) done(begun, connected, first, closed time.Duration) {
	w.bins.Add(closed, 1)
	if begun >= w.bins.Warmup && begun < w.bins.End {
		w.connect.Record(connected - begun)
		w.firstByte.Record(first - begun)
	}
}

// stall counts that a flow had no source port from one moment to another.
func (w *crrWindow) stall(from, to time.Duration) {
	from, to = max(from, w.bins.Warmup), min(to, w.bins.End)
	w.stalled += max(to-from, 0)
}

// countSearch counts how long the beginning of a connection took, of which the search for
// a source port is a part. A single long one only met another process on its CPU.
func (w *crrWindow) countSearch(long time.Duration) {
	if long > slowPortSearch && w.searched {
		w.searching += long
	}
	w.searched = long > slowPortSearch
}

// noPortTimeout is how long a flow waits before it asks again for a source port.
const noPortTimeout = 10 * time.Millisecond

// slowPortSearch is far longer than a connection takes to begin, unless the kernel
// looks through all source ports for a free one.
const slowPortSearch = time.Millisecond

// serverReplyTimeout bounds one connection from its beginning to its response.
const serverReplyTimeout = 5 * time.Second

// noReplyError is a connection that took longer than answerWait, begun after so many others.
func noReplyError(addr netip.AddrPort, others int64) error {
	return fmt.Errorf("%s did not answer within %s on a connection that was begun after %d others", addr, serverReplyTimeout, others)
}

// crrSession is the client, which owns the clock.
type crrSession struct {
	path           path
	t              crrTrial
	addr           netip.AddrPort
	control        conns
	kernel         kernelTCP
	connect, first *traffic.Distribution
	made, total    int64 // connections, and exchanges
	portMisses     int64
	searching      time.Duration
	stalled        time.Duration
	driven         time.Duration
	window         traffic.Window
	restore        func()
}

// Drive makes connections for warmup + long and counts those that end in the latter.
func (s *crrSession) Drive(ctx context.Context, warmup, long time.Duration) error {
	t := s.t
	t.Warmup, t.Duration = warmup, long
	w := &crrWindow{crrTrial: t, bins: traffic.NewBinCounter(t.Params).ReportTo(t.Meter.Begin(1), 0), connect: s.connect, firstByte: s.first, made: s.made}
	began := time.Now()
	err := s.path.runCRR(ctx, s.addr, w)
	s.driven += time.Since(began)
	s.made = w.made
	s.total += w.bins.Total
	if err != nil {
		return tooManyFiles(err, t.Params)
	}
	s.portMisses += w.portMisses
	s.searching += w.searching
	s.stalled += w.stalled / time.Duration(t.Streams)
	s.window.Messages += w.bins.Window
	s.window.Seconds += long.Seconds()
	if long > 0 {
		s.window.Series = append(s.window.Series, traffic.Series(t.Params, []*traffic.BinCounter{w.bins})...)
		s.window.Interval = min(traffic.SeriesInterval, long).Seconds()
	}
	return nil
}

func (s *crrSession) Close() traffic.Report {
	defer s.restore()
	defer s.control.close()
	r := traffic.Report{CPU: s.t.CPU, Traffic: s.driven.Seconds(), Messages: s.total, Window: s.window,
		Sent: s.total * int64(s.t.RequestSize), Received: s.total * int64(s.t.ResponseSize)}
	s.control.fillReport(&r)
	kernel := readKernelTCP()
	r.Connections = int(s.made)
	s.t.estimate(&r, s.made, s.t.requestBytes(), s.t.ResponseSize, kernel.retransmits-s.kernel.retransmits)
	w := &r.Window
	w.Sent, w.Received = w.Messages*int64(s.t.RequestSize), w.Messages*int64(s.t.ResponseSize)
	w.Connect, w.FirstByte = s.connect, s.first
	if s.portMisses > 0 {
		w.Seconds = max(w.Seconds-s.stalled.Seconds(), 0)
	}
	r.Notes = append(r.Notes, s.notes(kernel)...)
	return r
}

// notes tells of what ran out.
func (s *crrSession) notes(now kernelTCP) []traffic.Note {
	var notes []traffic.Note
	const advice = "close: rst, a wider net.ipv4.ip_local_port_range or net.ipv4.tcp_tw_reuse=1 leave more"
	switch {
	case s.portMisses > 0:
		notes = append(notes, traffic.Note{Code: string(warning.PortsExhausted), Text: fmt.Sprintf(
			"source ports ran out: of the timed %.3g s, %.3g s passed without a free one; %d connections were made in all, and the connection rate is that of the rest of the time (%s)",
			s.window.Seconds, s.stalled.Seconds(), s.made, advice)})
	// The kernel gives out every other port first, so half of them is the edge.
	case s.searching*searchingShare > s.driven && now.timeWait*5 > now.sourcePorts*2:
		notes = append(notes, traffic.Note{Code: string(warning.PortsExhausted), Text: fmt.Sprintf(
			"source ports were nearly used up: %d sockets in TIME_WAIT at the end, of %d ports; %.3g s of %.3g s went into the search for free ones, %d connections were made, and the connection rate suffers from it (%s)",
			now.timeWait, now.sourcePorts, s.searching.Seconds(), s.driven.Seconds(), s.made, advice)})
	}
	if n := now.timeWaitOverflows - s.kernel.timeWaitOverflows; n > 0 {
		notes = append(notes, traffic.Note{Code: string(warning.TimeWaitFull), Text: fmt.Sprintf(
			"the kernel's table of connections in TIME_WAIT was full: %d were closed without it, which is cheaper (raise net.ipv4.tcp_max_tw_buckets)", n)})
	}
	return notes
}

// searchingShare of the time, as 1/searchingShare, must have gone into the search
// for ports to be told of.
const searchingShare = 20

// estimate adds an upper bound of what the data connections put on the wire at
// one end; asking the kernel of each would cost more than the connection. Beside
// the segments of payload (tag included) and an acknowledgement for each that
// came, an end sends at most five: SYN, the acknowledgement of the other's SYN,
// FIN or RST, the acknowledgement of the other's FIN, and a window update. What
// the whole namespace sent again is added.
func (t crrTrial) estimate(r *traffic.Report, connections int64, out, in int, resent int64) {
	const frame = 5
	// No path has a smaller one: 576 bytes of IPv4, without headers (RFC 9293, 3.7.1).
	mss := 536
	if r.TCP.MSS > 0 {
		mss = r.TCP.MSS
	}
	each := frame + (out+mss-1)/mss + (in+mss-1)/mss
	r.TCP.Segments += uint64(connections)*uint64(each) + uint64(resent)
	r.TCP.Wire += uint64(connections)*uint64(out) + uint64(resent)*uint64(mss)
}
