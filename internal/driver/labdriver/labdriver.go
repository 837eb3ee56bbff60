// Package labdriver is what the drivers share that build modes on the hosts of a lab:
// the order with the lab that it is to stand on, and the labs of a run, of which each
// mode has one to itself.
package labdriver

import (
	"cmp"
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/study"
)

// ModeSpec is a driver's order with the lab on which the mode is built.
type ModeSpec struct {
	driver.ModeSpec
	Lab lab.Spec
}

// SpecOn is an order with the lab that it is to be carried out on, of the lab's run.
func SpecOn(in lab.Spec, o driver.ModeSpec) ModeSpec {
	o.Name, o.Run, o.Label = cmp.Or(o.Name, o.Mode), in.Claim.ID, in.Label
	return ModeSpec{o, in}
}

// Driver builds modes on labs. Every mode has a lab of its own, which Provision makes
// and the path's Close takes down: what one mode leaves on a host, such as connection
// tracking, must not burden another.
type Driver interface {
	// Modes lists what can be built. It needs no rights.
	Modes() []driver.Mode
	// Probe is as that of driver.Driver. Of the order's lab only Pin counts: see Try.
	Probe(ctx context.Context, o ModeSpec) error
	// Provision builds what is ordered, the lab included. On error nothing is left.
	Provision(ctx context.Context, o ModeSpec) (*driver.Path, error)
}

// Labs are the labs of one run.
type Labs struct {
	Claim lab.Claim
	Pin   bool // name the namespaces under /run/netns; needs the real root
	// LabFor is the lab that the study wants for a mode, by the mode's name in the study.
	LabFor func(mode string) study.Lab
}

// On is a driver of labs as a run has it: on the run's own.
func On(labs *Labs, d Driver) driver.Driver { return bound{labs, d} }

type bound struct {
	labs *Labs
	on   Driver
}

func (d bound) Modes() []driver.Mode { return d.on.Modes() }

func (d bound) Probe(ctx context.Context, o driver.ModeSpec) error {
	return d.on.Probe(ctx, ModeSpec{o, lab.Spec{Pin: d.labs.Pin}})
}

// errNoLabs is what Provision says of labs that no run has begun.
var errNoLabs = errors.New("no slot of addresses was claimed for the run")

func (d bound) Provision(ctx context.Context, o driver.ModeSpec) (*driver.Path, error) {
	if d.labs.LabFor == nil {
		return nil, errNoLabs
	}
	in := d.labs.LabFor(o.Name)
	return d.on.Provision(ctx, SpecOn(lab.Spec{
		Claim: d.labs.Claim, Label: o.Label, MTU: in.MTU, Rate: uint64(in.Rate), Offload: in.Offload != study.Off, Pin: d.labs.Pin,
	}, o))
}

// ProbeByProvision builds what is ordered once, with one pair and on a lab of its own, and takes it
// down again: the kernel's own answer. Of the order's lab only Pin is kept. The error is
// provision's, or that of taking it down.
func ProbeByProvision(ctx context.Context, o ModeSpec, provision func(context.Context, ModeSpec) (*driver.Path, error)) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	o.Pairs = 1
	p, err := provision(ctx, SpecOn(lab.Spec{Claim: claim, Label: o.Mode, MTU: lab.DefaultMTU, Offload: true, Pin: o.Lab.Pin}, o.ModeSpec))
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// Hosts are those of a lab: two, on this machine.
func Hosts() []driver.Host {
	return []driver.Host{{Name: "a", Local: true}, {Name: "b", Local: true}}
}

// Underlay is the link between a lab's hosts.
func Underlay(s lab.Spec) *driver.Underlay { return &driver.Underlay{Rate: s.Rate, MTU: s.MTU} }
