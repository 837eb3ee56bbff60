package engines

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/engine"
)

// containerPair is the two containers of a pair.
type containerPair struct{ from, to *box }

// end returns the pair's container in a role.
func (c *containerPair) end(role string) **box {
	if role == containers.Client {
		return &c.from
	}
	return &c.to
}

// containerPairs starts the containers of all pairs: the clients on a and the servers on b,
// in parallel if those are two engines.
func (p *path) containerPairs(ctx context.Context, a, b *side, spec func(role string, pair int) engine.ContainerSpec) ([]containerPair, error) {
	all := make([]containerPair, p.PairCount)
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = p.startRole(ctx, a, containers.Client, all, spec) })
	wg.Go(func() { errs[1] = p.startRole(ctx, b, containers.Server, all, spec) })
	wg.Wait()
	return all, cmp.Or(errs[0], errs[1]) // report a common cause once
}

// startRole starts the containers with one role of all pairs.
func (p *path) startRole(ctx context.Context, s *side, role string, all []containerPair, spec func(role string, pair int) engine.ContainerSpec) error {
	return p.ForEachPair(func(pair int) (err error) {
		*all[pair-1].end(role), err = p.run(ctx, s, role, pair, spec(role, pair))
		return err
	})
}

// pairsOf returns the pairs of containers, with the address on the server's first network.
func pairsOf(all []containerPair) ([]driver.Pair, error) {
	var p pathspec.Path
	for _, c := range all {
		at, err := c.to.addr()
		if err != nil {
			return nil, err
		}
		p.AddPair(c.from.end(), c.to.end(), []netip.Addr{at}, []netip.Addr{at}, pathspec.ServerChoosesPort)
	}
	return p.Pairs(), nil
}

// mustBypassOthers requires that no traffic of the trials uses any device of a container except the
// given ones.
func (p *path) mustBypassOthers(b *box, but ...string) error {
	devices, err := b.ns.Links().Devices()
	if err != nil {
		return err
	}
	p.idle(b.Place, slices.DeleteFunc(devices, func(d string) bool { return slices.Contains(but, d) })...)
	return nil
}

// onSwarm starts the containers of all pairs on a Swarm's network, and waits until the
// engines have told each other about them.
func (p *path) onSwarm(ctx context.Context, on engine.Network, within time.Duration) ([]containerPair, error) {
	spec := func(string, int) engine.ContainerSpec { return engine.ContainerSpec{Network: on.Name} }
	all, err := p.containerPairs(ctx, p.a, p.b, spec)
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
		e, err := containers.EngineNotHeard(ctx, on.ID, p.a.engine.Engine, p.b.engine.Engine)
		if err != nil {
			return err
		}
		s, role := p.a, containers.Client
		if e == p.b.engine.Engine {
			s, role = p.b, containers.Server
		}
		for i := range all {
			if err := p.discard(ctx, *all[i].end(role)); err != nil {
				return err
			}
		}
		if err := e.LeaveNetwork(ctx, on.ID); err != nil {
			return err
		}
		return p.startRole(ctx, s, role, all, spec)
	}
	times, err := containers.AwaitGossip(ctx, within, meet, again)
	p.facts, p.reached = append(p.facts, containers.RejoinFacts(times)...), err == nil
	return all, err
}
