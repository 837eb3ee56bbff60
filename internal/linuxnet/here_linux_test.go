package linuxnet

import (
	"fmt"
	"net/netip"
	"os/exec"
	"slices"
	"testing"

	"github.com/vishvananda/netlink"

	"tare/internal/linuxnet/here"
	"tare/internal/testkit/must"
)

// What package here reads itself is what the library of this package reads.
func TestHere(t *testing.T) {
	ns := needNS(t)
	must.Do(t, ns.Links().Veth(Device{Name: "left"}, ns, Device{Name: "right"}))
	ip := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "ip", args...)
		must.Do(t, ns.Start(cmd))
		must.Do(must.Named(t, fmt.Sprintf("ip %v", args)), cmd.Wait())
	}
	ip("link", "add", "bridge", "type", "bridge")
	ip("link", "set", "left", "master", "bridge", "up", "promisc", "on", "mtu", "1400", "txqueuelen", "77")
	ip("link", "add", "macvlan", "link", "right", "type", "macvlan")
	ip("link", "set", "right", "up")
	ip("address", "add", "198.18.7.1/24", "dev", "right")
	ip("address", "add", "2001:2::7:1/112", "dev", "right", "nodad")
	ip("route", "add", "198.19.0.0/16", "via", "198.18.7.2")

	must.Do(t, ns.Do(func() error {
		handle, err := openNetlink(netlink.FAMILY_ALL)
		if err != nil {
			return err
		}
		defer handle.Close()
		all, err := handle.LinkList()
		if err != nil {
			return err
		}
		kinds := map[string]string{"lo": "device", "left": "veth", "right": "veth", "bridge": "bridge", "macvlan": "macvlan"}
		if len(all) < len(kinds) {
			return fmt.Errorf("only %d devices", len(all)) // Fatal would end this goroutine, for which Do waits
		}
		for _, l := range all {
			a := l.Attrs()
			got, err := here.Details(a.Name)
			if err != nil {
				return err
			}
			want := here.LinkDetails{
				Name: a.Name, Index: a.Index, Kind: l.Type(), MAC: a.HardwareAddr.String(), MTU: a.MTU, TxQLen: a.TxQLen, Promisc: a.Promisc,
				Up: a.RawFlags&1 != 0, Loopback: a.RawFlags&8 != 0, Bus: a.ParentDevBus, Qdisc: "noqueue",
			}
			if want.Kind = kinds[a.Name]; want.Kind == "" {
				want.Kind = l.Type() // one of those that the kernel puts into every namespace
			}
			disciplines, err := handle.QdiscList(l)
			if err != nil {
				return err
			}
			for _, q := range disciplines {
				if q.Attrs().Parent == netlink.HANDLE_ROOT {
					want.Qdisc = q.Type()
				}
			}
			want.Lower = map[string][]string{"bridge": {"left"}, "macvlan": {"right"}}[a.Name]
			must.EqualFor(t, a.Name, want, here.LinkDetails{
				Name: got.Name, Index: got.Index, Kind: got.Kind, MAC: got.MAC, MTU: got.MTU, TxQLen: got.TxQLen, Promisc: got.Promisc,
				Up: got.Up, Loopback: got.Loopback, Bus: got.Bus, Qdisc: got.Qdisc, Lower: got.Lower, Elsewhere: got.Elsewhere,
			})
			delete(kinds, a.Name)
		}
		must.True(t, len(kinds) == 0, "there is no %v", kinds)
		if d, err := here.Details("left"); err != nil || d.MTU != 1400 || d.TxQLen != 77 || d.Promisc == 0 || d.Driver != "veth" {
			t.Errorf("left is %+v: %v", d, err)
		}
		for to, want := range map[string]string{"198.18.7.9": "right", "198.19.1.1": "right", "::ffff:198.19.1.1": "right", "2001:2::7:9": "right", "127.0.0.1": "lo", "203.0.113.1": ""} {
			got, err := here.Route(netip.MustParseAddr(to))
			must.True(t, got == want && (err == nil) == (want != ""), "to %s by %q, want %q: %v", to, got, want, err)
		}
		_, err = here.Details("none")
		must.FailFor(t, "there is a device called none", err)
		return nil
	}))
}

// A list that is longer than one packet of the kernel is read as a whole.
func TestHereReadsLongLists(t *testing.T) {
	ns := needNS(t)
	const pairs = 40
	var last string
	for i := range pairs {
		last = "v" + string(rune('a'+i/26)) + string(rune('a'+i%26))
		must.Do(t, ns.Links().Veth(Device{Name: last}, ns, Device{Name: "p" + last}))
	}
	names, err := ns.Links().Devices()
	must.Require(t, err == nil && len(names) >= 2*pairs && slices.Contains(names, last), "%v: %v", names, err)
	err = ns.Do(func() error {
		d, err := here.Details(last)
		must.True(t, err != nil || d.Kind == "veth", "%s is %+v", last, d)
		return err
	})
	must.True(t, err == nil, "%v", err)
}
