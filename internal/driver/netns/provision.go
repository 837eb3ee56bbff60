//go:build linux

package netns

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/driver"
	"tare/internal/lab"
)

// MaxPairs is how many pairs a path can have: so many have addresses of their own
// in every subnet of a lab.
const MaxPairs = 100

// builder finds what builds a mode.
func builder(id string) (func(*path) error, error) {
	switch id {
	case Host:
		return (*path).host, nil
	case HostLocal:
		return (*path).hostLocal, nil
	case "netns/published":
		return (*path).published, nil
	case "netns/bridge":
		return (*path).bridge, nil
	case "netns/colocated":
		return (*path).colocated, nil
	case "netns/macvlan":
		return (*path).macvlan, nil
	case "netns/ipvlan":
		return (*path).ipvlan, nil
	case "netns/vxlan":
		return (*path).vxlan, nil
	default:
		return nil, fmt.Errorf("driver netns has no mode %q", id)
	}
}

// Probe builds the mode once and takes it down again: the kernel's own answer.
func (d Driver) Probe(ctx context.Context, id string) error {
	claim, err := lab.NewClaim()
	if err != nil {
		return err
	}
	defer claim.Release()
	l, err := lab.Up(lab.Spec{Claim: claim, Label: id, MTU: lab.DefaultMTU, Offload: true})
	if err != nil {
		return err
	}
	p, err := d.Provision(ctx, id, l, 1)
	if err != nil {
		return errors.Join(unsupported(id, err), l.Close())
	}
	return errors.Join(p.Close(ctx), l.Close())
}

// Provision builds the mode on a lab, with 1 to MaxPairs pairs of ends.
func (d Driver) Provision(_ context.Context, id string, l *lab.Lab, pairs int) (driver.Path, error) {
	build, err := builder(id)
	if err != nil {
		return nil, err
	}
	if pairs < 1 || pairs > MaxPairs {
		return nil, fmt.Errorf("provision %s: %d pairs of ends asked for; from 1 to %d can be had", id, pairs, MaxPairs)
	}
	p := &path{mode: id, lab: l, count: pairs}
	if err := build(p); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", id, err), p.closeAll())
	}
	return p, nil
}
