package plan

import (
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// passing is a study with a pass in some blocks.
func passing(rate quantity.PassRate, workloads ...study.Workload) study.Study {
	s := sample()
	if len(workloads) > 0 {
		s.Workloads = workloads
	}
	s.CostPass = study.CostPass{Rate: rate, FromBlock: 2, Every: 1, Times: 2, Warmup: quantity.WaitOf(time.Second / 2), Duration: quantity.Duration(3 * time.Second)}
	return s
}

// The pass is the study's first bulk stream at a rate, without slices, by the built-in
// generator.
func TestCostPass(t *testing.T) {
	const second = quantity.Duration(time.Second)
	tcp := study.Workload{ID: "t", Kind: "tcp_stream", Streams: 4, WriteSize: 128 << 10, Rate: quantity.Unlimited, Slice: second / 8, Duration: second, DurationMax: 9 * second, Every: 2, VerifyWith: "iperf3"}
	whole := study.Workload{ID: "whole", Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10, Slice: quantity.AtOnce, Duration: second}
	iperf := study.Workload{ID: "i", Kind: "tcp_stream", Tool: "iperf3", Streams: 1, WriteSize: 128 << 10}
	both := study.Workload{ID: "b", Kind: "tcp_stream", Pairs: 2, Direction: study.Both, WriteSize: 128 << 10}
	rr := study.Workload{ID: "rr", Kind: "tcp_rr"}
	search := study.Workload{ID: "s", Kind: "udp_search", LossGoals: quantity.LossGoals{0, 0.01}, Flows: 2, PayloadSize: 1400, Burst: 64, MaxRate: 1e10, Step: second}
	sweep := study.Workload{ID: "w", Kind: "udp_sweep", Rates: quantity.Rates{1e8, 2e8}, Flows: 1, PayloadSize: 100}
	for name, c := range map[string]struct {
		rate quantity.PassRate
		of   []study.Workload
		want study.Workload // less its lengths, which are the pass's own
		from []string
		by   []string
	}{
		"tcp":            {quantity.PassAuto, []study.Workload{rr, iperf, tcp, search}, study.Workload{Kind: "tcp_stream", Streams: 4, WriteSize: 128 << 10}, []string{"t"}, []string{"goodput"}},
		"not in slices":  {quantity.PassAuto, []study.Workload{whole}, study.Workload{Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10}, []string{"whole"}, []string{"goodput"}},
		"by a tool":      {quantity.PassAuto, []study.Workload{search, iperf}, study.Workload{Kind: "tcp_stream", Streams: 1, WriteSize: 128 << 10}, []string{"i"}, []string{"goodput"}},
		"a rate":         {2e9, []study.Workload{tcp}, study.Workload{Kind: "tcp_stream", Streams: 4, WriteSize: 128 << 10, Rate: 2e9}, []string{"t"}, []string{"goodput"}},
		"shared":         {2e9, []study.Workload{both}, study.Workload{Kind: "tcp_stream", Pairs: 2, Direction: study.Both, WriteSize: 128 << 10, Rate: 5e8}, []string{"b"}, []string{"goodput"}},
		"a low rate":     {10e6, []study.Workload{tcp}, study.Workload{Kind: "tcp_stream", Streams: 4, WriteSize: 8 << 10, Rate: 10e6}, []string{"t"}, []string{"goodput"}},
		"udp, a search":  {quantity.PassAuto, []study.Workload{rr, search, sweep}, study.Workload{Kind: "udp_stream", Flows: 2, PayloadSize: 1400, Burst: 64}, []string{"s"}, []string{"throughput_0", "throughput_1"}},
		"udp, its rates": {quantity.PassAuto, []study.Workload{sweep}, study.Workload{Kind: "udp_stream", Flows: 1, PayloadSize: 100}, []string{"w@100Mbit/s", "w@200Mbit/s"}, []string{"goodput"}},
	} {
		p, _, ok := CostPass(passing(c.rate, c.of...))
		if !ok {
			t.Errorf("%s: no pass", name)
			continue
		}
		c.want.ID, c.want.Tool, c.want.Slice, c.want.Warmup, c.want.Duration = study.CostPassID, study.BuiltIn, quantity.AtOnce, quantity.WaitOf(time.Second/2), 3*second
		interleaved := slices.Contains([]string{"tcp", "a rate", "a low rate"}, name) // their source is
		if interleaved {
			c.want.Slice = second / 4
		}
		must.EqualFor(t, name, c.want, p.Workload)
		must.EqualFor(t, name+": made of", c.from, p.From)
		must.EqualFor(t, name+": its rate is from", c.by, p.Values())
		must.EqualFor(t, name+": interleaved", interleaved, (Trial{Workload: p.Workload}).Sliced())
		if asked := Offered(p.Workload); c.rate != quantity.PassAuto && asked != float64(c.rate) || c.rate == quantity.PassAuto && asked != 0 {
			t.Errorf("%s offers %g bit/s in all", name, asked)
		}
	}
	_, why, ok := CostPass(passing(quantity.PassAuto, rr))
	must.True(t, !ok && strings.Contains(why, "a bulk transfer"), "without a bulk workload: %q, %t", why, ok)
	if _, why, ok := CostPass(passing(quantity.NoPass)); ok || why != "" {
		t.Errorf("without being asked for: %q, %t", why, ok)
	}
}

// The trials of the pass are added to their blocks and do not change the order of the
// others; each mode has one.
func TestPassInPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStudy(t)
		without := trials(Make(s))
		s.CostPass = study.CostPass{Rate: quantity.PassAuto, FromBlock: rapid.IntRange(2, 6).Draw(t, "from"), Every: rapid.IntRange(1, 3).Draw(t, "every"),
			Times: rapid.IntRange(0, 4).Draw(t, "times"), Warmup: quantity.WaitOf(0), Duration: quantity.Duration(time.Second)}
		p := Make(s)
		all := trials(p)
		must.EqualFor(t, "the others (-without +beside a pass)", without, slices.DeleteFunc(slices.Clone(all), Trial.InCostPass))
		seen := map[int]int{}
		for _, g := range Groups(all) {
			want := 1
			if g[0].Sliced() {
				want = len(s.Modes)
			}
			must.Require(t, !g[0].InCostPass() || len(g) == want, "%d trials of the pass at once, want %d", len(g), want)
		}
		for i, tr := range all {
			if tr.InCostPass() {
				seen[tr.Block]++
			}
			if i > 0 && tr.Block < all[i-1].Block {
				t.Fatalf("block %d behind block %d", tr.Block, all[i-1].Block)
			}
		}
		for block := 0; block <= s.Blocks; block++ {
			want := 0
			if block > 0 && s.CostPass.In(block) {
				want = len(s.Modes)
			}
			if seen[block] != want {
				t.Fatalf("block %d has %d trials of the pass, want %d", block, seen[block], want)
			}
		}
		must.Require(t, slices.Contains(Names(s), study.CostPassID) && p.Workloads[len(p.Workloads)-1].ID == study.CostPassID,
			"the pass is not among the names of the results")
	})
}

// The estimate includes the trials of the pass, each with its own settling wait.
func TestPassTakesTime(t *testing.T) {
	s := passing(quantity.PassAuto)
	with := Make(s).Time(4)
	s.CostPass = study.CostPass{}
	want := Make(s).Time(4) + 2*3*(300*time.Millisecond+TrialOverhead+3500*time.Millisecond)
	must.Equal(t, want, with)
}
