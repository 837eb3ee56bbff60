package udp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// receiver takes what comes on all flows, on one thread.
type receiver struct {
	*endpoint
	p            traffic.Params
	in           *socket.Inbox
	trackers     []sequenceTracker
	slots        []int64 // counted datagrams by interval
	foreign      int64
	unread       int64
	sample       uint64 // delays of sequence numbers with none of these bits are recorded
	delay        *traffic.Distribution
	variation    *traffic.Distribution
	last         []lastDelay // by flow
	firstArrival int64       // clock, first and newest arrival of a datagram of the trial
	lastArrival  int64
	reverse      bool
	flood        bool // the sender is too fast to wait for each datagram
	net          socket.UDP

	slot         uint32           // that the newest counted datagram was sent in
	gauge        *traffic.Gauge   // who watches reads it; nil where nobody does
	nextUpdate   int64            // clock, when it is set next
	slotsDone    uint32           // slots that are behind, as it shows
	doneProgress traffic.Progress // in those
	slotSeconds  []float64        // intervals of the slots, seconds
}

// lastDelay is the datagram before.
type lastDelay struct {
	next  uint64 // the sequence number behind it
	delay int64
}

// The end of a trial at the receiver, once it knows what was sent: when all of
// that is there, when nothing came for drainIdleTimeout, or after drainTimeout.
const (
	drainIdleTimeout = 250 * time.Millisecond
	drainTimeout     = 2 * time.Second
	drainPollTimeout = 5 * time.Millisecond // patience meanwhile
)

// sampleMask picks the delays that are recorded at top speed: one in 64.
const sampleMask = 63

// A flood is looked for every floodPollInterval, until none has come for floodIdleTimeout.
const (
	floodPollInterval = 50 * time.Microsecond
	floodIdleTimeout  = 5 * time.Millisecond
)

func newReceiver(e *endpoint, n socket.UDP, p traffic.Params) *receiver {
	flows := max(1, p.Streams)
	r := &receiver{endpoint: e, net: n, p: p, in: socket.NewInbox(longest(p.PayloadSize), p.Offload), slotSeconds: intervals(p),
		last: make([]lastDelay, flows), delay: traffic.NewDistribution(), variation: traffic.NewDistribution()}
	r.slots = make([]int64, len(r.slotSeconds))
	for range flows {
		r.trackers = append(r.trackers, newSequenceTracker(flows))
	}
	if p.Rate == 0 && p.PacketRate == 0 {
		r.flood, r.sample = true, sampleMask
	} else if s, err := datagramSchedule(p, 1); err == nil {
		r.flood = s.at(1) < int64(tightSlots)
	}
	if gauges := p.Meter.Begin(1); gauges != nil {
		r.gauge = &gauges[0]
	} else {
		r.nextUpdate = math.MaxInt64
	}
	return r
}

// updateGauge sets the gauge: to what came in the intervals of the series that are behind, and
// how long those were. Where modes take turns, the clock ran on in those of others.
func (r *receiver) updateGauge(now int64) {
	r.nextUpdate = now + int64(traffic.GaugeInterval)
	for ; r.slotsDone < r.slot && int(r.slotsDone) < len(r.slots); r.slotsDone++ {
		r.doneProgress.Count += r.slots[r.slotsDone] * int64(r.p.PayloadSize)
		r.doneProgress.Busy += time.Duration(r.slotSeconds[r.slotsDone] * 1e9)
	}
	r.gauge.Set(r.doneProgress.Count, r.doneProgress.Busy)
}

// intervals are the lengths of the series' intervals, in seconds.
func intervals(p traffic.Params) []float64 {
	rounds := 1
	if p.Rounds > 0 {
		rounds, p = p.Rounds, p.SliceTransfer(p.Slice)
	}
	var one []float64
	for at := time.Duration(0); at < p.Duration; at += traffic.SeriesInterval {
		one = append(one, min(traffic.SeriesInterval, p.Duration-at).Seconds())
	}
	return slices.Repeat(one, rounds)
}

// run receives until the sender's report has come and all that can still arrive.
func (r *receiver) run(ctx context.Context, peer traffic.Peer) (report traffic.Report, err error) {
	err = thread.Run(1, r.p.CPU, func(int) error {
		report, err = r.receive(ctx, peer)
		return err
	})
	return report, err
}

func (r *receiver) receive(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	over, stop := thread.Cancelled(ctx)
	defer stop()
	var sender traffic.Report
	var told int64 // clock, when the report came
	sleep := r.net.Sleeper()
	for {
		err := r.wire.Receive(r.in)
		now := r.clock.now()
		if r.flood {
			// Asleep for a while rather than waiting for the next datagram: the
			// sender then spends nothing on waking this end up, one by one.
			if r.in.NonBlocking && socket.IsAgain(err) {
				sleep(floodPollInterval)
			}
			r.in.NonBlocking = now-r.lastArrival < int64(floodIdleTimeout)
		}
		switch {
		case err == nil:
			r.countInbox(now)
		case errors.Is(err, socket.ErrRefused): // of the handshake; who has gone tells no more
		case !socket.IsAgain(err):
			return traffic.Report{}, fmt.Errorf("receive: %w", err)
		case r.reverse && r.firstArrival == 0 && told == 0:
			r.sendReady()
		}
		if over.Load() {
			return traffic.Report{}, r.cancelError(ctx, told != 0)
		}
		if told == 0 {
			select {
			case sender = <-peer:
				if sender.Datagrams == nil || len(sender.Datagrams.Flows) != len(r.trackers) {
					return traffic.Report{}, errors.New("receive: the sender's report has another number of flows than this end")
				}
				told = now
				if err := r.wire.SetTimeout(drainPollTimeout); err != nil {
					return traffic.Report{}, fmt.Errorf("receive: %w", err)
				}
			default:
			}
			continue
		}
		late := now-told > int64(drainTimeout)
		if r.complete(sender) || now-max(told, r.lastArrival) > int64(drainIdleTimeout) || late {
			if late {
				r.countUnread()
			}
			return r.close(sender)
		}
	}
}

// maxUnread bounds how long is counted what still comes.
const maxUnread = 1 << 16

// countUnread counts what is still waiting at the sockets of what the drain had no
// time for.
func (r *receiver) countUnread() {
	r.in.NonBlocking = true
	for r.unread < maxUnread && r.wire.Receive(r.in) == nil {
		for i := range r.in.N {
			part := max(1, cmp.Or(r.in.SegmentSizes[i], r.in.Sizes[i]))
			if h, ok := parseHeader(r.in.Bufs[i][:r.in.Sizes[i]]); ok && h.tag == r.tag {
				r.unread += int64((r.in.Sizes[i] + part - 1) / part)
			}
		}
	}
}

// cancelError says what was missing when the trial was given up.
func (r *receiver) cancelError(ctx context.Context, told bool) error {
	var n int64
	for i := range r.trackers {
		n += r.trackers[i].received
	}
	what := "the sender did not say how many it sent"
	if told {
		what = "the drain had not ended"
	}
	return fmt.Errorf("receive: %d datagrams came, but %s: %w", n, what, context.Cause(ctx))
}

// sendReady repeats what the server may have missed. If it cannot be sent it is
// said again.
func (r *receiver) sendReady() {
	m := message{kind: msgReady, flows: uint16(len(r.trackers)), clock: r.clock.id, tag: r.tag, token: r.p.Token}
	_ = r.wire.SendOne(0, m.bytes())
}

// countInbox counts what one call brought.
func (r *receiver) countInbox(now int64) {
	for i := range r.in.N {
		b := r.in.Bufs[i][:r.in.Sizes[i]]
		part := r.in.SegmentSizes[i]
		if part <= 0 {
			part = len(b)
		}
		for len(b) > part {
			r.datagram(b[:part], now)
			b = b[part:]
		}
		r.datagram(b, now)
	}
	if now >= r.nextUpdate {
		r.updateGauge(now)
	}
}

func (r *receiver) datagram(b []byte, now int64) {
	flow := r.in.Flow
	h, ok := parseHeader(b)
	if !ok || h.tag != r.tag || len(b) != r.p.PayloadSize || int(h.flow) != flow {
		r.countOther(b)
		return
	}
	if r.firstArrival == 0 {
		r.firstArrival = now
	}
	r.lastArrival = now
	delay := now - h.sent
	what := r.trackers[flow].arrive(h.seq, delay, h.flags&flagCounted != 0)
	if what == duplicate {
		return
	}
	last := &r.last[flow]
	if what == arrivedInTime && h.flags&flagCounted != 0 {
		if int(h.slot) < len(r.slots) {
			r.slots[h.slot]++
			r.slot = h.slot
		}
		if h.seq&r.sample == 0 {
			r.delay.Record(time.Duration(delay))
			if h.seq == last.next && h.seq > 0 {
				r.variation.Record(time.Duration(max(delay-last.delay, last.delay-delay)))
			}
		}
	}
	last.next, last.delay = h.seq+1, delay
}

// countOther answers what is left of the handshake and counts what is foreign.
func (r *receiver) countOther(b []byte) {
	m, ok := parseMessage(b)
	switch {
	case ok && m.tag == r.tag && r.reverse && (m.kind == msgWelcome || m.kind == msgGo):
	case ok && !r.reverse && hasToken(m, r.p.Token):
		// The go was lost, or is still under way. So may this one be.
		if m.kind == msgReady && r.in.Flow >= 0 {
			_ = r.wire.SendOne(r.in.Flow, r.message(msgGo, 0, m.flows))
		}
	default:
		r.foreign++
	}
}

// complete says whether all that was sent is there.
func (r *receiver) complete(sender traffic.Report) bool {
	for i, f := range sender.Datagrams.Flows {
		if r.trackers[i].received < f.Sent {
			return false
		}
	}
	return true
}

// close ends the account.
func (r *receiver) close(sender traffic.Report) (traffic.Report, error) {
	st := r.wire.State()
	size := int64(r.p.PayloadSize)
	out := traffic.Report{CPU: r.p.CPU, Connections: len(r.trackers), Refused: r.refused, SendBuffer: st.SendBuffer, ReceiveBuffer: st.ReceiveBuffer,
		Traffic: float64(r.lastArrival-r.firstArrival) / 1e9}
	d := &traffic.Datagrams{Foreign: r.foreign + st.UnknownPeers, Offloaded: st.Coalesced, Unread: r.unread, SocketDrops: st.Dropped}
	for i := range r.trackers {
		l := &r.trackers[i]
		sent := sender.Datagrams.Flows[i]
		if l.received > sent.Sent || l.counted+l.late > sent.SentCounted {
			return traffic.Report{}, fmt.Errorf("receive: flow %d: %d datagrams came of %d sent, %d counted and %d late ones of %d: the account is wrong",
				i, l.received, sent.Sent, l.counted, l.late, sent.SentCounted)
		}
		d.Flows = append(d.Flows, traffic.FlowCount{Received: l.received, ReceivedCounted: l.counted})
		d.Duplicates += l.duplicates
		d.Reordered += l.reordered
		d.ReorderExtent = max(d.ReorderExtent, l.extent)
		d.Late += l.late
		out.Received += l.received * size
		out.Window.Received += l.counted * size
		out.Window.Messages += l.counted
		out.Window.Streams = append(out.Window.Streams, l.counted*size)
	}
	if !d.Offloaded {
		// As a proof reads it: so many packets crossed by themselves. Of the
		// super-packets nobody knows how many there were.
		out.Messages = out.Received / size
	}
	if r.sharedClock {
		d.Delay = r.delay
	}
	d.Variation = r.variation
	out.Datagrams = d
	out.Window.Seconds = sender.Window.Seconds
	for i, long := range r.slotSeconds {
		out.Window.Interval = max(out.Window.Interval, long)
		out.Window.Series = append(out.Window.Series, float64(r.slots[i]*size)/long)
	}
	return out, nil
}
