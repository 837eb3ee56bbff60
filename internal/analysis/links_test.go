package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// figure is a cell with a value only.
func figure(mode, workload, metric string, v float64) result.Cell {
	return result.Cell{Mode: mode, Workload: workload, Metric: metric, Value: &v}
}

// segments is a trial with a TCP segment size.
func segments(mode string, mss int) result.Trial {
	return result.Trial{Mode: mode, Workload: "tcp", Status: result.TrialOK, Client: &result.End{MSS: mss}}
}

// A workload is limited by the link where every mode reached what its own packets can
// carry over it, and where nothing is in doubt.
func TestLinkLimits(t *testing.T) {
	const gbit = 1e9
	tcp := func(mode string, rate float64) Link {
		return Link{Mode: mode, Workload: "tcp", Rate: rate, Frame: 1514, Ways: 1}
	}
	udp := func(mode string) Link {
		return Link{Mode: mode, Workload: "udp", Rate: gbit, Frame: 1442, Payload: 1400, Ways: 1}
	}
	full, tunnel := gbit*1448/1514, gbit*1398/1514
	mss := []result.Trial{segments("host", 1448), segments("m", 1448), segments("vxlan", 1398)}
	for name, c := range map[string]struct {
		links []Link
		cells []result.Cell
		want  []result.LinkLimited
	}{
		"all reach it, each by its own segments": {
			[]Link{tcp("host", gbit), tcp("m", gbit), tcp("vxlan", gbit)},
			[]result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", 0.98*full), figure("vxlan", "tcp", "goodput", 0.99*tunnel)},
			[]result.LinkLimited{{Workload: "tcp", Link: gbit, Payload: full, Least: 0.98}},
		},
		"one does not": {
			[]Link{tcp("host", gbit), tcp("m", gbit)}, []result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", 0.96*full)}, nil,
		},
		"one goes beyond, past the link": {
			[]Link{tcp("host", gbit), tcp("m", gbit)}, []result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", 1.1*full)}, nil,
		},
		"one goes beyond, and two cross it": {
			[]Link{tcp("host", gbit), tcp("m", gbit), tcp("vxlan", gbit)},
			[]result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", 9*full), figure("vxlan", "tcp", "goodput", tunnel)},
			[]result.LinkLimited{{Workload: "tcp", Link: gbit, Payload: full, Least: 1}},
		},
		"a hair above counts as all of it": {
			[]Link{tcp("host", gbit), tcp("m", gbit)}, []result.Cell{figure("host", "tcp", "goodput", 1.01*full), figure("m", "tcp", "goodput", 1.001*full)},
			[]result.LinkLimited{{Workload: "tcp", Link: gbit, Payload: full, Least: 1}},
		},
		"one mode alone": {[]Link{tcp("host", gbit)}, []result.Cell{figure("host", "tcp", "goodput", full)}, nil},
		"a mode whose link is unknown": {
			[]Link{tcp("host", gbit), tcp("m", gbit)}, []result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", full), figure("far", "tcp", "goodput", full)}, nil,
		},
		"links of two rates": {
			[]Link{tcp("host", gbit), tcp("m", gbit/2)}, []result.Cell{figure("host", "tcp", "goodput", full), figure("m", "tcp", "goodput", full/2)}, nil,
		},
		"segments unknown": {
			[]Link{tcp("host", gbit), tcp("x", gbit)}, []result.Cell{figure("host", "tcp", "goodput", full), figure("x", "tcp", "goodput", full)}, nil,
		},
		"a search, by the highest rate found": {
			[]Link{udp("host"), udp("m")},
			[]result.Cell{figure("host", "udp", "throughput_0", 0.5*gbit), figure("host", "udp", "throughput_1", 0.97*gbit), figure("m", "udp", "throughput_0", 0.96*gbit), figure("m", "udp", "loss_ratio", 1)},
			[]result.LinkLimited{{Workload: "udp", Link: gbit, Payload: gbit * 1400 / 1442, Least: 0.96 * 1442 / 1400}},
		},
		"both ways": {
			[]Link{{"host", "tcp", gbit, 1514, 0, 2}, {"m", "tcp", gbit, 1514, 0, 2}},
			[]result.Cell{figure("host", "tcp", "goodput", 2*full), figure("m", "tcp", "goodput", 1.96*full)},
			[]result.LinkLimited{{Workload: "tcp", Link: gbit, Payload: 2 * full, Least: 0.98}},
		},
		"nothing": {nil, nil, nil},
	} {
		got, warnings := LinkLimits(c.links, c.cells, mss)
		must.EqualFor(t, name, c.want, got, cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) <= 1e-9*math.Abs(b) }))
		must.EqualFor(t, fmt.Sprintf("%s: warnings %+v", name, warnings), len(c.want), len(warnings))
		for _, w := range warnings {
			must.True(t, w.Code == "link_limited" && w.Scope == c.want[0].Workload && strings.Contains(w.Text, "CPU cost") && strings.Contains(w.Text, "1 Gbit/s"), "%s: %+v", name, w)
		}
	}
}

// What a link carries follows from the lab of each mode and from the packets of each
// bulk workload; of anything else nothing is known.
func TestLinks(t *testing.T) {
	s := study.Study{
		Lab:   study.Lab{MTU: 1500, Rate: 1e9},
		Modes: []study.Mode{{Mode: "host"}, {Mode: "host", ID: "jumbo", Lab: &study.Lab{MTU: 9000}}, {Mode: "broken"}},
		Workloads: []study.Workload{
			{Kind: "tcp_stream", WriteSize: 128 << 10, Direction: study.Both}, {Kind: "tcp_rr", RequestSize: 1},
			{Kind: "udp_stream", PayloadSize: 1400}, {Kind: "udp_stream", ID: "pieces", PayloadSize: 4000, Family: study.IPv6},
		},
	}
	modes := []result.Mode{{ID: "host", Status: result.ModeMeasured}, {ID: "jumbo", Status: result.ModeMeasured}, {ID: "broken", Status: result.ModeFailed}}
	want := []Link{
		{Mode: "host", Workload: "tcp_stream", Rate: 1e9, Frame: 1514, Ways: 2},
		{Mode: "jumbo", Workload: "tcp_stream", Rate: 1e9, Frame: 9014, Ways: 2},
		{Mode: "host", Workload: "udp_stream", Rate: 1e9, Frame: 1442, Payload: 1400, Ways: 1},
		{Mode: "jumbo", Workload: "udp_stream", Rate: 1e9, Frame: 1442, Payload: 1400, Ways: 1},
		{Mode: "host", Workload: "pieces", Rate: 1e9, Frame: 4008 + 3*54, Payload: 4000, Ways: 1},
		{Mode: "jumbo", Workload: "pieces", Rate: 1e9, Frame: 4008 + 54, Payload: 4000, Ways: 1},
	}
	must.Equal(t, want, Links(s, modes))
	s.Lab.Rate = 0
	must.EqualFor(t, "links without a rate", 0, len(Links(s, modes)))
}
