package ratesearch

import (
	"cmp"
	"slices"
)

// Class is what the trials at a load say of it, for one goal.
type Class int

// The classes of a load.
const (
	Undecided Class = iota // more trials could make it either
	Lower                  // within the goal, were all trials still missing bad
	Upper                  // beyond the goal, were all trials still missing good
)

// evidence is seconds of trials, in microseconds, by length and loss.
type evidence struct{ fullLow, fullHigh, shortLow, shortHigh int64 }

// with is the evidence and one trial more.
func (ev evidence) with(g Goal, t Trial) evidence {
	if t.Limited() {
		return ev
	}
	d, high := micro(t.Duration), t.LossRatio() > g.LossRatio
	switch full := d >= micro(g.FinalDuration); {
	case full && high:
		ev.fullHigh += d
	case full:
		ev.fullLow += d
	case high:
		ev.shortHigh += d
	default:
		ev.shortLow += d
	}
	return ev
}

// class says what the trials, all at one load, say of it for g. Those that the sender
// limited do not count. The order does not matter.
//
// With FL and FH the seconds of full-length trials (no shorter than g.FinalDuration)
// of low and of high loss, SL and SH those of shorter ones, e the exceed ratio
// (RFC 9971, appendix A):
//
//	high = FH + max(0, SH - SL e/(1-e))
//	all  = max(FL + high, DurationSum)
//	Upper if high > e all;  else Lower if all - FL <= e all;  else Undecided
//
// A short good trial never makes a lower bound; short bad ones can make an upper.
// Exactly as much bad as allowed is still Lower. No trials are Undecided.
func (ev evidence) class(g Goal) Class {
	e := g.ExceedRatio
	low := float64(ev.fullLow)
	high := float64(ev.fullHigh) + max(0, float64(ev.shortHigh)-float64(ev.shortLow)*e/(1-e))
	all := max(low+high, float64(micro(g.DurationSum)))
	slack := all * 1e-12 // what multiplying with e may round
	switch {
	case high > e*all+slack:
		return Upper
	case all-low <= e*all+slack:
		return Lower
	}
	return Undecided
}

// Throughput is the conditional throughput of trials, all at one load, for g: the
// load times the share of it that arrived in the trial at the exceed ratio's
// quantile of the time, datagrams/s; with an exceed ratio of 0.5 the median trial.
// It is what to report of a lower bound: with a goal of 1 % the load itself
// overstates by up to 1 %. Source: RFC 9971, appendix B.
//
// Only full-length trials that the sender did not limit count; seconds missing to
// DurationSum count as lost altogether. So it is 0 where there is too little
// evidence, and never above load.
func Throughput(g Goal, load float64, trials []Trial) float64 {
	var full []Trial
	var sum int64
	for _, t := range trials {
		if !t.Limited() && micro(t.Duration) >= micro(g.FinalDuration) {
			full = append(full, t)
			sum += micro(t.Duration)
		}
	}
	slices.SortFunc(full, func(a, b Trial) int { return -cmp.Compare(a.delivered(), b.delivered()) })
	all := float64(max(sum, micro(g.DurationSum)))
	rest := (1 - g.ExceedRatio) * all
	for _, t := range full {
		rest -= float64(micro(t.Duration))
		if rest <= all*1e-12 {
			return load * t.delivered()
		}
	}
	return 0
}
