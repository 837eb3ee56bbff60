package schedule

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// levels are the modes of a simulated run: the ratio of each to the host, and by how much its blocks
// alternate about it, as a logarithm.
var levels = map[string]struct{ ratio, spread float64 }{
	"host": {1, 0}, "control": {1, 0.3}, "narrow": {0.8, 0.005}, "far": {0.012, 0.1}, "wide": {0.8, 0.2}, "on-narrow": {0.5, 0.2},
}

// simulated runs a study with these modes, in which the given number of blocks ran before an
// interruption, and returns the modes of each block. The baseline of on-narrow is narrow.
func simulated(t *testing.T, s study.Study, interrupted int, modes ...string) (blocks []string, sc *Schedule) {
	t.Helper()
	w := study.Workload{ID: "w", Kind: "tcp_stream", Slice: quantity.AtOnce, Duration: quantity.Duration(time.Second)}
	s.Margin, s.Stop = 0.05, &study.Stop{MinBlocks: 5, Width: 0.025, EffectWidth: 0.05, ExtraBlocks: 2}
	cfg := config(s)
	var all []result.Mode
	for _, id := range modes {
		m := result.Mode{ID: id, Status: result.ModeMeasured, Baseline: map[string]string{"host": "", "on-narrow": "narrow"}[id], Control: id == "control"}
		if id != "host" && id != "on-narrow" {
			m.Baseline = "host"
		}
		all = append(all, m)
	}
	cfg.Modes = func() []result.Mode { return all }
	const most = 10
	begin := func(earlier []result.Trial) {
		cfg.Earlier = earlier
		sc = New(cfg, plan.Plan{Blocks: most, Workloads: []study.Workload{w}})
		sc.Began, sc.Announced = time.Now(), time.Hour
		for block := len(blocks) + 1; block <= most; block++ {
			for _, m := range modes {
				sc.Todo = append(sc.Todo, plan.Trial{Block: block, Mode: m, Workload: w})
			}
		}
	}
	begin(nil)
	var ran []result.Trial
	for sc.Done < len(sc.Todo) {
		block := sc.Todo[sc.Done].Block
		if block == interrupted+1 && len(sc.cfg.Earlier) == 0 && sc.earlier == 0 && interrupted > 0 {
			begin(ran)
		}
		if sc.Enough(block) {
			break
		}
		var measured []string
		for _, tr := range sc.BlockTrials(block) {
			l := levels[tr.Mode]
			v := 1e9 * l.ratio * math.Exp(l.spread*float64(block%2*2-1))
			if tr.Mode == "on-narrow" {
				v *= levels["narrow"].ratio
			}
			o := result.Trial{Block: block, Mode: tr.Mode, Workload: "w", Status: result.TrialOK, Window: 1, Metrics: map[string]float64{"goodput": v}}
			ran = append(ran, o)
			sc.Record(o)
			measured = append(measured, tr.Mode)
			sc.Done++
		}
		blocks = append(blocks, strings.Join(measured, " "))
	}
	sc.Stopped(len(blocks))
	return blocks, sc
}

// A mode leaves two blocks after its ratio has settled, and a baseline with the last mode that needs it.
// The same modes leave if the run is interrupted.
func TestSettledModesLeave(t *testing.T) {
	repeat := func(n int, of string) []string { return slices.Repeat([]string{of}, n) }
	for _, c := range []struct {
		name    string
		modes   []string
		want    []string
		reason  result.StopReason
		settled int
		left    int
		open    []string
	}{
		{"all settle at once", []string{"host", "narrow", "far"}, repeat(7, "host narrow far"), result.StopSettled, 5, 0, nil},
		{"one never settles", []string{"host", "narrow", "far", "wide"}, append(repeat(7, "host narrow far wide"), repeat(3, "host wide")...), result.StopCap, 0, 2, []string{"wide"}},
		{"the control does not count, and stays with its baseline", []string{"host", "control", "narrow", "wide"},
			append(repeat(7, "host control narrow wide"), repeat(3, "host control wide")...), result.StopCap, 0, 1, []string{"wide"}},
		{"only the control is open", []string{"host", "control", "narrow"}, repeat(7, "host control narrow"), result.StopSettled, 5, 0, nil},
		{"a baseline of another mode stays", []string{"host", "narrow", "on-narrow"}, repeat(10, "host narrow on-narrow"), result.StopCap, 0, 0, []string{"on-narrow"}},
	} {
		for _, interrupted := range []int{0, 6, 8} {
			blocks, sc := simulated(t, study.Study{}, interrupted, c.modes...)
			must.EqualFor(t, fmt.Sprintf("%s, interrupted after %d: the modes of each block", c.name, interrupted), c.want, blocks)
			s := sc.cfg.Report.Stopping
			var open []string
			for _, u := range s.Unsettled {
				open = append(open, u.Mode)
			}
			must.True(t, s.Reason == c.reason && s.SettledAt == c.settled && s.Left == c.left && slices.Equal(open, c.open),
				"%s, interrupted after %d: %s, settled at %d, %d left, open %v; want %s, %d, %d, %v", c.name, interrupted, s.Reason, s.SettledAt, s.Left, open, c.reason, c.settled, c.left, c.open)
		}
	}
}

// What a study compares beyond its baselines needs the modes in the same blocks.
func TestComparedModesStay(t *testing.T) {
	for name, s := range map[string]study.Study{
		"comparison": {Compare: []study.Comparison{{}}}, "claim": {Claims: []study.Claim{{}}}, "ladder": {CostByParts: &study.CostByParts{}},
		"sweep": {Workloads: []study.Workload{{ID: "w", FlowCounts: study.Counts{1, 2}}}},
	} {
		blocks, _ := simulated(t, s, 0, "host", "narrow", "wide")
		if want := slices.Repeat([]string{"host narrow wide"}, 10); !slices.Equal(blocks, want) {
			t.Errorf("%s: the modes of each block are %q", name, blocks)
		}
	}
}
