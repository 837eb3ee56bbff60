package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"tare/internal/result"
	"tare/internal/stats"
)

// effectRatio is what the slowed mode is allowed of the baseline's rate.
const effectRatio = 0.9

// underlayRate is the underlay's in Mbit/s where it is to decide what is seen: low
// enough for any machine to reach it.
const underlayRate = 200

// onlyTheRate keeps trials that the machine's other work cannot have changed.
const onlyTheRate = "invalid: {steal: off, others: off}\n"

// effect weighs a mode whose path is held to 0.9 of the baseline's rate: a difference
// of known size, which every run must find.
func effect(ctx context.Context, b bench) error {
	b.aloud = true
	study := fmt.Sprintf(`name: known-effect
profile: standard
modes:
  - host
  - {id: slowed, mode: netns/bridge, lab: {rate: %dMbit/s}}
workloads: [tcp_stream]
lab: {rate: %dMbit/s}
%s`, int(effectRatio*underlayRate), underlayRate, onlyTheRate)
	fmt.Printf("### A known effect: %d runs of the standard profile, tcp_stream, %d Mbit/s, one mode's path at %g of that\n\n", b.effectRuns, underlayRate, effectRatio)
	fmt.Println("| run | blocks | ratio (95 %) | half-width | verdict | took |")
	fmt.Println("|---|---|---|---|---|---|")
	var ratios []float64
	found, wrong, hits := 0, 0, 0
	for i := range b.effectRuns {
		fmt.Fprintf(os.Stderr, "bench effect: run %d of %d\n", i+1, b.effectRuns)
		o, err := b.attempt(ctx, study, "--seed", fmt.Sprint(i+1))
		if err != nil {
			return err
		}
		c, err := o.cell("slowed", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		if c.Ratio == nil || c.RatioCI == nil {
			fmt.Printf("| %d | %d | none | | %s | %s |\n", i+1, c.N, c.Verdict, o.wall.Round(time.Second))
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
		fmt.Printf("| %d | %d | %.4f (%.4f-%.4f) | %.2f %% | %s | %s |\n", i+1, c.N, *c.Ratio, c.RatioCI[0], c.RatioCI[1],
			100*halfWidth(c), c.Verdict, o.wall.Round(time.Second))
	}
	if len(ratios) == 0 {
		return fmt.Errorf("none of %d runs has a ratio with an interval", b.effectRuns)
	}
	e, err := stats.GeoMeanInterval(ratios, 0.95)
	if err != nil {
		return err
	}
	all := fmt.Sprintf("%.4f", e.Value)
	if e.HasInterval {
		all += fmt.Sprintf(" (%.4f-%.4f)", e.Lo, e.Hi)
	}
	fmt.Printf("| all | | %s | | found in %d of %d, wrong sign in %d, interval holds %g in %d | |\n\n",
		all, found, b.effectRuns, wrong, effectRatio, hits)
	if found*10 < 9*b.effectRuns || wrong > 0 {
		return fmt.Errorf("the effect was found in %d of %d runs, with the wrong sign in %d: want 9 of 10 and none", found, b.effectRuns, wrong)
	}
	return nil
}
