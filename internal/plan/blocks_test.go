package plan

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
)

// drawStudy draws a study with modes, workloads that skip blocks, pilots and a stop.
func drawStudy(t *rapid.T) study.Study {
	s := sample()
	s.Seed = rapid.Uint64Range(1, study.MaxSeed).Draw(t, "seed")
	s.Blocks = rapid.IntRange(2, 20).Draw(t, "blocks")
	s.Modes = study.ModesOf("host", "x", "y", "z")[:rapid.IntRange(1, 4).Draw(t, "modes")]
	for i := range s.Workloads {
		s.Workloads[i].Every = rapid.IntRange(0, 4).Draw(t, "every")
		s.Workloads[i].Times = rapid.IntRange(0, 6).Draw(t, "times")
		s.Workloads[i].Slice = rapid.SampledFrom([]quantity.Duration{quantity.AtOnce, quantity.Duration(25 * time.Millisecond)}).Draw(t, "slice")
	}
	s.Pilot = rapid.SampledFrom([]quantity.Wait{quantity.WaitOf(0), quantity.WaitOf(15 * time.Second)}).Draw(t, "pilot")
	if rapid.Bool().Draw(t, "stops") {
		s.Stop = &study.Stop{MinBlocks: rapid.IntRange(2, s.Blocks).Draw(t, "least"), Width: 0.025, ExtraBlocks: 2}
	}
	s.Recreate = rapid.SampledFrom([]study.Recreate{study.RecreateOnce(), study.RecreateAuto(), study.RecreateEvery(1), study.RecreateEvery(2)}).Draw(t, "renew")
	return s
}

// A block contains each mode exactly once with each of its workloads, and no other
// workload.
func TestBlocksAreBalanced(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStudy(t)
		type cell struct {
			block          int
			mode, workload string
		}
		seen := map[cell]int{}
		for _, tr := range trials(Make(s)) {
			seen[cell{tr.Block, tr.Mode, tr.Workload.ID}]++
		}
		for _, w := range s.Workloads {
			for block := 1; block <= s.Blocks; block++ {
				want := 1
				if e := max(1, w.Every); (block-1)%e != 0 || w.Times > 0 && (block-1)/e >= w.Times {
					want = 0
				}
				for _, m := range s.ModeNames() {
					got := seen[cell{block, m, w.ID}]
					must.Require(t, got == want, "block %d has %d trials of %s with %s, want %d", block, got, m, w.ID, want)
				}
			}
		}
	})
}

// Blocks 1 to n do not depend on the number of later blocks: a longer or resumed run
// begins in the same way.
func TestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStudy(t)
		few := trials(Make(s))
		s.Blocks += rapid.IntRange(1, 20).Draw(t, "more")
		must.EqualFor(t, "the first blocks (-few +many)", few, trials(Make(s))[:len(few)])
	})
}

// Pilots come first, one for each mode, without a warm-up and with the requested length,
// with the bulk workload; they are interleaved if its trials are.
func TestPilots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStudy(t)
		if rapid.Bool().Draw(t, "bulk last") {
			slices.Reverse(s.Workloads)
		}
		bulk := s.Workloads[slices.IndexFunc(s.Workloads, func(w study.Workload) bool { return w.Kind == "tcp_stream" })]
		p := Make(s)
		all := trials(p)
		pilots := slices.IndexFunc(all, func(tr Trial) bool { return !tr.Pilot() })
		if pilots < 0 {
			pilots = len(all)
		}
		must.Require(t, !slices.ContainsFunc(all[pilots:], Trial.Pilot), "a pilot behind the first block")
		if s.Pilot == quantity.WaitOf(0) {
			must.Require(t, pilots <= 0, "%d pilots that were not requested", pilots)
			return
		}
		var modes []string
		for _, tr := range all[:pilots] {
			modes = append(modes, tr.Mode)
			w := tr.Workload
			must.Require(t, w.ID == bulk.ID && w.Warmup == quantity.WaitOf(0) && w.Duration == s.Pilot.For && !tr.Sliced(), "pilot %+v", w)
		}
		slices.Sort(modes)
		must.EqualFor(t, "modes of the pilots", s.ModeNames(), modes)
	})
}

// What a plan adds up to is what its trials do, up to every block.
func TestExtentIsTheSumOfTrials(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawStudy(t)
		if rapid.Bool().Draw(t, "search") {
			s.Workloads = append(s.Workloads, study.Workload{
				ID: "search", Kind: "udp_search", LossGoals: quantity.LossGoals{0.01}, PayloadSize: 1400, MinRate: 1e6, MaxRate: 1e8, Precision: 0.1,
				Step: quantity.Duration(time.Second), StepSum: quantity.Duration(time.Second), MaxSearch: quantity.Duration(time.Minute), Every: 2,
			})
		}
		s.CostPass = study.CostPass{Rate: rapid.SampledFrom([]quantity.PassRate{quantity.NoPass, quantity.PassAuto}).Draw(t, "pass"), FromBlock: rapid.IntRange(1, 30).Draw(t, "from"),
			Every: rapid.IntRange(1, 3).Draw(t, "passes"), Times: rapid.IntRange(0, 4).Draw(t, "most"), Duration: quantity.Duration(time.Second)}
		takes := map[string]time.Duration{"host": time.Second, "x": 5 * time.Second}
		p := Make(s).WithSetupTimes(takes)
		if rapid.Bool().Draw(t, "without x") {
			p = p.Without("x")
		}
		for blocks := 1; blocks <= s.Blocks; blocks++ {
			some := slices.DeleteFunc(trials(p), func(tr Trial) bool { return tr.Block > blocks })
			want := Extent{Time: p.Estimate(some)}
			for _, tr := range some {
				want.Traffic += tr.Traffic()
				if !tr.Pilot() {
					want.Trials++
				}
			}
			for _, m := range p.Modes {
				want.Time += takes[m]
			}
			got := p.Extent(blocks)
			must.Require(t, got == want, "%d of %d blocks: %+v, their trials %+v", blocks, s.Blocks, got, want)
		}
		got, want := p.HasCostPass(), slices.ContainsFunc(trials(p), Trial.InCostPass)
		must.Require(t, got == want, "cost pass %t, want %t", got, want)
		if got, want := p.Piloted(), slices.ContainsFunc(trials(p), Trial.Pilot); got != want {
			t.Fatalf("pilots %t, want %t", got, want)
		}
		n := Make(s).Extent(s.Blocks).Trials
		must.Require(t, n == s.Trials(), "the plan has %d trials, its study announces %d", n, s.Trials())
	})
}

// A revised workload is as revised from that block on, in the same order as before, and the
// last revision counts.
func TestRevise(t *testing.T) {
	s := sample()
	s.Pilot = quantity.WaitOf(time.Second)
	p := Make(s)
	before := trials(p)
	warmer, longer := s.Workloads[0], s.Workloads[0]
	warmer.Warmup, longer.Duration = quantity.WaitOf(3*time.Second), quantity.Duration(9*time.Second)
	p.Revise(1, warmer)
	p.Revise(3, longer)
	for i, tr := range trials(p) {
		want := before[i]
		switch {
		case tr.Workload.ID != warmer.ID || tr.Pilot():
		case tr.Block < 3:
			want.Workload = warmer
		default:
			want.Workload = longer
		}
		must.EqualFor(t, fmt.Sprintf("trial %d", i+1), want, tr)
	}
}

// A plan of very many trials is made, added up and walked through in memory for one block.
func TestPlanHoldsNoTrials(t *testing.T) {
	s := sample()
	s.Blocks = 1000
	for i := range 98 {
		s.Workloads = append(s.Workloads, study.Workload{ID: fmt.Sprint("w", i), Kind: "tcp_rr", Duration: quantity.Duration(time.Second)})
	}
	debug.SetGCPercent(-1) // what is allocated stays
	defer debug.SetGCPercent(100)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	p := Make(s)
	e := p.Extent(p.Blocks)
	runtime.ReadMemStats(&after)
	must.True(t, e.Trials == 300_000 && e.Time > 0, "%+v", e)
	got := after.TotalAlloc - before.TotalAlloc
	must.True(t, got <= 1<<20, "a plan of %d trials takes %d bytes", e.Trials, got)
	for tr := range p.Trials() {
		if tr.Block == 3 {
			break
		}
	}
	runtime.ReadMemStats(&before)
	if got := before.TotalAlloc - after.TotalAlloc; got > 4<<20 {
		t.Errorf("two blocks of it take %d bytes", got)
	}
}

// Without a bulk workload the first one is used for pilots; an external tool's never is.
func TestPilotOf(t *testing.T) {
	s := sample()
	s.Pilot = quantity.WaitOf(15 * time.Second)
	s.Workloads = s.Workloads[1:]
	w, ok := Pilot(s)
	must.True(t, ok && w.ID == "tcp_rr", "pilot of %q, %t", w.ID, ok)
	s.Workloads[0] = study.Workload{ID: "udp_search", Kind: "udp_search"}
	if w, ok := Pilot(s); ok {
		t.Errorf("pilot of %q, which has no timed window", w.ID)
	}
	s.Workloads[0] = study.Workload{ID: "tcp_rr", Kind: "tcp_rr", Tool: "iperf3"}
	if w, ok := Pilot(s); ok {
		t.Errorf("pilot of %q by %s", w.ID, w.Tool)
	}
}

// A run has at least the blocks of its stopping rule, and never more than the maximum.
func TestLeast(t *testing.T) {
	for _, tt := range []struct {
		stop         *study.Stop
		blocks, want int
	}{
		{nil, 4, 4}, {&study.Stop{MinBlocks: 5, ExtraBlocks: 2}, 12, 7}, {&study.Stop{MinBlocks: 5, ExtraBlocks: 2}, 6, 6},
	} {
		s := sample()
		s.Stop, s.Blocks = tt.stop, tt.blocks
		if p := Make(s); p.MinBlocks != tt.want || p.Blocks != tt.blocks {
			t.Errorf("%+v, %d blocks: at least %d and at most %d, want %d and %d", tt.stop, tt.blocks, p.MinBlocks, p.Blocks, tt.want, tt.blocks)
		}
	}
}

// Recreating modes between blocks takes their set-up time; the total is the set-up, the
// pilots and the blocks.
func TestTime(t *testing.T) {
	s := sample()
	s.Workloads = s.Workloads[1:] // tcp_rr: 700 ms
	quick, slow := time.Second, 5*time.Second
	takes := map[string]time.Duration{"host": quick, "x": slow} // y is not told of
	const trial = 300*time.Millisecond + TrialOverhead + 700*time.Millisecond
	for _, tt := range []struct {
		renew study.Recreate
		want  time.Duration // spent on renewal in 4 blocks
	}{
		{study.RecreateOnce(), 0}, {study.RecreateEvery(1), 3 * (quick + slow)}, {study.RecreateEvery(2), quick + slow}, {study.RecreateAuto(), 3*quick + slow},
	} {
		s.Recreate, s.Blocks = tt.renew, 4
		p := Make(s).WithSetupTimes(takes)
		got, want := p.Time(4), 12*trial+quick+slow+tt.want
		must.True(t, got == want, "renew %s: %s, want %s", tt.renew, got, want)
	}
	s.Recreate, s.Pilot = study.RecreateOnce(), quantity.WaitOf(15*time.Second)
	p := Make(s).WithSetupTimes(takes)
	got, want := p.Time(4), 12*trial+quick+slow+3*(300*time.Millisecond+TrialOverhead+15*time.Second)
	must.True(t, got == want, "with pilots %s, want %s", got, want)
	if got, want := p.Time(1), 3*trial+quick+slow+3*(300*time.Millisecond+TrialOverhead+15*time.Second); got != want {
		t.Errorf("with pilots, one block: %s, want %s", got, want)
	}
}
