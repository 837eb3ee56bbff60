package peers

import (
	"context"
	"fmt"
	"time"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic"
)

// load is the load for a bulk generator.
type load struct {
	udp     bool
	streams int     // TCP connections, 1 for UDP
	size    int     // bytes per write, or of a datagram's payload
	rate    float64 // payload bit/s, 0 for as fast as possible
	offload bool    // UDP super-packets; tare only
	waiting         // tare only
	long    time.Duration
}

// waiting is how tare waits for its schedule, by the settings wait and scheduling of a workload.
type waiting struct {
	name       string
	spin, fifo bool
}

func waitings() []waiting {
	return []waiting{{name: "tare"}, {name: "tare, wait: spin", spin: true}, {name: "tare, scheduling: fifo", fifo: true}}
}

// The socket buffers of both endpoints, for all generators, in bytes.
const (
	tcpBuffer = 1 << 20
	udpBuffer = 4 << 20
)

func (l load) buffer() int {
	if l.udp {
		return udpBuffer
	}
	return tcpBuffer
}

// seconds is the length in the notation of the peers.
func (l load) seconds() string { return fmt.Sprint(int(l.long.Seconds())) }

// carried is the result of a load.
type carried struct {
	sent, received float64 // payload bytes; sent is 0 if the generator does not report it
	seconds        float64
	cpu            time.Duration // of both endpoints, from start to end
	missed         float64       // share of the schedule's slots that the sender missed; tare only
}

// rate is the goodput in bit/s.
func (c carried) rate() float64 { return c.received * 8 / c.seconds }

// offered is what was sent, in bit/s.
func (c carried) offered() float64 { return c.sent * 8 / c.seconds }

// loss is the share of what was sent that did not arrive.
func (c carried) loss() float64 { return max(0, 1-c.received/c.sent) }

// carrier is a generator of bulk load.
type carrier struct {
	name string
	run  func(ctx context.Context, s *testbed, at cpuPlacement, l load) (carried, error)
}

// contestants are generators of one load in a comparison, with one metric of what each
// carried. If the load has a rate, a generator that does not reach it fails.
func (s *testbed) contestants(at cpuPlacement, l load, figure func(carried) float64, all ...carrier) []contestant {
	var cs []contestant
	for _, c := range all {
		cs = append(cs, contestant{c.name, func(ctx context.Context) (float64, error) {
			got, err := c.run(ctx, s, at, l)
			if err == nil && l.rate > 0 {
				err = checkRate(c.name, got.rate()/1e9, l.rate/1e9, "Gbit/s")
			}
			return figure(got), err
		}})
	}
	return cs
}

func ours() carrier    { return carrier{"tare", tareLoad} }
func iperf3() carrier  { return carrier{"iperf3", iperf3Load} }
func iperf2() carrier  { return carrier{"iperf2", iperf2Load} }
func nuttcpr() carrier { return carrier{"nuttcp", nuttcpLoad} }

// burst is the default limit of what tare may send back to back to catch up, in
// datagrams.
const burst = 64

// params are tare's parameters for the load: without a warm-up, because the peers have
// none.
func (l load) params() traffic.Params {
	p := traffic.Params{
		Workload: study.Workload{
			Kind: "tcp_stream", Streams: l.streams, WriteSize: quantity.Size(l.size), Rate: quantity.Load(l.rate),
			SendBuffer: quantity.Buffer(quantity.Size(l.buffer())), ReceiveBuffer: quantity.Buffer(quantity.Size(l.buffer())),
		},
		Duration: l.long,
	}
	if l.udp {
		p.Kind, p.WriteSize, p.PayloadSize, p.Burst = "udp_stream", 0, quantity.Size(l.size), burst
		if l.offload {
			p.Offload = study.On
		}
	}
	schedule(&p, l.spin, l.fifo)
	return p
}

// schedule sets how the generator waits for its schedule.
func schedule(p *traffic.Params, spin, fifo bool) {
	if spin {
		p.Wait = study.Spin
	}
	if fifo {
		p.Scheduling = study.FIFOScheduling
	}
}

// tareLoad computes what was sent from the loss that tare reports.
func tareLoad(ctx context.Context, s *testbed, at cpuPlacement, l load) (carried, error) {
	t, err := s.trial(ctx, at, l.params())
	if err != nil {
		return carried{}, err
	}
	bits, err := t.metric("goodput")
	if err != nil {
		return carried{}, err
	}
	c := carried{received: bits / 8 * l.long.Seconds(), seconds: l.long.Seconds(), cpu: t.cpu, missed: missedShare(t.client)}
	if l.udp {
		loss, err := t.metric("loss_ratio")
		if err != nil {
			return carried{}, err
		}
		c.sent = c.received / (1 - loss)
	}
	return c, nil
}
