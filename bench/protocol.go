package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"tare/internal/result"
	"tare/internal/stats"
)

// protocolMargin is the difference between two profiles that would be of no matter.
const protocolMargin = 0.05

// protocol weighs one pair of modes with the short profile and with the long one, and
// tests that their answers are equivalent. What is limited by the underlay's rate does
// not change from run to run, so that all difference is the protocol's.
func protocol(ctx context.Context, b bench) error {
	b.aloud = true
	fmt.Printf("### %s against %s: host and netns/vxlan, tcp_stream, %d Mbit/s\n\n", b.protocols[0], b.protocols[1], underlayRate)
	fmt.Println("| profile | blocks | ratio (95 %) | half-width | verdict | took |")
	fmt.Println("|---|---|---|---|---|---|")
	var ratios []stats.LogRatio
	var walls []time.Duration
	for _, profile := range b.protocols {
		fmt.Fprintf(os.Stderr, "bench protocol: the %s run, from %s\n", profile, time.Now().Format(time.TimeOnly))
		o, err := b.attempt(ctx, fmt.Sprintf("name: protocol\nprofile: %s\nmodes: [host, netns/vxlan]\nworkloads: [tcp_stream]\nlab: {rate: %dMbit/s}\n%s",
			profile, underlayRate, onlyTheRate), "--seed", "1")
		if err != nil {
			return err
		}
		c, err := o.cell("netns/vxlan", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		l, err := logRatio(c)
		if err != nil {
			return fmt.Errorf("the %s run: %w", profile, err)
		}
		ratios, walls = append(ratios, l), append(walls, o.wall)
		fmt.Printf("| %s | %d | %.4f (%.4f-%.4f) | %.2f %% | %s | %s |\n", profile, c.N, *c.Ratio, c.RatioCI[0], c.RatioCI[1],
			100*halfWidth(c), c.Verdict, o.wall.Round(time.Second))
	}
	d := ratios[0].Over(ratios[1])
	lo, hi, ok := d.Interval(0.90)
	if !ok {
		return fmt.Errorf("the two runs have too few blocks to compare")
	}
	p := d.EquivalentP(protocolMargin)
	fmt.Printf("| %s over %s | | %.4f (90 %%: %.4f-%.4f) | | TOST at %g %%: p %.2g | %.1f times |\n\n", b.protocols[0], b.protocols[1],
		d.Ratio(), lo, hi, 100*protocolMargin, p, float64(walls[1])/float64(walls[0]))
	if !d.Equivalent(protocolMargin) {
		return fmt.Errorf("the two profiles are not shown to agree within %g %%: p %.3f", 100*protocolMargin, p)
	}
	return nil
}

// logRatio is what a cell's ratio and interval were made of.
func logRatio(c result.Cell) (stats.LogRatio, error) {
	if c.Ratio == nil || c.RatioCI == nil || c.N < 2 {
		return stats.LogRatio{}, fmt.Errorf("no ratio with an interval, of %d blocks", c.N)
	}
	half := math.Log(c.RatioCI[1]/c.RatioCI[0]) / 2
	return stats.LogRatio{N: c.N, Mean: math.Log(*c.Ratio), SD: half / stats.TQuantile(0.975, float64(c.N-1)) * math.Sqrt(float64(c.N))}, nil
}
