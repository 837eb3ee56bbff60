//go:build linux

package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
)

// joinWait is how long the ends of a network may take until they reach each other:
// an engine returns from starting a container before the network's driver has told
// its other hosts where that container is.
const joinWait = 5 * time.Second

// gossipWait is the same for a Swarm's networks, whose hosts tell each other by
// gossip: what is lost of that on a busy machine comes with the next full exchange,
// which there is every 30 seconds.
const gossipWait = 45 * time.Second

// unreachable is what is wrong with a network whose ends never heard of each other.
type unreachable struct{ err error }

func (u *unreachable) Error() string { return u.err.Error() }
func (u *unreachable) Unwrap() error { return u.err }

// reachable has the ends of all pairs exchange a few bytes, and waits until they
// have. Its error is an *unreachable where agents ran and nothing came through.
func (p *path) reachable(ctx context.Context, wait time.Duration) error {
	pairs := p.Pairs()
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
		_, err := agent.Meet(ctx, client, server, "tcp", pair.Server.Listen[i], dial, wait)
		if gone := errors.Join(client.Gone(), server.Gone()); gone != nil {
			return gone
		}
		if err != nil {
			return &unreachable{fmt.Errorf("%s cannot reach %s: %w", pair.Client.Name, pair.Server.Name, err)}
		}
	}
	return nil
}
