package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"
)

// swarmTimeout bounds how long a Swarm may take until all its nodes are ready.
const swarmTimeout = 30 * time.Second

// SwarmNode is an engine with the address at which the others of its Swarm reach
// it, for control and for data.
type SwarmNode struct {
	Engine *Engine
	Addr   netip.Addr
}

// SwarmState is an engine's part in a Swarm.
type SwarmState struct {
	// State is active where the engine is in a Swarm that works, else inactive,
	// pending, locked or error.
	State   string
	Node    string // its id, empty without a Swarm
	Addr    string // at which the others reach it
	Manager bool
}

// Active reports whether the engine is in a Swarm that works.
func (s SwarmState) Active() bool { return s.State == string(swarm.LocalNodeStateActive) }

// Swarm asks the engine for its part in a Swarm.
func (e *Engine) Swarm(ctx context.Context) (SwarmState, error) {
	got, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return SwarmState{}, fmt.Errorf("ask engine %s for its Swarm: %w", e.Name, err)
	}
	s := got.Info.Swarm
	return SwarmState{State: string(s.LocalNodeState), Node: s.NodeID, Addr: s.NodeAddr, Manager: s.ControlAvailable}, nil
}

// Pool is where the subnets of a Swarm's networks come from: each has a prefix of so
// many bits within Addresses. The engine chooses where it is the zero Pool.
type Pool struct {
	Addresses netip.Prefix
	Bits      uint32
}

// NewSwarm makes a Swarm: manager begins it, workers join it, and all are ready
// when it returns, which may take half a minute at most, and a second usually. Subnets of its networks
// come from pool. On error the
// engines that had joined have left again.
func NewSwarm(ctx context.Context, pool Pool, manager SwarmNode, workers ...SwarmNode) error {
	ctx, cancel := context.WithTimeoutCause(ctx, swarmTimeout, fmt.Errorf("its nodes were not ready within %v", swarmTimeout))
	defer cancel()
	in, err := joinAll(ctx, pool, manager, workers)
	if err == nil {
		err = ready(ctx, manager.Engine, 1+len(workers))
	}
	if err == nil {
		return nil
	}
	errs := []error{fmt.Errorf("make a Swarm of %d engines: %w", 1+len(workers), err)}
	for _, n := range in {
		errs = append(errs, n.Engine.LeaveSwarm(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// joinAll returns the nodes that are in the Swarm, also on error.
func joinAll(ctx context.Context, pool Pool, manager SwarmNode, workers []SwarmNode) (in []SwarmNode, err error) {
	o := client.SwarmInitOptions{ListenAddr: listen(manager.Addr), AdvertiseAddr: manager.Addr.String(), DataPathAddr: manager.Addr.String()}
	if pool.Addresses.IsValid() {
		o.DefaultAddrPool, o.SubnetSize = []netip.Prefix{pool.Addresses}, pool.Bits
	}
	if _, err := manager.Engine.api.SwarmInit(ctx, o); err != nil {
		return nil, fmt.Errorf("begin it on engine %s: %w", manager.Engine.Name, err)
	}
	in = append(in, manager)
	got, err := manager.Engine.api.SwarmInspect(ctx, client.SwarmInspectOptions{})
	if err != nil {
		return in, fmt.Errorf("read its join token on engine %s: %w", manager.Engine.Name, err)
	}
	for _, w := range workers {
		_, err := w.Engine.api.SwarmJoin(ctx, client.SwarmJoinOptions{
			ListenAddr: listen(w.Addr), AdvertiseAddr: w.Addr.String(), DataPathAddr: w.Addr.String(),
			RemoteAddrs: []string{listen(manager.Addr)}, JoinToken: got.Swarm.JoinTokens.Worker,
		})
		if err != nil {
			return in, fmt.Errorf("join it with engine %s: %w", w.Engine.Name, err)
		}
		in = append(in, w)
	}
	return in, nil
}

// swarmPort is where a Swarm's nodes speak with its managers.
const swarmPort = 2377

func listen(a netip.Addr) string { return netip.AddrPortFrom(a, swarmPort).String() }

// ready waits until a manager sees n nodes ready.
func ready(ctx context.Context, manager *Engine, n int) error {
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		got, err := manager.api.NodeList(ctx, client.NodeListOptions{})
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("list its nodes on engine %s: %w", manager.Name, err)
		}
		var states []string
		up := 0
		for _, node := range got.Items {
			states = append(states, node.Description.Hostname+" "+string(node.Status.State))
			if node.Status.State == swarm.NodeStateReady {
				up++
			}
		}
		if up >= n {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", context.Cause(ctx), strings.Join(states, ", "))
		case <-poll.C:
		}
	}
}

// LeaveSwarm takes the engine out of its Swarm, by force: as its last manager it
// takes the Swarm's networks and services along. An engine in no Swarm is left as
// it is.
func (e *Engine) LeaveSwarm(ctx context.Context) error {
	state, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	if state.State == string(swarm.LocalNodeStateInactive) {
		return nil
	}
	if _, err := e.api.SwarmLeave(ctx, client.SwarmLeaveOptions{Force: true}); err != nil {
		return fmt.Errorf("take engine %s out of its Swarm: %w", e.Name, err)
	}
	return nil
}

// A Swarm has no label of a run on those of its engines that are no managers. So a
// run that makes one of existing engines first leaves a note on each: a container
// that never starts. Its name holds the engine's id in the Swarm as soon as it has
// one, so that gc does not take the engine out of a Swarm that its user made since.

// partSwarm marks the note.
const partSwarm = "swarm"

// RecordSwarmIntent notes on an engine, which is in no Swarm, that a run is about to put it
// into one.
func (e *Engine) RecordSwarmIntent(ctx context.Context, run string) error {
	image, err := e.Image(ctx, run)
	if err != nil {
		return err
	}
	_, err = e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: Name(run, partSwarm),
		Config: &container.Config{
			Image: image, Entrypoint: []string{Program}, Cmd: []string{"version"},
			Labels: labels(run, partSwarm),
		},
		HostConfig: &container.HostConfig{NetworkMode: "none"},
	})
	if err != nil {
		return e.fail(err, "note that run %s makes a Swarm", run)
	}
	return nil
}

// RecordSwarmID completes the note once the engine is in the Swarm.
func (e *Engine) RecordSwarmID(ctx context.Context, run string) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	if _, err := e.api.ContainerRename(ctx, Name(run, partSwarm), client.ContainerRenameOptions{NewName: Name(run, partSwarm, s.Node)}); err != nil {
		return e.fail(err, "note that run %s made a Swarm", run)
	}
	return nil
}

// swarmStartTolerance is how long after a note without an id a Swarm may have been begun to be
// that of the note.
const swarmStartTolerance = time.Minute

// removeSwarmRecord takes the engine out of the Swarm that a note is about, and removes the
// note.
func (e *Engine) removeSwarmRecord(ctx context.Context, id, name string, noted int64) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	switch _, node, settled := strings.Cut(name, "-"+partSwarm+"-"); {
	case s.Node == "" || settled && node != s.Node:
	case settled:
		err = e.LeaveSwarm(ctx)
	case s.Manager:
		got, inspect := e.api.SwarmInspect(ctx, client.SwarmInspectOptions{})
		if begun := got.Swarm.CreatedAt; inspect == nil && begun.Sub(time.Unix(noted, 0)).Abs() < swarmStartTolerance {
			err = e.LeaveSwarm(ctx)
		}
	default:
		err = fmt.Errorf("engine %s may still be in a Swarm that a dead run made: if it is not yours, docker swarm leave on that machine takes it out", e.Name)
	}
	return errors.Join(err, e.removeContainer(ctx, id, name))
}
