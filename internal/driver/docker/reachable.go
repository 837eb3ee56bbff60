//go:build linux

package docker

import (
	"context"
	"errors"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/remote"
)

// joinWait is how long the ends of a path may take until they reach each other: an
// engine returns from starting a container before the network's driver has told its
// other hosts where that container is, or a bridge who is behind a new port.
const joinWait = 5 * time.Second

// reachable has the ends of pairs exchange a few bytes, and waits until they have.
// Its error is a *remote.Unreachable where agents ran and nothing came through.
func (p *path) reachable(ctx context.Context, pairs []driver.Pair, wait time.Duration) error {
	errs := make([]error, len(pairs))
	var wg sync.WaitGroup
	for i, pair := range pairs {
		wg.Go(func() { errs[i] = p.meet(ctx, pair, wait) })
	}
	wg.Wait()
	for _, err := range errs { // one tells as much as all
		if err != nil {
			return err
		}
	}
	return nil
}

func (p *path) meet(ctx context.Context, pair driver.Pair, wait time.Duration) (err error) {
	run := p.lab.Spec.Claim.ID
	client, err := agent.Start(ctx, pair.Client.Launcher, run, pair.Client.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	server, err := agent.Start(ctx, pair.Server.Launcher, run, pair.Server.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	for i, dial := range pair.Server.Dial {
		if err := remote.CheckReachable(ctx, client, server, pair.Client.Name, pair.Server.Name, pair.Server.Listen[i], dial, wait); err != nil {
			return err
		}
	}
	return nil
}
