//go:build linux

package netns_test

import (
	"slices"
	"testing"
	"time"

	"tare/internal/driver/netns"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
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

// A limited underlay carries no more than its rate and the burst of its bucket, and a path stays proven on it.
func TestRate(t *testing.T) {
	const rate = 200e6
	burst, _ := linuxnet.Bucket(rate, lab.DefaultMTU)
	for _, mode := range []string{"host", "netns/vxlan"} {
		s := drivertest.Provision(t, netns.Driver{}, mode, func(l *lab.Spec) { l.Rate = rate })
		began := time.Now()
		before := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		must.Get2(s.Trial(t, drivertest.Params("tcp_stream"), false))(t)
		after := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		sent, most := float64(after.TxBytes-before.TxBytes), rate/8*time.Since(began).Seconds()+float64(burst)
		must.True(t, sent <= most, "%s: %.3g bytes over a limit of %.3g bit/s, at most %.3g could pass", mode, sent, rate, most)
	}
}

// Without offloads every segment is a separate packet; with them the underlay counts packets that are larger than any frame, how few
// segments of them a busy machine may send at once. The path stays proven.
func TestOffloadOff(t *testing.T) {
	perPacket := map[bool]float64{}
	for _, on := range []bool{true, false} {
		s := drivertest.Provision(t, netns.Driver{}, "netns/bridge", func(l *lab.Spec) { l.Offload = on })
		before := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		must.Get2(s.Trial(t, drivertest.Params("tcp_stream"), false))(t)
		after := must.Get(s.Lab.A.NS.Links().Stats(lab.Underlay))(t)
		perPacket[on] = float64(after.TxBytes-before.TxBytes) / float64(after.TxPackets-before.TxPackets)
	}
	must.True(t, perPacket[false] <= lab.DefaultMTU+14 && perPacket[true] > lab.DefaultMTU+14,
		"bytes a packet: %.0f with offload off, %.0f with it on", perPacket[false], perPacket[true])
}
