package ratesearch

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"tare/internal/testkit/must"
)

// within fails the test unless o is regular, of the goal's width, and has c between
// its bounds.
func within(t *testing.T, what string, o Outcome, c float64) {
	t.Helper()
	switch {
	case !o.Regular || o.Lower == nil || o.Upper == nil:
		t.Errorf("%s, %s: irregular: %+v", what, o.Name, o)
	case !(*o.Lower <= c && c < *o.Upper):
		t.Errorf("%s, %s: %g to %g, want %g within", what, o.Name, *o.Lower, *o.Upper, c)
	case (*o.Upper-*o.Lower) / *o.Upper > o.Width*(1+1e-9):
		t.Errorf("%s, %s: %g to %g is wider than %g", what, o.Name, *o.Lower, *o.Upper, o.Width)
	case *o.Throughput > *o.Lower || *o.Throughput < *o.Lower*(1-o.LossRatio):
		t.Errorf("%s, %s: throughput %g at %g", what, o.Name, *o.Throughput, *o.Lower)
	case len(o.Notes) > 0:
		t.Errorf("%s, %s: %q", what, o.Name, o.Notes)
	}
}

// Method 5, item 9: where nothing is left to chance, the bracket is of the width
// asked for and holds the knee, for each goal and wherever the knee is.
func TestSearchDeterministic(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	for range 50 {
		c := 15e3 * math.Exp(rng.Float64()*math.Log(1.9e6/15e3))
		at := func(curve func(load, c float64) float64) *sim {
			return &sim{rng: rng, curve: func(load, _ float64) float64 { return curve(load, c) }}
		}
		for _, goals := range [][]Goal{Quick(), Standard(), {RFC2544(0.01)}} {
			_, out := search(t, at(sharp), goals)
			within(t, "sharp knee", out[0], c)
			if len(out) == 1 {
				continue
			}
			within(t, "sharp knee", out[1], c/0.99) // 1 % may be lost
			_, out = search(t, at(livelock), goals)
			within(t, "livelock", out[0], c)
			must.True(t, *out[0].Throughput <= *out[1].Throughput*1.01, "more without loss, %g, than with some, %g", *out[0].Throughput, *out[1].Throughput)
		}
		_, out := search(t, at(soft), Standard())
		within(t, "soft knee", out[0], 0.7*c)
		within(t, "soft knee", out[1], c*0.997/0.99)
		got := *out[1].Throughput / c
		must.True(t, got >= 0.985 && got <= 1.003, "soft knee: conditional throughput %g of the knee", got)
	}
}

// Method 5, item 9: a knee out of reach gives no result below, and "at least" above.
func TestSearchKneeOutOfReach(t *testing.T) {
	for _, o := range outcomes(t, Config{Goals: Standard(), Min: 700e3, Max: 2e6}, &sim{curve: sharp}) {
		must.True(t, !o.Regular && !o.AtLeast && o.Lower == nil && o.Throughput == nil && o.LossyUpper == nil, "knee below: %+v", o)
		must.True(t, o.Upper != nil && *o.Upper == 700e3, "knee below: upper bound %v", o.Upper)
		notes(t, o, "no result: the minimum load, 700000 datagrams/s, already exceeds the loss goal")
	}
	for _, o := range outcomes(t, Config{Goals: Standard(), Min: 10e3, Max: 500e3}, &sim{curve: sharp}) {
		must.True(t, !o.Regular && o.AtLeast && !o.Limited && o.Upper == nil && o.Lower != nil && *o.Lower == 500e3 && *o.Throughput == 500e3, "knee above: %+v", o)
		notes(t, o, "at least this rate: the maximum load, 500000 datagrams/s, meets the goal")
	}
	for _, o := range outcomes(t, Config{Goals: Quick(), Min: 500e3, Max: 500e3}, &sim{curve: sharp}) {
		must.True(t, o.AtLeast && *o.Lower == 500e3, "one load only: %+v", o)
	}
}

func outcomes(t *testing.T, c Config, m *sim) []Outcome {
	t.Helper()
	m.rng = rand.New(rand.NewPCG(1, 2))
	s := must.Get(New(c))(t)
	return must.Get(Run(t.Context(), s, m))(t)
}

func notes(t *testing.T, o Outcome, want ...string) {
	t.Helper()
	must.EqualFor(t, o.Name+": notes", strings.Join(want, "\n"), strings.Join(o.Notes, "\n"))
}

// Method 5, item 13: what the sender cannot send does not tell what the network can carry. The
// answer is "at least", from the most that could be sent.
func TestSearchSenderLimited(t *testing.T) {
	for _, o := range outcomes(t, Config{Goals: Standard(), Min: 10e3, Max: 2e6}, &sim{curve: sharp, sender: 0.5 * capacity}) {
		must.Require(t, o.AtLeast && o.Limited && !o.Regular && o.Upper == nil && o.Lower != nil, "%+v", o)
		got := *o.Throughput / capacity
		must.True(t, got >= 0.49 && got <= 0.5, "at least %g of the capacity, want 0.5", got)
		must.True(t, len(o.Notes) == 1 && strings.HasPrefix(o.Notes[0], "at least this rate: the sender reached no more than "), "notes %q", o.Notes)
	}
	for _, o := range outcomes(t, Config{Goals: Standard(), Min: 10e3, Max: 2e6}, &sim{curve: sharp, sender: 1.5 * capacity}) {
		if o.Name == "throughput_0" {
			within(t, "a sender faster than the knee", o, capacity)
		}
	}
	for _, o := range outcomes(t, Config{Goals: Standard(), Min: 10e3, Max: 2e6}, &sim{curve: sharp, sender: 5e3}) {
		must.True(t, o.Lower == nil && o.Upper == nil && !o.AtLeast, "a sender that sends next to nothing: %+v", o)
		notes(t, o, "no result: the sender did not reach the minimum load, 10000 datagrams/s")
	}
}

// wavering is a path whose sender differs by 3 % from trial to trial.
type wavering struct{ *sim }

func (m wavering) Measure(ctx context.Context, r Request) (Trial, error) {
	m.sender = 0.5 * capacity * (1 + 0.03*m.rng.NormFloat64())
	return m.sim.Measure(ctx, r)
}

// A sender that wavers is a limit all the same, found without chasing it down.
func TestSearchSenderWavers(t *testing.T) {
	for seed := range uint64(50) {
		m := wavering{&sim{rng: rand.New(rand.NewPCG(seed, 5)), curve: sharp, jitter: 0.01, spikes: 0.02}}
		s := must.Get(New(Config{Goals: Standard(), Min: 10e3, Max: 2e6}))(t)
		out := must.Get(Run(t.Context(), s, m))(t)
		o := out[0]
		must.True(t, o.Limited && *o.Throughput >= 0.45*capacity && *o.Throughput <= 0.52*capacity, "seed %d: %+v", seed, o)
		must.True(t, len(s.Trials()) <= 35, "seed %d: %d trials", seed, len(s.Trials()))
	}
}

// One trial in which the sender stumbled lowers nothing.
func TestSearchSenderStumbles(t *testing.T) {
	m := &sim{rng: rand.New(rand.NewPCG(1, 1)), curve: sharp}
	s := must.Get(New(Config{Goals: Standard(), Min: 10e3, Max: 2e6}))(t)
	for n := 0; ; n++ {
		r, more := s.Next()
		if !more {
			break
		}
		trial, _ := m.Measure(t.Context(), r)
		if n%3 == 1 {
			trial.Sent /= 2
			trial.Received = min(trial.Received, trial.Sent)
		}
		must.Do(t, s.Add(trial))
	}
	within(t, "a sender that stumbles", s.Outcomes()[0], capacity)
}

// A sender that was held down for a while is not held down for good, whenever that
// was: before a search ends at its sender's limit, it looks above it once more.
func TestSearchSenderRecovers(t *testing.T) {
	for from := range 12 {
		m := &sim{rng: rand.New(rand.NewPCG(1, uint64(from))), curve: sharp}
		s := must.Get(New(Config{Goals: Quick(), Min: 10e3, Max: 2e6}))(t)
		for n := 0; ; n++ {
			r, more := s.Next()
			if !more {
				break
			}
			m.sender = 0
			if n >= from && n < from+3 {
				m.sender = 0.4 * capacity
			}
			trial, _ := m.Measure(t.Context(), r)
			must.Do(t, s.Add(trial))
		}
		o := s.Outcomes()[0]
		must.True(t, o.Regular && !o.AtLeast && *o.Lower >= 0.98*capacity && *o.Lower <= capacity,
			"held down from trial %d on: %+v of %g after %d trials", from, o, capacity, len(s.Trials()))
	}
}

// Method 5, item 13: a load that is lossy although higher ones are not. The answer
// is the conservative one, and says so.
func TestSearchLossInversion(t *testing.T) {
	hole := func(load, c float64) float64 {
		if load > 0.59*c && load < 0.61*c {
			return 0.995 * load // beyond no loss, within 1 %
		}
		return sharp(load, c)
	}
	out := outcomes(t, Config{
		Goals: Standard(), Min: 10e3, Max: 2e6,
		Near: []Bracket{{"throughput_0", 0.6 * capacity, 0.605 * capacity}},
	}, &sim{curve: hole})
	o := out[0]
	must.True(t, o.Regular && *o.Throughput <= 0.6*capacity && *o.Throughput >= 0.57*capacity, "%+v", o)
	must.True(t, len(o.Notes) == 1 && strings.HasPrefix(o.Notes[0], "loss inversion: "), "notes %q", o.Notes)
	within(t, "the goal that the hole does not concern", out[1], capacity/0.99)
}

// A later search begins where an earlier one ended: on the same path that costs
// about half, and where the bracket is wrong by any factor it changes no answer.
func TestSearchNear(t *testing.T) {
	for _, curve := range []func(load, c float64) float64{sharp, livelock} {
		first := &sim{rng: rand.New(rand.NewPCG(1, 1)), curve: curve}
		_, out := search(t, first, Standard())
		again := &sim{rng: first.rng, curve: curve}
		_, repeated := search(t, again, Standard(), Brackets(out)...)
		for i, o := range repeated {
			must.True(t, *o.Lower == *out[i].Lower && *o.Upper == *out[i].Upper, "%s: %g to %g, at first %g to %g", o.Name, *o.Lower, *o.Upper, *out[i].Lower, *out[i].Upper)
		}
		must.True(t, again.time <= 0.85*first.time, "%.1f s of trials, at first %.1f s", again.time, first.time)
		for _, factor := range []float64{1e-6, 1. / 3, 0.9, 1.1, 3, 1e6} {
			near := Brackets(out)
			for i := range near {
				near[i].Lower *= factor
				near[i].Upper *= factor
			}
			m := &sim{rng: first.rng, curve: curve}
			_, moved := search(t, m, Standard(), near...)
			within(t, "a bracket elsewhere", moved[0], capacity)
			must.True(t, m.time <= 2*first.time, "a bracket wrong by %g: %.1f s of trials, without one %.1f s", factor, m.time, first.time)
		}
	}
}

// A search that may not go on says what it has, and that it is not finished.
func TestSearchMaxTime(t *testing.T) {
	for _, limit := range []float64{0.5, 1, 3, 6, 9} {
		m := &sim{rng: rand.New(rand.NewPCG(1, 1)), curve: livelock}
		s := must.Get(New(Config{Goals: Standard(), Min: 10e3, Max: 2e6, MaxTime: limit}))(t)
		out := must.Get(Run(t.Context(), s, m))(t)
		must.True(t, s.Spent() <= limit, "%g s of trials, %g allowed", s.Spent(), limit)
		o := out[0]
		must.True(t, !o.Regular && len(o.Notes) == 1 && strings.HasPrefix(o.Notes[0], "not finished: "), "after %g s: %+v", limit, o)
	}
}

// Asked twice, a search says the same: a trial that failed is made again.
func TestNextIsIdempotent(t *testing.T) {
	s := must.Get(New(Config{Goals: Quick(), Min: 10e3, Max: 2e6}))(t)
	first, _ := s.Next()
	again, more := s.Next()
	must.True(t, more && again == first, "%+v, then %+v", first, again)
}

// Two goals with the same trials are asked together: the stricter one is never
// answered higher.
func TestStrictIsLower(t *testing.T) {
	goals := append(Standard(), Strict(Standard()[0]))
	goals[2].Name = "strict"
	for seed := range uint64(20) {
		m := &sim{rng: rand.New(rand.NewPCG(seed, 3)), curve: sharp, jitter: 0.01, spikes: 0.02}
		_, out := search(t, m, goals)
		must.True(t, out[2].Lower == nil || *out[2].Lower <= *out[0].Lower, "seed %d: strict %g, by the median %g", seed, *out[2].Lower, *out[0].Lower)
		must.True(t, out[2].Lossy <= 0, "seed %d: %d lossy trials at the strict bound", seed, out[2].Lossy)
	}
}

func TestNewRefuses(t *testing.T) {
	good := Config{Goals: Quick(), Min: 1, Max: 2}
	for want, change := range map[string]func(*Config){
		"no goal": func(c *Config) { c.Goals = nil },
		"loads from 0 to 2 datagrams/s: want a minimum above 0": func(c *Config) { c.Min = 0 },
		"loads from 3 to 2 datagrams/s":                         func(c *Config) { c.Min = 3 },
		"loads from 1 to +Inf":                                  func(c *Config) { c.Max = math.Inf(1) },
		"-1 s of trials at most":                                func(c *Config) { c.MaxTime = -1 },
		`two goals are named "throughput_0"`:                    func(c *Config) { c.Goals[1].Name = "throughput_0" },
		`goal "": has no name`:                                  func(c *Config) { c.Goals[0].Name = "" },
		"loss ratio 1: want 0 to below 1":                       func(c *Config) { c.Goals[0].LossRatio = 1 },
		"exceed ratio NaN":                                      func(c *Config) { c.Goals[0].ExceedRatio = math.NaN() },
		"trials of 0 s":                                         func(c *Config) { c.Goals[0].FinalDuration = 0 },
		"first trials of 2 s: want at most the 0.5 s":           func(c *Config) { c.Goals[0].InitialDuration = 2 },
		"width 0: want above 0":                                 func(c *Config) { c.Goals[0].Width = 0 },
		"0.1 s of evidence: want at least one trial's 0.5 s":    func(c *Config) { c.Goals[0].DurationSum = 0.1 },
		"1.4 s of evidence let one trial of 0.5 s decide":       func(c *Config) { c.Goals[0].DurationSum = 1.4 },
	} {
		c := good
		c.Goals = append([]Goal(nil), good.Goals...)
		change(&c)
		must.Fail(t, must.Err(New(c)), want)
	}
	must.Do(t, must.Err(New(Config{Goals: []Goal{RFC2544(0.01)}, Min: 1, Max: 2}))) // one bad trial decides there on purpose
}

func TestAddRefuses(t *testing.T) {
	s := must.Get(New(Config{Goals: Quick(), Min: 10e3, Max: 2e6}))(t)
	for want, trial := range map[string]Trial{
		"want a load above 0":        {Load: 0, Duration: 1, Intended: 1},
		"want a duration above 0":    {Load: 2e6, Intended: 1},
		"some intended":              {Load: 2e6, Duration: 1},
		"want none negative":         {Load: 2e6, Duration: 1, Intended: 1, Sent: -1},
		"not a load of this search":  {Load: 1.5e6, Duration: 1, Intended: 1},
		"trial at 3000000 datagrams": {Load: 3e6, Duration: 1, Intended: 1},
	} {
		must.Fail(t, s.Add(trial), want)
	}
	must.True(t, len(s.Trials()) == 0, "kept %v", s.Trials())
}

type broken struct{ err error }

func (b broken) Measure(context.Context, Request) (Trial, error) { return Trial{}, b.err }

// What ends a search keeps its cause, and gives the outcomes until then.
func TestRunFails(t *testing.T) {
	s := must.Get(New(Config{Goals: Quick(), Min: 10e3, Max: 2e6}))(t)
	gone := errors.New("gone")
	out, err := Run(t.Context(), s, broken{gone})
	must.True(t, errors.Is(err, gone) && len(out) == 2 && strings.Contains(err.Error(), "trial of 0.5 s at 2e+06 datagrams/s"), "%v, %+v", err, out)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, s, broken{gone}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// Method 5, item 14: no loss in the trials seen is no promise for the next: the limit of 95 %.
func TestLossyUpper(t *testing.T) {
	for _, c := range []struct {
		goal      Goal
		good, bad int
		upper     float64
	}{
		{Paper()[0], 21, 0, 0.13}, {Paper()[1], 4, 1, 0.66}, {Strict(Quick()[0]), 3, 0, 0.63}, {Goal{ExceedRatio: 0.2, FinalDuration: 1}, 0, 2, 1},
	} {
		o := Outcome{Goal: c.goal}
		o.count(append(trials(c.good, c.goal.FinalDuration, 0), trials(c.bad, c.goal.FinalDuration, 0.5)...))
		must.True(t, o.Lossy == c.bad && o.Trials == c.good+c.bad && math.Abs(*o.LossyUpper-c.upper) <= 0.005,
			"%d good and %d bad: %d of %d trials, at most %g", c.good, c.bad, o.Lossy, o.Trials, *o.LossyUpper)
	}
}
