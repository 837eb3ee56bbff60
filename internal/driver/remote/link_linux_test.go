package remote_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/agent"
	"tare/internal/agent/wire"
	"tare/internal/analysis/identity"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/testkit/drivertest"
	"tare/internal/warning"
)

func describe(t *testing.T, h *remote.Host, toward netip.Addr) wire.Machine {
	t.Helper()
	m, err := h.Monitor.Machine(t.Context(), toward)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func fact(m wire.Machine, name string) string {
	for _, f := range append(m.Facts, m.Link...) {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// The facts of a veth link are read through agents, and its differences are one warning.
func TestLinkFacts(t *testing.T) {
	l := drivertest.Lab(t, nil)
	if err := l.A.NS.Links().SetMTU(lab.Underlay, 1400); err != nil {
		t.Fatal(err)
	}
	if err := l.B.NS.Tuning().Segmentation(lab.Underlay, false); err != nil {
		t.Fatal(err)
	}
	a, b := read(t, l, l.A), read(t, l, l.B)
	x, y := describe(t, a, l.B.Addr[1]), describe(t, b, l.A.Addr[0]) // one of each family
	for _, m := range []wire.Machine{x, y} {
		if m.Device != lab.Underlay || fact(m, "link_kind") != "veth" || !strings.HasPrefix(fact(m, "link_driver"), "veth") || fact(m, "link_numa_node") != "none" || fact(m, "boot_id") != m.BootID {
			t.Errorf("%s with %v", m.Device, m.Link)
		}
		// The agent entered the namespace without mounting /sys again.
		if s := fact(m, "link_steering"); !strings.HasPrefix(s, "unknown: ") {
			t.Errorf("steering of a device of another namespace: %s", s)
		}
	}
	if fact(x, "link_mtu") != "1400" || !strings.Contains(fact(x, "link_offloads"), " tso ") || strings.Contains(fact(y, "link_offloads"), " tso ") {
		t.Errorf("of a: MTU %s, %s; of b: %s", fact(x, "link_mtu"), fact(x, "link_offloads"), fact(y, "link_offloads"))
	}
	found := identity.CompareHosts(result.Host{Name: "a", Facts: append(x.Facts, x.Link...)}, result.Host{Name: "b", Facts: append(y.Facts, y.Link...)})
	if len(found) != 1 || found[0].Code != string(warning.LinksDiffer) || !strings.Contains(found[0].Text, "MTU 1400 and 1500") || !strings.Contains(found[0].Text, "only a has gso") {
		t.Errorf("warnings %v", found)
	}
}

// The device toward another host is that of the route, wherever the host's address is, and
// its counters bound what a stream carried, in both families.
func TestUnderlayDevices(t *testing.T) {
	for name, c := range map[string]struct {
		device   string
		families int
		build    func(l *lab.Lab, must func(error))
	}{
		"the link itself": {lab.Underlay, 2, func(*lab.Lab, func(error)) {}},
		// The kernel answers neighbour discovery for addresses of the device only, so IPv6 would
		// need a router.
		"the addresses are on loopback": {lab.Underlay, 1, func(l *lab.Lab, must func(error)) {
			ns := l.A.NS
			for i, p := range l.Addresses(lab.NetUnderlay, 1) {
				must(ns.Routes().RemoveAddress(lab.Underlay, p))
				must(ns.Routes().Address("lo", netip.PrefixFrom(p.Addr(), p.Addr().BitLen())))
				must(ns.Routes().Route(netip.PrefixFrom(l.B.Addr[i], l.B.Addr[i].BitLen()), netip.Addr{}, lab.Underlay))
			}
		}},
		"they are on a bridge": {"br0", 2, func(l *lab.Lab, must func(error)) {
			ns := l.A.NS
			must(ns.Links().Bridge(linuxnet.Device{Name: "br0"}))
			for _, p := range l.Addresses(lab.NetUnderlay, 1) {
				must(ns.Routes().RemoveAddress(lab.Underlay, p))
				must(ns.Routes().Address("br0", p))
			}
			must(ns.Links().Up("br0"))
			must(ns.Links().Attach(lab.Underlay, "br0"))
		}},
		"they are on a macvlan device": {"mac0", 2, func(l *lab.Lab, must func(error)) {
			ns := l.A.NS
			must(ns.Links().Child("macvlan", linuxnet.Device{Name: "mac0"}, lab.Underlay, ns))
			for _, p := range l.Addresses(lab.NetUnderlay, 1) {
				must(ns.Routes().RemoveAddress(lab.Underlay, p))
				must(ns.Routes().Address("mac0", p))
			}
			must(ns.Links().Up("mac0"))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			l := drivertest.Lab(t, nil)
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			if got := l.Addresses(lab.NetUnderlay, 1)[0].Addr(); got != l.A.Addr[0] {
				t.Fatalf("host a has %s, not %s", l.A.Addr[0], got)
			}
			c.build(l, must)
			a, b := read(t, l, l.A), read(t, l, l.B)
			for i := range c.families {
				a.Address, b.Address = l.A.Addr[i], l.B.Addr[i]
				spec := &pathspec.Path{Mode: "host", PairCount: 1}
				p := remote.Path{Spec: spec, A: a, B: b}
				if err := p.AddUnderlay(t.Context(), nil, nil); err != nil {
					t.Fatal(err)
				}
				path := spec.DriverPath(driver.Path{})
				if late := path.CountersLate > 0; late != (c.device == "br0" || c.device == "mac0") {
					t.Errorf("counters may be %s late", path.CountersLate)
				}
				before, err := path.Snapshot(t.Context())
				must(err)
				if _, ok := before["a/"+c.device+".tx_bytes"]; !ok {
					t.Errorf("%s: the counters are %v", b.Address, before)
				}
				probe := agent.PathProbe{Sender: a.Monitor, Receiver: b.Monitor, Listen: netip.AddrPortFrom(b.Address, 0), Dial: netip.AddrPortFrom(b.Address, 0), Wait: time.Minute, Stall: 20 * time.Second}
				s, err := probe.Stream(t.Context(), 1<<20, time.Hour)
				must(err)
				after, err := path.Snapshot(t.Context())
				must(err)
				carried := []driver.Carried{{Forward: driver.Flow{Payload: uint64(s.Received)}}}
				if err := path.Prove(before, after, carried); err != nil {
					t.Errorf("%s: %v", b.Address, err)
				}
				carried[0].Forward.Payload *= 2
				if err := path.Prove(before, after, carried); err == nil {
					t.Errorf("%s: twice what was carried is proven, too", b.Address)
				}
			}
		})
	}
}
