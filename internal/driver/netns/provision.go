//go:build linux

package netns

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/setting"
	"tare/internal/lab"
)

// builder returns the function that builds a mode.
func builder(id string) (func(*path) error, error) {
	switch id {
	case Host, "netns/published":
		return func(p *path) error { return p.crossing(false) }, nil
	case HostLocal:
		return (*path).hostLocal, nil
	case "netns/bridge", "netns/routed", "netns/ptp", "netns/ebpf":
		return func(p *path) error { return p.crossing(true) }, nil
	case "netns/colocated":
		return (*path).colocated, nil
	case "netns/macvlan":
		return (*path).macvlan, nil
	case "netns/ipvlan":
		return (*path).ipvlan, nil
	case "netns/vxlan":
		return (*path).vxlan, nil
	case "netns/netkit":
		return (*path).onNetkit, nil
	default:
		return nil, fmt.Errorf("driver netns has no mode %q", id)
	}
}

// Probe builds the mode once and removes it again, so that the kernel itself answers.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, func(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
		p, err := d.Provision(ctx, o)
		if err != nil {
			return nil, unsupported(o.Mode, err)
		}
		return p, nil
	})
}

// Provision builds the mode in its own lab, with 1 to ManyPairs pairs, or MaxPairs on one subnet.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	build, err := builderWithRules(ctx, o.Order)
	if err != nil {
		return nil, err
	}
	check := o.CheckManyPairs
	if onOneSubnet(o.Mode) {
		check = o.CheckNoLimits
	}
	if err := check(); err != nil {
		return nil, err
	}
	parts, err := o.KeptParts(d.mode(o.Mode), partNeeds())
	if err != nil {
		return nil, err
	}
	mtu, err := sandboxMTU(&o, parts)
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(o.Lab)
	if err != nil {
		return nil, err
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, lab: l, parts: parts, mtu: mtu}
	if err = build(p); err == nil {
		err = setting.Apply(&p.Path, o.With)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), p.close(ctx))
	}
	return p.DriverPath(driver.Path{Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), FlushConnections: p.flushConnections, Checks: p.checks, Close: p.close, Internal: p}), nil
}

// mode returns a mode of this driver.
func (d Driver) mode(id string) driver.Mode {
	modes := d.Modes()
	return modes[slices.IndexFunc(modes, func(m driver.Mode) bool { return m.ID == id })]
}

// onOneSubnet reports whether the clients and servers of a mode share a subnet.
func onOneSubnet(mode string) bool {
	return slices.Contains([]string{"netns/colocated", "netns/macvlan", "netns/ipvlan", "netns/vxlan"}, mode)
}

// maxVethMTU is the maximum MTU of a veth and of a bridge, one byte less than that of
// loopback.
const maxVethMTU = 65535

// sandboxMTU returns the MTU of the sandboxes' devices. The lab's may change with it.
func sandboxMTU(o *labdriver.Order, parts labdriver.PartSet) (int, error) {
	switch {
	case o.Mode == "netns/vxlan":
		return vxlanMTU(o, parts)
	case o.Mode == "netns/colocated" && !parts[partMTU]:
		return maxVethMTU, nil
	}
	return o.Lab.MTU, nil
}
