// Package netns builds network modes out of the kernel's own parts: each is the
// data path that Docker builds under that name, made with netlink and nftables,
// with no engine needed.
package netns

import (
	"context"
	"errors"
	"fmt"

	"tare/internal/driver"
	"tare/internal/lab"
)

// The two baselines, named for what the other modes are compared with.
const (
	Host      = "host"
	HostLocal = "host-local"
)

// Driver builds the modes of this package.
type Driver struct{}

// mode is a row of the table of what can be built.
type mode struct {
	driver.Mode
	build func(*path) error
}

func modes() []mode {
	return []mode{
		{driver.Mode{ID: Host, Title: "process on a to process on b"}, (*path).host},
		{driver.Mode{ID: HostLocal, Title: "two processes on a, through its own address"}, (*path).hostLocal},
		{driver.Mode{ID: "netns/published", Title: "raw client, server behind a bridge and a published port", Baseline: Host}, (*path).published},
		{driver.Mode{ID: "netns/bridge", Title: "both ends behind bridges, masqueraded and published", Baseline: Host}, (*path).bridge},
		{driver.Mode{ID: "netns/colocated", Title: "two sandboxes on one bridge", Baseline: HostLocal}, (*path).colocated},
		{driver.Mode{ID: "netns/macvlan", Title: "both ends on macvlan devices of the underlay", Baseline: Host}, (*path).macvlan},
		{driver.Mode{ID: "netns/ipvlan", Title: "both ends on ipvlan devices of the underlay", Baseline: Host}, (*path).ipvlan},
		{driver.Mode{ID: "netns/vxlan", Title: "both ends on bridges joined by a VXLAN tunnel", Baseline: Host}, (*path).vxlan},
	}
}

func find(id string) (mode, error) {
	for _, m := range modes() {
		if m.ID == id {
			return m, nil
		}
	}
	return mode{}, fmt.Errorf("driver netns has no mode %q", id)
}

// Modes lists the modes of this package.
func (Driver) Modes() []driver.Mode {
	var out []driver.Mode
	for _, m := range modes() {
		out = append(out, m.Mode)
	}
	return out
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
	p, err := d.Provision(ctx, id, l)
	if err != nil {
		return errors.Join(unsupported(id, err), l.Close())
	}
	return errors.Join(p.Close(ctx), l.Close())
}

// Provision builds the mode on a lab.
func (d Driver) Provision(_ context.Context, id string, l *lab.Lab) (driver.Path, error) {
	m, err := find(id)
	if err != nil {
		return nil, err
	}
	p := &path{mode: id, lab: l}
	if err := m.build(p); err != nil {
		return nil, errors.Join(fmt.Errorf("provision %s: %w", id, err), p.closeAll())
	}
	return p, nil
}
