package existing

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/engine"
	"tare/internal/study/suggest"
)

// Check reports what modes require and their engines lack: an existing network, or the default bridge. It only
// reads. Modes of other targets are passed over.
func (d *Driver) Check(ctx context.Context, modes []string) error {
	for _, mode := range modes {
		m, _ := modeOf(mode)
		if !m.bridge && !m.network {
			continue
		}
		a, b := d.endsOf(m)
		if m.raw.Client || a == len(d.hosts) { // the client is no container
			a = b
		}
		for _, i := range slices.Compact([]int{a, b}) {
			e, err := d.engine(ctx, i)
			if err == nil && m.network {
				_, err = usableNetwork(ctx, e, containers.Parameter(mode), d.name(i))
			} else if err == nil {
				err = hasBridge(ctx, e, d.name(i))
			}
			if err != nil {
				return fmt.Errorf("mode %s: %w", mode, err)
			}
		}
	}
	return nil
}

// usableNetwork returns the network of that name, if containers of a run can join it.
func usableNetwork(ctx context.Context, e *engine.Engine, name, host string) (engine.Network, error) {
	n, err := e.Network(ctx, name)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		all, err := e.Networks(ctx)
		if err != nil {
			return n, err
		}
		var names []string
		for _, n := range all {
			names = append(names, n.Name)
		}
		return n, asked("%s", suggest.Unknown("network", name, " of the engine of host "+host, names))
	case err != nil:
		return n, err
	case n.Driver == "host" || n.Driver == "null":
		return n, asked("network %s of host %s does not assign addresses to containers (driver %s)", name, host, n.Driver)
	case n.Scope == engine.ScopeSwarm && !n.Attachable:
		return n, asked("network %s is a Swarm network that only services may join; create it with --attachable", name)
	}
	return n, nil
}

func asked(format string, args ...any) error {
	return &driver.AskedError{Err: fmt.Errorf(format, args...)}
}

// hasBridge reports an engine without a default bridge, as with "bridge": "none" in its configuration.
func hasBridge(ctx context.Context, e *engine.Engine, host string) error {
	all, err := e.Networks(ctx)
	if err == nil && !slices.ContainsFunc(all, engine.Network.DefaultBridge) {
		err = fmt.Errorf("the engine of host %s has no default bridge; measure docker/network:NAME for one of its networks, or remove \"bridge\": \"none\" from its configuration", host)
	}
	return err
}
