package rootless

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/lab"
	"tare/internal/linuxnet"
)

// defaultMTU is the MTU that rootless Docker and Podman use in the sandbox with either
// program, and the maximum of both. The minimum is IPv6's.
const defaultMTU = 65520

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs, each with its own
// sandbox and process.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("rootless", o.Mode)
	if err != nil {
		return nil, err
	}
	var prog program = slirp4netns{}
	if row.Build.program == pasta {
		prog = passt{}
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	kept, err := o.KeptParts(row.Mode, partNeeds())
	if err != nil {
		return nil, err
	}
	mtu, err := sandboxMTU(o, prog, kept)
	if err != nil {
		return nil, err
	}
	var found installed
	if kept[partProcess] {
		if found, err = findProgram(ctx, prog, o.Mode); err != nil {
			return nil, err
		}
	}
	base, err := labdriver.Up(o, "the network of a sandbox")
	if err != nil {
		return nil, err
	}
	p := &path{Path: base, mtu: mtu, parts: kept, prog: found}
	if kept[partProcess] {
		p.AddDeciding(prog.name(), found.version+" ("+found.path+")")
	}
	if kept[partNamespace] {
		p.AddDeciding("sandbox MTU", strconv.Itoa(mtu))
	}
	if err := p.build(ctx, row.Build.out); err != nil {
		return nil, p.Failed(ctx, err)
	}
	return p.DriverPath(driver.Path{}, p), nil
}

// sandboxMTU returns the MTU of the sandbox's device: the requested one or the default, and
// without the part mtu that of the underlay.
func sandboxMTU(o labdriver.Order, prog program, kept labdriver.PartSet) (int, error) {
	if kept[partMTU] {
		mtu := cmp.Or(o.MTU, defaultMTU)
		if mtu < lab.MinMTU || mtu > defaultMTU {
			return 0, fmt.Errorf("provision %s: the sandbox cannot have an MTU of %d; %s supports %d to %d", o.Mode, mtu, prog.name(), lab.MinMTU, defaultMTU)
		}
		return mtu, nil
	}
	if o.MTU != 0 {
		return 0, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("an MTU of %d is requested, and the part %s, which sets it, is off; leave out one of the two", o.MTU, partMTU)}
	}
	return o.Lab.MTU, nil
}

// findProgram finds the program and its version, and checks what it requires of the machine.
func findProgram(ctx context.Context, prog program, mode string) (installed, error) {
	got, err := lookUp(ctx, prog)
	if err != nil {
		return got, &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return got, &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	return got, nil
}
