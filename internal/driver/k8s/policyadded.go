package k8s

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/agent"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/timelimit"
)

// addedPolicies is how many network policies select the pods in the event, besides the one that lets the traffic pass.
const addedPolicies = 100

// closedPort is one that no workload uses and network policies close.
const closedPort = pathspec.FirstPort + 4096

// policyAdded lets network policies select the pods of the mode, which leave the port of the workloads open and no other. That the
// cluster's network enforces them is shown by another port, which they close.
func (p *path) policyAdded(client, server *endpoint) driver.Event {
	spec := p.pods.policies("added", addedPolicies)
	spec.Open = pathspec.FirstPort
	counter := pathspec.CounterName(server.At, "pod", "policies")
	return driver.Event{
		Name: driver.PolicyAdded, Title: fmt.Sprintf("%d network policies select the pods, and one more lets the traffic pass", addedPolicies),
		State: func(ctx context.Context) (driver.Counters, error) {
			n, err := p.cluster.Policies(ctx, spec)
			return driver.Counters{counter: uint64(n)}, err //nolint:gosec // a length
		},
		Do: func(ctx context.Context) (func(context.Context) error, error) {
			undo := func(ctx context.Context) error {
				if err := p.cluster.RemovePolicies(ctx, spec); err != nil {
					return err
				}
				if open, err := opens(ctx, client, server, driver.EventTimeout()); !open {
					return fmt.Errorf("the network policies are removed, and port %d of %s is still closed: %w", closedPort, server.At, err)
				}
				return nil
			}
			return undo, p.cluster.CreatePolicies(ctx, spec)
		},
		Happened: func(before, after driver.Counters) error {
			if err := driver.Moved(before, after, counter, addedPolicies+1); err != nil {
				return err
			}
			return enforced(client, server)
		},
	}
}

// enforceTimeout bounds how long after a trial the network may take to follow: some apply all policies anew after each.
func enforceTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// enforced returns an error unless a connection to another port than that of the workloads gets no answer, as soon as the network has
// followed.
func enforced(client, server *endpoint) error {
	for until := time.Now().Add(enforceTimeout()); ; time.Sleep(100 * time.Millisecond) {
		open, err := opens(context.Background(), client, server, timelimit.Scaled(time.Second))
		gone := errors.Join(client.Agent.Err(), server.Agent.Err())
		switch {
		case gone != nil, errors.As(err, new(*agent.ListenError)):
			return errors.Join(err, gone)
		case !open:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("the cluster's network does not enforce network policies: port %d of %s is still open %s after the trial", closedPort, server.At, enforceTimeout())
		}
	}
}

// opens reports whether a connection from the client to the closed port of the server's pod is opened within a time, and else why not.
func opens(ctx context.Context, client, server *endpoint, within time.Duration) (bool, error) {
	at := netip.AddrPortFrom(server.Addr, closedPort)
	_, err := agent.CheckReachability(ctx, client.Agent, server.Agent, "tcp", at, at, within)
	return err == nil, err
}
