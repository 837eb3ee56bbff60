package engines

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/remote"
	"tare/internal/timelimit"
)

// joinWait is how long the endpoints of a path may take to reach each other: an engine
// returns from starting a container before the network's driver has announced the container
// to its other hosts, or before a bridge has learned the new port's address.
func joinWait() time.Duration { return timelimit.Scaled(5 * time.Second) }

// pollInterval is how often eventually looks.
const pollInterval = 50 * time.Millisecond

// eventually calls find until it does not fail, for at most within on a real CPU.
func eventually(ctx context.Context, within time.Duration, find func() error) error {
	for deadline := time.Now().Add(timelimit.Scaled(within)); ; {
		err := find()
		if err == nil || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(pollInterval):
		}
	}
}

// reachable waits until all pairs have exchanged a few bytes. It returns a
// *remote.Unreachable if agents ran and nothing arrived.
func (p *path) reachable(ctx context.Context, pairs []driver.Pair, wait time.Duration) error {
	watch := driver.WatchStacks(ctx, p.Stacks(), pairs)
	errs := make([]error, len(pairs))
	free := make(chan struct{}, cmp.Or(p.parallel, len(pairs)))
	var wg sync.WaitGroup
	var failed atomic.Bool // those that would have to wait need not be tried
	for i, pair := range pairs {
		if free <- struct{}{}; failed.Load() {
			break
		}
		wg.Go(func() {
			if errs[i] = p.exchange(ctx, pair, wait); errs[i] != nil {
				failed.Store(p.parallel > 0)
			}
			<-free
		})
	}
	wg.Wait()
	for _, err := range errs { // the first error is enough
		if err != nil {
			return driver.WithCause(err, watch.Cause(ctx, 0))
		}
	}
	return nil
}

func (p *path) exchange(ctx context.Context, pair driver.Pair, wait time.Duration) error {
	return p.withAgents(ctx, pair, func(client, server *agent.Client) error {
		for i, dial := range pair.Server.Dial {
			if err := remote.CheckReachable(ctx, client, server, pair.Client.Name, pair.Server.Name, pair.Server.Listen[i], dial, wait); err != nil {
				return err
			}
		}
		return nil
	})
}

// withAgents calls do with agents at the endpoints of a pair.
func (p *path) withAgents(ctx context.Context, pair driver.Pair, do func(client, server *agent.Client) error) (err error) {
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
	return do(client, server)
}
