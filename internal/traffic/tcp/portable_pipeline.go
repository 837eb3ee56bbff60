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
)

// pipelinePlain is a connection of the client. One goroutine reads, and another one sends what the first must not wait for: a
// server may wait until its responses are read.
type pipelinePlain struct {
	inProgress
	no       int
	stream   socket.Stream
	todo     chan int              // requests to send
	sent     atomic.Int64          // requests
	answered int64                 // requests
	failed   atomic.Pointer[error] // why nothing more is sent
}

// requestPipelinedPortable runs each connection in two goroutines. The first one that fails ends the others.
func requestPipelinedPortable(ctx context.Context, c connection.List, w *rrWindow) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := clock.Now()
	flows := make([]*pipelinePlain, len(c))
	for i := range flows {
		flows[i] = &pipelinePlain{inProgress: newInProgress(w.Params), no: i, stream: c[i], todo: make(chan int, w.Params.Pipeline)}
	}
	roles := w.Params
	roles.Streams *= 2
	return exchange.FirstOf(ctx, exchange.EachFlow(roles, func(i int) error {
		f := flows[i/2]
		switch {
		case w.Broken[f.no]:
			return nil
		case i%2 == 1:
			f.sendAll(ctx, w.Params)
			return nil
		}
		err := f.run(ctx, w, start)
		if err != nil && ctx.Err() == nil {
			w.Mu.Lock()
			w.unread += f.sent.Load() - f.answered
			err = w.fail(f.no, err)
			w.Mu.Unlock()
		}
		if err != nil {
			fail(err)
		}
		return err
	}))
}

// sendAll sends requests until there are no more. An error that ends it is that of the reader, too.
func (f *pipelinePlain) sendAll(ctx context.Context, p traffic.Params) {
	requests := make([]byte, pipelineBuffer(p, int(p.RequestSize)))
	write := connection.UnlessSilent(f.stream.Write)
	for k := range f.todo {
		if f.failed.Load() != nil {
			continue // nothing waits for it
		}
		if err := connection.MoveAll(ctx, write, requests, k*int(p.RequestSize)); err != nil {
			f.failed.Store(&err)
			continue
		}
		f.sent.Add(int64(k))
	}
}

// run reads responses, and begins a request for each, until the window is over.
func (f *pipelinePlain) run(ctx context.Context, w *rrWindow, start clock.Instant) error {
	defer close(f.todo)
	p := w.Params
	into := make([]byte, pipelineBuffer(p, int(p.ResponseSize)))
	read := connection.UnlessSilent(connection.ReadSome(f.stream))
	f.begin(p.Pipeline, start.Since())
	f.todo <- p.Pipeline
	for f.n > 0 {
		n, err := read(into)
		if cause := f.failed.Load(); cause != nil && err != nil {
			return fmt.Errorf("send request: %w", *cause)
		}
		if err != nil && !socket.IsAgain(err) {
			return fmt.Errorf("receive response: %w", err)
		}
		if ctx.Err() != nil { // nothing else reads it while traffic flows
			return context.Cause(ctx)
		}
		at := start.Since()
		w.Mu.Lock()
		k, err := f.receive(n, int(p.ResponseSize), func(from time.Duration) { w.Done(f.no, from, at) })
		w.Mu.Unlock()
		if err != nil {
			return err
		}
		if f.answered += int64(k); k > 0 && at < w.Bins.End {
			f.begin(k, at)
			f.todo <- k
		}
	}
	return nil
}

// respondPipelinedPortable answers on each connection in a goroutine.
func respondPipelinedPortable(ctx context.Context, c connection.List, p traffic.Params) (int64, error) {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var total atomic.Int64
	err := exchange.EachFlow(p, func(i int) error {
		var f toAnswer
		into, responses := make([]byte, pipelineBuffer(p, int(p.RequestSize))), make([]byte, pipelineBuffer(p, int(p.ResponseSize)))
		read := connection.ReadSome(c[i])
		write := func(b []byte) (int, error) {
			n, err := c[i].Write(b)
			total.Add(f.answered(n, p))
			return n, err
		}
		for {
			n, err := read(into)
			if socket.IsAgain(err) {
				err = nil
			}
			if err == nil {
				err = f.receive(n, p)
			}
			if err == nil {
				err = connection.MoveAll(ctx, write, responses, f.owed)
			}
			if err == nil && ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			if _, failed := connection.FailureOf(err); failed && ctx.Err() == nil { // the client counts it
				return nil
			}
			if err != nil {
				err = fmt.Errorf("serve: %w", err)
				fail(err)
				return err
			}
		}
	})
	return total.Load(), exchange.FirstOf(ctx, err)
}
