package tcp

import (
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/http1"
)

// ownWindow is the length of the windows that own times are measured in, which no batch of exchanges exceeds.
const ownWindow = 10 * time.Second

// ownParams are those of such a window. ok is false for requests with a schedule.
func ownParams(p traffic.Params) (own traffic.Params, ok bool) {
	p.Meter, p.Warmup, p.Duration = nil, 0, ownWindow
	return p, p.TransactionRate == 0
}

// ownTime is [traffic.OwnTime] of tcp_rr.
func ownTime(p traffic.Params) *float64 {
	p, ok := ownParams(p)
	if !ok {
		return nil
	}
	w, flow := newRRWindow(p, 0, traffic.NewDistribution(), make([]int64, p.Streams)), 0
	return traffic.OwnTime(clock.Now().Since, func(from, at time.Duration) {
		w.done(flow, from, at)
		flow = (flow + 1) % p.Streams
	})
}

// ownTime is [traffic.OwnTime] of tcp_crr, which reads its clock when a connection is opened, connected, answered and closed.
func (t crrTrial) ownTime() *float64 {
	t.Params, _ = ownParams(t.Params)
	w := &crrWindow{crrTrial: t, bins: traffic.LoopCounter{BinCounter: traffic.NewBinCounter(t.Params), Flows: t.Streams},
		connect: traffic.NewDistribution(), firstByte: traffic.NewDistribution()}
	start := clock.Now()
	return traffic.OwnTime(start.Since, func(from, at time.Duration) {
		w.countSearch(start.Since() - from)
		w.done(from, start.Since(), start.Since(), at, false)
	})
}

// mostOwnRead is the size of the largest response whose reading is measured: that of larger ones takes too long, and the system
// calls many times as long.
const mostOwnRead = 1 << 20

// ownTime is [traffic.OwnTime] of http, with the reading of a response; nil in TLS and of HTTP/2, which are not measured.
func (t *httpTrial) ownTime() *float64 {
	p, ok := ownParams(t.Params)
	if !ok || t.secured() || t.of2() {
		return nil
	}
	s := &httpSession{t: *t, hist: traffic.NewDistribution(), firstByte: traffic.NewDistribution(), connect: traffic.NewDistribution(), streams: make([]int64, p.Streams)}
	w := &httpWindow{newRRWindow(p, 0, s.hist, s.streams), s}
	f, answer := httpFlow{reader: http1.NewResponseReader(int64(t.ResponseSize))}, t.response(time.Now(), !t.reuse)
	if answer.size > mostOwnRead {
		return nil
	}
	read := true
	own := traffic.OwnTime(clock.Now().Since, func(from, at time.Duration) {
		f.from, f.bytes, f.opened = from, 0, !t.reuse
		for f.bytes < answer.size {
			if _, err := w.took(&f, answer.after(f.bytes), at); err != nil {
				read = false
				return
			}
		}
		w.done(&f, at)
		if !t.reuse {
			f.reader.Reset()
		}
	})
	if !read {
		return nil
	}
	return own
}
