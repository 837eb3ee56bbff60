package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// crowded is a run over a lab of 100 Mbit/s whose modes were so fast, with their
// fullest CPU so full.
func crowded(w study.Workload, fullest map[string]float64, goodput map[string]float64, congestion string) *evaluation {
	e := &evaluation{in: Evidence{Lab: true, Study: study.Study{Lab: study.Lab{MTU: 1500, Rate: 100_000_000}, Workloads: []study.Workload{w}}}}
	for _, id := range []string{"host", "netns/bridge", "netns/vxlan"} {
		e.in.Study.Modes = append(e.in.Study.Modes, study.Mode{Mode: id})
		e.run.Modes = append(e.run.Modes, result.Mode{ID: id, Status: result.ModeMeasured})
		t := result.Trial{Mode: id, Workload: w.Name(), Block: 1, Status: result.TrialOK, Client: &result.End{MSS: 1448, Congestion: congestion}, Server: &result.End{MSS: 1448}}
		if share, known := fullest[id]; known {
			t.Machine = map[string]float64{result.MachineFullest: share}
		}
		failed := t
		failed.Status, failed.Machine = result.TrialFailed, map[string]float64{result.MachineFullest: 0}
		e.in.Trials = append(e.in.Trials, t, failed)
		v := goodput[id]
		e.run.Cells = append(e.run.Cells, result.Cell{Mode: id, Workload: w.Name(), Metric: "goodput", Value: &v})
	}
	return e
}

// A CPU or an underlay that is full is told where it bears on a comparison, and bbr
// always.
func TestSaturated(t *testing.T) {
	stream := study.Workload{Kind: "tcp_stream", WriteSize: 1 << 17, Rate: quantity.Unlimited, Direction: study.Forward}
	slow := stream
	slow.Rate = 50_000_000
	full := func(a, b, c float64) map[string]float64 {
		return map[string]float64{"host": a, "netns/bridge": b, "netns/vxlan": c}
	}
	const carries = 100e6 * 1448 / 1514
	for name, c := range map[string]struct {
		w                study.Workload
		fullest, goodput map[string]float64
		congestion       string
		want             []string // code, scope and a part of the text
	}{
		"all as fast as their CPU goes": {stream, full(1, 0.99, 0.96), full(50e6, 40e6, 30e6), "cubic", nil},
		"one at its CPU's limit":        {stream, full(0.4, 0.92, 0.97), full(50e6, 50e6, 30e6), "cubic", []string{"core_saturated netns/vxlan tcp_stream|busy for 97 % of its trials, and in those of another mode none was"}},
		"a rate, and no CPU for it":     {slow, full(0.96, 0.97, 0.94), full(50e6, 50e6, 50e6), "cubic", []string{"core_saturated host tcp_stream|although the workload has a rate", "core_saturated netns/bridge tcp_stream|although the workload has a rate"}},
		"unknown":                       {slow, nil, full(50e6, 50e6, 50e6), "cubic", nil},
		"one at the underlay's limit": {stream, full(0.5, 0.5, 0.5), full(carries, 0.98*carries, 0.9*carries), "cubic", []string{
			"underlay_saturated host tcp_stream|100 % of the capacity of the underlay of 100 Mbit/s", "underlay_saturated netns/bridge tcp_stream|98 %"}},
		"bbr": {stream, full(1, 1, 1), full(50e6, 50e6, 50e6), "bbr", []string{"bbr_paces tcp_stream|(host, netns/bridge, netns/vxlan)"}},
	} {
		e := crowded(c.w, c.fullest, c.goodput, c.congestion)
		e.saturated()
		var got []string
		for _, w := range e.run.Warnings {
			i := slices.IndexFunc(c.want, func(want string) bool {
				head, part, _ := strings.Cut(want, "|")
				return head == w.Code+" "+w.Scope && strings.Contains(w.Text, part)
			})
			if i < 0 {
				t.Errorf("%s: unexpected %s %s: %s", name, w.Code, w.Scope, w.Text)
				continue
			}
			got = append(got, c.want[i])
		}
		must.EqualFor(t, fmt.Sprintf("%s: got %q", name, got), len(c.want), len(got))
	}
	// Where every mode filled the underlay, that is one warning about the workload.
	e := crowded(stream, full(0.5, 0.5, 0.5), full(carries, carries, 0.98*carries), "cubic")
	e.saturated()
	must.True(t, len(e.run.Warnings) == 1 && e.run.Warnings[0].Code == "link_limited", "all at the underlay's limit: %+v", e.run.Warnings)
}
