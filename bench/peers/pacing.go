package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"tare/bench/harness"
	"tare/internal/traffic"
)

// evenRate is the rate at which departures are evaluated, in payload bit/s.
const evenRate = 1e8

// Pacing compares the offered load with the requested one, and departures with the ideal
// schedule. Both are measured externally: with timestamps of the kernel where the
// datagrams leave the path.
func Pacing(ctx context.Context, b harness.Options) error {
	title := fmt.Sprintf("Pacing: udp_stream with datagrams of 1400 B, medians of %d runs of 2 s", b.Pairs)
	return onTestbed(ctx, b, title, []string{"iperf3", "iperf2", "nuttcp"}, func(ctx context.Context, s *testbed) error {
		if err := reached(ctx, b, s); err != nil {
			return err
		}
		fmt.Println()
		return departures(ctx, b, s)
	})
}

// rateAsked is the maximum deviation of the load while no slots are missed.
const rateAsked = 0.002

// leastWaiting is the lowest rate that is sent with each way of waiting, in payload bit/s. Below it the
// sender misses nothing.
const leastWaiting = 3e8

// kept is how several runs kept to a rate.
type kept struct {
	rates, missed, cpus []float64 // Mbit/s; share of the slots; CPUs
	off, offAll         float64   // maximum deviation of the rate, and that of the runs without a missed slot
	all                 int       // runs without a missed slot
}

func (k *kept) add(e evenness, c carried, rate float64) {
	k.rates, k.missed = append(k.rates, e.rate/1e6), append(k.missed, c.missed)
	k.cpus = append(k.cpus, c.cpu.Seconds()/c.seconds)
	off := math.Abs(e.rate/rate - 1)
	k.off = max(k.off, off)
	if c.missed == 0 {
		k.all++
		k.offAll = max(k.offAll, off)
	}
}

// cells are a table's cells for them.
func (k *kept) cells() string {
	return fmt.Sprintf("%s Mbit/s | %.3f %% | %.2f %%, %.2f %% | %s | %s", harness.Spread(k.rates), 100*k.off,
		100*harness.Median(k.missed), 100*slices.Max(k.missed), harness.Spread(k.cpus), withinAsked(k.offAll, k.all, len(k.rates)))
}

// reached compares tare's load with the requested one.
func reached(ctx context.Context, b harness.Options, s *testbed) error {
	harness.Columns("asked", "placement", "offload", "generator", "reached, median (min-max)", "off by at most", "slots missed, median and most", "CPUs of both agents", "within 0.2 %")
	for _, ask := range []struct {
		rate    float64
		offload bool
	}{{1e7, false}, {3e7, false}, {1e8, false}, {3e8, false}, {1e9, false}, {3e9, false}, {3e9, true}} {
		for _, at := range s.placements() {
			l := load{udp: true, streams: 1, size: 1400, rate: ask.rate, offload: ask.offload, long: 2 * time.Second}
			ways := waitings()
			if ask.rate < leastWaiting {
				ways = ways[:1]
			}
			seen := make([]kept, len(ways))
			for range b.Pairs {
				for i := range ways {
					l.waiting = ways[i]
					e, c, err := s.paced(ctx, ours(), at, l)
					if err != nil {
						return err
					}
					seen[i].add(e, c, ask.rate)
				}
			}
			for i, k := range seen {
				fmt.Printf("| %g Mbit/s | %s | %s | %s | %s |\n", ask.rate/1e6, at.name, map[bool]string{true: "on", false: "off"}[ask.offload], ways[i].name, k.cells())
			}
		}
	}
	return nil
}

// withinAsked evaluates the runs in which no slots were missed.
func withinAsked(off float64, kept, runs int) string {
	switch {
	case kept == 0:
		return "slots were missed in all runs"
	case off > rateAsked:
		return "no"
	case kept < runs:
		return fmt.Sprintf("yes, in the %d of %d runs that missed no slot", kept, runs)
	}
	return "yes"
}

// departures compares how evenly tare and its peers send.
func departures(ctx context.Context, b harness.Options, s *testbed) error {
	fmt.Printf("Error of departure times at %g Mbit/s. Required of tare: p50 <= 10 us, p99 <= 100 us and no burst over its limit of %d:\n\n", evenRate/1e6, burst)
	harness.Columns("placement", "generator", "rate", "error p50", "error p99", "largest burst", "as asked")
	for _, at := range s.placements() {
		all := []carrier{ours(), iperf3(), iperf2(), nuttcpr()}
		seen := make([][]evenness, len(all))
		for range b.Pairs {
			for i, c := range all {
				e, _, err := s.paced(ctx, c, at, load{udp: true, streams: 1, size: 1400, rate: evenRate, long: 2 * time.Second})
				if err != nil {
					return err
				}
				seen[i] = append(seen[i], e)
			}
		}
		for i, c := range all {
			verdict := ""
			if i == 0 {
				verdict = asEven(seen[i])
			}
			fmt.Printf("| %s | %s | %.5g Mbit/s | %s | %s |\n", at.name, c.name,
				medianOf(seen[i], func(e evenness) float64 { return e.rate / 1e6 }), evenCells(seen[i]), verdict)
		}
	}
	return nil
}

// asEven reports whether departures meet the requirement. Catching up to the limit takes
// a bucket with one more: the datagram that is due now.
func asEven(seen []evenness) string {
	p50, p99 := medianOf(seen, evenness.micros50), medianOf(seen, evenness.micros99)
	if p50 > 10 || p99 > 100 || slices.Max(harness.Column(seen, evenness.depth)) > burst+1 {
		return "no"
	}
	return "yes"
}

// evenCells are a table's cells for evenness.
func evenCells(seen []evenness) string {
	return fmt.Sprintf("%s us | %s us | %s", harness.Spread(harness.Column(seen, evenness.micros50)), harness.Spread(harness.Column(seen, evenness.micros99)), harness.Spread(harness.Column(seen, evenness.depth)))
}

// paced runs a generator at a rate while a tap records what it sends.
func (s *testbed) paced(ctx context.Context, c carrier, at cpuPlacement, l load) (evenness, carried, error) {
	type both struct {
		evenness
		carried
	}
	got, err := retry(ctx, c.name, func(ctx context.Context) (both, error) {
		t, err := newTap(s.lab.B, int(1.5*l.rate/8/float64(l.size)*l.long.Seconds())+1000)
		if err != nil {
			return both{}, err
		}
		defer t.close()
		came, err := c.run(ctx, s, at, l)
		if err != nil {
			return both{}, err
		}
		size := l.size
		if l.offload {
			size = 0
		}
		packets, full := t.packets(size)
		if full {
			return both{}, errors.New("more datagrams arrived than expected: the tap is full")
		}
		e, err := judge(packets, float64(l.size)*8/l.rate)
		return both{e, came}, err
	})
	return got.evenness, got.carried, err
}

// missedShare is the share of the schedule's slots that the sender missed.
func missedShare(r traffic.Report) float64 {
	if r.Window.Slots == 0 {
		return 0
	}
	return float64(r.Window.Missed) / float64(r.Window.Slots)
}

// evenness is how far the departures of datagrams deviate from an ideal schedule.
type evenness struct {
	rate     float64 // payload bit/s, from the first to the last
	p50, p99 float64 // error of the departure times, s
	burst    float64 // maximum number of datagrams ahead of a steady rate, over any period
}

func (e evenness) micros50() float64 { return e.p50 * 1e6 }
func (e evenness) micros99() float64 { return e.p99 * 1e6 }
func (e evenness) depth() float64    { return e.burst }

// The part of a run that does not count, while senders and receivers settle.
const settleIn = 100 * time.Millisecond

// judge fits the ideal schedule to recorded datagrams and compares them with it. Datagram
// k should leave at a + b*k: b is that of the least squares, so that a wrong rate does
// not count as unevenness, and a the median, so that a few late ones do not shift all
// others. The burst is the depth of the token bucket that lets all of them pass at the
// requested rate, or at that of b if higher: 1 is a perfect schedule. gap is the
// requested one, s.
func judge(all []packet, gap float64) (evenness, error) {
	from := slices.IndexFunc(all, func(p packet) bool { return p.at >= settleIn })
	if from < 0 || len(all)-from < 100 {
		return evenness{}, errors.New("too few datagrams were recorded to evaluate their departures")
	}
	all = all[from:]
	n := len(all)
	var payload float64
	t := make([]float64, n)
	for i, p := range all {
		t[i] = (p.at - all[0].at).Seconds()
		if i > 0 {
			payload += float64(p.payload)
		}
	}
	b := slope(t)
	off := make([]float64, n)
	for k := range off {
		off[k] = t[k] - b*float64(k)
	}
	a := harness.Median(off)
	for k := range off {
		off[k] = math.Abs(off[k] - a)
	}
	slices.Sort(off)
	e := evenness{rate: payload * 8 / t[n-1], p50: off[n/2], p99: off[n*99/100]}
	gap = min(gap, b)
	least := 0.0 // minimum of datagrams ahead of the schedule so far
	for k, v := range t {
		ahead := float64(k) - v/gap
		least = min(least, ahead)
		e.burst = max(e.burst, ahead-least+1)
	}
	return e, nil
}

// slope is that of the line of least squares through (k, t[k]).
func slope(t []float64) float64 {
	n := float64(len(t))
	meanK := (n - 1) / 2
	var meanT, above, below float64
	for _, v := range t {
		meanT += v / n
	}
	for k, v := range t {
		d := float64(k) - meanK
		above += d * (v - meanT)
		below += d * d
	}
	return above / below
}
