package tcp

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// portablePinned is how many flows the portable implementation can pin: each needs a thread.
const portablePinned = 1000

// eachFlow runs fn for each flow, on pinned threads if a CPU is given.
func eachFlow(p traffic.Params, fn func(i int) error) error {
	threads := p.CPU >= 0 || p.RealTime()
	switch {
	case threads && p.Streams > portablePinned:
		return fmt.Errorf("%s: %d flows on threads of their own: the portable implementation has at most %d; use placement free without scheduling", p.Kind, p.Streams, portablePinned)
	case threads:
		return p.Threading().Run(p.Streams, fn)
	}
	return thread.RunGoroutines(p.Streams, fn)
}

// firstOf returns the error that ended the others, if err is one of several.
func firstOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// requestPortable runs each flow in its own goroutine. The first one that fails ends the others.
func requestPortable(ctx context.Context, c conns, w *rrWindow) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := clock.Now()
	return firstOf(ctx, eachFlow(w.p, func(i int) error {
		if w.broken[i] {
			return nil
		}
		err := requestPlain(ctx, c[i], i, w, start)
		if err != nil && ctx.Err() == nil {
			w.mu.Lock()
			err = w.fail(i, err)
			w.mu.Unlock()
		}
		if err != nil {
			fail(err)
		}
		return err
	}))
}

func requestPlain(ctx context.Context, s socket.Stream, flow int, w *rrWindow, start clock.Instant) error {
	request, response := make([]byte, min(w.p.RequestSize, readSize)), make([]byte, min(w.p.ResponseSize, readSize))
	slot, limit := w.firstSlot(flow)
	from, at := time.Duration(0), time.Duration(0)
	write, read := unlessSilent(s.Write), unlessSilent(readSome(s))
	for {
		if w.open() {
			if slot >= limit || at > w.lastSend() {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.skipSlots(flow, slot, limit)
				return nil
			}
			from = w.schedule.due(slot)
			slot += uint64(w.p.Streams)
			for w.p.Spins() && start.Since() < from && ctx.Err() == nil {
				thread.Yield()
			}
			if err := pause(ctx, from-start.Since()); err != nil {
				return err
			}
		} else if from >= w.bins.End {
			return nil
		}
		if w.content != nil {
			w.content.request(flow, request)
		}
		if err := moveAll(ctx, write, request, int(w.p.RequestSize)); err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		err := moveAll(ctx, read, response, int(w.p.ResponseSize))
		if err == nil && w.content != nil {
			err = w.content.response(flow, response)
		}
		if err != nil {
			w.mu.Lock()
			w.unread++
			w.mu.Unlock()
			return fmt.Errorf("receive response: %w", err)
		}
		at = start.Since()
		w.mu.Lock()
		w.done(flow, from, at)
		w.mu.Unlock()
		from = at
		if ctx.Err() != nil { // nothing else reads it while traffic flows
			return context.Cause(ctx)
		}
	}
}

// pause sleeps with the precision of the system's timers.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// readSome returns the read function of a stream, which fails at the end of the stream.
func readSome(s socket.Stream) func([]byte) (int, error) {
	return func(b []byte) (int, error) {
		n, err := s.Read(b)
		if err == nil && n == 0 {
			err = errPeerClosed
		}
		return n, err
	}
}

// unlessSilent is a function that moves a part of a message and fails when the peer has been silent for too long.
func unlessSilent(move func([]byte) (int, error)) func([]byte) (int, error) {
	var s peerSilence
	return func(b []byte) (int, error) {
		n, err := move(b)
		return n, s.check(n, err)
	}
}

// rest is the part of a buffer for the next call, with left bytes of a message still to transfer. A
// message that fits into the buffer is transferred to its place there; of a longer one only the
// size matters.
func rest(buf []byte, left int) []byte { return buf[max(0, len(buf)-left):] }

// moveAll transfers a message of n bytes through buf.
func moveAll(ctx context.Context, move func([]byte) (int, error), buf []byte, n int) error {
	for n > 0 {
		moved, err := move(rest(buf, n))
		n -= moved
		switch {
		case err != nil && !socket.IsAgain(err):
			return err
		case n > 0 && ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
	return nil
}

func respondPortable(ctx context.Context, c conns, p traffic.Params, in content) (int64, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var total atomic.Int64
	err := eachFlow(p, func(i int) error {
		request, response := make([]byte, min(p.RequestSize, readSize)), make([]byte, min(p.ResponseSize, readSize))
		read := readSome(c[i])
		for {
			err := moveAll(ctx, read, request, int(p.RequestSize))
			if _, failed := failureOf(err); failed && ctx.Err() == nil { // the client counts it
				return nil
			}
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if err == nil && in != nil {
				err = in.answer(request, response)
			}
			if err != nil {
				err = fmt.Errorf("receive request: %w", err)
			} else if err = moveAll(ctx, c[i].Write, response, int(p.ResponseSize)); err != nil {
				if _, failed := failureOf(err); failed && ctx.Err() == nil {
					return nil
				}
				err = fmt.Errorf("send response: %w", err)
			}
			if err != nil {
				fail(err)
				return err
			}
			total.Add(1)
		}
	})
	return total.Load(), firstOf(ctx, err)
}
