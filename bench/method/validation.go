package method

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"tare/bench/harness"
	"tare/internal/result"
	"tare/internal/stats"
)

func most(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	return slices.Max(vs)
}

// effectRatio is the share of the baseline's rate to which the slowed mode is limited.
const effectRatio = 0.9

// underlayRate is the rate of the underlay in Mbit/s where it must be the limit: low
// enough for any machine.
const underlayRate = 200

// onlyTheRate disables rules that are irrelevant if only the rate limit determines the
// result.
const onlyTheRate = "invalid: {steal: off, others: off}\n"

// Effect measures a mode whose path is limited to 0.9 of the baseline's rate: a
// difference of known size, which every run must find.
func Effect(ctx context.Context, b harness.Options) error {
	b.Verbose = true
	study := fmt.Sprintf(`name: known-effect
profile: standard
modes:
  - host
  - {id: slowed, mode: netns/bridge, lab: {rate: %dMbit/s}}
workloads: [tcp_stream]
lab: {rate: %dMbit/s}
%s`, int(effectRatio*underlayRate), underlayRate, onlyTheRate)
	harness.Title("A known effect: %d runs of the standard profile, tcp_stream, %d Mbit/s, one mode's path at %g of that", b.EffectRuns, underlayRate, effectRatio)
	harness.Columns("run", "blocks", "ratio (95 %)", "half-width", "verdict", "took")
	var ratios []float64
	found, wrong, hits := 0, 0, 0
	for i := range b.EffectRuns {
		fmt.Fprintf(os.Stderr, "bench effect: run %d of %d\n", i+1, b.EffectRuns)
		o, err := b.Run(ctx, study, "--seed", fmt.Sprint(i+1))
		if err != nil {
			return err
		}
		c, err := o.Cell("slowed", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		if c.Ratio == nil || c.RatioCI == nil {
			fmt.Printf("| %d | %d | none | | %s | %s |\n", i+1, c.N, c.Verdict, o.Wall.Round(time.Second))
			continue
		}
		switch {
		case c.Verdict == result.Worse:
			found++
		case c.Verdict == result.Better, c.RatioCI[0] > 1:
			wrong++
		}
		if c.RatioCI[0] <= effectRatio && effectRatio <= c.RatioCI[1] {
			hits++
		}
		ratios = append(ratios, *c.Ratio)
		printRun(fmt.Sprint(i+1), c, o.Wall)
	}
	if len(ratios) == 0 {
		return fmt.Errorf("none of %d runs has a ratio with an interval", b.EffectRuns)
	}
	e, err := stats.GeoMeanInterval(ratios, 0.95)
	if err != nil {
		return err
	}
	fmt.Printf("| all | | %s | | found in %d of %d, wrong sign in %d, interval contains %g in %d | |\n\n",
		harness.Interval(e, 4), found, b.EffectRuns, wrong, effectRatio, hits)
	if found*10 < 9*b.EffectRuns || wrong > 0 {
		return fmt.Errorf("the effect was found in %d of %d runs, with the wrong sign in %d: want 9 of 10 and none", found, b.EffectRuns, wrong)
	}
	return nil
}

// printRun prints the row of a run whose cell has a ratio with an interval.
func printRun(name string, c result.Cell, wall time.Duration) {
	fmt.Printf("| %s | %d | %s | %.2f %% | %s | %s |\n", name, c.N, harness.Ratio(c, 4), 100*harness.HalfWidth(c), c.Verdict, wall.Round(time.Second))
}

// protocolMargin is the difference between two profiles that does not matter.
const protocolMargin = 0.05

// Protocol measures one pair of modes with the short profile and with the long one, and
// tests that their results are equivalent. A result that the underlay's rate limits does
// not change from run to run, so that any difference comes from the protocol.
func Protocol(ctx context.Context, b harness.Options) error {
	b.Verbose = true
	harness.Title("%s against %s: host and netns/vxlan, tcp_stream, %d Mbit/s", b.Protocols[0], b.Protocols[1], underlayRate)
	harness.Columns("profile", "blocks", "ratio (95 %)", "half-width", "verdict", "took")
	var ratios []stats.LogRatio
	var walls []time.Duration
	for _, profile := range b.Protocols {
		fmt.Fprintf(os.Stderr, "bench protocol: the %s run, from %s\n", profile, time.Now().Format(time.TimeOnly))
		o, err := b.Run(ctx, fmt.Sprintf("name: protocol\nprofile: %s\nmodes: [host, netns/vxlan]\nworkloads: [tcp_stream]\nlab: {rate: %dMbit/s}\n%s",
			profile, underlayRate, onlyTheRate), "--seed", "1")
		if err != nil {
			return err
		}
		c, err := o.Cell("netns/vxlan", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		l, err := logRatio(c)
		if err != nil {
			return fmt.Errorf("the %s run: %w", profile, err)
		}
		ratios, walls = append(ratios, l), append(walls, o.Wall)
		printRun(profile, c, o.Wall)
	}
	d := ratios[0].Over(ratios[1])
	lo, hi, ok := d.Interval(0.90)
	if !ok {
		return fmt.Errorf("the two runs have too few blocks to compare")
	}
	p := d.EquivalentP(protocolMargin)
	fmt.Printf("| %s over %s | | %.4f (90 %%: %.4f-%.4f) | | TOST at %g %%: p %.2g | %.1f times |\n\n", b.Protocols[0], b.Protocols[1],
		d.Ratio(), lo, hi, 100*protocolMargin, p, float64(walls[1])/float64(walls[0]))
	if !d.Equivalent(protocolMargin) {
		return fmt.Errorf("the two profiles are not shown to agree within %g %%: p %.3f", 100*protocolMargin, p)
	}
	return nil
}

// logRatio is the LogRatio from which a cell's ratio and interval were computed.
func logRatio(c result.Cell) (stats.LogRatio, error) {
	if c.Ratio == nil || c.RatioCI == nil || c.N < 2 {
		return stats.LogRatio{}, fmt.Errorf("no ratio with an interval, of %d blocks", c.N)
	}
	half := math.Log(c.RatioCI[1]/c.RatioCI[0]) / 2
	df := c.DF
	if df == 0 {
		df = float64(c.N - 1)
	}
	return stats.LogRatio{N: c.N, Mean: math.Log(*c.Ratio), SD: half / stats.TQuantile(0.975, df) * math.Sqrt(float64(c.N)), DF: c.DF}, nil
}
