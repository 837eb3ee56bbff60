package rootless

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

// usualMTU of the sandbox is what rootless Docker and Podman give their users with either
// program, and the most that both take. The least is IPv6's.
const usualMTU = 65520

// Probe builds the mode once and takes it down again.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on a lab of its own, with 1 to MaxPairs pairs of ends, each
// with a sandbox and a process of its own.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	which, out := split(o.Mode)
	var prog program
	switch which {
	case slirp:
		prog = slirp4netns{}
	case pasta:
		prog = passt{}
	default:
		return nil, fmt.Errorf("driver rootless has no mode %q", o.Mode)
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	mtu := cmp.Or(o.MTU, usualMTU)
	if mtu < lab.MinMTU || mtu > usualMTU {
		return nil, fmt.Errorf("provision %s: an MTU of %d cannot be had in the sandbox: %s takes from %d to %d", o.Mode, mtu, prog.name(), lab.MinMTU, usualMTU)
	}
	found, err := find(ctx, prog, o.Mode)
	if err != nil {
		return nil, err
	}
	l, err := lab.Up(o.Lab)
	if err != nil {
		return nil, err
	}
	p := &path{Path: procpath.Path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, OnLab: l, Label: "the network of a sandbox"}, mtu: mtu, prog: found}
	p.AddFact(prog.name(), found.version+" ("+found.path+")")
	p.AddFact("sandbox MTU", strconv.Itoa(mtu))
	if err := p.build(ctx, out); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, p.ExplainError(err)), p.Close(ctx))
	}
	return p.DriverPath(driver.Path{}, p), nil
}

// find looks for the program, for its version, and for what it needs of the machine.
func find(ctx context.Context, prog program, mode string) (installed, error) {
	got, err := lookUp(ctx, prog)
	if err != nil {
		return got, &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	if err := linuxnet.CheckTUN(); err != nil {
		return got, &driver.Unsupported{Mode: mode, Reason: err.Error()}
	}
	return got, nil
}
