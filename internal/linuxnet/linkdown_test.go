//go:build linux

package linuxnet

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"tare/internal/testkit/must"
)

// A link that was down has again what the kernel removed with it: addresses of both families, routes behind a gateway, and permanent neighbours.
// Both ends of it count that its carrier changed.
func TestLinkDownAndUp(t *testing.T) {
	a, b := needNS(t), needNS(t)
	must.Do(t, a.Links().Veth(Device{Name: "eth0"}, b, Device{Name: "eth0"}))
	addrs := []netip.Prefix{netip.MustParsePrefix("198.18.0.1/24"), netip.MustParsePrefix("2001:2::1/64")}
	for _, ns := range []*NS{a, b} {
		must.Do(t, ns.Links().Up("eth0"))
	}
	for _, p := range addrs {
		must.Do(t, a.Routes().Address("eth0", p))
	}
	far, gateway := netip.MustParsePrefix("198.18.9.0/24"), netip.MustParseAddr("198.18.0.2")
	must.Do(t, a.Routes().Route(far, gateway, ""))
	must.Do(t, a.Routes().Neighbour("eth0", gateway, must.Get(b.Links().HardwareAddr("eth0"))(t)))
	toward := func() string { return must.Get(a.Routes().Toward(netip.MustParseAddr("198.18.9.9")))(t).Device }
	must.Equal(t, "eth0", toward())
	carrier := func() []bool {
		return []bool{must.Get(a.Links().HasCarrier("eth0"))(t), must.Get(b.Links().HasCarrier("eth0"))(t)}
	}
	must.Equal(t, []bool{true, true}, carrier())
	changes := func(ns *NS) uint64 { return must.Get(ns.Links().CarrierChanges())(t)["eth0"] }
	before := []uint64{changes(a) + 2, changes(b) + 2}

	restore := must.Get(a.Links().Down("eth0"))(t)
	must.Equal(t, []bool{false, false}, carrier())
	if to, err := a.Routes().Toward(netip.MustParseAddr("198.18.9.9")); err == nil && to.Device == "eth0" {
		t.Error("the route is there while the link is down")
	}
	must.Do(t, errors.Join(restore(), restore()))
	must.Equal(t, []bool{true, true}, carrier())
	must.Equal(t, before, []uint64{changes(a), changes(b)})
	must.Equal(t, "eth0", toward())
	own := must.Get(a.Routes().Addresses("eth0"))(t)
	for _, p := range addrs {
		must.True(t, slices.Contains(own, p), "%s has gone: %v", p, own)
	}
	must.FailFor(t, "a link that is not there went down", must.Err(a.Links().Down("eth7")))
}

// A policy has the rules that it was asked for, and none when it was removed, which may be repeated.
func TestPolicy(t *testing.T) {
	ns := needNS(t)
	policy := func() int {
		n, _ := must.Get2(ns.Rules().Policy())(t)
		return n
	}
	must.Equal(t, 0, policy())
	must.Do(t, ns.Rules().AddPolicy(300, "lo"))
	must.Equal(t, 300, policy())
	must.Do(t, errors.Join(ns.Rules().RemovePolicy(), ns.Rules().RemovePolicy()))
	must.Equal(t, 0, policy())
}
