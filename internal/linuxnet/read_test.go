//go:build linux

package linuxnet

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"tare/internal/must"
)

func TestFindDevices(t *testing.T) {
	a, b := joined(t)
	// A second pair, created in the opposite order, so that indices differ.
	must.Do(t, errors.Join(b.Veth(Device{Name: "y0"}, a, Device{Name: "y1"}), b.Veth(Device{Name: "z0"}, b, Device{Name: "z1"})))
	if got, err := a.Devices(); err != nil || !slices.Equal(got, []string{"lo", "x0", "y1"}) {
		t.Errorf("devices of a: %v, %v", got, err)
	}
	if got, err := a.DeviceWith(netip.MustParseAddr("192.0.2.1")); err != nil || got != "x0" {
		t.Errorf("the device with 192.0.2.1: %q, %v", got, err)
	}
	if _, err := a.DeviceWith(netip.MustParseAddr("192.0.2.2")); err == nil {
		t.Error("a has an address of b")
	}
	for veth, want := range map[string]string{"x0": "x0", "y1": "y0"} {
		if got, err := a.PeerIn(b, veth); err != nil || got != want {
			t.Errorf("the peer of a's %s in b: %q, %v, want %s", veth, got, err, want)
		}
	}
	if got, err := b.PeerIn(a, "z0"); err == nil {
		t.Errorf("the peer of z0, which is in b, was found in a: %s", got)
	}
	must.Do(t, a.Macvlan(Device{Name: "m0"}, "x0", b))
	if got, err := b.Parent(a, "m0"); err != nil || got != "x0" {
		t.Errorf("m0 is of %q, %v", got, err)
	}
}

// TestCarrierChanges checks that a device's count changes only when the other end of its
// pair is removed.
func TestCarrierChanges(t *testing.T) {
	a, b := joined(t)
	read := func() uint64 {
		t.Helper()
		all := must.Get(a.CarrierChanges())(t)
		n, ok := all["x0"]
		if !ok {
			t.Fatalf("no count of x0 among %v", all)
		}
		return n
	}
	before := read()
	if again := read(); again != before {
		t.Errorf("from %d to %d while nothing happened", before, again)
	}
	peer := must.Get(b.link("x0"))(t)
	must.Do(t, b.handle.LinkSetDown(peer))
	down := read()
	must.Do(t, b.Up("x0"))
	if up := read(); down != before+1 || up != before+2 {
		t.Errorf("from %d to %d as the other end went down, and to %d as it came up", before, down, up)
	}
}
