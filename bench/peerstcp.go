package main

import (
	"context"
	"fmt"
	"time"
)

// peersTCP holds tcp_stream against iperf3 and iperf2.
func peersTCP(ctx context.Context, b bench) error {
	return onStand(ctx, b, fmt.Sprintf("tcp_stream and its peers: 128 KiB writes, 1 MiB buffers, median of %d interleaved pairs of 1 s", b.pairs),
		[]string{"iperf3", "iperf2"}, func(ctx context.Context, s *stand) error {
			fmt.Println(head())
			for _, streams := range []int{1, 2, 8, 50} {
				for _, at := range s.placements() {
					l := load{streams: streams, size: 128 << 10, long: time.Second}
					w := work{
						name: fmt.Sprintf("tcp_stream, %d streams", streams), placement: at.name, unit: "Gbit/s", scale: 1e9,
						ask: ">= 1.0", least: 1, aim: 1.2,
					}
					if err := w.against(ctx, b.pairs, s.goodputs(at, l, ours(), iperf3(), iperf2())); err != nil {
						return err
					}
				}
			}
			return nil
		})
}

// goodputs are contestants for received payload.
func (s *stand) goodputs(at placed, l load, all ...carrier) []contestant {
	var cs []contestant
	for _, c := range all {
		cs = append(cs, contestant{c.name, func(ctx context.Context) (float64, error) {
			got, err := c.run(ctx, s, at, l)
			return got.rate(), err
		}})
	}
	return cs
}
