//go:build linux

package docker

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"sync"

	"tare/internal/driver"
	"tare/internal/driver/notes"
	"tare/internal/engine"
)

// couple is the containers of one pair of ends.
type couple struct{ from, to *box }

// end is the couple's container in a role.
func (c *couple) end(role string) **box {
	if role == client {
		return &c.from
	}
	return &c.to
}

// couples starts the containers of all pairs: the clients on a and the servers on
// b, side by side where those are two engines.
func (p *path) couples(ctx context.Context, a, b *side, spec func(role string, pair int) engine.ContainerSpec) ([]couple, error) {
	all := make([]couple, p.Count)
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = p.half(ctx, a, client, all, spec) })
	wg.Go(func() { errs[1] = p.half(ctx, b, server, all, spec) })
	wg.Wait()
	return all, cmp.Or(errs[0], errs[1]) // what keeps both from it is said once
}

// half starts the containers of all pairs that have a role.
func (p *path) half(ctx context.Context, s *side, role string, all []couple, spec func(role string, pair int) engine.ContainerSpec) error {
	return p.Each(func(pair int) (err error) {
		*all[pair-1].end(role), err = p.run(ctx, s, role, pair, spec(role, pair))
		return err
	})
}

// pairsOf are the ends of containers that reach each other at the address of the
// server's first network.
func pairsOf(all []couple) (pairs []driver.Pair, err error) {
	for _, c := range all {
		at, err := c.to.addr()
		if err != nil {
			return nil, err
		}
		from, to := c.from.end(), c.to.end()
		on := notes.WithPort([]netip.Addr{at}, notes.AnyPort)
		pairs = append(pairs, driver.Pair{
			Client: driver.Endpoint{Name: from.Place.At, Launcher: from.Launcher},
			Server: driver.Endpoint{Name: to.Place.At, Launcher: to.Launcher, Listen: on, Dial: on},
		})
	}
	return pairs, nil
}

// aside declares that nothing of the trials goes by any other device of a container
// than those that are given.
func (p *path) aside(b *box, but ...string) error {
	devices, err := b.ns.Devices()
	if err != nil {
		return err
	}
	for _, d := range devices {
		if !slices.Contains(but, d) {
			p.Rests(b.Place, notes.Device{Name: d})
		}
	}
	return nil
}
