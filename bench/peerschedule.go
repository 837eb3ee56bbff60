package main

import (
	"errors"
	"math"
	"slices"
	"time"
)

// evenness is how datagrams left against an ideal schedule.
type evenness struct {
	rate     float64 // payload bit/s, from the first to the last
	p50, p99 float64 // error of the departure times, s
	burst    float64 // most datagrams ahead of a steady rate, over any stretch of time
}

func (e evenness) micros50() float64 { return e.p50 * 1e6 }
func (e evenness) micros99() float64 { return e.p99 * 1e6 }
func (e evenness) depth() float64    { return e.burst }

// The part of a run that does not count: senders and receivers settle.
const settleIn = 100 * time.Millisecond

// judge fits the ideal schedule to recorded datagrams and holds them against it.
// Datagram k should leave at a + b*k: b is that of the least squares, so that a
// rate which is off counts as that and not as unevenness, and a the median, so
// that the few late ones do not move all others. The burst is the depth of the
// token bucket that lets all of them pass at the rate asked, or at that of b if
// higher: 1 is a perfect schedule. gap is the one asked, s.
func judge(all []packet, gap float64) (evenness, error) {
	from := slices.IndexFunc(all, func(p packet) bool { return p.at >= settleIn })
	if from < 0 || len(all)-from < 100 {
		return evenness{}, errors.New("too few datagrams were recorded to judge how they left")
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
	a := median(off)
	for k := range off {
		off[k] = math.Abs(off[k] - a)
	}
	slices.Sort(off)
	e := evenness{rate: payload * 8 / t[n-1], p50: off[n/2], p99: off[n*99/100]}
	gap = min(gap, b)
	least := 0.0 // of datagrams ahead of the schedule, so far
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
