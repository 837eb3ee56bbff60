package ratesearch

import (
	"fmt"
	"math"
)

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
