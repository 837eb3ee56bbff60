//go:build linux

package netns

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/setting"
	"tare/internal/lab"
)

// builder returns the function that builds a mode.
func builder(id string) (func(*path) error, error) {
	switch id {
	case Host:
		return (*path).host, nil
	case HostLocal:
		return (*path).hostLocal, nil
	case "netns/published":
		return (*path).published, nil
	case "netns/bridge":
		return (*path).bridge, nil
	case "netns/colocated":
		return (*path).colocated, nil
	case "netns/macvlan":
		return (*path).macvlan, nil
	case "netns/ipvlan":
		return (*path).ipvlan, nil
	case "netns/vxlan":
		return (*path).vxlan, nil
	default:
		return nil, fmt.Errorf("driver netns has no mode %q", id)
	}
}

// Probe builds the mode once and removes it again, so that the kernel itself answers.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, func(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
		p, err := d.Provision(ctx, o)
		if err != nil {
			return nil, unsupported(o.Mode, err)
		}
		return p, nil
	})
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	build, err := builder(o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	l, err := lab.Up(o.Lab)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, lab: l, mtu: o.MTU}
	if err = build(p); err == nil {
		err = setting.Apply(&p.Path, o.With)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), p.close(ctx))
	}
	return p.DriverPath(driver.Path{Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), FlushConnections: p.flushConnections, Close: p.close, Internal: p}), nil
}
