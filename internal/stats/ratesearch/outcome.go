package ratesearch

import (
	"fmt"

	"tare/internal/stats"
)

// Outcome is the result of a search for one goal.
type Outcome struct {
	Goal

	// Lower is the relevant lower bound, the greatest load below Upper that meets the
	// goal, and Upper the relevant upper bound, the least load that does not;
	// datagrams/s, nil if there is none.
	Lower, Upper *float64

	// Throughput is the conditional throughput at Lower, datagrams/s: the value to
	// report. It is nil without a lower bound: there is no result, which differs from 0.
	Throughput *float64

	Regular bool // both bounds exist, no further apart than the goal's width
	AtLeast bool // the highest load that could be tried meets the goal: read ">="
	Limited bool // that load was the sender's limit, not the configured one

	// Lossy of Trials full-length trials at Lower lost more than the goal allows;
	// LossyUpper is the upper 95 % limit (one-sided, Clopper-Pearson) of the share
	// of such trials, nil without a lower bound.
	Lossy, Trials int
	LossyUpper    *float64

	Notes []string // what a reader must know, one line each
}

// Outcomes are the results from the trials so far, in the order of the goals. They are
// provisional until the search has ended.
func (s *Search) Outcomes() []Outcome {
	_, open := s.nominate()
	out := make([]Outcome, len(s.goals))
	for i, g := range s.goals {
		out[i] = s.outcome(g, open)
	}
	return out
}

func (s *Search) outcome(g goalState, open bool) Outcome {
	t := g.final()
	b := s.bounds(t)
	o := Outcome{Goal: g.Goal}
	if b.upper != none {
		o.Upper = new(s.grid.load(b.upper))
	}
	if b.lower != none {
		load := s.grid.load(b.lower)
		o.Lower, o.Throughput = &load, new(Throughput(g.Goal, load, s.byLoad[b.lower]))
		o.count(s.byLoad[b.lower])
		o.AtLeast = b.lower >= s.ceiling
		o.Limited = o.AtLeast && s.limited
	}
	o.Regular = b.lower != none && b.upper != none && b.upper-b.lower <= t.steps
	o.Notes = s.notes(g, b, o, open)
	return o
}

// count sets the share of lossy trials at the lower bound.
func (o *Outcome) count(trials []Trial) {
	for _, t := range trials {
		if t.Limited() || micro(t.Duration) < micro(o.FinalDuration) {
			continue
		}
		o.Trials++
		if t.LossRatio() > o.LossRatio {
			o.Lossy++
		}
	}
	if limit, ok := stats.ClopperPearsonUpper(o.Lossy, o.Trials, 0.95); ok {
		o.LossyUpper = &limit
	}
}

// notes lists anomalies, one line each.
func (s *Search) notes(g goalState, b bounds, o Outcome, open bool) []string {
	var notes []string
	say := func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) }
	if above := s.inverted(g, b); above > 0 {
		say("loss inversion: %s exceeded the loss goal, but %d higher loads did not; the result is the rate below it", rate(*o.Upper), above)
	}
	switch {
	case s.ceiling < 0:
		say("no result: the sender did not reach the minimum load, %s", rate(s.grid.least))
	case b.upper == 0:
		say("no result: the minimum load, %s, already exceeds the loss goal", rate(s.grid.least))
	case o.Limited:
		say("at least this rate: the sender reached no more than %s", rate(s.grid.load(s.ceiling)))
	case o.AtLeast:
		say("at least this rate: the maximum load, %s, meets the goal", rate(s.grid.most))
	}
	if _, asks := s.ask(g); asks && open {
		say("not finished: the bounds are further apart than %[2]g %% after %[1].3g s of trials", s.spent, 100*g.Width)
	}
	return notes
}

// inverted counts loads above the upper bound that are good on full evidence, or on the
// available evidence if they are well above it. A good load just above the bound is
// chance, not an inversion.
func (s *Search) inverted(g goalState, b bounds) int {
	n := len(b.above)
	if b.upper == none || n > 0 {
		return n
	}
	const well = 1.05
	for _, i := range s.bounds(g.targets[0]).lowersAndAbove() {
		if s.grid.load(i) > well*s.grid.load(b.upper) {
			n++
		}
	}
	return n
}

func (b bounds) lowersAndAbove() []int { return append(append([]int(nil), b.lowers...), b.above...) }

func rate(load float64) string { return fmt.Sprintf("%.6g datagrams/s", load) }

// Brackets are the final brackets of searches, from which the next search on the same
// path can start. A goal without both bounds has the one it has, or none.
func Brackets(outcomes []Outcome) []Bracket {
	var out []Bracket
	for _, o := range outcomes {
		lower, upper := o.Lower, o.Upper
		if lower == nil && upper == nil {
			continue
		}
		if lower == nil {
			lower = upper
		}
		if upper == nil {
			upper = lower
		}
		out = append(out, Bracket{o.Name, *lower, *upper})
	}
	return out
}
