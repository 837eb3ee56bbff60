package tcp

import (
	"context"
	"fmt"

	"tare/internal/result"
	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/thread"
)

// buffers are what the connections of an endpoint send from and read into. They are kept from slice
// to slice of a trial, during which the garbage collector does not run. The zero value is ready.
type buffers struct {
	payload []byte
	read    [][]byte
}

// sent returns the data to send.
func (b *buffers) sent(size int) []byte {
	if len(b.payload) != size {
		b.payload = payload(size) // the kernel only reads it, so all connections share it
	}
	return b.payload
}

// received returns the i-th buffer to read into.
func (b *buffers) received(i, size int) []byte {
	for len(b.read) <= i {
		b.read = append(b.read, nil)
	}
	if len(b.read[i]) != size {
		b.read[i] = make([]byte, size)
	}
	return b.read[i]
}

// transfer runs one endpoint of the trial, sending or receiving on all connections.
func (b *buffers) transfer(ctx context.Context, n path, c connection.List, p traffic.Params, client bool) (traffic.Report, error) {
	defer c.Close()
	ends := streamEnds(n, c, p, client, b)
	if err := driveStreams(ctx, n, ends, p); err != nil {
		return traffic.Report{}, fmt.Errorf("tcp_stream: %w", err)
	}
	return streamReport(c, ends, p), nil
}

// streamEnds prepares everything that a transfer needs, and starts its clock.
func streamEnds(n path, c connection.List, p traffic.Params, client bool, b *buffers) []*streamEnd {
	ends := make([]*streamEnd, len(c))
	gauges := p.Meter.Begin(receiverCount(p, len(c), client))
	for i, s := range c {
		e := &streamEnd{Stream: s, bins: traffic.NewBinCounter(p), send: sends(p, i, client)}
		if !e.send {
			e.bins.ReportTo(gauges, i%p.Streams)
		}
		if n.threads != nil {
			e.thread = n.threads.threadedStream(s, threadCount(p))
			e.Stream = e.thread
		}
		switch {
		case e.send:
			e.buf, e.batch = b.sent(int(p.WriteSize)), min(max(1, batchSize/int(p.WriteSize)), maxBatchWrites)
			if p.Rate > 0 {
				e.pace = newPace(p, i%p.Streams)
			}
		case n.threads != nil && p.CPU >= 0 && shareScratch:
			// Threads on the same CPU read into one buffer, which then stays in its cache. The
			// contents are not used.
			e.buf = b.received(0, readSizeFor(p))
		default:
			e.buf = b.received(i, readSizeFor(p))
		}
		ends[i] = e
	}
	start := clock.Now()
	for _, e := range ends {
		e.start = start
	}
	return ends
}

// sends reports whether an endpoint sends on its i-th connection. Connections with payload from the
// client come first.
func sends(p traffic.Params, i int, client bool) bool {
	if p.Both() {
		return client == (i < p.Streams)
	}
	return client != p.Reverse()
}

// receiverCount returns on how many of n connections an endpoint receives.
func receiverCount(p traffic.Params, n int, client bool) int {
	got := 0
	for i := range n {
		if !sends(p, i, client) {
			got++
		}
	}
	return got
}

// payload returns the data to send: meaningless bytes, written once so that they have their own
// memory, as those of an application. Memory that was never written is a single page of zeros,
// which stays in the cache whatever its length.
func payload(size int) []byte {
	b := make([]byte, size)
	fillPayload(b)
	return b
}

func fillPayload(b []byte) {
	for i := range b {
		b[i] = byte(i*31 + i>>8)
	}
}

// driveStreams runs all connections of an endpoint until they are done. The first one that fails
// ends the others and gives the error.
func driveStreams(ctx context.Context, n path, ends []*streamEnd, p traffic.Params) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over, stop := thread.Cancelled(ctx)
	defer stop()
	failing := func(err error) error {
		if err != nil {
			fail(err)
		}
		return err
	}
	single := func(i int) error { return failing(ends[i].drive(ctx, over)) }
	var err error
	switch {
	case n.threads != nil:
		groups := groupByThread(ends, threadCount(p))
		err = thread.Run(len(groups), p.CPU, func(i int) error {
			if g := groups[i]; len(g) > 1 {
				return failing(n.threads.driveGroup(ctx, over, g))
			}
			return failing(groups[i][0].drive(ctx, over))
		})
	case p.CPU >= 0: // only a thread can be pinned
		err = thread.Run(len(ends), p.CPU, single)
	default:
		err = thread.RunGoroutines(len(ends), single)
	}
	// When the context has ended, the errors of the others only repeat that.
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// groupByThread distributes connections to threads in rotation.
func groupByThread(ends []*streamEnd, threads int) [][]*streamEnd {
	groups := make([][]*streamEnd, threads)
	for i, e := range ends {
		groups[i%threads] = append(groups[i%threads], e)
	}
	return groups
}

// streamReport returns the report of an endpoint.
func streamReport(c connection.List, ends []*streamEnd, p traffic.Params) traffic.Report {
	r := traffic.Report{End: result.End{CPU: p.Pinned()}, Traffic: ends[0].start.Since().Seconds()}
	c.FillReport(&r)
	r.Window = traffic.Window{Seconds: p.Duration.Seconds(), Interval: min(traffic.SeriesInterval, p.Duration).Seconds()}
	var got, sent []*traffic.BinCounter
	var resent int64
	known := true
	for _, e := range ends {
		r.Held = r.Held.Plus(e.held)
		if !e.send {
			got = append(got, e.bins)
			r.Received += e.bins.Total
			r.Window.Received += e.bins.Window
			continue
		}
		sent = append(sent, e.bins)
		r.Sent += e.bins.Total
		r.Window.Sent += e.bins.Window
		known = known && e.before.Known && e.after.Known
		resent += e.after.Retransmits - e.before.Retransmits
		if l, ok := limitTimes(e.before.Times, e.after.Times, e.window); ok {
			r.Window.Limits = r.Window.Limits.Plus(&l)
		}
		if e.pace != nil {
			r.Window.Slots += e.pace.slots
			r.Window.Missed += e.pace.missed
		}
	}
	if len(sent) > 0 && known {
		r.Retransmits = &resent
	}
	counted := got
	if len(got) == 0 {
		counted = sent
	} else {
		r.Window.Series = traffic.Series(p, got)
		r.Window.AddProfile(got...)
	}
	for _, b := range counted {
		r.Window.Streams = append(r.Window.Streams, b.Window)
	}
	return r
}
