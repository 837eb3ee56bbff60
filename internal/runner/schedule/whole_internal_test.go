package schedule

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tare/internal/plan"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/testkit/must"
	"tare/internal/traffic"
)

// path is a simulated path: a sender with a buffer, a slow start, a token bucket with a queue, and a receiver to
// which what a lost packet delayed arrives a queue at a time.
type path struct {
	rate, line    float64 // bytes/s: sustained, and while the bucket has tokens
	bucket, queue float64 // bytes
	buffer        float64 // of the sender
	rtt           float64 // s
	overhead      float64 // bytes that pass for a byte that arrives
	tokens        float64
	hidden        bool             // no shaper can be read
	profile       *traffic.Profile // of the last transfer
	slice         time.Duration    // of the trial that counted, 0 if it ran in one piece
	settles       float64          // s: the time constant with which what slows the first packets of a transfer goes away, 0 for none
}

// own is the goodput that the path sustains: a window per round trip at most.
func (p *path) own() float64 { return min(p.rate/p.overhead, p.buffer/p.rtt) }

// idle lets the bucket fill while nothing is sent.
func (p *path) idle(d time.Duration) { p.tokens = min(p.bucket, p.tokens+p.rate*d.Seconds()) }

// transfer is one transfer with a warm-up and a window. It returns the goodput of the window by intervals, and
// what the path then held.
func (p *path) transfer(warmup, window time.Duration) (series []float64, mean float64, h *traffic.Held) {
	slice := traffic.NewBinCounter(traffic.Params{Warmup: warmup, Duration: window, Slice: warmup + window})
	const steps = 20000
	all := (warmup + window).Seconds()
	dt := all / steps
	bins := max(2, int(window/traffic.SeriesInterval))
	series = make([]float64, bins)
	var arrived, read, counted float64
	cwnd := 10 * 1448.0
	for i := range steps {
		at := float64(i) * dt
		cwnd = min(p.buffer, cwnd*math.Exp2(dt/p.rtt))
		p.tokens = min(max(p.bucket, p.rate*dt), p.tokens+p.rate*dt)
		// What is in flight limits the rate to a window per round trip.
		moved := min(cwnd/p.rtt*dt, p.line/p.overhead*dt, p.tokens/p.overhead)
		if p.settles > 0 {
			moved *= 1 - math.Exp(-at/p.settles)/2
		}
		p.tokens -= moved * p.overhead
		if at < p.rtt { // nothing has arrived yet
			continue
		}
		arrived += moved
		if now := math.Floor(arrived/p.queue) * p.queue; now > read {
			if at >= warmup.Seconds() {
				series[min(bins-1, int((at-warmup.Seconds())/window.Seconds()*float64(bins)))] += now - read
				counted += now - read
			}
			slice.Add(time.Duration(at*float64(time.Second)), int64(now-read))
			read = now
		}
	}
	for i := range series {
		series[i] /= window.Seconds() / float64(bins)
	}
	var w traffic.Window
	w.AddProfile(slice)
	p.profile = w.Profile
	flight := p.buffer + p.queue
	p.idle(time.Duration(flight / p.own() * float64(time.Second)))
	return series, counted / window.Seconds(), &traffic.Held{
		Streams: 1, Bytes: int64(flight), Delivered: int64(counted), Elapsed: window, RTT: time.Duration(p.rtt * float64(time.Second)),
	}
}

// measured runs trials as a run does: in slices while the path allows it, then in one piece until that is long
// enough. It returns the last goodput, and whether it counts.
func (p *path) measured() (goodput float64, counts bool, trials int) {
	t := plan.Trial{Block: 1, Workload: study.Workload{Kind: "tcp_stream", Direction: study.Forward, Warmup: quantity.WaitOf(50 * time.Millisecond),
		Duration: quantity.Duration(400 * time.Millisecond), Slice: quantity.Duration(50 * time.Millisecond)}}
	sc := New(config(study.Study{}), plan.Plan{Blocks: 1, Workloads: []study.Workload{t.Workload}})
	for trials = 1; t.Held == 0; trials++ {
		slice := t.Workload.Slice.Std()
		_, _, last := p.transfer(0, t.Workload.Warmup.Std())
		if need := SliceOf(last.RTT, slice); need > slice {
			t = sc.WithSlice(t, need, last.RTT, "")
			continue
		}
		slow, profile := 0, (*traffic.Profile)(nil)
		goodput = 0
		for n := range t.Rounds() {
			if slow = Slow(slow, last, slice+last.Time(), slice); slow >= min(SlowTransfers, t.Rounds()) {
				t = whole(t, last)
				break
			}
			p.idle(200 * time.Millisecond) // the slices of other modes
			var one float64
			_, one, last = p.transfer(slice/traffic.SliceWarmup, slice-slice/traffic.SliceWarmup)
			goodput += (one - goodput) / float64(n+1)
			profile = profile.Plus(p.profile)
		}
		if t.Held == 0 { // the check of a trial in slices
			next, judged := Judge(t, p.seen(goodput, nil, last))
			need := SettledSlice(profile, slice)
			switch {
			case judged != LongEnough:
				t = next
			case need > slice:
				t = sc.WithSlice(t, need, last.RTT, "")
			default:
				p.slice = slice
				return goodput, true, trials
			}
		}
	}
	for ; ; trials++ {
		p.idle(time.Second)
		series, mean, h := p.transfer(t.Workload.Warmup.Std(), t.Workload.Duration.Std())
		next, judged := Judge(t, p.seen(mean, series, h))
		if judged != TooShort && judged != StillBursting && judged != Unsteady {
			return mean, judged == LongEnough, trials
		}
		t = next
	}
}

// seen is what a transfer shows.
func (p *path) seen(mean float64, series []float64, h *traffic.Held) Seen {
	s := Seen{Goodput: 8 * mean, Series: series, Held: h}
	if !p.hidden {
		s.Rate, s.Burst, s.Overhead = 8*p.rate, p.bucket, p.overhead
	}
	return s
}

// Whatever a path can hold, the goodput that counts is the path's own, within 3 %.
func TestGoodputOfAnyPath(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		log := func(name string, from, to float64) float64 {
			return math.Exp(rapid.Float64Range(math.Log(from), math.Log(to)).Draw(t, name))
		}
		p := &path{rate: log("rate", 64e3/8, 10e9/8), buffer: log("buffer", 4<<10, 8<<20), rtt: log("rtt", 30e-6, 0.2), overhead: log("overhead", 1, 2)}
		p.line = max(p.rate, 20e9/8)
		// A bucket of up to a second, and a queue of a packet up to an eighth of the buffer.
		p.bucket = log("bucket", 3000, max(3001, p.rate))
		p.queue = log("queue", 1448, max(1449, p.buffer/16))
		p.tokens = p.bucket
		// A bucket that nobody can read is only left out if it empties in the uncounted part of a slice.
		p.hidden = rapid.Bool().Draw(t, "hidden") && p.bucket < (min(p.line, p.buffer/p.rtt*p.overhead)-p.rate)/1000
		goodput, counts, trials := p.measured()
		if trials > 12 {
			t.Fatalf("%d trials", trials)
		}
		if off := goodput/p.own() - 1; counts && math.Abs(off) > 0.03 {
			t.Errorf("%+v: %.4g bytes/s, %+.1f %% of the path's own", *p, goodput, 100*off)
		}
	})
}

// A path that delivers what a lost packet delayed in parts of a sixteenth of what it holds has slices that are long against one part.
func TestGoodputOfLargeParts(t *testing.T) {
	p := &path{rate: 40.77e6, line: 2.5e9, bucket: 40.77e6, queue: 96888, buffer: 1.55e6, rtt: 553e-6, overhead: 1.001, tokens: 40.77e6}
	if goodput, counts, _ := p.measured(); !counts || math.Abs(goodput/p.own()-1) > 0.03 {
		t.Errorf("%+.1f %% of the path's own (counts: %t)", 100*(goodput/p.own()-1), counts)
	}
}

// Whatever the round trip, a slice lasts at least 50 of them or the trial is in one piece, and the goodput that counts is the
// path's own. No netem is needed: the kernel of a lab may lack it, and TestGuestNetem has it where a guest's kernel does.
func TestGoodputAtRoundTrips(t *testing.T) {
	for _, c := range []struct {
		rtt     float64 // s
		settles float64
		least   time.Duration // slice; 0: in one piece
	}{
		{0.5e-3, 0, 50 * time.Millisecond}, {1e-3, 0, 50 * time.Millisecond}, {1.5e-3, 0, 80 * time.Millisecond}, {5e-3, 0, 250 * time.Millisecond}, {20e-3, 0, 0},
		{50e-6, 2e-3, 50 * time.Millisecond}, {50e-6, 10e-3, 60 * time.Millisecond}, {50e-6, 25e-3, 60 * time.Millisecond}, {1e-3, 20e-3, 60 * time.Millisecond},
	} {
		p := &path{rate: 5e9 / 8, line: 20e9 / 8, buffer: 1 << 20, rtt: c.rtt, overhead: 1, bucket: 1, queue: 1448, settles: c.settles}
		goodput, counts, trials := p.measured()
		if off := goodput/p.own() - 1; !counts || math.Abs(off) > 0.03 {
			t.Errorf("a round trip of %g s, settling with %g s: %+.1f %% of the path's own after %d trials (counts: %t)", c.rtt, c.settles, 100*off, trials, counts)
		}
		if (c.least == 0) != (p.slice == 0) || p.slice < c.least || p.slice > 0 && p.slice.Seconds() < 50*c.rtt {
			t.Errorf("a round trip of %g s, settling with %g s: slices of %v, want %v", c.rtt, c.settles, p.slice, c.least)
		}
	}
}

// A bucket that is empty after the first part of a window needs that window as warm-up, not as long as the small excess
// over the window would take to empty it whole.
func TestBucketThatEmptiesInTheWindow(t *testing.T) {
	trial := plan.Trial{Block: 1, Workload: study.Workload{Kind: "tcp_stream", Warmup: quantity.WaitOf(2 * time.Second), Duration: quantity.Duration(2 * time.Second)}}
	for _, tt := range []struct {
		name          string
		first, second float64 // bit/s in the halves of the window
		want          time.Duration
	}{
		{"empties at its beginning", 24e6, 20e6, 4 * time.Second},
		{"is not empty at its end", 22e6, 22e6, time.Minute},
		{"empties at its end", 20e6, 24e6, time.Minute},
	} {
		var series []float64
		for i := range 20 {
			series = append(series, []float64{tt.first, tt.second}[i/10])
		}
		next, judged := Judge(trial, Seen{Goodput: (tt.first + tt.second) / 2, Series: series, Rate: 20e6, Burst: 64 << 20})
		must.True(t, judged == StillBursting && next.Workload.Warmup.Std() == tt.want,
			"a bucket that %s: %d, a warm-up of %s, want %s", tt.name, judged, next.Workload.Warmup.Std(), tt.want)
	}
}

// A block whose trials were made longer, because their path is slow, does not lengthen the estimate of later blocks once more.
func TestEstimateOfSlowPath(t *testing.T) {
	w := study.Workload{ID: "w", Kind: "tcp_stream", Slice: quantity.Duration(50 * time.Millisecond), Warmup: quantity.WaitOf(50 * time.Millisecond), Duration: quantity.Duration(400 * time.Millisecond)}
	sc := New(config(study.Study{}), plan.Plan{Blocks: 3, Workloads: []study.Workload{w}})
	for block := 1; block <= 3; block++ {
		for _, m := range sc.cfg.Modes() {
			sc.Todo = append(sc.Todo, plan.Trial{Block: block, Mode: m.ID, Workload: w})
		}
	}
	rest := sc.BlockTrials(1)
	before := sc.Plan.Estimate(rest)
	for _, trial := range rest {
		sc.Lengthen(trial.InOnePiece(20*time.Second, 20*time.Second, time.Minute), "")
	}
	took := sc.Plan.Estimate(rest)
	sc.Done = len(rest)
	sc.RecordTime(rest, took, before)
	if left := sc.Estimate(sc.Rest()); took < time.Minute || left != 2*took {
		t.Errorf("two trials took %v, four more take %v", took, left)
	}
	sc.RecordTime(rest, 3*took, before) // a busy machine does lengthen it
	if left := sc.Estimate(sc.Rest()); left != 6*took {
		t.Errorf("at a third of the pace four trials take %v of %v", left, took)
	}
}

// A window whose halves differ is repeated if its goodput changed, and left as it is if that is noise, or what other
// programs left of a saturated CPU.
func TestUnsteadyWindows(t *testing.T) {
	// half returns a window of 60 s in which the goodput falls by 20 % after half of it, with so much noise.
	half := func(noise float64) []float64 {
		rng := rand.New(rand.NewPCG(1, 2))
		series := make([]float64, 600)
		for i := range series {
			series[i] = 1e6 * (1 + noise*rng.NormFloat64())
			if i >= len(series)/2 {
				series[i] -= 2e5
			}
		}
		return series
	}
	held := &traffic.Held{Streams: 1, Bytes: 1e6, Delivered: 60e6, Elapsed: time.Minute, RTT: time.Millisecond}
	for _, tt := range []struct {
		name   string
		window time.Duration
		noise  float64
		cpu    float64
		want   Judged
	}{
		{"a burst ends in the window", 10 * time.Second, 0.05, 0.3, Unsteady},
		{"it is not known how busy the CPUs were", 10 * time.Second, 0.05, 0, Unsteady},
		{"and in the longest", longestWindow, 0.05, 0.3, Falling},
		{"noise", 10 * time.Second, 3, 0.3, LongEnough},
		{"noise in the longest", longestWindow, 3, 0.3, LongEnough},
		{"a saturated CPU", 10 * time.Second, 0.05, 0.99, LongEnough},
		{"a saturated CPU in the longest", longestWindow, 0.05, 0.99, LongEnough},
	} {
		trial := plan.Trial{Block: 1, Held: time.Second, Workload: study.Workload{Kind: "tcp_stream", Direction: study.Forward, Warmup: quantity.WaitOf(time.Second),
			Duration: quantity.Duration(tt.window), Slice: quantity.Duration(50 * time.Millisecond)}}
		next, judged := Judge(trial, Seen{Goodput: 8e6, Series: half(tt.noise), Held: held, BusiestCPU: tt.cpu})
		must.True(t, judged == tt.want, "%s: judged %d, want %d", tt.name, judged, tt.want)
		if w := next.Workload; judged == Unsteady && (w.Warmup.Std() != 11*time.Second || w.Duration.Std() != 20*time.Second) {
			t.Errorf("%s: repeated with a warm-up of %v and %v timed", tt.name, w.Warmup.Std(), w.Duration.Std())
		}
	}
}
