package remote

import (
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

// Leg is what the probes found in one direction of one address family.
type Leg struct {
	From, To *Host
	Source   netip.Addr // of From
	Dial     netip.Addr // of To
	Port     uint16     // at which To listens; 0 lets it choose
	// TCP and UDP are nil if From reaches To over them.
	TCP, UDP error
	Device   string // of From, toward To; empty if unknown
	MTU      int    // of that device
	// Sizes and Stream are nil if they are unknown, for the reason in NoSizes and NoStream.
	Sizes    *wire.PathSizes
	Stream   *wire.PathStream
	NoSizes  error
	NoStream error
}

// PathReport is what the probes of a path found.
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
	for _, e := range ends {
		r.Legs = append(r.Legs, Leg{From: a, To: b, Source: e.A, Dial: e.B, Port: e.Port}, Leg{From: b, To: a, Source: e.B, Dial: e.A, Port: e.Port})
	}
	before := checksums(ctx, a, b)
	// Large packets are probed after all answers have come, and streams after that, so that
	// no probe queues behind another.
	for _, part := range []func(context.Context, *Leg){reach, findDevice, probeSizes, probeStream} {
		var all sync.WaitGroup
		for i := range r.Legs {
			all.Go(func() { part(ctx, &r.Legs[i]) })
		}
		all.Wait()
	}
	r.BadChecksums = checksums(ctx, a, b)
	for host, n := range r.BadChecksums {
		was, known := before[host]
		if r.BadChecksums[host] = n - was; !known || n < was {
			delete(r.BadChecksums, host)
		}
	}
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	return r, errors.Join(a.Monitor.Err(), b.Monitor.Err())
}

// checksums reads how many packets with a wrong checksum each host has received.
func checksums(ctx context.Context, hosts ...*Host) map[string]uint64 {
	out := map[string]uint64{}
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
		p := l.probe(ctx)
		_, *failed = agent.CheckReachability(ctx, p.Sender, p.Receiver, network, p.Listen, p.Dial, reachWait())
	}
	both.Go(func() { try("tcp", &l.TCP) })
	both.Go(func() { try("udp", &l.UDP) })
	both.Wait()
}

// findDevice finds the device toward the other host and its MTU.
func findDevice(ctx context.Context, l *Leg) {
	l.MTU = assumedMTU
	if found, err := l.From.DeviceToward(ctx, l.Dial); err == nil && found.MTU > 0 {
		l.Device, l.MTU = found.Name, found.MTU
	}
}

func (l *Leg) probe(ctx context.Context) agent.PathProbe {
	listen := l.To.ListenAddress(ctx, l.Dial)
	return agent.PathProbe{Sender: l.From.Monitor, Receiver: l.To.Monitor, Listen: netip.AddrPortFrom(listen, l.Port), Dial: netip.AddrPortFrom(l.Dial, l.Port), Wait: probeWait(), Stall: probeStall()}
}

func probeSizes(ctx context.Context, l *Leg) {
	if l.UDP != nil {
		l.NoSizes = errors.New("no datagram passes")
		return
	}
	found, err := l.probe(ctx).Sizes(ctx, l.MTU)
	if err != nil {
		l.NoSizes = err
		return
	}
	l.Sizes = &found
}

func probeStream(ctx context.Context, l *Leg) {
	if l.TCP != nil {
		l.NoStream = errors.New("no connection can be opened")
		return
	}
	found, err := l.probe(ctx).Stream(ctx, streamBytes, streamTime)
	if err != nil {
		l.NoStream = err
		return
	}
	l.Stream = &found
}

// Family returns the address family of the leg.
func (l *Leg) Family() string {
	if l.Dial.Unmap().Is4() {
		return "IPv4"
	}
	return "IPv6"
}

// String names the leg: "a to b over IPv4".
func (l *Leg) String() string { return fmt.Sprintf("%s to %s over %s", l.From.At, l.To.At, l.Family()) }
