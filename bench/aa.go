package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"time"

	"tare/internal/result"
)

// aaMost is how many of 40 runs may claim a difference between a thing and itself:
// 5 % are expected, which is 2; more than 4 have a probability of 5 %.
const aaMost = 4

// aa weighs the host against itself, over and over: every difference found is false.
func aa(ctx context.Context, b bench) error {
	metric := map[string]string{"tcp_rr": "transaction_rate", "tcp_stream": "goodput"}[b.aaWorkload]
	if metric == "" {
		return fmt.Errorf("-aa-workload: %q is neither tcp_rr nor tcp_stream", b.aaWorkload)
	}
	study := "name: a-a\nprofile: quick\ncontrol: true\nmodes: [host]\nworkloads: [" + b.aaWorkload + "]\n"
	found := map[result.Verdict]int{}
	var widths, ratios []float64
	misses, noisy := 0, 0
	began := time.Now()
	for i := range b.aaRuns {
		o, err := b.attempt(ctx, study, "--seed", fmt.Sprint(i+1))
		if err != nil {
			return err
		}
		c, err := o.cell("control", b.aaWorkload, metric)
		if err != nil {
			return err
		}
		if o.exit == unfit {
			noisy++
		}
		found[c.Verdict]++
		text := "no ratio"
		if c.Ratio != nil && c.RatioCI != nil {
			ratios, widths = append(ratios, *c.Ratio), append(widths, halfWidth(c))
			if c.RatioCI[0] > 1 || c.RatioCI[1] < 1 {
				misses++
			}
			text = fmt.Sprintf("%.4f (%.4f-%.4f)", *c.Ratio, c.RatioCI[0], c.RatioCI[1])
		}
		fmt.Fprintf(os.Stderr, "bench aa: run %d of %d, %s: %s, %s\n", i+1, b.aaRuns, o.wall.Round(time.Second/10), c.Verdict, text)
	}
	fmt.Printf("### The host against itself: %d runs of the quick profile, %s\n\n", b.aaRuns, b.aaWorkload)
	fmt.Println("| worse | better | small | same | cannot tell | of these noisy | intervals that miss 1 | median ratio | median half-width | largest | whole |")
	fmt.Println("|---|---|---|---|---|---|---|---|---|---|---|")
	fmt.Printf("| %d | %d | %d | %d | %d | %d | %d | %.4f | %.1f %% | %.1f %% | %s |\n\n",
		found[result.Worse], found[result.Better], found[result.Small], found[result.Same], found[result.CannotTell], noisy, misses,
		median(ratios), 100*median(widths), 100*most(widths), time.Since(began).Round(time.Second))
	if claimed := found[result.Worse] + found[result.Better]; claimed*40 > aaMost*b.aaRuns {
		return fmt.Errorf("%d of %d runs claim a difference between the host and itself, more than %d of 40", claimed, b.aaRuns, aaMost)
	}
	if noisy == b.aaRuns {
		return fmt.Errorf("none of the %d runs was fit to judge: the machine is too busy for this", b.aaRuns)
	}
	return nil
}

func most(vs []float64) float64 {
	if len(vs) == 0 {
		return 0
	}
	return slices.Max(vs)
}
