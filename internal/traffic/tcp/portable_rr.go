package tcp

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"tare/internal/traffic"
	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
	"tare/internal/traffic/thread"
)

// requestPortable runs each flow in its own goroutine. The first one that fails ends the others.
func requestPortable(ctx context.Context, c connection.List, w *rrWindow) error {
	if pipelined(w.Params, w.content) {
		return requestPipelinedPortable(ctx, c, w)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := w.Begin()
	return exchange.FirstOf(ctx, exchange.EachFlow(w.Params, func(i int) error {
		if w.Broken[i] {
			return nil
		}
		err := requestPlain(ctx, c[i], i, w, start)
		if err != nil && ctx.Err() == nil {
			w.Mu.Lock()
			err = w.fail(i, err)
			w.Mu.Unlock()
		}
		if err != nil {
			fail(err)
		}
		return err
	}))
}

func requestPlain(ctx context.Context, s socket.Stream, flow int, w *rrWindow, start clock.Instant) error {
	request, response := make([]byte, min(w.Params.RequestSize, readSize)), make([]byte, min(w.Params.ResponseSize, readSize))
	slot, limit := w.FirstSlot(flow)
	from, at := time.Duration(0), time.Duration(0)
	write, read := connection.UnlessSilent(s.Write), connection.UnlessSilent(connection.ReadSome(s))
	for {
		if w.Open() {
			if slot >= limit || at > w.LastSend() {
				w.Mu.Lock()
				defer w.Mu.Unlock()
				w.SkipSlots(flow, slot, limit)
				return nil
			}
			from = w.Schedule.Due(slot)
			slot += uint64(w.Params.Streams)
			for w.Params.Spins() && start.Since() < from && ctx.Err() == nil {
				thread.Yield()
			}
			if err := exchange.Pause(ctx, from-start.Since()); err != nil {
				return err
			}
		} else if from >= w.Bins.End {
			return nil
		}
		if w.content != nil {
			w.content.request(flow, request)
		}
		if err := connection.MoveAll(ctx, write, request, int(w.Params.RequestSize)); err != nil {
			return fmt.Errorf("send request: %w", err)
		}
		err := connection.MoveAll(ctx, read, response, int(w.Params.ResponseSize))
		if err == nil && w.content != nil {
			err = w.content.response(flow, response)
		}
		if err != nil {
			w.Mu.Lock()
			w.unread++
			w.Mu.Unlock()
			return fmt.Errorf("receive response: %w", err)
		}
		at = start.Since()
		w.Mu.Lock()
		w.Done(flow, from, at)
		w.Mu.Unlock()
		from = at
		if ctx.Err() != nil { // nothing else reads it while traffic flows
			return context.Cause(ctx)
		}
	}
}

func respondPortable(ctx context.Context, c connection.List, p traffic.Params, in content) (int64, error) {
	if pipelined(p, in) {
		return respondPipelinedPortable(ctx, c, p)
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var total atomic.Int64
	err := exchange.EachFlow(p, func(i int) error {
		request, response := make([]byte, min(p.RequestSize, readSize)), make([]byte, min(p.ResponseSize, readSize))
		read := connection.ReadSome(c[i])
		for {
			err := connection.MoveAll(ctx, read, request, int(p.RequestSize))
			if _, failed := connection.FailureOf(err); failed && ctx.Err() == nil { // the client counts it
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
			} else if err = connection.MoveAll(ctx, c[i].Write, response, int(p.ResponseSize)); err != nil {
				if _, failed := connection.FailureOf(err); failed && ctx.Err() == nil {
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
	return total.Load(), exchange.FirstOf(ctx, err)
}
