package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync/atomic"

	"tare/internal/traffic"
)

// standby is the second server of a trial, which takes the place of the first one in the middle of it.
type standby struct {
	first, second *Client
	listenAddr    netip.AddrPort // of the second
	replaced      atomic.Bool    // the first one has been ended
	ended         chan struct{}  // closed when the first one has ended
	turns         [2]traffic.Report
}

// Standby opens the port of a second server of a trial that was begun, and is not run in slices. It answers the same client, whose
// connections the path leads to it from some moment on. Replace then ends the first server.
func (t *Trial) Standby(ctx context.Context, second *Client, side traffic.Params) error {
	port, err := second.Listen(ctx, side)
	if err != nil {
		return err
	}
	s := &standby{first: t.server, second: second, ended: make(chan struct{})}
	if on, err := netip.ParseAddrPort(side.Address); err == nil {
		s.listenAddr = netip.AddrPortFrom(on.Addr(), port)
	}
	firstDone, secondDone := t.serverDone, make(chan endpointResult, 1)
	t.standby, t.serverDone = s, make(chan endpointResult, 1)
	go second.reportTo(ctx, secondDone)
	go func() { t.serverDone <- s.both(ctx, firstDone, secondDone) }()
	return nil
}

// both waits for the results of both servers and returns that of them together. If one fails, it cancels the other.
func (s *standby) both(ctx context.Context, firstDone, secondDone <-chan endpointResult) endpointResult {
	var a, b endpointResult
	select {
	case a = <-firstDone:
		close(s.ended)
		if a.err != nil {
			_ = s.second.Abort(ctx) // an agent that cannot be reached is killed later
		}
		b = <-secondDone
	case b = <-secondDone:
		if b.err != nil {
			_ = s.first.Abort(ctx)
		}
		a = <-firstDone
		close(s.ended)
	}
	s.turns = [2]traffic.Report{a.report, b.report}
	if a.err != nil {
		return a
	}
	return endpointResult{traffic.Sum(a.report, b.report), b.err}
}

// Replace ends the first server as a process that ends: it closes its port and its connections. It returns when that has happened.
func (t *Trial) Replace(ctx context.Context) error {
	s := t.standby
	if s == nil || s.replaced.Swap(true) {
		return errors.New("the trial has no second server, or has ended")
	}
	if err := s.first.SendPeerReport(ctx, traffic.Report{}); err != nil {
		return err
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for the end of the server in %s: %w", s.first.place, context.Cause(ctx))
	}
}

// Turns returns the reports of the first server and of the one that took its place, of a trial that Run has ended without an error.
func (t *Trial) Turns() (first, second traffic.Report) { return t.standby.turns[0], t.standby.turns[1] }

// Abort cancels the trial at both servers.
func (s *standby) Abort(ctx context.Context) error {
	return errors.Join(s.first.Abort(ctx), s.second.Abort(ctx))
}

// SendPeerReport passes the report of the client to the servers that have not ended.
func (s *standby) SendPeerReport(ctx context.Context, r traffic.Report) error {
	var err error
	if !s.replaced.Swap(true) {
		err = s.first.SendPeerReport(ctx, r)
	}
	return errors.Join(err, s.second.SendPeerReport(ctx, r))
}
