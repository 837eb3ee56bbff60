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
	"tare/internal/driver/pathspec"
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

// reach finds out whether the endpoints of a path reach each other.
type reach struct {
	spec     *pathspec.Path
	run      string
	parallel int           // pairs that may be tried at the same time; 0 is all
	patience time.Duration // how long the endpoints of a path that is built may take
	done     bool          // they have reached each other while the path was built
}

// all waits until all pairs of the path have exchanged a few bytes.
func (r *reach) all(ctx context.Context, wait time.Duration) error {
	err := r.pairs(ctx, r.spec.Pairs(), wait)
	r.done = err == nil
	return err
}

// pairs waits until pairs have exchanged a few bytes. It returns a *remote.Unreachable if agents ran and
// nothing arrived.
func (r *reach) pairs(ctx context.Context, pairs []driver.Pair, wait time.Duration) error {
	watch := driver.WatchStacks(ctx, r.spec.Stacks(), pairs)
	errs := make([]error, len(pairs))
	free := make(chan struct{}, cmp.Or(r.parallel, len(pairs)))
	var wg sync.WaitGroup
	var failed atomic.Bool // those that would have to wait need not be tried
	for i, pair := range pairs {
		if free <- struct{}{}; failed.Load() {
			break
		}
		wg.Go(func() {
			if errs[i] = r.exchange(ctx, pair, wait); errs[i] != nil {
				failed.Store(r.parallel > 0)
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

func (r *reach) exchange(ctx context.Context, pair driver.Pair, wait time.Duration) error {
	return r.withAgents(ctx, pair, func(client, server *agent.Client) error {
		for i, dial := range pair.Server.Dial {
			if err := remote.CheckReachable(ctx, client, server, pair.Client.Name, pair.Server.Name, pair.Server.Listen[i], dial, wait); err != nil {
				return err
			}
		}
		return nil
	})
}

// withAgents calls do with agents at the endpoints of a pair.
func (r *reach) withAgents(ctx context.Context, pair driver.Pair, do func(client, server *agent.Client) error) (err error) {
	client, err := agent.Start(ctx, pair.Client.Launcher, r.run, pair.Client.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	server, err := agent.Start(ctx, pair.Server.Launcher, r.run, pair.Server.Name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	return do(client, server)
}
