package ovs

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/vswitch"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs and a private switch
// on each host.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("ovs", o.Mode)
	if err != nil {
		return nil, err
	}
	most := o.Lab.MTU - row.Headers
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	if row.Build.encapsulation == flat && o.Lab.Link != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "between two machines the hosts share a network card with the machines, which receives no frames for the hardware addresses of the sandboxes; measure ovs/vxlan or ovs/vxlan" + netdev}
	}
	if row.Build.logical && o.Lab.Link != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: "between two machines: its databases are reached through a socket file, which only one machine has; measure ovs/geneve" + netdev}
	}
	mtu := cmp.Or(o.MTU, most)
	if mtu < lab.MinMTU || mtu > most {
		return nil, fmt.Errorf("provision %s: the switch cannot have an MTU of %d, because the underlay's is %d; use %d to %d", o.Mode, mtu, o.Lab.MTU, lab.MinMTU, most)
	}
	var progs vswitch.Programs
	var ovn vswitch.OVN
	if err = progs.Find(ctx); err == nil && row.Build.logical {
		err = ovn.Find(ctx)
	}
	if err != nil && ctx.Err() != nil { // timed out, which does not tell what is installed
		return nil, fmt.Errorf("provision %s: %w (%w)", o.Mode, err, context.Cause(ctx))
	}
	if err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	if err := checkRequirements(row.Build.process); err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	base, err := labdriver.Up(o, "the switch")
	if err != nil {
		return nil, err
	}
	p := &path{Path: base, way: row.Build, mtu: mtu, central: vswitch.Central{OVN: ovn}}
	if text := o.With[settingACLs]; text != "" {
		if p.acls, err = strconv.Atoi(text); err != nil {
			return nil, p.Failed(ctx, err)
		}
	}
	if p.logical {
		p.AddDeciding("OVN", ovn.String())
	}
	p.AddDeciding("Open vSwitch", progs.String())
	p.AddDeciding("sandbox MTU", strconv.Itoa(mtu))
	if err := p.build(ctx, progs); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{IgnoredDropReasons: p.discards()}, p), nil
}

// checkRequirements returns what this machine lacks for the kernel or the userspace datapath.
func checkRequirements(process bool) error {
	if !process {
		if err := linuxnet.CheckGenlFamily("ovs_datapath"); err != nil {
			return fmt.Errorf("the kernel lacks the Open vSwitch datapath (CONFIG_OPENVSWITCH; modprobe openvswitch): %w; the mode with suffix %s does not need it", err, netdev)
		}
		return nil
	}
	return linuxnet.CheckTUN()
}
