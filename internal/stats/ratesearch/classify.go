package ratesearch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Class is the classification of a load by its trials, for one goal.
type Class int

// The classes of a load.
const (
	Undecided Class = iota // more trials could decide for either class
	Lower                  // meets the goal, even if all missing trials were bad
	Upper                  // exceeds the goal, even if all missing trials were good
)

// evidence is seconds of trials, in microseconds, by length and loss.
type evidence struct{ fullLow, fullHigh, shortLow, shortHigh int64 }

// with returns the evidence with one more trial.
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

// class classifies a load by its trials, all at that load, for g. Trials that the sender
// limited do not count. The order does not matter.
//
// With FL and FH the seconds of full-length trials (no shorter than g.FinalDuration) of
// low and of high loss, SL and SH those of shorter ones, e the exceed ratio (RFC 9971,
// appendix A):
//
//	high = FH + max(0, SH - SL e/(1-e))
//	all  = max(FL + high, DurationSum)
//	Upper if high > e all;  else Lower if all - FL <= e all;  else Undecided
//
// A short good trial never makes a lower bound; short bad ones can make an upper. If
// exactly the allowed time is bad, the class is Lower. Without trials it is Undecided.
func (ev evidence) class(g Goal) Class {
	e := g.ExceedRatio
	low := float64(ev.fullLow)
	high := float64(ev.fullHigh) + max(0, float64(ev.shortHigh)-float64(ev.shortLow)*e/(1-e))
	all := max(low+high, float64(micro(g.DurationSum)))
	slack := all * 1e-12 // tolerance for rounding in the product with e
	switch {
	case high > e*all+slack:
		return Upper
	case all-low <= e*all+slack:
		return Lower
	}
	return Undecided
}

// Throughput is the conditional throughput of trials, all at one load, for g: the load
// times the share of it that arrived in the trial at the exceed ratio's quantile of the
// time, datagrams/s; with an exceed ratio of 0.5 the median trial. It is the value to
// report for a lower bound: with a goal of 1 % the load itself is too high by up to 1 %.
//
// Source: RFC 9971, appendix B. Only full-length trials that the sender did not limit
// count; seconds missing to DurationSum count as completely lost. The result is therefore
// 0 if there is too little evidence, and never above load.
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

// limitedBelow is the share of the intended datagrams that a sender must have sent for
// its trial to count.
const limitedBelow = 0.99

// Request is the next trial to run.
type Request struct {
	Load     float64 // datagrams/s, evenly paced
	Duration float64 // seconds of sending
}

// Trial is the result of a trial.
type Trial struct {
	Load     float64 // datagrams/s, as requested
	Duration float64 // seconds of sending, as requested; without the time to start, drain and settle
	Intended int64   // datagrams that load and duration ask for
	Sent     int64   // of these, those that left the sender
	Received int64   // of these, those that arrived; duplicates may make it more than Sent
}

// LossRatio is the share of the sent datagrams that did not arrive, 0..1. Duplicates make
// it 0, never less. If nothing was sent it is 0; such a trial is [Trial.Limited]. It does
// not include datagrams that the sender failed to send, because the network did not lose
// them; [Throughput] does.
func (t Trial) LossRatio() float64 {
	if t.Sent <= 0 || t.Received >= t.Sent {
		return 0
	}
	return float64(t.Sent-max(t.Received, 0)) / float64(t.Sent)
}

// Limited reports whether the sender, not the network, was the limit: it sent less than
// 99 % of the intended datagrams. Such a trial does not classify its load.
func (t Trial) Limited() bool { return float64(t.Sent) < limitedBelow*float64(t.Intended) }

// delivered is the share of the load that arrived, 0..1: (received)/max(intended,
// sent). What was not sent counts as not delivered.
func (t Trial) delivered() float64 {
	whole := max(t.Intended, t.Sent)
	if whole <= 0 {
		return 0
	}
	return min(1, float64(max(t.Received, 0))/float64(whole))
}

// forwarded is the rate at which datagrams arrived, datagrams/s, without what
// duplicates added.
func (t Trial) forwarded() float64 { return float64(max(0, min(t.Received, t.Sent))) / t.Duration }

func (t Trial) check() error {
	switch {
	case !(t.Load > 0) || math.IsInf(t.Load, 0):
		return fmt.Errorf("trial at %g datagrams/s: want a load above 0", t.Load)
	case !(t.Duration > 0) || math.IsInf(t.Duration, 0):
		return fmt.Errorf("trial of %g s at %.6g datagrams/s: want a duration above 0", t.Duration, t.Load)
	case t.Intended <= 0 || t.Sent < 0 || t.Received < 0:
		return fmt.Errorf("trial at %.6g datagrams/s: %d intended, %d sent, %d received: want none negative and some intended",
			t.Load, t.Intended, t.Sent, t.Received)
	}
	return nil
}

// micro converts seconds to whole microseconds. Their sums are exact, so that neither the
// order of trials nor rounding influences a classification.
func micro(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
