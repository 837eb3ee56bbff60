package linuxnet

import (
	"testing"

	"github.com/vishvananda/netlink"

	"tare/internal/testkit/must"
	"tare/internal/testkit/testneed"
)

// The limit of a hierarchical token bucket is that of its one chain of classes, as the kernel reports it; with several
// outermost classes none is known.
func TestHTB(t *testing.T) {
	testneed.NotShort(t)
	if err := Try(); err != nil {
		testneed.Missing(t, testneed.Labs, err)
	}
	ns := must.Get(NewNS("tare-htb"))(t)
	defer ns.Close()
	must.Do(t, ns.Links().Veth(Device{Name: "one"}, ns, Device{Name: "two"}))
	link := must.Get(ns.Links().link("one"))(t)
	index := link.Attrs().Index
	root := netlink.MakeHandle(1, 0)
	must.Do(t, ns.handle.QdiscReplace(netlink.NewHtb(netlink.QdiscAttrs{LinkIndex: index, Handle: root, Parent: netlink.HANDLE_ROOT})))
	found := func() QdiscDrops {
		for _, q := range must.Get(ns.Tuning().QdiscDrops())(t) {
			if q.Device == "one" {
				return q
			}
		}
		t.Fatal("there is no discipline")
		return QdiscDrops{}
	}
	add := func(parent, minor uint32, rate, ceil uint64, burst uint32) {
		t.Helper()
		must.Do(t, ns.handle.ClassReplace(netlink.NewHtbClass(
			netlink.ClassAttrs{LinkIndex: index, Parent: parent, Handle: netlink.MakeHandle(1, uint16(minor))},
			netlink.HtbClassAttrs{Rate: rate, Ceil: ceil, Buffer: burst, Cbuffer: burst})))
	}
	must.EqualFor(t, "without classes", QdiscDrops{Device: "one", Kind: "htb"}, found())
	near := func(what string, rate, burst uint64) {
		t.Helper()
		q := found()
		// Ticks are whole.
		must.True(t, q.Rate == rate && float64(q.Burst) >= 0.99*float64(burst) && float64(q.Burst) <= 1.01*float64(burst), "%s: %+v, want %d bit/s and %d bytes", what, q, rate, burst)
	}
	add(root, 1, 80e6, 80e6, 100_000)
	near("one class", 80e6, 100_000)
	add(netlink.MakeHandle(1, 1), 10, 10e6, 40e6, 50_000)
	near("a child with a lower ceiling", 40e6, 50_000)
	add(netlink.MakeHandle(1, 1), 20, 10e6, 20e6, 50_000)
	near("two children", 80e6, 100_000)
	add(root, 2, 10e6, 10e6, 10_000)
	if q := found(); q.Rate != 0 {
		t.Errorf("two outermost classes: %+v", q)
	}
}
