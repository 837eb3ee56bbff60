//go:build linux

package netns_test

import (
	"slices"
	"testing"

	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/traffic/workloads"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

func TestConformance(t *testing.T) {
	for _, m := range (netns.Driver{}).Modes() {
		t.Run(m.ID, func(t *testing.T) {
			t.Parallel()
			only, pairs := drivertest.Only(netns.Driver{}, m.ID), 2
			if slices.Contains(programs(), m.ID) {
				pairs = 1
				drivertest.ConformancePairs(t, only)
			}
			drivertest.Conformance(t, only, pairs)
		})
	}
}

// programs are the modes beside whose paths the devices of other pairs are drawn.
func programs() []string { return []string{"netns/ebpf", "netns/netkit"} }

// A limited underlay carries no more than its rate, and a path stays proven on it.
func TestRate(t *testing.T) {
	const rate = 200e6
	for _, mode := range []string{"host", "netns/vxlan"} {
		s := drivertest.Provision(t, netns.Driver{}, mode, func(l *lab.Spec) { l.Rate = rate })
		goodput := stream(t, s)
		// The bucket's burst, and what the buffer of a receiver that got no CPU held, add to a short window.
		must.True(t, goodput <= 2*rate && goodput >= 0.1*rate, "%s: %.3g bit/s over a limit of %.3g", mode, goodput, rate)
	}
}

// Without offloads every segment is a separate packet: the underlay counts far more packets
// for the same bytes, and the path stays proven.
func TestOffloadOff(t *testing.T) {
	perPacket := map[bool]float64{}
	for _, on := range []bool{true, false} {
		s := drivertest.Provision(t, netns.Driver{}, "netns/bridge", func(l *lab.Spec) { l.Offload = on })
		before := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		stream(t, s)
		after := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		perPacket[on] = float64(after.TxBytes-before.TxBytes) / float64(after.TxPackets-before.TxPackets)
	}
	must.True(t, perPacket[false] <= lab.DefaultMTU+14 && perPacket[true] >= 2*lab.DefaultMTU,
		"bytes a packet: %.0f with offload off, %.0f with it on", perPacket[false], perPacket[true])
}

// stream runs a short proven tcp_stream and returns its goodput in bit/s.
func stream(t *testing.T, s *drivertest.Setup) float64 {
	t.Helper()
	p := drivertest.Params("tcp_stream")
	client, server := must.Get2(s.Trial(t, p, false))(t)
	w := must.Get(workloads.Named(p.Kind))(t)
	metrics, _ := w.Metrics(p, client, server)
	return metrics["goodput"]
}
