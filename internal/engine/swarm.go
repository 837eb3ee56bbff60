package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"tare/internal/timelimit"
)

// swarmTimeout bounds how long a Swarm may take until all its nodes are ready, on a real CPU.
const swarmTimeout = 30 * time.Second

// swarmInterval is the interval of reading the state of a Swarm while waiting for it to change.
const swarmInterval = 20 * time.Millisecond

// SwarmNode is an engine with its address for the other nodes of its Swarm, for control and data.
type SwarmNode struct {
	Engine *Engine
	Addr   netip.Addr
	// Joined is called as soon as the engine is in the Swarm; it may be nil.
	Joined func(context.Context) error
}

// joined calls Joined.
func (n SwarmNode) joined(ctx context.Context) error {
	if n.Joined == nil {
		return nil
	}
	return n.Joined(ctx)
}

// SwarmState is the state of an engine in a Swarm.
type SwarmState struct {
	// State is active if the engine is in a working Swarm, else inactive, pending, locked or error.
	State   string
	Node    string // node id, empty without a Swarm
	Addr    string // address for the other nodes
	Manager bool
	// Managers are the addresses of the managers that it knows; while it joins, that of the one through which it does.
	Managers []string
}

// Active reports whether the engine is in a working Swarm.
func (s SwarmState) Active() bool { return s.State == string(swarm.LocalNodeStateActive) }

// Swarm returns the engine's state in a Swarm.
func (e *Engine) Swarm(ctx context.Context) (SwarmState, error) {
	got, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return SwarmState{}, e.fail(err, "get its Swarm state")
	}
	s := got.Info.Swarm
	state := SwarmState{State: string(s.LocalNodeState), Node: s.NodeID, Addr: s.NodeAddr, Manager: s.ControlAvailable}
	for _, m := range s.RemoteManagers {
		state.Managers = append(state.Managers, m.Addr)
	}
	return state, nil
}

// Pool is the range of the subnets of a Swarm's networks: each is a prefix of Bits bits within
// Addresses. The engine chooses them if Pool is zero.
type Pool struct {
	Addresses netip.Prefix
	Bits      uint32
}

// NewSwarm creates a Swarm: the manager initialises it and the workers join it. It returns when all
// are ready, usually after a second and at most after half a minute. Subnets of its networks come
// from pool. On error, engines that had joined leave again.
func NewSwarm(ctx context.Context, pool Pool, manager SwarmNode, workers ...SwarmNode) error {
	within := timelimit.Scaled(swarmTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, within, fmt.Errorf("its nodes were not ready within %v", within))
	defer cancel()
	in, err := joinAll(ctx, pool, manager, workers)
	if err == nil {
		err = ready(ctx, manager.Engine, 1+len(workers))
	}
	if err == nil {
		return nil
	}
	errs := []error{fmt.Errorf("create a Swarm of %d engines: %w", 1+len(workers), err)}
	for _, n := range in {
		errs = append(errs, n.Engine.LeaveSwarm(context.WithoutCancel(ctx)))
	}
	return errors.Join(errs...)
}

// joinAll returns the nodes that are in the Swarm, even on error, with one that still joins.
func joinAll(ctx context.Context, pool Pool, manager SwarmNode, workers []SwarmNode) (in []SwarmNode, err error) {
	o := client.SwarmInitOptions{ListenAddr: listen(manager.Addr), AdvertiseAddr: manager.Addr.String(), DataPathAddr: manager.Addr.String()}
	if pool.Addresses.IsValid() {
		o.DefaultAddrPool, o.SubnetSize = []netip.Prefix{pool.Addresses}, pool.Bits
	}
	if _, err := toEnd(ctx, func(ctx context.Context) (client.SwarmInitResult, error) { return manager.Engine.api.SwarmInit(ctx, o) }); err != nil {
		return nil, manager.Engine.fail(err, "initialise it")
	}
	in = append(in, manager)
	if err := manager.joined(ctx); err != nil {
		return in, err
	}
	got, err := manager.Engine.api.SwarmInspect(ctx, client.SwarmInspectOptions{})
	if err != nil {
		return in, manager.Engine.fail(err, "read its join token")
	}
	for _, w := range workers {
		_, err := toEnd(ctx, func(ctx context.Context) (client.SwarmJoinResult, error) {
			return w.Engine.api.SwarmJoin(ctx, client.SwarmJoinOptions{
				ListenAddr: listen(w.Addr), AdvertiseAddr: w.Addr.String(), DataPathAddr: w.Addr.String(),
				RemoteAddrs: []string{listen(manager.Addr)}, JoinToken: got.Swarm.JoinTokens.Worker,
			})
		})
		if err != nil {
			// After the limit of its answer an engine goes on to join. It may be in a Swarm of its user instead.
			s, unknown := w.Engine.Swarm(context.WithoutCancel(ctx))
			if unknown == nil && slices.Contains(s.Managers, listen(manager.Addr)) {
				in = append(in, w)
			}
			return in, w.Engine.fail(err, "join it")
		}
		in = append(in, w)
		if err := w.joined(ctx); err != nil {
			return in, err
		}
	}
	return in, nil
}

// swarmPort is the port on which managers listen for the nodes of a Swarm.
const swarmPort = 2377

func listen(a netip.Addr) string { return netip.AddrPortFrom(a, swarmPort).String() }

// ready waits until a manager lists n nodes as ready.
func ready(ctx context.Context, manager *Engine, n int) error {
	poll := time.NewTicker(swarmInterval)
	defer poll.Stop()
	for {
		got, err := manager.api.NodeList(ctx, client.NodeListOptions{})
		if err != nil && ctx.Err() == nil {
			return manager.fail(err, "list its nodes")
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

// LeaveSwarm makes the engine leave its Swarm, by force: if it is the last manager, this removes
// the Swarm's networks and services. It does nothing on an engine without a Swarm.
func (e *Engine) LeaveSwarm(ctx context.Context) error {
	state, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	if state.State == string(swarm.LocalNodeStateInactive) {
		return nil
	}
	if _, err := e.api.SwarmLeave(ctx, client.SwarmLeaveOptions{Force: true}); err != nil {
		return e.fail(err, "leave its Swarm")
	}
	return nil
}

// A Swarm has no label of a run on engines that are not managers. So before a run creates a Swarm
// of existing engines, it creates a record on each: a container that is never started. Its name
// includes the engine's node id as soon as there is one, so that gc does not make the engine leave
// a Swarm that its user has created since.

// partSwarm is the role of the record.
const partSwarm = "swarm"

// RecordSwarmIntent records on an engine without a Swarm that a run is about to make it join one.
func (e *Engine) RecordSwarmIntent(ctx context.Context, run string) error {
	image, err := e.Image(ctx, run)
	if err != nil {
		return err
	}
	_, err = toEnd(ctx, func(ctx context.Context) (client.ContainerCreateResult, error) {
		return e.api.ContainerCreate(ctx, client.ContainerCreateOptions{
			Name: Name(run, partSwarm),
			Config: &container.Config{
				Image: image, Entrypoint: []string{Program}, Cmd: []string{"version"},
				Labels: labels(run, partSwarm),
			},
			HostConfig: &container.HostConfig{NetworkMode: "none"},
		})
	})
	if err != nil {
		return e.fail(err, "record that run %s creates a Swarm", run)
	}
	return nil
}

// RecordSwarmID adds the node id to the record after the engine has joined the Swarm.
func (e *Engine) RecordSwarmID(ctx context.Context, run string) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	if _, err := e.api.ContainerRename(ctx, Name(run, partSwarm), client.ContainerRenameOptions{NewName: Name(run, partSwarm, s.Node)}); err != nil {
		return e.fail(err, "record that run %s created a Swarm", run)
	}
	return nil
}

// swarmStartTolerance is how long after a record without a node id a Swarm may have been created to
// belong to that record.
const swarmStartTolerance = time.Minute

// removeSwarmRecord makes the engine leave the Swarm of a record, and removes the record, which stays if that fails: gc finds the
// Swarm only by it. Of a Swarm that may be the user's own, an error tells once.
func (e *Engine) removeSwarmRecord(ctx context.Context, id, name string, noted int64) error {
	s, err := e.Swarm(ctx)
	if err != nil {
		return err
	}
	var told error
	switch _, node, settled := strings.Cut(name, "-"+partSwarm+"-"); {
	case s.Node == "" || settled && node != s.Node:
	case settled:
		err = e.LeaveSwarm(ctx)
	case s.Manager:
		got, inspect := e.api.SwarmInspect(ctx, client.SwarmInspectOptions{})
		if inspect != nil {
			return e.fail(inspect, "read when its Swarm was created")
		}
		if got.Swarm.CreatedAt.Sub(time.Unix(noted, 0)).Abs() < swarmStartTolerance {
			err = e.LeaveSwarm(ctx)
		}
	default:
		told = fmt.Errorf("engine %s may still be in a Swarm that a dead run created; if the Swarm is not yours, run docker swarm leave on that machine", e.Name)
	}
	if err != nil {
		return err
	}
	return errors.Join(told, e.removeContainer(ctx, id, name))
}
