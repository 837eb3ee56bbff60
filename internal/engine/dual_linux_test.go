package engine_test

import (
	"net/netip"
	"slices"
	"testing"

	"tare/internal/engine"
	"tare/internal/engine/private"
	"tare/internal/lab"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// A network of both families gives a container the requested addresses.
func TestFixedAddressesOfBothFamilies(t *testing.T) {
	drivertest.NeedEngine(t)
	l := drivertest.Lab(t, nil)
	if !l.IPv6 {
		testneed.Missing(t, testneed.IPv6, "the lab has none")
	}
	p := must.Get(private.Start(t.Context(), l, l.A))(t)
	t.Cleanup(func() { must.Do(t, p.Close()) })
	run, on := l.Spec.Claim.ID, l.Addresses(lab.NetUnderlay, 0)
	n := must.Get(p.CreateNetwork(t.Context(), engine.NetworkSpec{
		Run: run, Name: engine.Name(run, "both"), Driver: "macvlan", Options: map[string]string{"parent": l.A.Underlay},
		Subnet: on[0], Subnet6: on[1],
	}))(t)
	var want []netip.Addr
	for _, p := range l.Addresses(lab.NetUnderlay, 11) {
		want = append(want, p.Addr())
	}
	c := must.Get(p.Run(t.Context(), engine.ContainerSpec{Run: run, Part: "client", Name: engine.Name(run, "client"), Network: n.ID, Addresses: want}))(t)
	if got := c.Addresses(); !slices.Equal(got, want) {
		t.Errorf("the container has %v, want %v", got, want)
	}
	must.True(t, slices.Equal(n.Subnets, on), "the network has %v, want %v", n.Subnets, on)
}
