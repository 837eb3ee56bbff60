package method

import (
	"context"
	"fmt"
	"math"
	"strings"

	"tare/bench/harness"
	"tare/internal/result"
	"tare/internal/stats"
)

// sliced is a workload with one length of slices.
type sliced struct{ workload, slice, duration string }

func (s sliced) id() string { return s.workload + "_" + s.slice + "_" + s.duration }

// componentModes returns the modes whose ratios to host are divided.
func componentModes() []string { return []string{"netns/published", "netns/vxlan"} }

// Components divides the variance of ratios into that between the slices of a trial and that between
// blocks, for several lengths of slices in the same blocks, and shows which interval each length gives
// a mode and its baseline in one minute.
func Components(ctx context.Context, b harness.Options) error {
	all := []sliced{
		{"tcp_rr", "5ms", "300ms"}, {"tcp_rr", "10ms", "300ms"}, {"tcp_rr", "20ms", "400ms"}, {"tcp_rr", "20ms", "1200ms"},
		{"tcp_stream", "10ms", "300ms"}, {"tcp_stream", "25ms", "300ms"}, {"tcp_stream", "50ms", "400ms"}, {"tcp_stream", "125ms", "1500ms"},
		{"tcp_crr", "25ms", "500ms"}, {"tcp_crr", "50ms", "500ms"}, {"tcp_crr", "25ms", "2s"},
		{"udp_stream", "125ms", "700ms"},
	}
	var study strings.Builder
	study.WriteString("name: components\nprofile: quick\nblocks: 10\nmodes: [host, " + strings.Join(componentModes(), ", ") +
		"]\ninvalid: {steal: off, others: off, unsettled: off}\nevidence: {stacks: off}\nworkloads:\n")
	for _, s := range all {
		fmt.Fprintf(&study, "  - {id: %s, workload: %s, slice: %s, duration: %s}\n", s.id(), s.workload, s.slice, s.duration)
	}
	o, err := b.RunFit(ctx, study.String())
	if err != nil {
		return err
	}
	harness.Title("Variance components of the log ratio: 10 blocks, %s to host", strings.Join(componentModes(), " and "))
	harness.Columns("workload", "slice", "timed", "one slice", "slices of a trial", "between blocks", "one block", "half-width after a minute")
	for _, s := range all {
		c, err := components(o.Trials, s.id())
		if err != nil {
			return err
		}
		blocks := max(2, 60/c.seconds)
		half := stats.TQuantile(0.975, blocks-1) * math.Sqrt(c.block/blocks)
		fmt.Printf("| %s | %s | %s | %.1f %% | %.2f %% | %.2f %% | %.2f %% | %.2f %% |\n", s.workload, s.slice, s.duration, 100*math.Sqrt(c.slice),
			100*math.Sqrt(c.slices), 100*math.Sqrt(max(0, c.block-c.slices)), 100*math.Sqrt(c.block), 100*half)
	}
	fmt.Println()
	return nil
}

// spread is the variances of the logarithm of a ratio, as means over the modes: of one slice, of the
// mean over the slices of a trial if they were independent, and of a block, as measured. A block of a
// mode and the host takes so many seconds.
type spread struct{ slice, slices, block, seconds float64 }

// components divides the variance of a workload's ratios. That of a slice is of the difference of the
// rates of the mode and the host in the same round, relative to their means in the trial: the logarithm
// would give a slice in which almost nothing arrived more weight than it has in the mean.
func components(trials []result.Trial, workload string) (all spread, err error) {
	share := 1 / float64(len(componentModes()))
	for _, mode := range componentModes() {
		var means, bases, slice, slices []float64
		for block := 1; block <= 10; block++ {
			own, base := trialOf(trials, mode, workload, block), trialOf(trials, "host", workload, block)
			if own == nil || base == nil || len(own.Series.Values) != len(base.Series.Values) {
				continue
			}
			x, y := own.Series.Values, base.Series.Values
			var rounds []float64
			for i := range x {
				rounds = append(rounds, 1+x[i]/mean(x)-y[i]/mean(y))
			}
			v := math.Pow(harness.CV(rounds), 2) // their mean is 1
			slice, slices = append(slice, v), append(slices, v/float64(len(rounds)))
			means, bases = append(means, mean(x)), append(bases, mean(y))
			all.seconds = own.Elapsed + base.Elapsed + own.Settle + base.Settle
		}
		blocks, err := stats.Paired(means, bases)
		if err == nil && blocks.N < 3 {
			err = fmt.Errorf("%d valid blocks are too few", blocks.N)
		}
		if err != nil {
			return all, fmt.Errorf("%s of %s: %w", workload, mode, err)
		}
		all.slice += share * mean(slice)
		all.slices += share * mean(slices)
		all.block += share * blocks.SD * blocks.SD
	}
	return all, nil
}

func mean(vs []float64) float64 {
	var sum float64
	for _, v := range vs {
		sum += v
	}
	return sum / float64(len(vs))
}

// trialOf returns the valid trial of a mode in a block, nil without one.
func trialOf(trials []result.Trial, mode, workload string, block int) *result.Trial {
	for i, t := range trials {
		if t.Mode == mode && t.Workload == workload && t.Block == block && t.Status == result.TrialOK && t.Series != nil {
			return &trials[i]
		}
	}
	return nil
}
