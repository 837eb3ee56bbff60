package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/timelimit"
)

// Ends are the addresses by which two hosts reach each other in one address family. Port is
// the port at which both listen; 0 lets each choose.
type Ends struct {
	A, B netip.Addr
	Port uint16
}

// The sizes of the probes of a path.
const (
	streamBytes  = 4 << 20
	streamTime   = 400 * time.Millisecond // on slow links fewer bytes are sent
	assumedMTU   = 1500                   // where a system does not tell that of its device
	checksumsBad = "Tcp.InCsumErrors"
)

// The time limits of the probes of a path: for an answer over TCP or UDP, whose lost first packet is
// sent again after 1 s; for large packets without progress; and for all of a probe. All directions and
// families are probed at once, so that the probes take two seconds even where something is blocked.
func reachWait() time.Duration  { return timelimit.Scaled(1800 * time.Millisecond) }
func probeStall() time.Duration { return timelimit.Scaled(time.Second) }
func probeWait() time.Duration  { return timelimit.Scaled(10 * time.Second) }

// probing is how a leg is probed. Between two machines the MTU of the device is tried and lost packets are counted; between two endpoints
// the MTU of the route, and a stream of which nothing arrives is sent again.
type probing struct {
	machines            bool
	reach, stall, whole time.Duration // time limits for an answer, without progress, and of one probe
	end                 time.Time     // of all probes; zero is none
}

// betweenMachines is how the path between two machines is probed.
func betweenMachines() probing {
	return probing{machines: true, reach: reachWait(), stall: probeStall(), whole: probeWait()}
}

// errNoTime is the error that no time was left for a probe.
var errNoTime = errors.New("no time was left")

// within returns a time limit for a probe that needs at least some time, or errNoTime.
func (p probing) within(most, least time.Duration) (time.Duration, error) {
	if p.end.IsZero() {
		return most, nil
	}
	left := time.Until(p.end)
	if left < least {
		return 0, errNoTime
	}
	return min(most, left), nil
}

// Leg is what the probes found in one direction of one address family.
type Leg struct {
	From, To     *Host
	Source       netip.Addr     // of From; invalid if it is not known
	Listen, Dial netip.AddrPort // of To; it chooses a port 0, which From then dials
	// TCP and UDP are nil if From reaches To over them.
	TCP, UDP error
	Device   string // of From, toward To; empty if unknown
	MTU      int    // of that device; between two endpoints of the route, 0 if it is unknown
	// Sizes and Stream are nil if they are unknown, for the reason in NoSizes and NoStream.
	Sizes    *wire.PathSizes
	Stream   *wire.PathStream
	NoSizes  error
	NoStream error

	how probing
}

// PathReport is what the probes of a path found, between two machines or two endpoints.
type PathReport struct {
	Legs []Leg
	// BadChecksums are the packets that each host received with a wrong checksum during the
	// probes, by its name; absent if unknown.
	BadChecksums map[string]uint64
}

// ProbePath probes the path between two hosts before any trial: who reaches whom over TCP
// and UDP, the largest packets that pass, whether larger ones are reported or swallowed, and
// whether data in full-size segments arrives unchanged. The first of ends is that of the
// trials. What cannot be probed is unknown; ProbePath fails only if an agent exits or the
// context ends.
func ProbePath(ctx context.Context, a, b *Host, ends []Ends) (PathReport, error) {
	var r PathReport
	leg := func(from, to *Host, source, dial netip.Addr, port uint16) Leg {
		return Leg{From: from, To: to, Source: source, Listen: netip.AddrPortFrom(to.ListenAddress(ctx, dial), port), Dial: netip.AddrPortFrom(dial, port), how: betweenMachines()}
	}
	for _, e := range ends {
		r.Legs = append(r.Legs, leg(a, b, e.A, e.B, e.Port), leg(b, a, e.B, e.A, e.Port))
	}
	before := checksums(ctx, a, b)
	probeLegs(ctx, r.Legs)
	r.BadChecksums = checksums(ctx, a, b).since(before)
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, errors.Join(a.Monitor.Err(), b.Monitor.Err())
}

// probeLegs probes legs at once. Large packets are probed after all answers have come, and streams after that, so that no probe
// queues behind another.
func probeLegs(ctx context.Context, legs []Leg) {
	for _, part := range []func(context.Context, *Leg){reach, findDevice, probeSizes, probeStream} {
		var all sync.WaitGroup
		for i := range legs {
			all.Go(func() { part(ctx, &legs[i]) })
		}
		all.Wait()
	}
}

// badChecksums are packets with a wrong checksum, by the name of the host that received them.
type badChecksums map[string]uint64

// since returns how many came since an earlier reading, without the hosts of which one of the two is unknown.
func (b badChecksums) since(before badChecksums) map[string]uint64 {
	out := map[string]uint64{}
	for host, n := range b {
		if was, known := before[host]; known && n >= was {
			out[host] = n - was
		}
	}
	return out
}

// checksums reads how many packets with a wrong checksum each host has received.
func checksums(ctx context.Context, hosts ...*Host) badChecksums {
	out := badChecksums{}
	for _, h := range hosts {
		reading, err := h.Monitor.Read(ctx)
		if err != nil {
			continue // unknown
		}
		if n, ok := reading.Counters[checksumsBad]; ok {
			out[h.At] = n + reading.Counters["Udp.InCsumErrors"] + reading.Counters["Udp6.InCsumErrors"] + reading.Counters["TcpExt.TCPBadCsum"]
		}
	}
	return out
}

// reach finds out whether a leg passes TCP and UDP.
func reach(ctx context.Context, l *Leg) {
	var both sync.WaitGroup
	try := func(network string, failed *error) {
		wait, err := l.how.within(l.how.reach, l.how.reach/2)
		if err == nil {
			_, err = agent.CheckReachability(ctx, l.From.Monitor, l.To.Monitor, network, l.Listen, l.Dial, wait)
		}
		*failed = err
	}
	both.Go(func() { try("tcp", &l.TCP) })
	both.Go(func() { try("udp", &l.UDP) })
	both.Wait()
}

// findDevice finds the device toward the other host and its MTU.
func findDevice(ctx context.Context, l *Leg) {
	found, err := l.From.DeviceToward(ctx, l.Dial.Addr())
	if err == nil {
		l.Device = found.Name
	}
	if l.how.machines {
		if l.MTU = assumedMTU; err == nil && found.MTU > 0 {
			l.MTU = found.MTU
		}
	}
}

// probe returns a probe of the leg, or errNoTime if it could not tell a path without progress from the end of its time.
func (l *Leg) probe() (agent.PathProbe, error) {
	wait, err := l.how.within(l.how.whole, l.how.stall)
	return agent.PathProbe{Sender: l.From.Monitor, Receiver: l.To.Monitor, Listen: l.Listen, Dial: l.Dial, Wait: wait, Stall: l.how.stall, Loss: l.how.machines}, err
}

func probeSizes(ctx context.Context, l *Leg) {
	if l.UDP != nil {
		l.NoSizes = errors.New("no datagram passes")
		return
	}
	p, err := l.probe()
	if err == nil {
		var found wire.PathSizes
		if found, err = p.Sizes(ctx, l.MTU); err == nil {
			l.Sizes, l.MTU = &found, cmp.Or(l.MTU, found.MTU)
		}
	}
	l.NoSizes = err
}

func probeStream(ctx context.Context, l *Leg) {
	if l.TCP != nil {
		l.NoStream = errors.New("no connection can be opened")
		return
	}
	for again := !l.how.machines; ; again = false {
		p, err := l.probe()
		var found wire.PathStream
		if err == nil {
			found, err = p.Stream(ctx, streamBytes, streamTime)
		}
		if l.NoStream = err; err != nil {
			l.Stream = nil
			return
		}
		if l.Stream = &found; !again || found.Received > 0 || found.BadAt != nil || l.swallowed() {
			return
		}
	}
}

// Family returns the address family of the leg.
func (l *Leg) Family() string {
	if l.Dial.Addr().Unmap().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// String names the leg: "a to b over IPv4".
func (l *Leg) String() string { return fmt.Sprintf("%s to %s over %s", l.From.At, l.To.At, l.Family()) }
