package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tare/internal/result"
)

// start is when the first run of a test started.
func start() time.Time { return time.Date(2026, 8, 1, 9, 30, 0, 0, time.UTC) }

// lane is a series of made runs: the ratio of a mode in a metric, run by run.
type lane struct {
	mode, workload, metric string
	ratio                  func(run int) float64
}

// made are runs of one study a day apart, with these ratios. Their intervals are 1 % wide.
func made(n int, lanes ...lane) []Run {
	var out []Run
	for i := range n {
		r := result.Run{
			ID: fmt.Sprintf("run%03d", i), Started: start().AddDate(0, 0, i), Finished: start().AddDate(0, 0, i).Add(time.Hour), Status: result.RunComplete,
			Tare: result.Build{Version: "1.0"}, Modes: []result.Mode{{ID: "host", Status: result.ModeMeasured}},
			Hosts: []result.Host{{Name: "a", Facts: []result.Fact{{Name: "kernel", Value: "6.18"}, {Name: "cpu_model", Value: "Model One"}, {Name: "cpus_online", Value: "4 (0-3)"}}}},
		}
		for _, l := range lanes {
			if !slices.ContainsFunc(r.Modes, func(m result.Mode) bool { return m.ID == l.mode }) {
				r.Modes = append(r.Modes, result.Mode{ID: l.mode, Status: result.ModeMeasured, Baseline: "host"})
			}
			ratio := l.ratio(i)
			if ratio == 0 {
				continue
			}
			m, ok := result.MetricNamed(l.metric)
			if !ok {
				panic("no metric " + l.metric)
			}
			r.Cells = append(r.Cells, result.Cell{Mode: l.mode, Baseline: "host", Workload: l.workload, Metric: l.metric, Unit: m.Unit, Better: m.Better, N: 12,
				Ratio: &ratio, RatioCI: &result.Interval{ratio * 0.995, ratio * 1.005}})
		}
		out = append(out, Run{Path: "runs/" + r.ID, Study: "nets", Hash: "0123", Run: r})
	}
	return out
}

// steady is a level with noise of a relative size, that changes by a factor at each of the runs.
func steady(seed uint64, level, noise float64, changes map[int]float64) func(int) float64 {
	rng := rand.New(rand.NewPCG(seed, 22))
	var drawn []float64
	return func(run int) float64 {
		for len(drawn) <= run {
			drawn = append(drawn, rng.NormFloat64())
		}
		at := level
		for from, factor := range changes {
			if run >= from {
				at *= factor
			}
		}
		return at * math.Exp(noise*drawn[run])
	}
}

// planted are six series of sixty runs, of which three change.
func planted() []lane {
	return []lane{
		{"netns/bridge", "tcp_stream", "goodput", steady(1, 0.8, 0.01, nil)},
		{"netns/vxlan", "tcp_stream", "goodput", steady(2, 0.5, 0.01, map[int]float64{25: 0.93})},
		{"netns/bridge", "tcp_rr", "transaction_rate", steady(3, 0.7, 0.01, map[int]float64{20: 1.06, 40: 1 / 1.06})},
		{"netns/vxlan", "tcp_rr", "transaction_rate", steady(4, 0.6, 0.01, nil)},
		{"netns/bridge", "tcp_stream", "cpu_cost", steady(5, 1.3, 0.015, map[int]float64{50: 1.12})},
		{"netns/vxlan", "tcp_stream", "cpu_cost", steady(6, 1.9, 0.015, nil)},
	}
}

// A history of sixty runs shows exactly the changes that were planted, with their direction.
func TestPlantedChanges(t *testing.T) {
	type found struct {
		Series string
		Point  int
		Worse  bool
	}
	h := Of(made(60, planted()...), "0123", nil)
	var got []found
	for _, s := range h.Machines[0].Series {
		for _, c := range s.Changes {
			got = append(got, found{strings.Join([]string{s.Mode, s.Workload, s.Metric}, " "), c.Point, c.Worse})
			if c.P <= 0 || c.P > FalseAlarms {
				t.Errorf("%s: p is %g", s.Mode, c.P)
			}
		}
	}
	want := []found{
		{"netns/vxlan tcp_stream goodput", 25, true},
		{"netns/bridge tcp_rr transaction_rate", 20, false},
		{"netns/bridge tcp_rr transaction_rate", 40, true},
		{"netns/bridge tcp_stream cpu_cost", 50, true},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("change points (-planted +found):\n%s", d)
	}
	vxlan := h.Machines[0].Series[1]
	if c := vxlan.Changes[0]; math.Abs(c.Before-0.5) > 0.004 || math.Abs(c.After-0.465) > 0.004 {
		t.Errorf("the level changed from %.4f to %.4f, want 0.5 to 0.465", c.Before, c.After)
	}
	if vxlan.Spread == nil || math.Abs(*vxlan.Spread-0.01) > 0.003 {
		t.Errorf("the spread within the stretches is not 1 %%: %v", vxlan.Spread)
	}
	if h.Study != "nets" || h.FalseAlarms != 0.05 || h.MinRuns != 10 {
		t.Errorf("study %q, false alarms %g, at least %d runs", h.Study, h.FalseAlarms, h.MinRuns)
	}
}
