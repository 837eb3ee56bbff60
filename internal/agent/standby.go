package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"

	"tare/internal/traffic"
)

// standby is the second server of a trial, which takes the place of the first one in the middle of it.
type standby struct {
	first *Client
	ended chan struct{} // closed when the first one has ended
	turns [2]traffic.Report

	secondDone chan endpointResult // receives the result of the second one, or at once that of none

	mu         sync.Mutex     // guards the rest
	second     *Client        // nil until Succeed
	listenAddr netip.AddrPort // of the second
	replaced   bool           // the first one has been told to end
	over       bool           // the trial ends
	clean      bool           // the first one has ended without an error: its agent is not needed any more, and may end with its sandbox
}

// Standby opens the port of a second server of a trial that was begun, and is not run in slices. It answers the same client, whose
// connections the path leads to it from some moment on. Replace then ends the first server.
func (t *Trial) Standby(ctx context.Context, second *Client, side traffic.Params) error {
	t.ExpectSuccessor(ctx)
	return t.Succeed(ctx, second, side)
}

// ExpectSuccessor prepares a trial that was begun, and is not run in slices, for a second server that Succeed adds while the trial runs.
func (t *Trial) ExpectSuccessor(ctx context.Context) {
	s := &standby{first: t.server, ended: make(chan struct{}), secondDone: make(chan endpointResult, 1)}
	firstDone := t.serverDone
	t.standby, t.serverDone = s, make(chan endpointResult, 1)
	go func() { t.serverDone <- s.both(ctx, firstDone) }()
}

// Succeed opens the port of the second server.
func (t *Trial) Succeed(ctx context.Context, second *Client, side traffic.Params) error {
	port, err := second.Listen(ctx, side)
	if err != nil {
		return err
	}
	s := t.standby
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.second != nil {
		return errors.Join(errNoSecond, second.Abort(ctx))
	}
	s.second = second
	if on, err := netip.ParseAddrPort(side.Address); err == nil {
		s.listenAddr = netip.AddrPortFrom(on.Addr(), port)
	}
	go second.reportTo(ctx, s.secondDone)
	return nil
}

var errNoSecond = errors.New("the trial has no second server, or has ended")

// both waits for the results of both servers and returns that of them together. If one fails, it cancels the other.
func (s *standby) both(ctx context.Context, firstDone <-chan endpointResult) endpointResult {
	var a, b endpointResult
	select {
	case a = <-firstDone:
		s.firstEnded(a.err)
		if a.err != nil {
			_ = s.end(func(second *Client) error { return second.Abort(ctx) }) // an agent that cannot be reached is killed later
		}
		b = <-s.secondDone
	case b = <-s.secondDone:
		if b.err != nil {
			_ = s.first.Abort(ctx)
		}
		a = <-firstDone
		s.firstEnded(a.err)
	}
	s.turns = [2]traffic.Report{a.report, b.report}
	if a.err != nil {
		return a
	}
	return endpointResult{traffic.Sum(a.report, b.report), b.err}
}

// end tells the second server how the trial ends. One that is not there yet does not come any more.
func (s *standby) end(tell func(second *Client) error) error {
	s.mu.Lock()
	second, was := s.second, s.over
	s.over = true
	s.mu.Unlock()
	if second != nil {
		return tell(second)
	}
	if !was {
		s.secondDone <- endpointResult{}
	}
	return nil
}

// replace reports whether the first server has not been told to end; it is then.
func (s *standby) replace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.replaced
	s.replaced = true
	return !was
}

// Replace ends the first server as a process that ends: it closes its port and its connections. It returns when that has happened.
func (t *Trial) Replace(ctx context.Context) error {
	s := t.standby
	if s == nil || !s.replace() {
		return errNoSecond
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
	var err error
	if !s.isClean() {
		err = s.first.Abort(ctx)
	}
	return errors.Join(err, s.end(func(second *Client) error { return second.Abort(ctx) }))
}

// SendPeerReport passes the report of the client to the servers that have not ended.
func (s *standby) SendPeerReport(ctx context.Context, r traffic.Report) error {
	var err error
	if s.replace() {
		err = s.first.SendPeerReport(ctx, r)
	}
	return errors.Join(err, s.end(func(second *Client) error { return second.SendPeerReport(ctx, r) }))
}

// firstEnded notes how the first server has ended.
func (s *standby) firstEnded(err error) {
	s.mu.Lock()
	s.clean = err == nil
	s.mu.Unlock()
	close(s.ended)
}

func (s *standby) isClean() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clean
}

// agentErr returns why an agent of the two servers that the trial still needs has exited, nil if none has.
func (s *standby) agentErr() error {
	s.mu.Lock()
	second := s.second
	s.mu.Unlock()
	if second != nil {
		if err := second.Err(); err != nil {
			return err
		}
	}
	if s.isClean() {
		return nil
	}
	return s.first.Err()
}
