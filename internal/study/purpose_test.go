package study_test

import (
	"slices"
	"testing"

	"tare/internal/study"
	"tare/internal/testkit/must"
)

// --for packets measures IP packets of 64, 512 and 1500 bytes at one packet rate: of each, 28 bytes are headers.
func TestPacketsOfThreeSizes(t *testing.T) {
	all := study.Purposes()
	i := slices.IndexFunc(all, func(p study.Purpose) bool { return p.Name == "packets" })
	must.Require(t, i >= 0, "no purpose is packets: %v", study.PurposeNames())
	var sizes []int
	for _, w := range all[i].Workloads {
		sizes = append(sizes, int(w.PayloadSize)+20+8)
		must.EqualFor(t, w.ID, []any{"udp_stream", all[i].Workloads[0].PacketRate, true}, []any{w.Kind, w.PacketRate, w.PacketRate > 0})
	}
	must.Equal(t, []int{64, 512, 1500}, sizes)
}
