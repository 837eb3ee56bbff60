package study_test

import (
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// The pass varies what the generator has of its own, each setting by itself, and neither sweeps nor rates.
func TestSensitivities(t *testing.T) {
	stream := study.Workload{ID: "bulk", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Rate: quantity.Unlimited, SendBuffer: quantity.Buffer(1 << 20), ReceiveBuffer: quantity.Buffer(1 << 20), Placement: study.OneCore, DurationMax: 9}
	small, paced, sweep, tool, rr := stream, stream, stream, stream, study.Workload{Kind: "tcp_rr", Flows: 1, Placement: study.TwoCores}
	small.ID, small.WriteSize, small.SendBuffer, small.Placement = "small", 16<<10, quantity.Buffer(256<<10), study.Free
	paced.Rate, tool.Tool = 1e9, "iperf3"
	sweep.StreamCounts = study.Counts{1, 2}
	s := study.Study{Sensitivity: study.On, Workloads: []study.Workload{stream, small, paced, sweep, tool, rr}}
	type row struct {
		Name, Of, Text, Placement string
		Write                     quantity.Size
		Buffer                    string
	}
	var got []row
	for _, v := range s.Sensitivities() {
		got = append(got, row{v.Name(), v.Of, v.Text, v.Placement, v.WriteSize, v.ReceiveBuffer.String()})
		of, varied := result.VariedFrom(v.Name())
		must.True(t, of == v.Of && varied, "%s varies %s (%t)", v.Name(), of, varied)
		must.EqualFor(t, "the blocks of "+v.Name(), 4, v.Blocks(7))
		must.EqualFor(t, "the longest window of "+v.Name(), quantity.Duration(0), v.DurationMax)
	}
	must.Equal(t, []row{
		{"bulk~write_size", "bulk", "writes of 16KiB", study.OneCore, 16 << 10, "1MiB"},
		{"bulk~buffers", "bulk", "buffers of 256KiB", study.OneCore, 128 << 10, "256KiB"},
		{"bulk~two_cores", "bulk", "two cores", study.TwoCores, 128 << 10, "1MiB"},
		{"small~write_size", "small", "writes of 128KiB", study.Free, 128 << 10, "1MiB"},
		{"small~buffers", "small", "buffers of 1MiB", study.Free, 16 << 10, "1MiB"},
		{"tcp_rr~one_core", "tcp_rr", "one core", study.OneCore, 0, rr.ReceiveBuffer.String()},
	}, got)
	s.Hosts = []study.Host{{}, {}}
	must.EqualFor(t, "settings on two machines", 4, len(s.Sensitivities()))
	s.Workloads = []study.Workload{{Kind: "tcp_rr", Flows: 1, Placement: study.Free}}
	must.EqualFor(t, "settings of a workload that the scheduler places", 0, len(s.Sensitivities()))
	s.Sensitivity = study.Off
	must.EqualFor(t, "settings without the pass", 0, len(s.Sensitivities()))
}
