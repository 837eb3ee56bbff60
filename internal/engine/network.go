package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"tare/internal/timelimit"
)

// NetworkSpec describes a network to create.
type NetworkSpec struct {
	Run        string // the run's id, by which tare gc finds it
	Name       string // see Name
	Driver     string // bridge, macvlan, overlay or any other that the engine has; empty for the engine's default
	Options    map[string]string
	Subnet     netip.Prefix // IPv4; invalid leaves it to the engine
	Subnet6    netip.Prefix // IPv6; invalid for a network without it
	Range      netip.Prefix // part of Subnet to assign addresses from; invalid for all of it
	Gateway    netip.Addr   // invalid leaves it to the engine
	Attachable bool         // of a Swarm's network: standalone containers may join
	Internal   bool         // without a route to the outside
}

// Network is a network as an engine describes it.
type Network struct {
	ID, Name   string
	Driver     string
	Scope      string // local, or swarm
	Attachable bool
	Options    map[string]string
	Labels     map[string]string
	Subnets    []netip.Prefix
	Gateways   []netip.Addr
	// Joined are the addresses of the containers on it, by container name, as far as this engine
	// knows them.
	Joined map[string]netip.Addr
	// Peers are the addresses, within the Swarm, of the engines with containers on it, as far as
	// this engine knows them. It includes this engine while that has any.
	Peers []netip.Addr
}

// CreateNetwork creates a network with the run's label.
func (e *Engine) CreateNetwork(ctx context.Context, spec NetworkSpec) (Network, error) {
	o := client.NetworkCreateOptions{
		Driver: spec.Driver, Options: spec.Options, Attachable: spec.Attachable, Internal: spec.Internal,
		Labels: labels(spec.Run, "network"),
	}
	if spec.Subnet.IsValid() {
		o.IPAM = &network.IPAM{Config: []network.IPAMConfig{{Subnet: spec.Subnet, IPRange: spec.Range, Gateway: spec.Gateway}}}
	}
	if spec.Subnet6.IsValid() {
		if o.IPAM == nil {
			o.IPAM = &network.IPAM{}
		}
		with := true
		o.EnableIPv6 = &with
		o.IPAM.Config = append(o.IPAM.Config, network.IPAMConfig{Subnet: spec.Subnet6})
	}
	doing := fmt.Sprintf("create network %s with driver %s", spec.Name, cmp.Or(spec.Driver, network.NetworkBridge))
	if spec.Subnet.IsValid() {
		doing += " and subnet " + spec.Subnet.String()
	}
	if err := e.free(ctx, spec.Name); err != nil {
		return Network{}, e.fail(err, "%s", doing)
	}
	if err := e.knows(ctx, spec.Driver); err != nil {
		return Network{}, e.fail(err, "%s", doing)
	}
	made, err := toEnd(ctx, func(ctx context.Context) (client.NetworkCreateResult, error) {
		return e.api.NetworkCreate(ctx, spec.Name, o)
	})
	if err != nil {
		return Network{}, e.fail(err, "%s", doing)
	}
	n, err := e.waitNetworkReady(ctx, made.ID)
	if err != nil {
		return Network{}, errors.Join(err, e.RemoveNetwork(context.WithoutCancel(ctx), made.ID))
	}
	return n, nil
}

// networkReadyTimeout bounds how long a Swarm may take to assign subnets to a network. It takes
// milliseconds; a network whose driver needs none never gets any.
func networkReadyTimeout() time.Duration { return timelimit.Scaled(2 * time.Second) }

// waitNetworkReady returns a network that was just created. A Swarm assigns its subnets only after
// it has reported the creation.
func (e *Engine) waitNetworkReady(ctx context.Context, id string) (Network, error) {
	for deadline := time.Now().Add(networkReadyTimeout()); ; {
		n, err := e.Network(ctx, id)
		if err != nil || n.Scope != ScopeSwarm || len(n.Subnets) > 0 || time.Now().After(deadline) {
			return n, err
		}
		select {
		case <-ctx.Done():
			return n, context.Cause(ctx)
		case <-time.After(removeNetworkInterval):
		}
	}
}

// free returns an error if a network has the name. Older engines would create a second one of the
// same name.
func (e *Engine) free(ctx context.Context, name string) error {
	found, err := e.api.NetworkList(ctx, client.NetworkListOptions{Filters: client.Filters{}.Add("name", name)})
	if err != nil {
		return err
	}
	for _, n := range found.Items { // the filter also matches parts of names
		if n.Name == name {
			return fmt.Errorf("network with name %s already exists", name)
		}
	}
	return nil
}

// knows returns an error if no plugin of a private engine has the driver's name. The engine itself
// would search for about 15 s.
func (e *Engine) knows(ctx context.Context, driver string) error {
	if driver == "" || len(e.local.Plugins) == 0 {
		return nil
	}
	i, err := e.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return err
	}
	if slices.Contains(i.Info.Plugins.Network, driver) {
		return nil
	}
	for _, dir := range e.local.Plugins {
		for _, name := range []string{driver + ".sock", filepath.Join(driver, driver+".sock"), driver + ".spec", driver + ".json"} {
			if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
				return nil
			}
		}
	}
	return fmt.Errorf("plugin %q not found", driver)
}

// Network returns the network with that name or id.
func (e *Engine) Network(ctx context.Context, name string) (Network, error) {
	got, err := e.api.NetworkInspect(ctx, name, client.NetworkInspectOptions{})
	if err != nil {
		return Network{}, e.fail(err, "inspect network %s", name)
	}
	n := got.Network
	out := Network{
		ID: n.ID, Name: n.Name, Driver: n.Driver, Scope: n.Scope, Attachable: n.Attachable,
		Options: maps.Clone(n.Options), Labels: maps.Clone(n.Labels), Joined: map[string]netip.Addr{},
	}
	for _, c := range n.IPAM.Config {
		out.Subnets = append(out.Subnets, c.Subnet)
		if c.Gateway.IsValid() {
			out.Gateways = append(out.Gateways, c.Gateway)
		}
	}
	for _, c := range n.Containers {
		out.Joined[c.Name] = c.IPv4Address.Addr()
	}
	for _, p := range n.Peers {
		out.Peers = append(out.Peers, p.IP)
	}
	return out, nil
}

// DefaultBridge reports whether containers that name no network join n: bridge with Docker, podman with Podman.
func (n Network) DefaultBridge() bool { return n.Name == "bridge" || n.Name == "podman" }

// Networks lists the networks of the engine by name, without their containers and peers.
func (e *Engine) Networks(ctx context.Context) ([]Network, error) {
	found, err := e.api.NetworkList(ctx, client.NetworkListOptions{})
	if err != nil {
		return nil, e.fail(err, "list the networks")
	}
	var out []Network
	for _, n := range found.Items {
		out = append(out, Network{ID: n.ID, Name: n.Name, Driver: n.Driver, Scope: n.Scope, Attachable: n.Attachable, Labels: maps.Clone(n.Labels)})
	}
	slices.SortFunc(out, func(a, b Network) int { return cmp.Compare(a.Name, b.Name) })
	return out, nil
}

// removeNetworkInterval is the interval of RemoveNetwork's attempts while the last containers leave
// a network.
const removeNetworkInterval = 20 * time.Millisecond

// RemoveNetwork removes the network with that name or id. A missing network is not an error. If a
// container is just leaving it, RemoveNetwork retries until ctx ends, for at most a second on an idle machine.
func (e *Engine) RemoveNetwork(ctx context.Context, name string) error {
	wait, cancel := context.WithTimeout(ctx, timelimit.Scaled(time.Second))
	defer cancel()
	for {
		_, err := e.api.NetworkRemove(ctx, name, client.NetworkRemoveOptions{})
		// A network of a Swarm that no longer exists is unknown, and Docker 20.10 reports that as
		// an internal error.
		if err == nil || isNotFound(err) || e.ended(err) || strings.HasSuffix(err.Error(), "not found") {
			return nil
		}
		if !isConflict(err) {
			return e.fail(err, "remove network %s", name)
		}
		select {
		case <-wait.Done():
			return e.fail(err, "remove network %s", name)
		case <-time.After(removeNetworkInterval):
		}
	}
}

// SeesPeer reports whether this engine knows from its Swarm that another engine has containers on a
// network. It is false if this engine does not know the network, because it has no container on it.
func (e *Engine) SeesPeer(ctx context.Context, network string, other *Engine) (bool, error) {
	s, err := other.Swarm(ctx)
	if err != nil {
		return false, err
	}
	at, err := netip.ParseAddr(s.Addr)
	if err != nil {
		return false, fmt.Errorf("engine %s: read its address in the Swarm: %w", other.Name, err)
	}
	n, err := e.Network(ctx, network)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return slices.Contains(n.Peers, at), err
}

// leaveNetworkTimeout bounds how long an engine may take to leave a Swarm's network after its last
// container on it was removed. It takes about 0.1 s, and longer on a busy machine. A container that
// is started before then does not rejoin the network correctly.
func leaveNetworkTimeout() time.Duration { return timelimit.Scaled(10 * time.Second) }

// LeaveNetwork waits until the engine has left a Swarm's network, which happens shortly after its
// last container there was removed. It is not an error if the engine has other containers on the
// network and stays.
func (e *Engine) LeaveNetwork(ctx context.Context, network string) error {
	for deadline := time.Now().Add(leaveNetworkTimeout()); ; {
		on, err := e.SeesPeer(ctx, network, e)
		if err != nil || !on || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(removeNetworkInterval):
		}
	}
}
