package main

import (
	"context"
	"fmt"
)

// gcRate is the rate of exchanges at which the two ends are mostly idle.
const gcRate = 10_000

// gcPauses looks for pauses of the garbage collector in the round trips of an
// open loop that leaves the machine mostly idle. sockperf is written in C++ and
// has none.
func gcPauses(ctx context.Context, b bench) error {
	askers := []asker{{"tare", tareAsk}, {"sockperf, ping-pong", sockperfAsk("ping-pong")}, {"sockperf, under-load", sockperfAsk("under-load")}}
	return onStand(ctx, b, fmt.Sprintf("Round trips at a steady %d/s: medians of %d runs of 2 s", gcRate, b.pairs),
		[]string{"sockperf"}, func(ctx context.Context, s *stand) error {
			fmt.Println("| placement | generator | exchanges/s | p50 | p99.9, median (min-max) |\n|---|---|---|---|---|")
			for _, at := range s.placements() {
				if err := notCompared(s.idleTrips(ctx, b.pairs, at, askers), "tcp_rr", at); err != nil {
					return err
				}
			}
			return nil
		})
}

// idleTrips prints the rows of one placement.
func (s *stand) idleTrips(ctx context.Context, n int, at placed, askers []asker) error {
	seen := make([][]answered, len(askers))
	for range n {
		for i, a := range askers {
			got, err := stubborn(ctx, a.name, func(ctx context.Context) (answered, error) {
				got, err := a.run(ctx, s, at, gcRate)
				if err == nil {
					err = holds(a.name, got.rate, gcRate, "exchanges/s")
				}
				return got, err
			})
			if err != nil {
				return err
			}
			seen[i] = append(seen[i], got)
		}
	}
	for i, a := range askers {
		p999 := column(seen[i], func(g answered) float64 { return g.p999 * 1e6 })
		fmt.Printf("| %s | %s | %.0f | %.1f us | %s us |\n", at.name, a.name,
			median(column(seen[i], func(g answered) float64 { return g.rate })),
			median(column(seen[i], func(g answered) float64 { return g.p50 * 1e6 })), spread(p999))
	}
	return nil
}
