package udp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// receiver receives the datagrams of all flows on one thread.
type receiver struct {
	*endpoint
	p            traffic.Params
	in           *socket.Inbox
	trackers     []sequenceTracker
	slots        []int64 // counted datagrams by interval
	foreign      int64
	unread       int64
	sample       uint64 // only delays of sequence numbers with none of these bits are recorded
	delay        *traffic.Distribution
	variation    *traffic.Distribution
	last         []lastDelay // by flow
	firstArrival int64       // clock readings of the first and last arrival of a datagram of the trial
	lastArrival  int64
	reverse      bool
	flood        bool // the sender is too fast to wait for each datagram
	net          socket.UDP

	slot         uint32           // slot of the newest counted datagram
	gauge        *traffic.Gauge   // read for progress; nil if progress is not requested
	nextUpdate   int64            // clock reading of the next update
	slotsDone    uint32           // slots included in the progress
	doneProgress traffic.Progress // of those slots
	slotSeconds  []float64        // lengths of the slots, seconds
}

// lastDelay is the previous datagram of a flow.
type lastDelay struct {
	next  uint64 // the sequence number after it
	delay int64
}

// After the sender's report, the receiver ends when everything that was sent has arrived, when
// nothing arrived for drainIdleTimeout, or after drainTimeout.
const (
	drainIdleTimeout = 250 * time.Millisecond
	drainTimeout     = 2 * time.Second
	drainPollTimeout = 5 * time.Millisecond // poll timeout while draining
)

// sampleMask selects one in 64 delays to record at an unlimited rate.
const sampleMask = 63

// At a high rate the receiver polls every floodPollInterval, until nothing arrived for
// floodIdleTimeout.
const (
	floodPollInterval = 50 * time.Microsecond
	floodIdleTimeout  = 5 * time.Millisecond
)

func newReceiver(e *endpoint, n socket.UDP, p traffic.Params) *receiver {
	flows := max(1, p.Streams)
	r := &receiver{endpoint: e, net: n, p: p, in: socket.NewInbox(longest(int(p.PayloadSize)), p.Offload == study.On), slotSeconds: intervals(p),
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

// updateGauge sets the gauge to the payload and length of the completed intervals of the series.
// The clock cannot be used for that, because it also runs during slices of other modes.
func (r *receiver) updateGauge(now int64) {
	r.nextUpdate = now + int64(traffic.GaugeInterval)
	for ; r.slotsDone < r.slot && int(r.slotsDone) < len(r.slots); r.slotsDone++ {
		r.doneProgress.Count += r.slots[r.slotsDone] * int64(r.p.PayloadSize)
		r.doneProgress.Busy += time.Duration(r.slotSeconds[r.slotsDone] * 1e9)
	}
	r.gauge.Set(r.doneProgress.Count, r.doneProgress.Busy)
}

// intervals returns the lengths of the intervals of the series in seconds.
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

// run receives until the sender's report and everything that can still arrive have arrived.
func (r *receiver) run(ctx context.Context, peer traffic.Peer) (report traffic.Report, err error) {
	var wait thread.CPUWait
	err = r.p.Threading().Run(1, func(int) error {
		return wait.Measure(func() error {
			report, err = r.receive(ctx, peer)
			return err
		})
	})
	report.CPUWait = wait.Seconds()
	return report, err
}

func (r *receiver) receive(ctx context.Context, peer traffic.Peer) (traffic.Report, error) {
	over, stop := thread.Cancelled(ctx)
	defer stop()
	var sender traffic.Report
	var reported int64 // clock reading when the report arrived
	sleep := r.net.Sleeper()
	for {
		err := r.wire.Receive(r.in)
		now := r.clock.now()
		if r.flood {
			// Sleep for a fixed time instead of waiting for the next datagram, so that the sender
			// spends no time on waking this thread.
			if r.in.NonBlocking && socket.IsAgain(err) {
				sleep(floodPollInterval)
			}
			r.in.NonBlocking = now-r.lastArrival < int64(floodIdleTimeout)
		}
		switch {
		case err == nil:
			r.countInbox(now)
		case errors.Is(err, socket.ErrRefused): // of the handshake; a closed port says nothing more
		case !socket.IsAgain(err):
			return traffic.Report{}, fmt.Errorf("receive: %w", err)
		case r.reverse && r.firstArrival == 0 && reported == 0:
			r.sendReady()
		}
		if over.Load() {
			return traffic.Report{}, r.cancelError(ctx, reported != 0)
		}
		if reported == 0 {
			select {
			case sender = <-peer:
				if sender.Datagrams == nil || len(sender.Datagrams.Flows) != len(r.trackers) {
					return traffic.Report{}, errors.New("receive: the sender's report has a different number of flows than this endpoint")
				}
				reported = now
				if err := r.wire.SetTimeout(drainPollTimeout); err != nil {
					return traffic.Report{}, fmt.Errorf("receive: %w", err)
				}
			default:
			}
			continue
		}
		late := now-reported > int64(drainTimeout)
		if r.complete(sender) || now-max(reported, r.lastArrival) > int64(drainIdleTimeout) || late {
			if late {
				r.countUnread()
			}
			return r.close(sender)
		}
	}
}

// maxUnread bounds how many unread datagrams are counted.
const maxUnread = 1 << 16

// countUnread counts the trial's datagrams that are still queued at the sockets after drainTimeout.
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

// cancelError returns an error that says what was missing when the trial was cancelled.
func (r *receiver) cancelError(ctx context.Context, reported bool) error {
	var n int64
	for i := range r.trackers {
		n += r.trackers[i].received
	}
	what := "the sender did not report how many it sent"
	if reported {
		what = "the drain was not complete"
	}
	return fmt.Errorf("receive: %d datagrams arrived, but %s: %w", n, what, context.Cause(ctx))
}

// sendReady repeats ready, which the server may have missed. A failed send is repeated later.
func (r *receiver) sendReady() {
	m := message{kind: msgReady, flows: uint16(len(r.trackers)), clock: r.clock.id, tag: r.tag, token: r.p.Token}
	_ = r.wire.SendOne(0, m.bytes())
}

// countInbox counts what one receive call returned.
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
	if !ok || h.tag != r.tag || len(b) != int(r.p.PayloadSize) || int(h.flow) != flow {
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

// countOther answers messages of the handshake and counts foreign datagrams.
func (r *receiver) countOther(b []byte) {
	m, ok := parseMessage(b)
	switch {
	case ok && m.tag == r.tag && r.reverse && (m.kind == msgWelcome || m.kind == msgGo):
	case ok && !r.reverse && hasToken(m, r.p.Token):
		// The go was lost or is still in flight. This one may be lost, too.
		if m.kind == msgReady && r.in.Flow >= 0 {
			_ = r.wire.SendOne(r.in.Flow, r.message(msgGo, 0, m.flows))
		}
	default:
		r.foreign++
	}
}

// complete reports whether all datagrams that were sent have arrived.
func (r *receiver) complete(sender traffic.Report) bool {
	for i, f := range sender.Datagrams.Flows {
		if r.trackers[i].received < f.Sent {
			return false
		}
	}
	return true
}

// close computes the report.
func (r *receiver) close(sender traffic.Report) (traffic.Report, error) {
	st := r.wire.State()
	size := int64(r.p.PayloadSize)
	out := traffic.Report{Connections: len(r.trackers), Refused: r.refused, End: result.End{CPU: r.p.Pinned(), SendBuffer: st.SendBuffer, ReceiveBuffer: st.ReceiveBuffer},
		Traffic: float64(r.lastArrival-r.firstArrival) / 1e9}
	d := traffic.CountDatagrams(nil)
	d.Offload, d.Unread, d.SocketDrops = st.Coalesced, r.unread, st.Dropped
	*d.Foreign = r.foreign + st.UnknownPeers
	for i := range r.trackers {
		l := &r.trackers[i]
		sent := sender.Datagrams.Flows[i]
		if l.received > sent.Sent || l.counted+l.late > sent.SentCounted {
			return traffic.Report{}, fmt.Errorf("receive: flow %d: %d datagrams arrived of %d sent, %d counted and %d late ones of %d: the counts are inconsistent",
				i, l.received, sent.Sent, l.counted, l.late, sent.SentCounted)
		}
		d.Flows = append(d.Flows, traffic.FlowCount{Received: l.received, ReceivedCounted: l.counted})
		*d.Duplicates += l.duplicates
		*d.Reordered += l.reordered
		*d.ReorderExtent = max(*d.ReorderExtent, l.extent)
		*d.Late += l.late
		out.Received += l.received * size
		out.Window.Received += l.counted * size
		out.Window.Messages += l.counted
		out.Window.Streams = append(out.Window.Streams, l.counted*size)
	}
	if !d.Offload {
		// For the path proof: the number of packets that crossed separately. It is unknown for
		// super-packets.
		out.Messages = out.Received / size
	}
	if r.sharedClock {
		d.Delay = r.delay
	}
	d.Variation = r.variation
	out.Datagrams = d
	out.Window.Seconds = sender.Window.Seconds
	for i, length := range r.slotSeconds {
		out.Window.Interval = max(out.Window.Interval, length)
		out.Window.Series = append(out.Window.Series, float64(r.slots[i]*size)/length)
	}
	return out, nil
}
