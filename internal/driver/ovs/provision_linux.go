package ovs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/procpath"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// overhead is what either tunnel adds to a packet over IPv4: outer IPv4 20, UDP 8, its own
// header 8 and the inner Ethernet header 14 (RFC 7348 section 5; RFC 8926 section 3.4,
// without options).
const overhead = 50

// Probe builds the mode once and takes it down again.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on a lab of its own, with 1 to MaxPairs pairs of ends and a
// private switch on each host.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	way, process := split(o.Mode)
	most := o.Lab.MTU
	switch way {
	case flat:
	case vxlan, geneve:
		most -= overhead
	default:
		return nil, fmt.Errorf("driver ovs has no mode %q", o.Mode)
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	mtu := cmp.Or(o.MTU, most)
	if mtu < lab.MinMTU || mtu > most {
		return nil, fmt.Errorf("provision %s: an MTU of %d cannot be had on the switch: the underlay's is %d; from %d to %d fit", o.Mode, mtu, o.Lab.MTU, lab.MinMTU, most)
	}
	progs, err := find(ctx)
	if err != nil && ctx.Err() != nil { // time was too short to ask, which tells nothing of what there is
		return nil, fmt.Errorf("provision %s: %w (%w)", o.Mode, err, context.Cause(ctx))
	}
	if err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	if err := needs(process); err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: err.Error()}
	}
	l, err := lab.Up(o.Lab)
	if err != nil {
		return nil, err
	}
	p := &path{Path: procpath.Path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, OnLab: l, Label: "the switch"}, mtu: mtu, way: way, process: process}
	p.AddFact("Open vSwitch", progs.version+" ("+progs.switchd+")")
	p.AddFact("sandbox MTU", strconv.Itoa(mtu))
	if err := p.build(ctx, progs); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.ExplainError(err)), p.Close(ctx))
	}
	return p.DriverPath(driver.Path{IgnoredDropReasons: p.discards()}, p), nil
}

// needs says what this machine lacks for who switches.
func needs(process bool) error {
	if !process {
		if err := linuxnet.CheckGenlFamily("ovs_datapath"); err != nil {
			return fmt.Errorf("the kernel lacks Open vSwitch's datapath (CONFIG_OPENVSWITCH; modprobe openvswitch): %w; the mode with %s behind its name switches without it", err, netdev)
		}
		return nil
	}
	return linuxnet.CheckTUN()
}
