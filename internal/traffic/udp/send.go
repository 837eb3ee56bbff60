package udp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/traffic"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
	"tare/internal/warning"
)

// sender sends the datagrams of all flows in rotation from one thread.
type sender struct {
	*endpoint
	p           traffic.Params
	net         socket.UDP
	out         *socket.Outbox
	unit        int      // datagrams per slot: those of a super-packet, or one
	next        []uint64 // sequence number by flow
	flows       []traffic.FlowCount
	nextFlow    int // the flow that sends next
	window      traffic.Window
	departure   *traffic.Distribution
	largest     int64 // burst, in datagrams
	notes       []result.Note
	offload     bool
	driven      time.Duration
	deniedInRow int // sends in a row that a packet filter refused
	connRefused int // sends that failed because the peer's port is closed
	retried     int64
	totalDenied int64 // sends that a packet filter refused, in total
	over        *atomic.Bool
	cpuWait     thread.CPUWait
}

// maxPacedBatch is how many datagrams of a schedule are sent with one reading of the clock. It is
// small, so that the send time in their headers is accurate.
const maxPacedBatch = 8

// maxSendErrors is how many temporary send errors are tolerated: refusals by a packet filter that
// is being changed (in a row), or by the peer's host because the port is closed (in total: only
// every other send reports it).
const maxSendErrors = 3

func newSender(e *endpoint, n socket.UDP, p traffic.Params) (*sender, error) {
	flows := max(1, p.Streams)
	s := &sender{endpoint: e, net: n, p: p, unit: 1, next: make([]uint64, flows), flows: make([]traffic.FlowCount, flows), departure: traffic.NewDistribution()}
	if s.overMTU() {
		return nil, fmt.Errorf("send: %w", s.tooLong())
	}
	if p.Offload == study.On {
		group, err := e.wire.Segment(int(p.PayloadSize))
		switch {
		case errors.Is(err, socket.ErrOffload):
			s.noOffload(err)
		case err != nil:
			return nil, err
		default:
			s.unit, s.offload = group, group > 1
		}
	}
	room := socket.Batch
	switch {
	case s.offload && s.unlimited():
		room = socket.SuperBatch * s.unit
	case !s.unlimited():
		s.unit = min(s.unit, s.burst()) // a super-packet is a burst
		room = max(maxPacedBatch, s.unit)
	}
	s.out = &socket.Outbox{Mem: make([]byte, room*int(p.PayloadSize)), Size: int(p.PayloadSize), Group: s.unit}
	s.wire.Attach(s.out)
	return s, nil
}

func (s *sender) unlimited() bool { return s.p.Rate == 0 && s.p.PacketRate == 0 }

// burst returns the most datagrams that may be sent back to back to catch up.
func (s *sender) burst() int { return max(1, s.p.Burst) }

func (s *sender) noOffload(why error) {
	s.offload = false
	s.notes = append(s.notes, warning.NewNote(warning.OffloadUnavailable, "UDP segmentation offload is unavailable (%v), so datagrams were sent one at a time", why))
}

// drive sends for warmup + timed. It marks the datagrams of the second part as counted, in intervals
// of the series that start at first.
func (s *sender) drive(ctx context.Context, warmup, timed time.Duration, first uint32) error {
	var stop func() bool
	s.over, stop = thread.Cancelled(ctx)
	defer stop()
	return s.p.Threading().Run(1, func(int) error {
		return s.cpuWait.Measure(func() (err error) {
			start := s.clock.now()
			if s.unlimited() {
				err = s.flood(ctx, start, warmup, timed, first)
			} else {
				err = s.pace(ctx, start, warmup, timed, first)
			}
			s.driven += time.Duration(s.clock.now() - start)
			s.window.Seconds += timed.Seconds()
			return err
		})
	})
}

// flood sends as fast as the kernel accepts it.
func (s *sender) flood(ctx context.Context, start int64, warmup, timed time.Duration, first uint32) error {
	n := len(s.out.Mem) / s.out.Size
	for {
		now := s.clock.now()
		at := time.Duration(now - start)
		if at >= warmup+timed {
			return nil
		}
		h := header{sent: now}
		if at >= warmup {
			h.flags, h.slot = flagCounted, first+uint32((at-warmup)/traffic.SeriesInterval)
		}
		for i := range n {
			s.stamp(h, i)
		}
		if err := s.transmit(ctx, n, h.flags == flagCounted); err != nil {
			return err
		}
		s.nextFlow = (s.nextFlow + 1) % len(s.flows)
	}
}

// pace sends the datagrams of each slot when they are due, rotating through the flows.
func (s *sender) pace(ctx context.Context, start int64, warmup, timed time.Duration, first uint32) error {
	sched, err := datagramSchedule(s.p, s.unit)
	if err != nil {
		return err
	}
	warm, unit := sched.before(int64(warmup)), int64(s.unit)
	p := &pacer{schedule: sched, start: start, burst: max(1, int64(s.burst())/unit), end: sched.before(int64(warmup + timed))}
	p.missed = func(from, n int64) { s.window.Missed += max(0, from+n-max(from, warm)) * unit }
	s.window.Slots += (p.end - warm) * unit
	waiter := newSlotWaiter(sched, s.net, s.p)
	for p.next < p.end {
		if s.over.Load() {
			return fmt.Errorf("send: %w", context.Cause(ctx))
		}
		now := s.clock.now()
		n := p.due(now)
		if n == 0 {
			waiter.wait(p.until(now))
			continue
		}
		if s.unit > 1 || len(s.flows) > 1 {
			n = 1
		}
		n = min(n, maxPacedBatch)
		// A batch ends at the end of the warm-up.
		if cut := warm - p.next; cut > 0 {
			n = min(n, cut)
		}
		h := header{sent: now}
		for i := range n {
			due := p.at(p.next + i)
			if p.next+i >= warm {
				h.flags, h.slot = flagCounted, first+uint32((due-int64(warmup))/int64(traffic.SeriesInterval))
				s.departure.Record(time.Duration(now - start - due))
			}
			for j := range s.unit {
				s.stamp(h, int(i)*s.unit+j)
			}
		}
		if err := s.transmit(ctx, int(n)*s.unit, p.next >= warm); err != nil {
			return err
		}
		p.served(n)
		if s.p.RealTime() {
			thread.Yield() // to a receiver on the same CPU, which a sender behind its schedule would never let run
		}
		s.largest = max(s.largest, p.largestBurst*unit)
		s.nextFlow = (s.nextFlow + 1) % len(s.flows)
	}
	return nil
}

// datagramSchedule returns a schedule with one slot per unit datagrams.
func datagramSchedule(p traffic.Params, unit int) (schedule, error) {
	if p.PacketRate > 0 {
		return newSchedule(uint64(unit), uint64(p.PacketRate))
	}
	return newSchedule(uint64(p.PayloadSize)*8*uint64(unit), uint64(p.Rate))
}

// stamp writes the header of the outbox's i-th datagram for the next flow.
func (s *sender) stamp(h header, i int) {
	h.tag, h.flow, h.seq = s.tag, uint16(s.nextFlow), s.next[s.nextFlow]+uint64(i)
	h.put(s.out.Mem[i*s.out.Size:])
}

// transmit passes the first n datagrams of the outbox to the kernel.
func (s *sender) transmit(ctx context.Context, n int, counts bool) error {
	f := &s.flows[s.nextFlow]
	for from := 0; from < n; {
		took, err := s.wire.Send(s.nextFlow, s.out, from, n-from)
		if err != nil {
			if err = s.checkSendError(err); err != nil {
				return fmt.Errorf("send: %w", err)
			}
			if s.over.Load() {
				return fmt.Errorf("send: %w", context.Cause(ctx))
			}
			continue
		}
		s.deniedInRow = 0
		from += took
		s.next[s.nextFlow] += uint64(took)
		f.Sent += int64(took)
		if counts {
			f.SentCounted += int64(took)
		}
	}
	return nil
}

// checkSendError returns nil if a failed send may be retried, else the error.
func (s *sender) checkSendError(err error) error {
	switch {
	case socket.IsAgain(err):
		s.retried++
		return nil
	case errors.Is(err, socket.ErrTooLong), errors.Is(err, socket.ErrSegments) && s.overMTU():
		return s.tooLong()
	case errors.Is(err, socket.ErrSegments):
		// Nothing has been sent yet. The outbox keeps its contents, with fewer datagrams per
		// super-packet.
		s.out.Group = max(1, s.out.Group/2)
		if s.out.Group == 1 {
			s.noOffload(errors.New("this kernel does not support super-packets"))
		}
		s.wire.Attach(s.out)
		return nil
	case errors.Is(err, socket.ErrOffload) && s.out.Group > 1:
		s.noOffload(errors.New("a device on the path does not compute UDP checksums"))
		s.out.Group = 1
		s.wire.Attach(s.out)
		return nil
	}
	tries := maxSendErrors
	switch {
	case errors.Is(err, socket.ErrRefused):
		s.connRefused++
		tries = s.connRefused
	case errors.Is(err, syscall.EPERM):
		s.deniedInRow++
		s.totalDenied++
		tries = s.deniedInRow
	}
	if tries < maxSendErrors {
		return nil
	}
	return peerGoneError(err)
}

// ipHeaders returns the size of the IP and UDP headers in bytes.
func ipHeaders(address string) int {
	if len(address) > 0 && address[0] == '[' {
		return 48
	}
	return 28
}

func (s *sender) overMTU() bool {
	mtu := s.wire.State().MTU
	return mtu > 0 && s.p.Fragment != study.On && int(s.p.PayloadSize)+ipHeaders(s.p.Address) > mtu
}

func (s *sender) tooLong() error {
	mtu := s.wire.State().MTU
	if mtu == 0 {
		return fmt.Errorf("payload of %d bytes exceeds the path MTU with fragmentation off; reduce it or turn fragment on", s.p.PayloadSize)
	}
	return fmt.Errorf("payload of %d bytes exceeds the path MTU of %d with fragmentation off; use at most %d bytes or turn fragment on",
		s.p.PayloadSize, mtu, mtu-ipHeaders(s.p.Address))
}

// report returns the sender's report.
func (s *sender) report() traffic.Report {
	st := s.wire.State()
	r := traffic.Report{Connections: len(s.flows), Refused: s.refused, Traffic: s.driven.Seconds(), Window: s.window, CPUWait: s.cpuWait.Seconds(),
		End: result.End{CPU: s.p.Pinned(), SendBuffer: st.SendBuffer, ReceiveBuffer: st.ReceiveBuffer}, Notes: slices.Clone(s.notes)}
	d := traffic.CountDatagrams(s.flows)
	d.Offload, d.SocketDrops, d.Retried, d.Denied = s.offload, st.Dropped, s.retried, s.totalDenied
	*d.LargestBurst, *d.Foreign = s.largest, st.UnknownPeers
	if !s.unlimited() {
		d.Departure = s.departure
	}
	size := int64(s.p.PayloadSize)
	for _, f := range s.flows {
		r.Messages += f.Sent
		r.Window.Messages += f.SentCounted
		r.Window.Streams = append(r.Window.Streams, f.SentCounted*size)
	}
	r.Sent, r.Window.Sent = r.Messages*size, r.Window.Messages*size
	r.TCP.Wire, r.TCP.Segments = uint64(r.Sent), uint64(r.Messages)
	r.Datagrams = d
	if w := r.Window; w.Missed*1000 > w.Slots {
		r.Notes = append(r.Notes, warning.NewNote(warning.GeneratorLimited, "%d of %d slots were missed: the sender could not reach the requested rate", w.Missed, w.Slots))
	}
	return r
}
