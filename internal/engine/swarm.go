package engine

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/moby/moby/api/types/swarm"
	"github.com/moby/moby/client"

	"tare/internal/lab"
)

// swarmWithin bounds how long a Swarm may take until all its nodes are ready.
const swarmWithin = 30 * time.Second

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
	Cluster string // the Swarm's id, as managers know it
	Addr    string // at which the others reach it
	Manager bool
	Error   string // what the engine says is wrong
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
	state := SwarmState{State: string(s.LocalNodeState), Node: s.NodeID, Addr: s.NodeAddr, Manager: s.ControlAvailable, Error: s.Error}
	if s.Cluster != nil {
		state.Cluster = s.Cluster.ID
	}
	return state, nil
}

// SwarmBoth makes a Swarm of the two engines of a lab and waits until both are
// ready in it. Its networks take their subnets from the lab's addresses. It goes
// with the engines.
func SwarmBoth(ctx context.Context, l *lab.Lab, a, b *Private) error {
	return NewSwarm(ctx, l.Pool(lab.PoolSwarm), SwarmNode{a.Engine, l.A.Addr[0]}, SwarmNode{b.Engine, l.B.Addr[0]})
}

// NewSwarm makes a Swarm: manager begins it, workers join it, and all are ready
// when it returns, which may take half a minute at most, and a second usually. Subnets of its networks
// come from pool; the engine chooses where that is the zero Prefix. On error the
// engines that had joined have left again.
func NewSwarm(ctx context.Context, pool netip.Prefix, manager SwarmNode, workers ...SwarmNode) error {
	ctx, cancel := context.WithTimeoutCause(ctx, swarmWithin, fmt.Errorf("its nodes were not ready within %v", swarmWithin))
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
func joinAll(ctx context.Context, pool netip.Prefix, manager SwarmNode, workers []SwarmNode) (in []SwarmNode, err error) {
	o := client.SwarmInitOptions{ListenAddr: listen(manager.Addr), AdvertiseAddr: manager.Addr.String(), DataPathAddr: manager.Addr.String()}
	if pool.IsValid() {
		o.DefaultAddrPool, o.SubnetSize = []netip.Prefix{pool}, lab.PoolBits
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
