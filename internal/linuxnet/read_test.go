//go:build linux

package linuxnet

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"tare/internal/testkit/must"
)

func TestFindDevices(t *testing.T) {
	a, b := joined(t)
	// A second pair, created in the opposite order, so that indices differ.
	must.Do(t, errors.Join(b.Links().Veth(Device{Name: "y0"}, a, Device{Name: "y1"}), b.Links().Veth(Device{Name: "z0"}, b, Device{Name: "z1"})))
	must.EqualFor(t, "devices of a", []string{"lo", "x0", "y1"}, must.Get(a.Links().Devices())(t))
	must.EqualFor(t, "the device with 192.0.2.1", "x0", must.Get(a.Links().DeviceWith(netip.MustParseAddr("192.0.2.1")))(t))
	must.FailFor(t, "a has an address of b", must.Err(a.Links().DeviceWith(netip.MustParseAddr("192.0.2.2"))))
	for veth, want := range map[string]string{"x0": "x0", "y1": "y0"} {
		must.EqualFor(t, fmt.Sprintf("the peer of %s", veth), want, must.Get(a.Links().PeerIn(b, veth))(t))
	}
	must.FailFor(t, "the peer of z0, which is in b, was found in a", must.Err(b.Links().PeerIn(a, "z0")))
	must.Do(t, a.Links().Child("macvlan", Device{Name: "m0"}, "x0", b))
	must.EqualFor(t, "the parent of m0", "x0", must.Get(b.Links().Parent(a, "m0"))(t))
}

// TestCarrierChanges checks that a device's count changes only when the other end of its
// pair is removed.
func TestCarrierChanges(t *testing.T) {
	a, b := joined(t)
	read := func() uint64 {
		t.Helper()
		all := must.Get(a.Links().CarrierChanges())(t)
		n, ok := all["x0"]
		must.Require(t, ok, "no count of x0 among %v", all)
		return n
	}
	before := read()
	must.EqualFor(t, "while nothing happened", before, read())
	peer := must.Get(b.Links().link("x0"))(t)
	must.Do(t, b.handle.LinkSetDown(peer))
	down := read()
	must.Do(t, b.Links().Up("x0"))
	must.EqualFor(t, "changes as the other end went down and came up", []uint64{before + 1, before + 2}, []uint64{down, read()})
}
