package web

import (
	"context"
	"net/netip"
	"slices"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/http1"
	"tare/internal/traffic/secure"
	"tare/internal/traffic/socket"
	"tare/internal/unit"
	"tare/internal/warning"
)

// httpFlow is one of the client's flows, with one connection at a time.
type httpFlow struct {
	no     int
	stream socket.Stream // nil for none
	reader *http1.Reader
	ask    *outgoing     // its request, in HTTP/1.1
	want   quantity.Size // of the response to it
	sent   int           // bytes of the request
	parts  int           // messages of the response, of several
	bytes  int           // of the response so far
	opened bool          // the exchange began with a connection
	busy   bool          // an exchange is in progress
	asked  bool          // its request was begun, in HTTP/2

	from, connected, first time.Duration // of its exchange; from is when that was due, with a schedule
	whole                  time.Duration // when the response was there, if the end of the connection comes later; else 0
	begun                  time.Duration
	slot                   uint64 // its next slot of the schedule
}

// httpWindow is one window of a trial at the client. It may be used by one thread, or by several that lock mu.
type httpWindow struct {
	*exchange.Window
	*httpSession
}

// took reads from b what follows of the response of a flow, at a time since the start of the window. It reports
// whether the response is complete, and that of the trial.
func (w *httpWindow) took(f *httpFlow, b []byte, at time.Duration) (done bool, err error) {
	if f.bytes == 0 {
		f.first = at
	}
	f.bytes += len(b)
	n, done, err := f.reader.Read(b)
	switch {
	case err != nil:
		return false, err
	case !done:
		return false, nil
	case n < len(b):
		return false, &answerError{httpOther, "the server sent more than the response"}
	}
	return true, w.t.check(f.reader.Head(), f.reader.Body(), f.want)
}

// ended reads the end of the connection of a flow, as took does.
func (w *httpWindow) ended(f *httpFlow) (done bool, err error) {
	switch done, err := f.reader.Close(); {
	case err != nil:
		return false, err
	case !done:
		return false, connection.ErrPeerClosed
	}
	return true, w.t.check(f.reader.Head(), f.reader.Body(), f.want)
}

// answered reports whether the whole response of a flow's exchange has arrived.
func (f *httpFlow) answered() bool { return f.bytes > 0 && f.reader.Complete() }

// keeps reports whether the connection of a flow serves its next request, too.
func (w *httpWindow) keeps(f *httpFlow) bool {
	return w.t.reuse && f.answered() && f.sent == f.ask.size && f.reader.Head().KeepAlive
}

// done counts the exchange of a flow that ended at at.
func (w *httpWindow) done(f *httpFlow, at time.Duration) {
	w.lostInRow = httpTally{}
	w.received += int64(f.bytes)
	if began := f.from >= w.Bins.Warmup && f.from < w.Bins.End; began {
		w.firstByte.Record(f.first - f.from)
		if f.opened && !w.t.reuse {
			w.connect.Record(f.connected - f.from)
		}
	}
	w.Done(f.no, f.from, at)
}

// httpSession is the client, which measures the time.
type httpSession struct {
	request   func(context.Context, *httpWindow) error // runs the flows for one window
	t         httpTrial
	addr      netip.AddrPort
	asks      []outgoing // by size
	turn      int        // requests of a mix so far
	flows     []httpFlow
	buf       []byte // for one thread
	hist      *traffic.Distribution
	firstByte *traffic.Distribution
	connect   *traffic.Distribution
	streams   []int64
	opened    bool             // the connections that are kept are open
	made      int64            // connections
	tried     connection.Tries // connections
	rtt       time.Duration    // of the last connection that ended, as its kernel knows it
	total     int64            // exchanges
	before    int64            // exchanges before this window
	sent      int64            // bytes
	received  int64            // bytes of the responses of the trial
	noPort    int64            // times that a flow waited for a source port
	closed    traffic.Report
	raw       secure.Bytes // of the connections in TLS
	resumed   int64        // connections in TLS that resumed a session
	kernel    connection.Kernel
	driven    time.Duration
	planned   time.Duration // traffic time of the schedule so far
	window    traffic.Window
	failed    int64     // requests
	lost      httpTally // requests of the timed part
	lostInRow httpTally // requests since the last that succeeded
	restore   func()
}

func newHTTPSession(t httpTrial, addr netip.AddrPort) *httpSession {
	s := &httpSession{t: t, addr: addr, flows: make([]httpFlow, t.Streams), buf: make([]byte, httpBuffer), streams: make([]int64, t.Streams),
		hist: traffic.NewDistribution(), firstByte: traffic.NewDistribution(), connect: traffic.NewDistribution(), kernel: connection.ReadKernel(), restore: t.prepare()}
	for i := range s.flows {
		s.flows[i].no = i
	}
	return s
}

// maxStrangeBody is how many bytes a response may have that is not that of the trial, such as a page of errors, beyond
// what that has.
const maxStrangeBody = 1 << 20

// Drive runs exchanges for warmup + timed and counts those of the second part.
func (s *httpSession) Drive(ctx context.Context, warmup, timed time.Duration) error {
	if (s.t.secured() || s.t.of2()) && s.t.reuse && !s.opened {
		if err := s.openFlows(ctx); err != nil {
			return err
		}
	}
	p := s.t.Params
	p.Warmup, p.Duration = warmup, timed
	w := &httpWindow{exchange.NewWindow(p, s.planned, s.hist, s.streams), s}
	if err := s.run(ctx, w); err != nil {
		return err
	}
	s.planned += warmup + timed
	return w.AddTo(&s.window)
}

// openFlows opens the connections of a trial in TLS or HTTP/2 that keeps them, with an exchange on each that does not count. Handshakes of
// many flows on one CPU may last longer than the warm-up, and the exchanges of those that are through would then have all of it.
func (s *httpSession) openFlows(ctx context.Context) error {
	s.opened = true
	p := s.t.Params
	p.Warmup, p.Duration, p.TransactionRate, p.Meter = 1, 0, 0, nil // each flow begins one exchange
	return s.run(ctx, &httpWindow{exchange.NewWindow(p, 0, s.hist, s.streams), s})
}

// run runs the exchanges of a window.
func (s *httpSession) run(ctx context.Context, w *httpWindow) error {
	began := clock.Now()
	err := s.request(ctx, w)
	s.driven += began.Since()
	s.total += w.Bins.Total
	s.before = s.total
	if err != nil {
		return traffic.WithAttempts(connection.TooManyFiles(err, s.t.Params), s.tried.Attempts)
	}
	return nil
}

// drop closes the connection of a flow, if it has one. The kernel's counts of connections for one request each are
// estimated: reading them would cost more than the connection.
func (s *httpSession) drop(f *httpFlow) {
	if f.stream == nil {
		return
	}
	if s.t.reuse || s.closed.MSS == 0 {
		connection.List{f.stream}.FillReport(&s.closed)
		s.rtt = connection.List{f.stream}.LeastRTT()
	}
	f.stream.Close()
	s.raw = s.raw.Plus(bytesOf(f.stream))
	f.stream = nil
	f.reader.Reset()
}

// RTT is that of the first connection, to the next hop that ends connections: a proxy, or the server.
func (s *httpSession) RTT() time.Duration {
	for _, f := range s.flows {
		if f.stream != nil {
			return connection.List{f.stream}.LeastRTT()
		}
	}
	return s.rtt
}

func (s *httpSession) Close() traffic.Report {
	defer s.restore()
	for i := range s.flows {
		s.drop(&s.flows[i])
	}
	r := s.closed
	r.Traffic, r.Messages, r.Window, r.Connections = s.driven.Seconds(), s.total, s.window, int(s.made)
	r.CPU, r.Sent, r.Received, r.Attempts = s.t.Pinned(), s.sent, s.received, &s.tried.Attempts
	r.Together, r.Content, r.Failed = s.t.together(), contentOf(s.total, slices.Min(s.t.mix.sizes)), s.failed
	if !s.t.reuse {
		s.t.estimate(&r, s.made, s.total, connection.ReadKernel().Retransmits-s.kernel.Retransmits, s.raw)
	}
	w := &r.Window
	w.RTT, w.FirstByte, w.Connect = s.hist, s.firstByte, s.connect
	if len(s.asks) > 0 { // all of one size
		w.Sent = w.Messages * int64(s.asks[0].size)
	}
	if s.total > 0 {
		w.Received = int64(float64(s.received) * float64(w.Messages) / float64(s.total))
	}
	for _, n := range s.streams {
		w.Streams = append(w.Streams, int64(float64(n)*s.t.mix.mean()))
	}
	if w.Event != nil {
		s.addFailed(w.Event)
	}
	r.Notes, r.OwnTime = append(r.Notes, s.notes()...), s.t.ownTime()
	return r
}

// addFailed adds how requests failed, and the connections that were opened in place of others.
func (s *httpSession) addFailed(e *traffic.EventSeen) {
	e.Failed = map[string]int64{}
	unsent := e.Due - e.Answered
	for kind, n := range s.lost {
		if n > 0 {
			e.Failed[httpFailure(kind).String()] = n
			unsent -= n
		}
	}
	if unsent > 0 {
		e.Failed[exchange.NotSent] = unsent
	}
	if s.t.reuse {
		e.Lost = new(max(0, s.made-int64(s.t.Streams)))
	}
}

// notes reports what failed and which resources ran out.
func (s *httpSession) notes() (notes []result.Note) {
	w := s.window
	if n := w.Failed; n > 0 {
		notes = append(notes, warning.NewNote(warning.LostExchanges, "%d of %d requests failed: %s", n, n+w.Messages, s.lost))
	}
	notes = append(notes, exchange.MissedNotes(s.t.Params, w, "response times")...)
	if s.noPort > 0 {
		notes = append(notes, warning.NewNote(warning.PortsExhausted,
			"source ports ran out: requests waited %s for a free one, which is part of their response times. %d connections were opened in total; to avoid it, widen net.ipv4.ip_local_port_range or set net.ipv4.tcp_tw_reuse=1",
			unit.Count(int(s.noPort), "time", "times"), s.made))
	}
	if full := s.made - s.resumed; s.t.Resumption == study.On && full-int64(s.t.Streams) > s.made/100 {
		notes = append(notes, warning.NewNote(warning.NotResumed, "%d of %d connections resumed no TLS session: their handshakes were full ones, although resumption is on; a proxy that ends TLS may give no tickets", full, s.made))
	}
	return notes
}

// bytesOf returns what a connection in TLS sent and received, nothing for another.
func bytesOf(c socket.Stream) secure.Bytes {
	if s, ok := c.(*secure.Stream); ok {
		return s.Bytes()
	}
	return secure.Bytes{}
}

// handshakeRecords is the most segments that an endpoint sends and acknowledges of a connection besides those of its payload
// because of TLS: the messages of the handshake and its end, one a record. recordSize is the most payload of a record.
const handshakeRecords, recordSize = 16, 16 << 10

// leastSegment is the payload of the smallest segments that every path carries.
const leastSegment = 536

// estimate adds an upper bound of what the connections of a trial with one request each put on the wire at one endpoint,
// as tcp_crr has it. raw is what those in TLS sent and received.
func (t *httpTrial) estimate(r *traffic.Report, connections, messages, resent int64, raw secure.Bytes) {
	each := func(bytes int64) int { return int((bytes + max(messages, 1) - 1) / max(messages, 1)) }
	out, in := each(r.Sent), each(r.Received)
	connections = max(connections, messages)
	if t.secured() { // a record ends with a segment of its own
		out, in = each(raw.Sent), each(raw.Received)
		r.TCP.Segments += uint64(connections) * uint64(handshakeRecords+(out+in)/recordSize)
	}
	if t.mix.order != nil { // large responses have more segments than those of the mean size
		r.TCP.Segments += uint64(r.Sent+r.Received) / leastSegment
	}
	connection.Estimate(r, connections, out, in, resent)
}

// mostOwnRead is the size of the largest response whose reading is measured: that of larger ones takes too long, and the system
// calls many times as long.
const mostOwnRead = 1 << 20

// ownTime is [traffic.OwnTime] of http, with the reading of a response; nil in TLS, of HTTP/2 and of a mix, which are not measured.
func (t *httpTrial) ownTime() *float64 {
	p, ok := exchange.OwnParams(t.Params)
	if !ok || t.secured() || t.of2() || t.mix.order != nil {
		return nil
	}
	s := &httpSession{t: *t, hist: traffic.NewDistribution(), firstByte: traffic.NewDistribution(), connect: traffic.NewDistribution(), streams: make([]int64, p.Streams)}
	w := &httpWindow{exchange.NewWindow(p, 0, s.hist, s.streams), s}
	f, answer := httpFlow{reader: http1.NewResponseReader(int64(t.ResponseSize)), want: t.ResponseSize}, t.response(time.Now(), !t.reuse, 0)
	if answer.size > mostOwnRead {
		return nil
	}
	read := true
	own := traffic.OwnTime(clock.Now().Since, func(from, at time.Duration) {
		f.from, f.bytes, f.opened = from, 0, !t.reuse
		for f.bytes < answer.size {
			if _, err := w.took(&f, answer.after(f.bytes), at); err != nil {
				read = false
				return
			}
		}
		w.done(&f, at)
		if !t.reuse {
			f.reader.Reset()
		}
	})
	if !read {
		return nil
	}
	return own
}
