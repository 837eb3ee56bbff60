package udp

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
	"tare/internal/traffic/dns"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// dnsQueries is udp_dns: queries to a resolver at the server's endpoint, one at a time on each flow.
// The next query of a flow follows the answer, or starts on a schedule.
type dnsQueries struct{ rr }

func (w dnsQueries) Spec() traffic.Spec {
	s := w.rr.Spec()
	s.Title, s.Kind, s.StandsFor = "DNS queries over UDP", "udp_dns", "names: a resolver, CoreDNS"
	s.Params = []string{"flows", "family", "send_buffer", "receive_buffer", "placement", "slice", "warmup", "duration"}
	s.Defaults.RequestSize, s.Defaults.ResponseSize, s.Defaults.Flows = 0, 0, 1
	s.Defaults.Family = study.IPv4
	return s
}

// dnsParams sets what is not a parameter of udp_dns, and returns the zone of the trial.
func dnsParams(p traffic.Params) (traffic.Params, *dns.Zone, error) {
	p.Streams, p.Rounds, p.Offload, p.Fragment = max(1, p.Streams), 0, study.Off, study.On
	p.PayloadSize = 1
	to, err := checkParams(p, 1)
	if err != nil {
		return p, nil, err
	}
	zone, err := dns.NewZone(p.Token, to.Addr().Is6())
	if err != nil {
		return p, nil, fmt.Errorf("%s: %w", p.Kind, err)
	}
	p.RequestSize, p.ResponseSize = quantity.Size(zone.QuerySize()), quantity.Size(zone.AnswerSize())
	p.PayloadSize = max(p.RequestSize, p.ResponseSize)
	return p, zone, nil
}

func (w dnsQueries) Listen(p traffic.Params) (traffic.Server, error) {
	p, zone, err := dnsParams(p)
	if err != nil {
		return nil, err
	}
	return listen(w.net, p, func(ctx context.Context, e *endpoint, p traffic.Params, peer traffic.Peer) (traffic.Report, error) {
		return (&dnsServer{endpoint: e, p: p, zone: zone}).serve(ctx, peer)
	})
}

func (w dnsQueries) Dial(ctx context.Context, p traffic.Params, _ traffic.Peer) (traffic.Report, error) {
	return traffic.DriveWhole(ctx, p, w.dial)
}

func (w dnsQueries) Open(ctx context.Context, p traffic.Params) (traffic.Session, error) {
	return traffic.DriveInSlices(ctx, p, w.dial)
}

func (w dnsQueries) dial(ctx context.Context, p traffic.Params) (traffic.ClientDriven, error) {
	p, zone, err := dnsParams(p)
	if err != nil {
		return nil, err
	}
	to, err := checkParams(p, 1)
	if err != nil {
		return nil, err
	}
	s := &dnsClient{p: p, net: w.net, zone: zone, hist: traffic.NewDistribution(), query: make([]byte, p.RequestSize),
		in: socket.NewInbox(longest(int(p.PayloadSize)), false), flows: make([]dnsFlow, p.Streams), counts: make([]traffic.FlowCount, p.Streams), restore: thread.PauseGC()}
	if s.endpoint, err = connectClient(ctx, w.net, p, to, true); err != nil {
		s.restore()
		return nil, err
	}
	s.senders = sendersOf(s.wire, p.Streams)
	return s, nil
}

func sendersOf(w socket.UDPWire, flows int) []socket.Messenger {
	all := make([]socket.Messenger, flows)
	for i := range all {
		all[i] = w.Messenger(i)
	}
	return all
}

// dnsFlow is one flow of the client with its query in progress, if it is busy.
type dnsFlow struct {
	busy, counts bool
	id           uint16
	name         uint64        // the number of the query's name
	begun        time.Duration // when the query was due or sent, since the start of the window
	sent         time.Duration
	overdue      int64 // the pass of the loop in which its time was found to be over, 0 if it is not
}

// expiryInterval is how often the client looks for queries without an answer.
const expiryInterval = 10 * time.Millisecond

// dnsClient is the client, which measures the time. One thread serves all flows.
type dnsClient struct {
	*endpoint
	p             traffic.Params
	net           socket.UDP
	zone          *dns.Zone
	senders       []socket.Messenger
	in            *socket.Inbox
	query         []byte
	flows         []dnsFlow
	counts        []traffic.FlowCount // by flow
	next          uint64              // the number of the next query
	hist          *traffic.Distribution
	late, foreign int64
	rtt           time.Duration // the least so far, 0 before the first
	driven        time.Duration
	window        traffic.Window
	restore       func()
}

// dnsDrive is one window of the client.
type dnsDrive struct {
	*dnsClient
	over   *atomic.Bool
	start  int64 // clock reading
	timed  bool
	bins   traffic.LoopCounter
	open   *pacer // nil in a closed loop
	busy   int
	pass   int64         // of the loop, from 1
	expire time.Duration // when to look for queries without an answer
}

// Drive runs queries for warmup + timed and counts those that are answered in the second part. With a
// rate, a query starts at its slot, or later as soon as a flow is free, and its round trip is
// measured from the slot. It returns when no query is in progress.
func (s *dnsClient) Drive(ctx context.Context, warmup, timed time.Duration) error {
	p := traffic.Params{Warmup: warmup, Duration: timed, Slice: s.p.Slice}
	b := traffic.NewBinCounter(p).ReportTo(s.p.Meter.Begin(1), 0)
	d := &dnsDrive{dnsClient: s, timed: timed > 0, bins: traffic.LoopCounter{BinCounter: b, Flows: len(s.flows)}}
	if s.p.TransactionRate > 0 {
		d.bins.Flows = 0
	}
	err := s.p.Threading().Run(1, func(int) error {
		var stop func() bool
		d.over, stop = thread.Cancelled(ctx)
		defer stop()
		d.start = s.clock.now()
		if s.p.TransactionRate > 0 {
			sched, err := newSchedule(1, uint64(s.p.TransactionRate))
			if err != nil {
				return err
			}
			s.net.Sleeper() // for precise waits
			d.open = &pacer{schedule: sched, start: d.start, end: sched.before(int64(d.bins.End))}
			s.window.Slots += d.open.end - sched.before(int64(warmup))
		}
		if err := d.run(); err != nil {
			if d.over.Load() {
				return context.Cause(ctx)
			}
			return err
		}
		if d.open != nil {
			s.window.Missed += d.open.end - max(d.open.next, d.open.before(int64(warmup)))
		}
		s.driven += d.now()
		return nil
	})
	if err != nil {
		return err
	}
	s.window.Messages += d.bins.Counted()
	s.window.Seconds += d.bins.Time().Seconds()
	if timed > 0 {
		s.window.Series = append(s.window.Series, traffic.Series(p, []*traffic.BinCounter{b})...)
		s.window.Interval = min(traffic.SeriesInterval, timed).Seconds()
		s.window.AddProfile(b)
	}
	return nil
}

func (d *dnsDrive) now() time.Duration { return time.Duration(d.clock.now() - d.start) }

// errOver ends a window whose context has ended.
var errOver = errors.New("cancelled")

func (d *dnsDrive) run() error {
	at := time.Duration(0)
	for {
		wait, err := d.begin(at)
		if err != nil {
			return err
		}
		if d.busy == 0 && d.ended(at) {
			return nil
		}
		d.pass++
		err = d.receive(wait)
		nothing := socket.IsAgain(err)
		switch {
		case nothing:
			d.in.N = 0
		case err != nil:
			return fmt.Errorf("receive answer: %w", peerGoneError(err))
		}
		at = d.now()
		for i := range d.in.N {
			d.arrived(d.in.Flow, d.in.Bufs[i][:d.in.Sizes[i]], at)
		}
		if at >= d.expire {
			d.expire = at + expiryInterval
			d.giveUp(at, nothing)
		}
		if d.over.Load() {
			return errOver
		}
	}
}

// receive waits for datagrams. Without a schedule there is nothing else to do meanwhile, and the
// wait of the sockets needs one system call less.
func (d *dnsDrive) receive(wait time.Duration) error {
	if d.open == nil {
		return d.wire.Receive(d.in)
	}
	if d.p.Spins() {
		wait = 0
	}
	if wait == 0 {
		thread.Yield() // the server may share the CPU
	}
	return d.wire.ReceiveWithin(d.in, wait)
}

// ended reports whether no further query may start.
func (d *dnsDrive) ended(at time.Duration) bool {
	if d.open != nil {
		return d.open.next >= d.open.end || at >= d.bins.End
	}
	return at >= d.bins.End
}

// begin starts the queries that may start, and returns how long the client may then wait.
func (d *dnsDrive) begin(at time.Duration) (wait time.Duration, err error) {
	for i := range d.flows {
		if d.ended(at) {
			break
		}
		f := &d.flows[i]
		if f.busy {
			continue
		}
		begun := at
		if d.open != nil {
			if begun = time.Duration(d.open.at(d.open.next)); begun > at {
				return min(begun-at, expiryInterval), nil
			}
			d.open.next++
		}
		if err := d.ask(i, begun); err != nil {
			return 0, err
		}
	}
	return expiryInterval, nil
}

// ask sends the next query on a flow.
func (d *dnsDrive) ask(flow int, begun time.Duration) error {
	f := &d.flows[flow]
	f.id++
	f.busy, f.name, f.begun, f.sent, f.overdue = true, d.next, begun, d.now(), 0
	f.counts = d.timed && begun >= d.bins.Warmup && begun < d.bins.End
	d.next++
	d.zone.Query(d.query, f.name, f.id)
	for {
		_, err := d.senders[flow].Send(d.query)
		switch {
		case err == nil:
			d.busy++
			d.counts[flow].Sent++
			if f.counts {
				d.counts[flow].SentCounted++
			}
			return nil
		case !socket.IsAgain(err):
			return fmt.Errorf("send query: %w", peerGoneError(err))
		case d.now()-f.sent >= replyTimeout:
			return errors.New("send query: the kernel had no buffer space for it within " + replyTimeout.String())
		}
	}
}

// arrived handles a datagram of a flow.
func (d *dnsDrive) arrived(flow int, b []byte, at time.Duration) {
	if flow < 0 {
		d.foreign++
		return
	}
	f := &d.flows[flow]
	switch is := d.zone.Check(b, f.name, f.id); {
	case is == dns.Right && f.busy:
		f.busy = false
		d.busy--
		d.rtt = leastRTT(d.rtt, at-f.sent)
		d.counts[flow].Received++
		if f.counts {
			d.counts[flow].ReceivedCounted++
			d.hist.Record(at - f.begun)
		}
		d.bins.Add(f.begun, at, true)
	case is != dns.Foreign:
		d.late++ // of a query that timed out, or a duplicate
	case d.handshakeMessage(b): // a repeated one, which came late
	default:
		d.foreign++
	}
}

// giveUp ends the queries whose answers have not arrived in time: they are lost. If this thread had
// no CPU for a while, answers may wait unread, and the server may have had none either. So a query
// is given up when there was nothing to read since its time was found to be over, or when every
// socket has been read since then.
func (d *dnsDrive) giveUp(at time.Duration, nothing bool) {
	for i := range d.flows {
		f := &d.flows[i]
		switch {
		case !f.busy || at-f.sent < replyTimeout:
		case f.overdue == 0:
			f.overdue = d.pass
		case nothing || d.pass-f.overdue > int64(2*(len(d.flows)+socket.Batch)):
			f.busy = false
			d.busy--
			d.bins.Add(f.begun, at, false)
		}
	}
}

func (s *dnsClient) RTT() time.Duration { return s.rtt }

func (s *dnsClient) Close() traffic.Report {
	defer s.restore()
	defer s.wire.Close()
	bye := message{kind: msgBye, flows: uint16(len(s.flows)), tag: s.tag, token: s.p.Token}.bytes()
	for range byeCount {
		_ = s.wire.SendOne(0, bye)
	}
	st := s.wire.State()
	counted := exchanged(s.counts, 0, s.late, s.foreign, st)
	all := counted.Total()
	r := s.report(s.p, all.Sent*int64(s.p.RequestSize), all.Received*int64(s.p.ResponseSize), all.Sent)
	r.Traffic, r.Window = s.driven.Seconds(), s.window
	r.Window.RTT, r.Datagrams = s.hist, counted
	r.Notes = exchangeNotes(all, r.Window)
	return r
}
