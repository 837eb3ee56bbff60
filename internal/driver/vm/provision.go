//go:build linux

package vm

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/pathspec"
	"tare/internal/guest"
	"tare/internal/guest/kernel"
	"tare/internal/lab"
)

// shared caches what is determined once for all modes of a program.
type shared struct{ accels guest.Accelerators }

// Probe boots the mode's guest once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab: a guest for each pair, or one guest for all
// sandboxes.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	row, err := rows().Find("vm", o.Mode)
	if err != nil {
		return nil, err
	}
	if err := o.CheckNoLimits(); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(o.Options)) {
		if name != OptionKernel && name != OptionAccel {
			return nil, fmt.Errorf("provision %s: unknown option %q; %s is a kernel image or the directory that it was unpacked into, %s is kvm or tcg", o.Mode, name, OptionKernel, OptionAccel)
		}
	}
	p := &path{Path: pathspec.Path{Mode: o.Mode, PairCount: o.Pairs}, kind: row.Build}
	err = d.build(ctx, p, o)
	if err == nil {
		return p.DriverPath(driver.Path{
			Hosts: labdriver.Hosts(), Underlay: labdriver.Underlay(o.Lab), Facts: p.about(), Emulated: p.emulated(), Processes: p.processes,
			Checks: []func() error{p.owned}, FlushConnections: p.forget, Close: p.close, Internal: p,
		}), nil
	}
	if closed := p.close(ctx); closed != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", o.Mode, err), closed)
	}
	if lacking, ok := guest.AsUnavailable(err); ok {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: lacking.Reason}
	}
	return nil, fmt.Errorf("provision %s: %w", o.Mode, err)
}

func (d Driver) build(ctx context.Context, p *path, o labdriver.Order) (err error) {
	if p.attach == passt {
		if p.passt, err = findPasst(); err != nil {
			return err
		}
	}
	if p.kernel, err = d.kernel(o.Options[OptionKernel]); err != nil {
		return err
	}
	if p.lab, err = lab.Up(o.Lab); err != nil {
		return err
	}
	sh := d.shared
	if sh == nil {
		sh = &shared{}
	}
	asked := o.Options[OptionAccel]
	if asked == "" {
		asked = d.Accel
	}
	if p.accel, p.whyAccel, err = sh.accels.Choose(ctx, asked, p.lab.A.NS, o.Lab.Claim.ID, p.kernel); err != nil {
		return err
	}
	switch {
	case p.container:
		return p.inside(ctx)
	case p.attach == tap:
		return p.bridged(ctx)
	}
	return p.forwarded(ctx)
}

// kernel finds the guests' kernel.
func (d Driver) kernel(asked string) (kernel.Kernel, error) {
	at := asked
	if at == "" {
		at = d.Kernel
	}
	if at == "" {
		at = "/"
	}
	k, err := kernel.Find(at)
	if err != nil {
		return k, &guest.UnavailableError{Reason: fmt.Sprintf("guests need a Linux kernel with its modules: %s; unpack a distribution's kernel package and name the directory "+
			"in $%s, or with the mode's option %s", strings.ReplaceAll(err.Error(), "\n", "; "), KernelVariable, OptionKernel)}
	}
	return k, nil
}
