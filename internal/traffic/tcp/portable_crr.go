package tcp

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/traffic/clock"
	"tare/internal/traffic/connection"
	"tare/internal/traffic/exchange"
	"tare/internal/traffic/socket"
)

// runCRRPortable returns a function that runs each flow in its own goroutine, with connections of an
// implementation. The first one that fails ends the others.
func runCRRPortable(over socket.TCP) func(ctx context.Context, addr netip.AddrPort, w *crrWindow) error {
	return func(ctx context.Context, addr netip.AddrPort, w *crrWindow) error {
		return runCRRFlows(ctx, over, addr, w)
	}
}

func runCRRFlows(ctx context.Context, over socket.TCP, addr netip.AddrPort, w *crrWindow) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	start := clock.Now()
	return exchange.FirstOf(ctx, exchange.EachFlow(w.Params, func(int) error {
		err := runCRRFlow(ctx, over, addr, w, start)
		if err != nil {
			fail(err)
		}
		return err
	}))
}

func runCRRFlow(ctx context.Context, over socket.TCP, addr netip.AddrPort, w *crrWindow, start clock.Instant) error {
	request, response := make([]byte, w.requestBytes()), make([]byte, min(w.ResponseSize, readSize))
	copy(request, w.tag[:])
	for at := start.Since(); at < w.bins.End; at = start.Since() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		s, err := over.DialTCP(ctx, addr, w.options())
		if connection.NoSourcePort(err) {
			err = exchange.Pause(ctx, connection.PortRetry)
			w.mu.Lock()
			w.portMisses++
			w.stall(at, start.Since())
			w.mu.Unlock()
			if err != nil {
				return err
			}
			continue
		}
		connected := start.Since()
		var (
			first time.Duration
			late  bool
		)
		if err == nil {
			late = connection.Late(connected-at, func() int64 { return s.Info().Retransmits })
			first, err = exchangeOnce(ctx, addr, s, w, request, response, start)
			s.Close()
		}
		if err != nil {
			if ctx.Err() != nil {
				return exchange.FirstOf(ctx, err)
			}
			w.mu.Lock()
			err = w.fail(err, at, start.Since())
			w.mu.Unlock()
			if err != nil {
				return err
			}
			continue
		}
		closed := start.Since()
		w.mu.Lock()
		w.done(at, connected, first, closed, late)
		w.mu.Unlock()
	}
	return nil
}

// exchangeOnce runs the exchange of one connection and returns the time of the first byte.
func exchangeOnce(ctx context.Context, addr netip.AddrPort, s socket.Stream, w *crrWindow, request, response []byte, start clock.Instant) (time.Duration, error) {
	w.mu.Lock()
	w.made++
	made := w.made
	w.mu.Unlock()
	ctx, cancel := context.WithTimeoutCause(ctx, connection.ReplyTimeout(), connection.NoReplyError(addr, made-1))
	defer cancel()
	err := connection.WriteFull(ctx, s, request)
	var first time.Duration
	read := connection.ReadSome(s)
	if err == nil {
		err = connection.MoveAll(ctx, func(b []byte) (int, error) {
			n, err := read(b)
			if n > 0 && first == 0 {
				first = start.Since()
			}
			return n, err
		}, response, int(w.ResponseSize))
	}
	if err != nil {
		return 0, fmt.Errorf("exchange with %s after %d connections: %w", addr, made, err)
	}
	return first, nil
}

// serveCRRPortable serves each connection in its own goroutine.
func serveCRRPortable(ctx context.Context, l *admitter, control socket.Stream, t crrTrial) (n crrServed, err error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		isEnd bool

		untagged atomic.Int64 // connections whose tag is awaited
	)
	wg.Go(func() {
		err := connection.MoveAll(ctx, connection.ReadSome(control), make([]byte, 1), 1)
		if err == nil {
			err = errors.New("the client sent unexpected data")
		}
		mu.Lock()
		isEnd = errors.Is(err, connection.ErrPeerClosed)
		mu.Unlock()
		end(fmt.Errorf("control connection: %w", err))
	})
	for ctx.Err() == nil {
		s, err := l.Accept(nil)
		if socket.IsAgain(err) {
			continue
		}
		if err != nil {
			end(fmt.Errorf("accept connection: %w", err))
			break
		}
		if open := untagged.Add(1); int(open) > t.Streams+connection.MaxRefused {
			s.Close()
			end(connection.TooManySilent(int(open), t.Streams))
			break
		}
		wg.Go(func() {
			defer s.Close()
			tagged, answered, err := serveCRROnce(ctx, s, t, func() { untagged.Add(-1) })
			mu.Lock()
			defer mu.Unlock()
			if tagged {
				n.connections++
			} else {
				l.Refused++
				err = l.tooMany()
			}
			if answered {
				n.messages++
			}
			if err != nil {
				end(err)
			}
		})
	}
	wg.Wait()
	if isEnd {
		return n, nil
	}
	return n, context.Cause(ctx)
}

// serveCRROnce serves one connection until the client closes it. It calls tried when the tag has
// arrived or will not.
func serveCRROnce(ctx context.Context, s socket.Stream, t crrTrial, tried func()) (tagged, answered bool, err error) {
	read := connection.ReadSome(s)
	var tag crrTag
	received := connection.ReadFull(ctx, s, tag[:]) == nil
	tried()
	if !received || subtle.ConstantTimeCompare(tag[:], t.tag[:]) != 1 {
		return false, false, nil // not of this trial
	}
	buf := make([]byte, min(max(t.RequestSize, t.ResponseSize), readSize))
	err = connection.MoveAll(ctx, read, buf, int(t.RequestSize))
	if err == nil {
		err = connection.MoveAll(ctx, s.Write, buf, int(t.ResponseSize))
	}
	if _, counted := connection.FailureOf(err); counted && ctx.Err() == nil { // by the client
		return true, false, nil
	}
	if err != nil {
		return true, false, fmt.Errorf("serve a connection: %w", err)
	}
	// The client closes first. Whether it does so with FIN or RST does not matter.
	_ = connection.MoveAll(ctx, read, buf, 1)
	return true, true, nil
}
