package ratesearch

import (
	"cmp"
	"fmt"
	"math"
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

// limitedBelow is the share of the datagrams intended that a sender must have sent
// for its trial to say something of the load.
const limitedBelow = 0.99

// Request is a trial to make.
type Request struct {
	Load     float64 // datagrams/s, evenly paced
	Duration float64 // seconds of sending
}

// Trial is what a trial gave.
type Trial struct {
	Load     float64 // datagrams/s, as requested
	Duration float64 // seconds of sending, as requested; what starting, draining and settling took is not in it
	Intended int64   // datagrams that load and duration ask for
	Sent     int64   // of these, those that left the sender
	Received int64   // of these, those that arrived; duplicates may make it more than Sent
}

// LossRatio is the share of what was sent that did not arrive, 0..1. Duplicates
// make it 0, never less. Where nothing was sent it is 0, as there was nothing to
// lose; such a trial is [Trial.Limited].
//
// What a sender failed to send is not in it: no network has lost that. It is in
// what [Throughput] gives.
func (t Trial) LossRatio() float64 {
	if t.Sent <= 0 || t.Received >= t.Sent {
		return 0
	}
	return float64(t.Sent-max(t.Received, 0)) / float64(t.Sent)
}

// Limited tells whether the sender, not the network, was the limit: less than
// 99 % of the datagrams intended were sent. Such a trial says nothing of its load.
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

// micro is seconds as whole microseconds. Sums of these are exact, so that no
// order of trials and no rounding decides a load.
func micro(seconds float64) int64 { return int64(math.Round(seconds * 1e6)) }
