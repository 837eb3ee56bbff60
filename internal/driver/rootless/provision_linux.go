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

// defaultMTU is the MTU that rootless Docker and Podman use in the sandbox with either
// program, and the maximum of both. The minimum is IPv6's.
const defaultMTU = 65520

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs, each with its own
// sandbox and process.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	which, out := splitMode(o.Mode)
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
	mtu := cmp.Or(o.MTU, defaultMTU)
	if mtu < lab.MinMTU || mtu > defaultMTU {
		return nil, fmt.Errorf("provision %s: the sandbox cannot have an MTU of %d; %s supports %d to %d", o.Mode, mtu, prog.name(), lab.MinMTU, defaultMTU)
	}
	found, err := findProgram(ctx, prog, o.Mode)
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
