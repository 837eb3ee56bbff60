package agent

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"tare/internal/agent/wire"
)

// Port is a port that a server has open and its client tries to reach, to see when something between them closes the way and opens it again.
type Port struct {
	client, server *Client
	listener       wire.Probe
	dial           netip.AddrPort
}

// OpenPort opens a port of the server, which answers the client's requests for at most wait, until Close.
func OpenPort(ctx context.Context, client, server *Client, listen, dial netip.AddrPort, wait time.Duration) (*Port, error) {
	token, err := newToken()
	if err != nil {
		return nil, err
	}
	p := &Port{client: client, server: server, listener: wire.Probe{Network: "http", Address: listen.String(), Token: token}, dial: dial}
	if _, err := server.call(ctx, wire.Request{Op: wire.OpProbeListen, Probe: &p.listener, Wait: wait}); err != nil {
		return nil, &ListenError{err}
	}
	return p, nil
}

// Opened waits for at most wait until the client reaches the port, and returns when its connection was answered.
func (p *Port) Opened(ctx context.Context, wait time.Duration) (time.Time, error) {
	s, err := Seek(ctx, p.client, p.dial, p.listener.Token, wait)
	return s.Connected, err
}

// ErrStillOpen is the error about a port that the client reaches all the time.
var ErrStillOpen = errors.New("the port is still open")

// Closing returns as soon as the client has reached the port. Until then, and while closed waits, the client tries again each lapseStep, for at
// most wait in all. closed returns when the first of its attempts began that reached the port no more, as all after it.
func (p *Port) Closing(ctx context.Context, wait time.Duration) (closed func(context.Context) (time.Time, error), err error) {
	_, first, err := p.client.search(ctx, wire.OpLapse, p.dial, p.listener.Token, wait)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) (time.Time, error) {
		s, _, err := p.client.search(ctx, wire.OpLapsed, p.dial, p.listener.Token, wait)
		if err != nil && strings.Contains(err.Error(), stillAnswers) {
			err = fmt.Errorf("%w: %w", ErrStillOpen, err)
		}
		return first.Add(s.Connected), err
	}, nil
}

// stillAnswers is in the message of an agent whose search took too long.
const stillAnswers = "still answers"

// Close closes the port.
func (p *Port) Close(ctx context.Context) error {
	_, err := p.server.call(ctx, wire.Request{Op: wire.OpProbeResult, Probe: &p.listener})
	return err
}

// The way is closed when so many attempts in a row were in vain. All that are under way at one moment are fewer: a machine that
// pauses for longer than each may take does not close it.
const (
	lapseStep  = 5 * time.Millisecond
	lapseAfter = 2 * int(seekPatience/lapseStep)
)

// lapse begins a search at the agent, and replies when an attempt was answered.
func (s *server) lapse(ctx context.Context, req wire.Request) {
	answered, ended := make(chan wire.Sought, 1), make(chan wire.Reply, 1)
	s.lapses[tokenOf(req)] = awaited{ended, func() {}}
	go func() {
		ended <- search(ctx, req, "%s "+stillAnswers+" after %s", func(ctx context.Context, k wire.Probe) (wire.Sought, error) {
			return lapsed(ctx, k, func(s wire.Sought) { answered <- s })
		})
	}()
	go func() {
		var reply wire.Reply
		select {
		case first := <-answered:
			reply.Sought = &first
		case reply = <-ended:
			ended <- reply
		}
		reply.ID = req.ID
		_ = s.send(reply)
	}()
}

// lapsed makes attempts until none is answered any more. It calls answered with the first that is, and returns when the first began after all
// that were.
func lapsed(ctx context.Context, k wire.Probe, answered func(wire.Sought)) (wire.Sought, error) {
	ctx, cancel := context.WithCancel(ctx)
	var open sync.WaitGroup
	defer open.Wait()
	defer cancel()
	type tried struct {
		began time.Duration
		s     wire.Sought
		err   error
	}
	begun, ended := time.Now(), make(chan tried, maxSeeking)
	tick := time.NewTicker(lapseStep)
	defer tick.Stop()
	last, met := time.Duration(-1), error(nil)
	var vain []time.Duration // when the attempts after the last answered one began
	for under := 0; len(vain) < lapseAfter; {
		select {
		case a := <-ended:
			under--
			if a.err != nil {
				met = a.err
				vain = append(vain, a.began)
			} else {
				if last < 0 {
					a.s.Whole = time.Since(begun)
					answered(a.s)
				}
				last = max(last, a.began)
			}
			vain = slices.DeleteFunc(vain, func(began time.Duration) bool { return began < last })
		case <-tick.C:
			if under == maxSeeking {
				continue
			}
			under++
			began := time.Since(begun)
			open.Go(func() {
				s, err := attempt(ctx, k, begun)
				ended <- tried{began, s, err}
			})
		case <-ctx.Done():
			if last < 0 {
				return wire.Sought{}, fmt.Errorf("no answer from %s", k.Address)
			}
			return wire.Sought{}, context.Cause(ctx)
		}
	}
	if last < 0 {
		return wire.Sought{}, fmt.Errorf("no answer from %s: %w", k.Address, met)
	}
	closed, end := slices.Min(vain), time.Since(begun)
	return wire.Sought{Connected: closed, FirstByte: end, Whole: end}, nil
}
