package owncost

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tare/bench/harness"
	"tare/internal/testkit/synthetic"
)

// extent is the size of a run by what makes it long.
type extent struct{ modes, workloads, pairs, blocks int }

// smallest is the run whose parts grow one at a time.
func smallest() extent { return extent{modes: 2, workloads: 1, pairs: 1, blocks: 7} }

// study is a study of that size: copies of one mode beside its baseline, and copies of one workload.
func (e extent) study() string {
	var b strings.Builder
	fmt.Fprintf(&b, "name: growth\nprofile: quick\nblocks: %d\ninvalid: {steal: off, others: off, unsettled: off}\nmodes:\n  - host\n", e.blocks)
	for i := range e.modes - 1 {
		fmt.Fprintf(&b, "  - {mode: netns/published, id: m%d}\n", i+1)
	}
	b.WriteString("workloads:\n")
	for i := range e.workloads {
		fmt.Fprintf(&b, "  - {workload: tcp_rr, id: w%d, pairs: %d}\n", i+1, e.pairs)
	}
	return b.String()
}

// Growth measures how time and memory of a run, and of its evaluation, grow with each part of its size.
func Growth(ctx context.Context, b harness.Options) error {
	harness.Title("How a run grows")
	harness.Columns("modes", "workloads", "pairs", "blocks", "trials", "wall", "for each trial", "controller, peak resident")
	for _, vary := range []struct {
		set    func(*extent, int)
		values []int
	}{
		{func(e *extent, n int) { e.modes = n }, []int{2, 8, 32, 64}},
		{func(e *extent, n int) { e.workloads = n }, []int{3, 9}},
		{func(e *extent, n int) { e.pairs = n }, []int{10, 50, 200}},
		{func(e *extent, n int) { e.blocks = n }, []int{28, 112}},
	} {
		for _, n := range vary.values {
			e := smallest()
			vary.set(&e, n)
			o, err := b.Run(ctx, e.study())
			if err != nil {
				return err
			}
			fmt.Printf("| %d | %d | %d | %d | %d | %.1f s | %.0f ms | %.0f MB |\n", e.modes, e.workloads, e.pairs, e.blocks,
				len(o.Trials), o.Wall.Seconds(), 1000*o.Wall.Seconds()/float64(len(o.Trials)), float64(o.Memory.Controller)/1e6)
		}
	}
	fmt.Println()
	harness.Title("How its evaluation and report grow")
	harness.Columns("modes", "blocks", "trials", "wall, median of 5", "for each trial", "peak resident", "report.html")
	for _, s := range []synthetic.Shape{{Modes: 2, Blocks: 7}, {Modes: 8, Blocks: 7}, {Modes: 64, Blocks: 7}, {Modes: 2, Blocks: 70}, {Modes: 2, Blocks: 1000}} {
		if err := evaluated(ctx, b, s); err != nil {
			return err
		}
	}
	fmt.Println()
	return nil
}

// evaluated prints the line of one generated run.
func evaluated(ctx context.Context, b harness.Options, s synthetic.Shape) (err error) {
	s.Seed, s.Series = synthetic.Standard().Seed, synthetic.Standard().Series
	top, err := os.MkdirTemp("", "tare-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(top)) }()
	r, err := render(ctx, b, s, filepath.Join(top, "run"))
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %d | %d | %.2f s | %.2f ms | %.0f MB | %.0f kB |\n", s.Modes, s.Blocks, s.Trials(),
		r.wall, 1000*r.wall/float64(s.Trials()), float64(r.peak)/1e6, float64(r.size)/1e3)
	return nil
}
