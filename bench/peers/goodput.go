package peers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tare/bench/harness"
)

// UDP compares udp_stream with iperf3, iperf2 and nuttcp: the received datagrams at the
// highest rate with a loss under 1 %.
func UDP(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("udp_stream and its peers: 1 flow, 4 MiB buffers, loss under 1 %%, median of %d interleaved pairs of 1 s", b.Pairs)
	return onTestbed(ctx, b, title, []string{"iperf3", "iperf2", "nuttcp"}, func(ctx context.Context, s *testbed) error {
		var notes []string
		columns()
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
				said, err := race(ctx, b.Pairs, s, at, l, all)
				if err != nil {
					return err
				}
				notes = append(notes, said)
			}
		}
		fmt.Println()
		fmt.Println("The initial rate of the runs, and the losses in those that count:")
		fmt.Println()
		for _, n := range notes {
			fmt.Println("-", n)
		}
		return nil
	})
}

// racer is a generator in the UDP comparison.
type racer struct {
	carrier
	name    string
	offload bool
	rate    float64 // found by the search
	losses  []float64
}

// race searches each generator's rate, runs the pairs at these, prints a row for tare and
// one for tare with offload, and returns what was offered and lost.
func race(ctx context.Context, n int, s *testbed, at cpuPlacement, l load, all []racer) (string, error) {
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
		s.print(w, names, figures)
	}
	var said []string
	for _, r := range all {
		rate := "as fast as possible"
		if r.rate > 0 {
			rate = fmt.Sprintf("%.3g Gbit/s", r.rate/1e9)
		}
		said = append(said, fmt.Sprintf("%s %s, lost %.2f %% (at most %.2f %%)", r.name, rate, 100*harness.Median(r.losses), 100*slices.Max(r.losses)))
	}
	return fmt.Sprintf("%d B, %s: %s", l.size, at.name, strings.Join(said, "; ")), nil
}

// TCP compares tcp_stream with iperf3 and iperf2.
func TCP(ctx context.Context, b harness.Options) error {
	return onTestbed(ctx, b, fmt.Sprintf("tcp_stream and its peers: 128 KiB writes, 1 MiB buffers, median of %d interleaved pairs of 1 s", b.Pairs),
		[]string{"iperf3", "iperf2"}, func(ctx context.Context, s *testbed) error {
			columns()
			for _, streams := range []int{1, 2, 8, 50} {
				for _, at := range s.placements() {
					l := load{streams: streams, size: 128 << 10, long: time.Second}
					w := work{
						name: fmt.Sprintf("tcp_stream, %d streams", streams), placement: at.name, unit: "Gbit/s", scale: 1e9,
						ask: ">= 1.0", least: 1, aim: 1.2,
					}
					if err := s.against(ctx, w, b.Pairs, s.contestants(at, l, carried.rate, ours(), iperf3(), iperf2())); err != nil {
						return err
					}
				}
			}
			return nil
		})
}

// The search for the highest rate without too much loss.
const (
	lossAllowed = 0.01
	searchSteps = 8    // halvings of the range, which leave 0.4 % of it
	searchShare = 0.97 // share of the found rate at which the pairs run, because the speed of the machine varies
	stepsDown   = 6    // how often a run that lost too much is repeated
	stepDown    = 0.93 // each time at this share of the previous rate
)

// search finds the payload rate in bit/s at which a generator loses less than
// lossAllowed, in the same way for all: first as fast as possible, and if too much of
// that is lost, by halving the range up to what it then sent. A rate is too high if it
// loses too much twice, because once can be due to the machine. 0 means as fast as
// possible.
func search(ctx context.Context, try func(ctx context.Context, rate float64) (carried, error)) (float64, error) {
	twice := func(rate float64) (carried, error) {
		c, err := try(ctx, rate)
		if err != nil || c.loss() < lossAllowed {
			return c, err
		}
		return try(ctx, rate)
	}
	c, err := twice(0)
	if err != nil || c.loss() < lossAllowed {
		return 0, err
	}
	low, high := 0.0, c.offered()
	for range searchSteps {
		middle := (low + high) / 2
		if c, err = twice(middle); err != nil {
			return 0, err
		}
		if c.loss() < lossAllowed {
			low = middle
		} else {
			high = middle
		}
	}
	if low == 0 {
		return 0, fmt.Errorf("even at %.3g Mbit/s more than %.0f %% of the datagrams are lost", high/1e6, 100*lossAllowed)
	}
	return searchShare * low, nil
}

// fastest searches for a generator's rate on the testbed.
func (s *testbed) fastest(ctx context.Context, g carrier, at cpuPlacement, l load) (float64, error) {
	l.long = time.Second
	return search(ctx, func(ctx context.Context, rate float64) (carried, error) {
		l.rate = rate
		return retry(ctx, g.name, func(ctx context.Context) (carried, error) { return g.run(ctx, s, at, l) })
	})
}

// arriving runs a generator at a rate, and while it loses too much again at a lower one,
// so that the result is a rate that can be carried. The next run begins at the found rate
// again. The last attempt always counts, and its loss is shown.
func (s *testbed) arriving(ctx context.Context, g carrier, at cpuPlacement, l load) (carried, error) {
	for step := 0; ; step++ {
		c, err := g.run(ctx, s, at, l)
		if err != nil || c.loss() < lossAllowed || step == stepsDown {
			return c, err
		}
		l.rate = stepDown * c.offered()
	}
}
