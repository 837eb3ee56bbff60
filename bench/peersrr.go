package main

import (
	"context"
	"fmt"
)

// peersRR holds tcp_rr against sockperf and qperf.
func peersRR(ctx context.Context, b bench) error {
	askers := []asker{{"tare", tareAsk}, {"sockperf", sockperfAsk("ping-pong")}, {"qperf", qperfAsk}}
	return onStand(ctx, b, fmt.Sprintf("tcp_rr and its peers: 1 flow, 1 byte (sockperf: 14) each way, median of %d interleaved pairs of 2 s", b.pairs),
		[]string{"sockperf", "qperf"}, func(ctx context.Context, s *stand) error {
			fmt.Println(head())
			for _, at := range s.placements() {
				w := work{name: "tcp_rr, 1 flow", placement: at.name, unit: "k/s", scale: 1e3, ask: ">= 0.97", least: 0.97}
				if at.client != at.server {
					w.ask, w.least = ">= 1.0", 1
				}
				var cs []contestant
				for _, a := range askers {
					cs = append(cs, contestant{a.name, func(ctx context.Context) (float64, error) {
						got, err := a.run(ctx, s, at, 0)
						return got.rate, err
					}})
				}
				if err := w.against(ctx, b.pairs, cs); err != nil {
					return err
				}
			}
			return nil
		})
}
