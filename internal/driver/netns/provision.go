//go:build linux

package netns

import (
	"context"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/setting"
)

// Probe builds the mode once and removes it again, so that the kernel itself answers.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, func(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
		p, err := d.Provision(ctx, o)
		if err != nil {
			return nil, unsupported(o.Mode, rows(), err)
		}
		return p, nil
	})
}

// Provision builds the mode in its own lab, with 1 to ManyPairs pairs, or MaxPairs on one subnet.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("netns", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := checkRules(o.Order); err != nil {
		return nil, err
	}
	check := o.CheckManyPairs
	if row.Build.oneSubnet {
		check = o.CheckNoLimits
	}
	if err := check(); err != nil {
		return nil, err
	}
	parts, err := o.KeptParts(row.Mode, partNeeds())
	if err != nil {
		return nil, err
	}
	mtu := o.Lab.MTU
	if row.Build.mtu != nil {
		if mtu, err = row.Build.mtu(&o, parts); err != nil {
			return nil, err
		}
	}
	base, err := labdriver.Up(o, "the network")
	if err != nil {
		return nil, err
	}
	p := &path{Path: base, parts: parts, mtu: mtu}
	if err = row.Build.build(p); err == nil {
		err = addRules(ctx, p, o.With)
	}
	if err == nil {
		err = setting.Apply(&p.Path.Path, o.With)
	}
	if err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{FlushConnections: p.flushConnections, Events: p.events}, p), nil
}
