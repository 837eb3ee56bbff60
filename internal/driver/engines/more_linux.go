package engines

import (
	"context"
	"fmt"
	"strconv"

	"golang.org/x/sync/errgroup"

	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/result"
	"tare/internal/study"
)

// startsAtOnce is how many containers of the setting containers an engine starts at the same time.
const startsAtOnce = 4

// moreContainers starts the containers of the setting containers on a host, which do nothing, on a bridge network of
// their own: as an engine's first subnet has no room for so many. It reads back that the engine runs them all.
func (p *path) moreContainers(ctx context.Context, s *side) error {
	n := numberIn(p.order.With[study.SettingContainers])
	if n == 0 {
		return nil
	}
	run, label := p.lab.Spec.Claim.ID, p.lab.Spec.Label
	spec := engine.NetworkSpec{Run: run, Name: engine.Name(run, label, "others"), Driver: "bridge", Subnet: p.lab.Pool(lab.PoolB)}
	if _, err := s.engine.CreateNetwork(ctx, spec); err != nil {
		return err
	}
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(startsAtOnce)
	for i := range n {
		group.Go(func() error {
			_, err := s.engine.Run(within, engine.ContainerSpec{Run: run, Part: "other", Name: engine.Name(run, label, "other", strconv.Itoa(i+1)), Network: spec.Name, Restart: p.endsWithEngine()})
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return s.engine.Explain(err)
	}
	net, err := s.engine.Network(ctx, spec.Name)
	if err != nil {
		return err
	}
	if len(net.Joined) != n {
		return fmt.Errorf("of %d further containers, the engine on host %s runs %d", n, s.Host, len(net.Joined))
	}
	p.AddFacts(result.Fact{Name: s.At + " further containers", Value: strconv.Itoa(n)})
	return nil
}
