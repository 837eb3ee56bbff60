// Package labdriver is shared by the drivers that build modes on the hosts of a lab. It
// combines a mode's specification with the lab to build it on, and creates the labs of a
// run, one for each mode.
package labdriver

import (
	"cmp"
	"context"
	"errors"

	"tare/internal/driver"
	"tare/internal/lab"
	"tare/internal/study"
)

// Order is a driver's Order together with the lab on which the mode is built.
type Order struct {
	driver.Order
	Lab lab.Spec
}

// CheckOneMachine is CheckNoLimits for modes whose programs choose something at random: it also rejects one half of a mode
// between two machines. chooses is the clause for that, such as "Incus chooses hardware addresses".
func (o Order) CheckOneMachine(chooses string) error {
	if err := o.CheckNoLimits(); err != nil {
		return err
	}
	if o.Lab.Link != nil {
		return &driver.Unsupported{Mode: o.Mode, Reason: chooses + " at random, so two machines cannot build halves that fit; measure it in a lab on one machine"}
	}
	return nil
}

// SpecOn returns a specification for a lab, with the run id and label of the lab.
func SpecOn(in lab.Spec, o driver.Order) Order {
	o.Name, o.Run, o.Label = cmp.Or(o.Name, o.Mode), in.Claim.ID, in.Label
	return Order{o, in}
}

// Driver builds modes in labs. Every mode has its own lab, which Provision creates and the
// path's Close removes, so that what one mode leaves on a host, such as connection
// tracking, does not affect another.
type Driver interface {
	// Modes lists the modes that can be built. It needs no privileges.
	Modes() []driver.Mode
	// Probe is that of driver.Driver. Of the lab only Pin is used: see ProbeByProvision.
	Probe(ctx context.Context, o Order) error
	// Provision builds the mode, including its lab. On error nothing is left.
	Provision(ctx context.Context, o Order) (*driver.Path, error)
}

// Labs are the labs of one run.
type Labs struct {
	Claim lab.Claim
	Pin   bool // name the namespaces under /run/netns; requires real root
	// LabFor returns the lab settings of a mode, by the mode's name in the study.
	LabFor func(mode string) study.Lab
}

// On adapts a lab driver to driver.Driver, using the labs of a run.
func On(labs *Labs, d Driver) driver.Driver { return runDriver{labs, d} }

type runDriver struct {
	labs   *Labs
	driver Driver
}

func (d runDriver) Modes() []driver.Mode { return d.driver.Modes() }

func (d runDriver) Probe(ctx context.Context, o driver.Order) error {
	return d.driver.Probe(ctx, Order{o, lab.Spec{Pin: d.labs.Pin}})
}

// errNoClaim is returned by Provision before a run has begun.
var errNoClaim = errors.New("no address slot was claimed for the run")

func (d runDriver) Provision(ctx context.Context, o driver.Order) (*driver.Path, error) {
	if d.labs.LabFor == nil {
		return nil, errNoClaim
	}
	in := d.labs.LabFor(o.Name)
	return d.driver.Provision(ctx, SpecOn(lab.Spec{
		Claim: d.labs.Claim, Label: o.Label, MTU: in.MTU, Rate: uint64(in.Rate), Offload: in.Offload != study.Off, Pin: d.labs.Pin,
	}, o))
}

// ProbeByProvision builds the mode once, with one pair and in its own lab, and removes it
// again, so that the kernel itself answers. Of the given lab only Pin is used. It returns
// the error of provision or of the removal.
func ProbeByProvision(ctx context.Context, o Order, provision func(context.Context, Order) (*driver.Path, error)) error {
	claim, err := lab.Standalone()
	if err != nil {
		return err
	}
	defer claim.Release()
	o.Pairs, o.Clock = 1, nil
	p, err := provision(ctx, SpecOn(lab.Spec{Claim: claim, Label: o.Mode, MTU: lab.DefaultMTU, Offload: true, Pin: o.Lab.Pin}, o.Order))
	if err != nil {
		return err
	}
	return p.Close(ctx)
}

// Hosts returns the two hosts of a lab, both on this machine.
func Hosts() []driver.Host {
	return []driver.Host{{Name: "a", Local: true}, {Name: "b", Local: true}}
}

// Underlay returns the link between a lab's hosts.
func Underlay(s lab.Spec) *driver.Underlay { return &driver.Underlay{Rate: s.Rate, MTU: s.MTU} }
