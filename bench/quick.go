package main

import (
	"context"
	"fmt"

	"tare/internal/result"
)

// quick repeats the default quick run: how long it takes, how much of that is
// traffic, and how small a difference it resolves.
func quick(ctx context.Context, b bench) error {
	var wall, share, over, rr, stream []float64
	fmt.Println("### The default quick run (5 modes, tcp_stream and tcp_rr)")
	fmt.Println()
	fmt.Println("| run | wall | with traffic | beyond traffic, per trial | vxlan tcp_rr ratio, half-width | vxlan tcp_stream ratio, half-width |")
	fmt.Println("|---|---|---|---|---|---|")
	for i := range b.runs {
		o, err := b.weigh(ctx, "", "--profile", "quick", "--workloads", "tcp_stream,tcp_rr",
			"--modes", "host,netns/published,netns/bridge,netns/macvlan,netns/vxlan")
		if err != nil {
			return err
		}
		r, err := o.cell("netns/vxlan", "tcp_rr", "transaction_rate")
		if err != nil {
			return err
		}
		s, err := o.cell("netns/vxlan", "tcp_stream", "goodput")
		if err != nil {
			return err
		}
		traffic, beyond := shares(o.trials)
		wall = append(wall, o.wall.Seconds())
		share = append(share, traffic/o.wall.Seconds())
		over = append(over, beyond)
		rr, stream = append(rr, halfWidth(r)), append(stream, halfWidth(s))
		fmt.Printf("| %d | %.1f s | %.0f %% | %.0f ms | %.3f, %.1f %% | %.3f, %.1f %% |\n", i+1, o.wall.Seconds(), 100*traffic/o.wall.Seconds(),
			1000*beyond, *r.Ratio, 100*halfWidth(r), *s.Ratio, 100*halfWidth(s))
	}
	fmt.Printf("| median | %.1f s | %.0f %% | %.0f ms | %.1f %% | %.1f %% |\n\n", median(wall), 100*median(share), 1000*median(over), 100*median(rr), 100*median(stream))
	return nil
}

// shares sums the seconds of traffic, warm-up included, and takes the median of
// what a trial took beyond it and the settling wait.
func shares(trials []result.Trial) (traffic, beyond float64) {
	var rest []float64
	for _, t := range trials {
		traffic += t.Traffic
		rest = append(rest, t.Elapsed-t.Traffic)
	}
	return traffic, median(rest)
}
