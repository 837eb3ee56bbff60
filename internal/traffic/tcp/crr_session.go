package tcp

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
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
	made       int64            // connections in this window and before
	portMisses int64            // connection attempts without a free source port
	stalled    time.Duration    // time without a source port in the timed part, sum of all flows
	searching  time.Duration    // time spent on opening connections, for consecutive ones that each took longer than slowPortSearch
	before     int64            // exchanges before this window
	failed     connection.Tally // connections of the timed part
	tried      connection.Tries // connections in this window and before
	inRow      connection.Tally // connections since the last that succeeded
	searched   bool             // opening the last connection took longer
}

// done counts a connection by the times at which it was begun, was connected, had its first byte
// and was closed. late says that its handshake lost a packet.
func (w *crrWindow) done(begun, connected, first, closed time.Duration, late bool) {
	w.inRow = connection.Tally{}
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

// slowPortSearch is much longer than opening a connection takes, unless the kernel searches all
// source ports for a free one.
const slowPortSearch = time.Millisecond

// crrSession is the client, which measures the time.
type crrSession struct {
	path           path
	t              crrTrial
	addr           netip.AddrPort
	control        connection.List
	kernel         connection.Kernel
	connect, first *traffic.Distribution
	made, total    int64 // connections and exchanges
	portMisses     int64
	searching      time.Duration
	stalled        time.Duration
	driven         time.Duration
	window         traffic.Window
	failed, inRow  connection.Tally
	tried          connection.Tries
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
		return traffic.WithAttempts(connection.TooManyFiles(err, t.Params), s.tried.Attempts)
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
func (s *crrSession) RTT() time.Duration { return s.control.LeastRTT() }

func (s *crrSession) Close() traffic.Report {
	defer s.restore()
	defer s.control.Close()
	r := traffic.Report{Traffic: s.driven.Seconds(), Messages: s.total, Window: s.window,
		End: result.End{CPU: s.t.Pinned(), Sent: s.made * int64(s.t.RequestSize), Received: s.total * int64(s.t.ResponseSize)}}
	s.control.FillReport(&r)
	kernel := connection.ReadKernel()
	r.Connections = int(s.made)
	connection.Estimate(&r, s.made, s.t.requestBytes(), int(s.t.ResponseSize), kernel.Retransmits-s.kernel.Retransmits)
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
func (s *crrSession) notes(now connection.Kernel) []result.Note {
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
	case s.searching*searchingShare > s.driven && now.TimeWait*5 > now.SourcePorts*2:
		notes = append(notes, warning.NewNote(warning.PortsExhausted,
			"source ports were nearly used up: %d sockets in TIME_WAIT at the end, of %d ports, and the search for a free one took %.3g s of %.3g s. This lowers the connection rate of the %d connections; %s",
			now.TimeWait, now.SourcePorts, s.searching.Seconds(), s.driven.Seconds(), s.made, advice))
	}
	if n := now.TimeWaitOverflows - s.kernel.TimeWaitOverflows; n > 0 {
		notes = append(notes, warning.NewNote(warning.TimeWaitFull,
			"the kernel's table of TIME_WAIT sockets was full: connections closed without TIME_WAIT, which is cheaper: %d; raise net.ipv4.tcp_max_tw_buckets", n))
	}
	return notes
}

// searchingShare is the share of the time, as 1/searchingShare, from which the search for ports is
// reported.
const searchingShare = 20

// fail counts a connection that ended with err, after which its flow opens the next. It returns err if that ends the
// trial: if it is of this host, if no flow has had any answer, or if so many in a row failed that the server has gone.
func (w *crrWindow) fail(err error, begun, at time.Duration) error {
	f, counted := connection.FailureOf(err)
	if !counted {
		return err
	}
	w.tried.Add(f)
	if w.bins.Add(begun, at, false) {
		w.failed[f]++
	}
	most := connection.MostRefused
	if f == connection.Unanswered {
		most = connection.MostUnanswered + w.Streams
	}
	w.inRow[f]++
	switch {
	case f == connection.Unanswered && w.bins.Total == 0 && w.before == 0 && w.inRow[f] >= int64(w.Streams):
		return err
	case w.inRow[f] > int64(most):
		return fmt.Errorf("%w, as did %d before it", err, w.inRow[f]-1)
	}
	return nil
}

// ownTime is [traffic.OwnTime] of tcp_crr, which reads its clock when a connection is opened, connected, answered and closed.
func (t crrTrial) ownTime() *float64 {
	t.Params, _ = exchange.OwnParams(t.Params)
	w := &crrWindow{crrTrial: t, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(t.Params), Flows: t.Streams},
		connect: traffic.NewDistribution(), firstByte: traffic.NewDistribution()}
	start := clock.Now()
	return traffic.OwnTime(start.Since, func(from, at time.Duration) {
		w.countSearch(start.Since() - from)
		w.done(from, start.Since(), start.Since(), at, false)
	})
}
