package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// trials makes all trials of a plan.
func trials(p Plan) []Trial { return slices.Collect(p.Trials()) }

func sample() study.Study {
	return study.Study{
		Seed: 7, Blocks: 4, Modes: study.ModesOf("host", "x", "y"), Settle: quantity.WaitOf(300 * time.Millisecond),
		Workloads: []study.Workload{
			{ID: "tcp_stream", Kind: "tcp_stream", Warmup: quantity.WaitOf(500 * time.Millisecond), Duration: quantity.Duration(1500 * time.Millisecond)},
			{ID: "tcp_rr", Kind: "tcp_rr", Warmup: quantity.WaitOf(200 * time.Millisecond), Duration: quantity.Duration(500 * time.Millisecond)},
		},
	}
}

// Every block contains every mode once with every workload, and the trials of one
// workload are adjacent.
func TestBlocksAreComplete(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := sample()
		s.Seed = rapid.Uint64Range(1, 1<<53-1).Draw(t, "seed")
		s.Blocks = rapid.IntRange(2, 20).Draw(t, "blocks")
		p := Make(s)
		size := len(s.Modes) * len(s.Workloads)
		must.Require(t, len(trials(p)) == s.Blocks*size, "%d trials, want %d", len(trials(p)), s.Blocks*size)
		for i, tr := range trials(p) {
			must.Require(t, tr.Block == i/size+1, "trial %d is in block %d", i, tr.Block)
		}
		for group := range slices.Chunk(trials(p), len(s.Modes)) {
			var modes []string
			for _, tr := range group {
				must.Require(t, tr.Workload.ID == group[0].Workload.ID, "workloads mixed in one group: %v", group)
				modes = append(modes, tr.Mode)
			}
			slices.Sort(modes)
			must.EqualFor(t, "modes of a group", s.ModeNames(), modes)
		}
	})
}

func TestOrderFollowsTheSeed(t *testing.T) {
	s := sample()
	first, second := Make(s), Make(s)
	must.Equal(t, trials(first), trials(second))
	s.Seed++
	must.True(t, !cmp.Equal(trials(first), trials(Make(s))), "another seed gave the same order of 24 trials")
}

// Sliced trials of one workload and block run together, all others alone, and the
// order stays.
func TestGroups(t *testing.T) {
	s := sample()
	s.Workloads[1].Slice = quantity.Duration(25 * time.Millisecond)
	s.Workloads[0].Slice = quantity.AtOnce
	p := Make(s)
	var flat []Trial
	sizes := map[string][]int{}
	for _, g := range Groups(trials(p)) {
		flat = append(flat, g...)
		id := g[0].Workload.ID
		sizes[id] = append(sizes[id], len(g))
	}
	must.Equal(t, trials(p), flat)
	want := map[string][]int{"tcp_rr": {3, 3, 3, 3}, "tcp_stream": slices.Repeat([]int{1}, 12)}
	must.Equal(t, want, sizes)
}

// The counted parts of the slices add up to at least the timed window, and to no
// more than one slice above it.
func TestRounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slice := time.Duration(rapid.Int64Range(int64(5*time.Millisecond), int64(time.Second)).Draw(t, "slice"))
		long := time.Duration(rapid.Int64Range(int64(slice)+1, int64(10*time.Second)).Draw(t, "duration"))
		tr := Trial{Workload: study.Workload{Kind: "tcp_rr", Slice: quantity.Duration(slice), Duration: quantity.Duration(long)}}
		must.Require(t, tr.Sliced(), "not sliced")
		counted := time.Duration(tr.Rounds()) * (slice - slice/traffic.SliceWarmup)
		must.Require(t, counted >= long && counted < long+slice, "%d slices of %s count %s of %s", tr.Rounds(), slice, counted, long)
	})
}

// No position of a block belongs to the baseline: over many seeds it comes first
// about as often as the others.
func TestOrderIsFair(t *testing.T) {
	first := map[string]int{}
	s := sample()
	for s.Seed = 1; s.Seed <= 3000; s.Seed++ {
		first[trials(Make(s))[0].Mode]++
	}
	for m, n := range first {
		must.True(t, n >= 900 && n <= 1100, "%s opens %d of 3000 plans, want about 1000", m, n) // 1000 +- 4 standard deviations
	}
}

func TestWithoutKeepsTheOrder(t *testing.T) {
	p := Make(sample())
	var want []Trial
	for _, tr := range trials(p) {
		if tr.Mode != "x" {
			want = append(want, tr)
		}
	}
	got := p.Without("x")
	must.Equal(t, want, trials(got))
	must.Equal(t, []string{"host", "y"}, got.Modes)
}

func TestEstimate(t *testing.T) {
	const settle = 300 * time.Millisecond
	s := sample()
	estimate := func() time.Duration {
		p := Make(s)
		return p.Estimate(trials(p))
	}
	want := 4 * 3 * (2*(settle+TrialOverhead) + 2*time.Second + 700*time.Millisecond)
	must.Equal(t, want, estimate())
	// Interleaved: one wait for each group, and each slice has a part that does not
	// count. 500 ms are 25 slices of 25 ms with 20 ms counted.
	s.Workloads[1].Slice = quantity.Duration(25 * time.Millisecond)
	want = 4 * (3*(settle+TrialOverhead+2*time.Second) + settle + 3*(TrialOverhead+200*time.Millisecond+25*25*time.Millisecond))
	must.Equal(t, want, estimate())
}
