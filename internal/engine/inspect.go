package engine

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"tare/internal/study"
)

func (c *Container) inspect(ctx context.Context) (container.InspectResponse, error) {
	got, err := c.engine.api.ContainerInspect(ctx, c.ID, client.ContainerInspectOptions{})
	if err != nil {
		return container.InspectResponse{}, c.engine.fail(err, "look at container %s", c.Name)
	}
	return got.Container, nil
}

// read keeps what the engine says of a container that runs.
func (c *Container) read(got container.InspectResponse) {
	if got.State != nil {
		c.pid = got.State.Pid
	}
	if h := got.HostConfig; h != nil {
		c.Limit = study.Limit{CPUs: float64(h.NanoCPUs) / 1e9, Memory: study.Size(h.Memory)}
	}
	c.Endpoints = nil
	if got.NetworkSettings == nil {
		return
	}
	for name, n := range got.NetworkSettings.Networks {
		if n == nil {
			continue
		}
		e := Endpoint{Network: name, NetworkID: n.NetworkID, Gateway: n.Gateway, MAC: n.MacAddress.String()}
		for _, a := range []struct {
			addr netip.Addr
			bits int
		}{{n.IPAddress, n.IPPrefixLen}, {n.GlobalIPv6Address, n.GlobalIPv6PrefixLen}} {
			if a.addr.IsValid() {
				e.Addresses = append(e.Addresses, netip.PrefixFrom(a.addr, a.bits))
			}
		}
		if len(e.Addresses) > 0 {
			c.Endpoints = append(c.Endpoints, e)
		}
	}
	slices.SortFunc(c.Endpoints, func(a, b Endpoint) int { return cmp.Compare(a.Network, b.Network) })
}

// State asks the engine how the container is. errors.Is(err, ErrNotFound) says that
// it was removed.
func (c *Container) State(ctx context.Context) (State, error) {
	got, err := c.inspect(ctx)
	if err != nil || got.State == nil {
		return State{}, err
	}
	s := got.State
	return State{Running: s.Running, ExitCode: s.ExitCode, OOM: s.OOMKilled, Error: s.Error, PID: s.Pid}, nil
}
