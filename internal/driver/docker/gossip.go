//go:build linux

package docker

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/driver/notes"
	"tare/internal/engine"
	"tare/internal/result"
)

// The engines of a Swarm tell each other by gossip which of them are on a network,
// and where its containers are. That an engine has joined a network goes out in four
// datagrams within a second and never again; one that has missed them refuses all that
// the other tells it of that network, and vice versa nothing reaches an engine that
// is not known to be there. What heals it is an exchange of all networks and then one
// of all entries, each every 30 seconds: a minute. (moby, libnetwork/networkdb:
// RetransmitMult, handleTableEvent, PushPullInterval.) Datagrams are lost on a busy
// machine. So whoever was not heard joins again, which is told again.

// gossipWait is how long the ends of a Swarm's network are given to reach each other,
// beside what it takes to start containers again, if the mode's own time limit leaves so
// much: twice as long as gossip takes to heal by itself, and a little more. firstHeard and
// longestHeard are how long gossip is given before an end joins again: each time twice as
// long, so that an engine that is merely slow is not kept from it. The longest is more than
// one of its exchanges: an end that joined again every few seconds would put an end to
// each entry before an exchange tells of it.
// behindGossip is what a mode needs of its time limit once its ends reach each other.
const (
	gossipWait   = 150 * time.Second
	firstHeard   = 2 * time.Second
	longestHeard = 32 * time.Second
	behindGossip = 10 * time.Second
)

// acquaint waits until the ends on a Swarm's network reach each other, and has one
// join again whenever they do not in a time. It returns how often one did, and the last
// error of meet when the time is over, or so much of the mode's own that the rest is
// needed.
func acquaint(ctx context.Context, within time.Duration, meet func(ctx context.Context, wait time.Duration) error, again func(context.Context) error) (times int, err error) {
	for wait := firstHeard; ; wait = min(2*wait, longestHeard) {
		wait = min(wait, within)
		if limit, ok := ctx.Deadline(); ok {
			wait = min(wait, max(time.Until(limit)-behindGossip, firstHeard))
		}
		err := meet(ctx, wait)
		if within -= wait; !isUnreachable(err) || within <= 0 || late(ctx) {
			return times, err
		}
		if err := again(ctx); err != nil {
			return times, err
		}
		times++
	}
}

// late reports whether the time limit leaves no room for another try.
func late(ctx context.Context) bool {
	limit, ok := ctx.Deadline()
	return ok && time.Until(limit) < behindGossip+firstHeard
}

// unheard finds which of the engines of a client and a server has to join a network
// again: the client's where the server's has not heard of it, else the server's, which
// asks for all that the client's knows when it joins.
func unheard(ctx context.Context, network string, client, server *engine.Engine) (*engine.Engine, error) {
	heard, err := server.Heard(ctx, network, client)
	if heard {
		return server, err
	}
	return client, err
}

// rejoined tells of ends that had to join a network again.
func rejoined(times int) []result.Fact {
	if times == 0 {
		return nil
	}
	return []result.Fact{{Name: "joined again", Value: fmt.Sprintf("%d times: the engines had not heard of each other", times)}}
}

// onSwarm starts the containers of all pairs on a Swarm's network, and gives the
// engines time to tell each other of them.
func (p *path) onSwarm(ctx context.Context, on engine.Network, within time.Duration) ([]couple, error) {
	spec := func(string, int) engine.ContainerSpec { return engine.ContainerSpec{Network: on.Name} }
	all, err := p.couples(ctx, p.a, p.b, spec)
	if err != nil {
		return nil, err
	}
	meet := func(ctx context.Context, wait time.Duration) error {
		pairs, err := pairsOf(all)
		if err != nil {
			return err
		}
		return p.reachable(ctx, pairs, wait)
	}
	again := func(ctx context.Context) error {
		e, err := unheard(ctx, on.ID, p.a.engine.Engine, p.b.engine.Engine)
		if err != nil {
			return err
		}
		s, role := p.a, client
		if e == p.b.engine.Engine {
			s, role = p.b, server
		}
		for i := range all {
			if err := p.discard(ctx, *all[i].end(role)); err != nil {
				return err
			}
		}
		if err := e.Part(ctx, on.ID); err != nil {
			return err
		}
		return p.half(ctx, s, role, all, spec)
	}
	times, err := acquaint(ctx, within, meet, again)
	p.facts, p.met = append(p.facts, rejoined(times)...), err == nil
	return all, err
}

// acquainted waits until the ends of a pair on a Swarm's network of the user's
// engines reach each other, and returns them: either may have been made again.
func (p *guestPath) acquainted(ctx context.Context, network string, from, to *guestBox, boxed func(role string) (*guestBox, error)) (*guestBox, *guestBox, error) {
	meet := func(ctx context.Context, wait time.Duration) error {
		at := netip.AddrPortFrom(to.addr, notes.FirstPort)
		return exchange(ctx, from.eye, to.eye, from.At, to.At, at, at, wait)
	}
	again := func(ctx context.Context) error {
		e, err := unheard(ctx, network, p.a.engine, p.b.engine)
		if err != nil {
			return err
		}
		end := &from
		if e == p.b.engine {
			end = &to
		}
		role := (*end).role
		if err := p.discard(ctx, *end); err != nil {
			return err
		}
		if err := e.Part(ctx, network); err != nil {
			return err
		}
		*end, err = boxed(role)
		return err
	}
	times, err := acquaint(ctx, gossipWait, meet, again)
	p.facts = append(p.facts, rejoined(times)...)
	if isUnreachable(err) {
		err = fmt.Errorf("%s: %w", apart, err)
	}
	return from, to, err
}
