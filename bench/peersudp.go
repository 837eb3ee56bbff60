package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// peersUDP holds udp_stream against iperf3, iperf2 and nuttcp: what arrives of
// datagrams sent as fast as they can be, with a loss under 1 %.
func peersUDP(ctx context.Context, b bench) error {
	title := fmt.Sprintf("udp_stream and its peers: 1 flow, 4 MiB buffers, loss under 1 %%, median of %d interleaved pairs of 1 s", b.pairs)
	return onStand(ctx, b, title, []string{"iperf3", "iperf2", "nuttcp"}, func(ctx context.Context, s *stand) error {
		var notes []string
		fmt.Println(head())
		for _, size := range []int{1400, 64} {
			for _, at := range s.placements() {
				l := load{udp: true, streams: 1, size: size, long: time.Second}
				all := []racer{{carrier: ours(), name: "tare"}}
				if size == 1400 {
					all = append(all, racer{carrier: ours(), name: "tare, offload", offload: true})
				}
				for _, c := range []carrier{iperf3(), iperf2(), nuttcpr()} {
					all = append(all, racer{carrier: c, name: c.name})
				}
				said, err := race(ctx, b.pairs, s, at, l, all)
				if err != nil {
					return err
				}
				notes = append(notes, said)
			}
		}
		fmt.Println()
		fmt.Println("The rate that the runs began at, and what was lost in those that count:")
		fmt.Println()
		for _, n := range notes {
			fmt.Println("-", n)
		}
		return nil
	})
}

// racer is a generator in a race of datagrams.
type racer struct {
	carrier
	name    string
	offload bool
	rate    float64 // found by the search
	losses  []float64
}

// race searches each one's rate, runs the pairs at these, prints a row for tare
// and one for tare with offload, and returns what was offered and lost.
func race(ctx context.Context, n int, s *stand, at placed, l load, all []racer) (string, error) {
	var cs []contestant
	for i := range all {
		r := &all[i]
		l := l
		l.offload = r.offload
		var err error
		if r.rate, err = s.fastest(ctx, r.carrier, at, l); err != nil {
			return "", fmt.Errorf("%s: %w", r.name, err)
		}
		l.rate = r.rate
		cs = append(cs, contestant{r.name, func(ctx context.Context) (float64, error) {
			got, err := s.arriving(ctx, r.carrier, at, l)
			if err == nil {
				r.losses = append(r.losses, got.loss())
			}
			return got.received / float64(l.size) / got.seconds, err
		}})
	}
	values, err := interleaved(ctx, n, cs)
	if err != nil {
		return "", err
	}
	w := work{placement: at.name, unit: "k/s", scale: 1e3}
	for i, r := range all {
		if r.carrier.name != "tare" {
			continue
		}
		names, figures := []string{r.name}, [][]float64{values[i]}
		for j, p := range all {
			if p.carrier.name != "tare" {
				names, figures = append(names, p.name), append(figures, values[j])
			}
		}
		w.name, w.ask, w.least, w.aim = fmt.Sprintf("udp_stream, %d B, offload off", l.size), ">= 1.1", 1.1, 1.3
		if r.offload {
			w.name, w.ask, w.least, w.aim = fmt.Sprintf("udp_stream, %d B, offload on", l.size), ">= 5", 5, 0
		}
		fmt.Println(w.row(names, figures))
	}
	var said []string
	for _, r := range all {
		rate := "as fast as it goes"
		if r.rate > 0 {
			rate = fmt.Sprintf("%.3g Gbit/s", r.rate/1e9)
		}
		said = append(said, fmt.Sprintf("%s %s, lost %.2f %% (at most %.2f %%)", r.name, rate, 100*median(r.losses), 100*slices.Max(r.losses)))
	}
	return fmt.Sprintf("%d B, %s: %s", l.size, at.name, strings.Join(said, "; ")), nil
}
