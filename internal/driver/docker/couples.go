//go:build linux

package docker

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"tare/internal/driver/notes"
	"tare/internal/engine"
)

// couple is the containers of one pair of ends.
type couple struct{ from, to *box }

// couples starts the containers of all pairs: the clients on a and the servers on
// b, side by side where those are two engines.
func (p *path) couples(ctx context.Context, a, b *side, spec func(role string, pair int) engine.ContainerSpec) ([]couple, error) {
	all := make([]couple, p.Count)
	start := func(s *side, role string, into func(*couple) **box) error {
		return p.Each(func(pair int) (err error) {
			*into(&all[pair-1]), err = p.run(ctx, s, role, pair, spec(role, pair))
			return err
		})
	}
	var errs [2]error
	var wg sync.WaitGroup
	wg.Go(func() { errs[0] = start(a, client, func(c *couple) **box { return &c.from }) })
	wg.Go(func() { errs[1] = start(b, server, func(c *couple) **box { return &c.to }) })
	wg.Wait()
	return all, cmp.Or(errs[0], errs[1]) // what keeps both from it is said once
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
