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

// reached compares tare's load with the requested one.
func reached(ctx context.Context, b harness.Options, s *testbed) error {
	harness.Columns("asked", "placement", "offload", "reached, median (min-max)", "off by at most", "slots missed, most", "within 0.2 %")
	for _, ask := range []struct {
		rate    float64
		offload bool
	}{{1e7, false}, {3e7, false}, {1e8, false}, {3e8, false}, {1e9, false}, {3e9, false}, {3e9, true}} {
		for _, at := range s.placements() {
			l := load{udp: true, streams: 1, size: 1400, rate: ask.rate, offload: ask.offload, long: 2 * time.Second}
			var rates []float64
			var off, missed, offKept float64
			kept := 0
			for range b.Pairs {
				e, c, err := s.paced(ctx, ours(), at, l)
				if err != nil {
					return err
				}
				rates = append(rates, e.rate/1e6)
				o := math.Abs(e.rate/ask.rate - 1)
				off, missed = max(off, o), max(missed, c.missed)
				if c.missed == 0 {
					kept++
					offKept = max(offKept, o)
				}
			}
			fmt.Printf("| %g Mbit/s | %s | %s | %s Mbit/s | %.3f %% | %.2f %% | %s |\n", ask.rate/1e6, at.name, map[bool]string{true: "on", false: "off"}[ask.offload],
				harness.Spread(rates), 100*off, 100*missed, withinAsked(offKept, kept, b.Pairs))
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
