package peers

import (
	"context"
	"fmt"
	"time"

	"tare/bench/harness"
)

// The fixed rates at which CPU time is compared, in payload bit/s.
const (
	cpuTCP = 5e9
	cpuUDP = 1e9
)

// CPU compares the CPU time per Gbit: that of the processes at both endpoints, from start
// to end, as measured by the scheduler. Without CONFIG_IRQ_TIME_ACCOUNTING it includes
// the soft interrupts during their system calls, which on a veth is nearly all of the
// path's work, and nothing else that the machine does.
func CPU(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("CPU seconds per Gbit received, both endpoints together, median of %d interleaved pairs of 2 s", b.Pairs)
	return onTestbed(ctx, b, title, []string{"iperf3", "iperf2", "nuttcp"}, func(ctx context.Context, s *testbed) error {
		columns()
		for _, at := range s.placements() {
			l := load{streams: 1, size: 128 << 10, rate: cpuTCP, long: 2 * time.Second}
			w := work{name: "tcp_stream at 5 Gbit/s", placement: at.name, unit: "ms/Gbit", scale: 1e-3, lower: true, ask: "<= 1.0", least: 1}
			if err := s.against(ctx, w, b.Pairs, s.contestants(at, l, carried.cost, ours(), iperf3(), iperf2())); err != nil {
				return err
			}
		}
		fmt.Println()
		fmt.Println("udp_stream at 1 Gbit/s, 1400 B, offload off. The errors are of other runs of the same rounds: recording costs CPU time.")
		fmt.Println()
		harness.Columns("placement", "generator", "CPU", "loss", "error of departures p50", "p99", "largest burst", "less CPU and more even than tare")
		for _, at := range s.placements() {
			if err := notCompared(s.trade(ctx, b.Pairs, at), "udp_stream at 1 Gbit/s", at); err != nil {
				return err
			}
		}
		return nil
	})
}

// cost is in CPU seconds per Gbit received.
func (c carried) cost() float64 { return c.cpu.Seconds() / (c.received * 8 / 1e9) }

// trade compares CPU time and evenness: a generator that spins is even, one that sleeps
// uses little CPU.
func (s *testbed) trade(ctx context.Context, n int, at cpuPlacement) error {
	l := load{udp: true, streams: 1, size: 1400, rate: cpuUDP, long: 2 * time.Second}
	all := []carrier{ours(), iperf3(), nuttcpr()}
	type seen struct {
		carried
		evenness
	}
	runs, err := inTurn(n, len(all), func(i int) (seen, error) {
		c := all[i]
		got, err := retry(ctx, c.name, func(ctx context.Context) (carried, error) {
			got, err := c.run(ctx, s, at, l)
			if err == nil {
				err = checkRate(c.name, got.offered()/1e9, l.rate/1e9, "Gbit/s")
			}
			return got, err
		})
		if err != nil {
			return seen{}, err
		}
		e, _, err := s.paced(ctx, c, at, l)
		return seen{got, e}, err
	})
	if err != nil {
		return err
	}
	costs, departed := make([][]float64, len(all)), make([][]evenness, len(all))
	for i, c := range all {
		for _, r := range runs[i] {
			costs[i], departed[i] = append(costs[i], 1e3*r.cost()), append(departed[i], r.evenness)
		}
		fmt.Printf("| %s | %s | %s ms/Gbit | %.2f %% | %s | %s |\n", at.name, c.name, harness.Spread(costs[i]), 100*medianOf(runs[i], seen.loss), evenCells(departed[i]),
			dominated(harness.Median(costs[0]), harness.Median(costs[i]), departed[0], departed[i]))
	}
	return nil
}

// dominated reports whether another generator both uses less CPU than tare and is more
// even.
func dominated(ourCost, theirCost float64, ours, theirs []evenness) string {
	if theirCost < ourCost &&
		medianOf(theirs, evenness.micros50) < medianOf(ours, evenness.micros50) &&
		medianOf(theirs, evenness.micros99) < medianOf(ours, evenness.micros99) {
		return "yes"
	}
	return "no"
}
