package split_test

import (
	"errors"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/study"
	"tare/internal/testkit/must"
)

// What cannot be built between two machines is unsupported, with the reason and the host.
func TestUnsupported(t *testing.T) {
	for _, tt := range []struct {
		name   string
		mode   string
		with   map[string]string
		change func(*testing.T, *bench) error
		want   string
	}{
		{"no root on one host", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			b.hosts[1].Machine.Root, b.hosts[1].Machine.NoRoot = nil, "sudo asks for a password"
			return nil
		}, "on host two root's rights cannot be had: sudo asks for a password"},
		{"a host with Windows", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			b.hosts[0].Machine.System = machine.System{OS: "windows", Arch: "amd64"}
			return nil
		}, "host one runs windows/amd64"},
		{"a gateway between the hosts", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			b.hosts[1].Address = netip.MustParseAddr("198.19.0.1")
			return b.ns[0].Routes().DefaultRoute(netip.MustParseAddr("198.18.255.2"))
		}, "from host one to 198.19.0.1 leads through the gateway 198.18.255.2"},
		{"both hosts on one machine", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			b.hosts[1].Address = b.hosts[0].Address
			return nil
		}, "host one has the address 198.18.255.1 itself"},
		{"a tunnel between the hosts", "netns/vxlan", nil, tunnelBetween, "tun0, which leads from host one to 198.19.0.2, is none"},
		{"a network that drops foreign frames", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			b.driver.Impatient()
			return b.ns[1].Rules().DropIngress("test", card)
		}, "does not carry frames from other hardware addresses"},
		{"an underlay larger than the link", "netns/vxlan", map[string]string{"mtu": driver.Off}, nil, "the hosts need an MTU of 1550, and that of lan0 is 1500"},
		{"a card in a bridge", "netns/vxlan", nil, func(_ *testing.T, b *bench) error {
			return errors.Join(b.ns[0].Links().Bridge(linuxnet.Device{Name: "test0"}), b.ns[0].Links().Attach(card, "test0"))
		}, "host one: lan0 cannot carry a macvlan device"},
		{"sandboxes with addresses of their own on the card", "ovs/flat-netdev", nil, nil, "the hosts share a network card"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if tt.change != nil {
				must.Do(t, tt.change(t, b))
			}
			p, err := b.driver.Provision(t.Context(), b.order(tt.mode, 1, tt.with))
			if err == nil {
				t.Error(p.Close(t.Context()))
			}
			u, is := driver.AsUnsupported(err)
			if !is || !strings.Contains(u.Reason, tt.want) || u.Mode != tt.mode || strings.Contains(u.Reason, "\n") {
				t.Errorf("got %v, want it to be unsupported because %s", err, tt.want)
			}
			gone(t, b.run)
		})
	}
}

// tunnelBetween has the route to the other host lead through a tunnel.
func tunnelBetween(t *testing.T, b *bench) error {
	b.hosts[1].Address = netip.MustParseAddr("198.19.0.2")
	cmd := exec.CommandContext(t.Context(), "ip", "tuntap", "add", "dev", "tun0", "mode", "tun")
	if err := b.ns[0].Start(cmd); err != nil {
		return err
	}
	return errors.Join(cmd.Wait(), b.ns[0].Links().Up("tun0"), b.ns[0].Routes().Address("tun0", netip.MustParsePrefix("198.19.0.1/24")))
}

// A mode that this machine's kernel or programs cannot build is unsupported between two
// machines for the same reason, and a wrong request is an error.
func TestProbeOfMissingParts(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, mode := range []string{"netns/ipvlan", "wireguard/kernel"} {
		err := b.driver.Probe(t.Context(), b.order(mode, 1, nil))
		u, is := driver.AsUnsupported(err)
		if err != nil && (!is || !strings.Contains(u.Reason, "the kernel lacks")) {
			t.Errorf("%s: %v", mode, err)
		}
	}
	limited := b.order("netns/vxlan", 1, nil)
	limited.Limits = study.Limits{Server: study.Limit{CPUs: 1}}
	for name, o := range map[string]driver.Order{"no driver builds mode": b.order("netns/nothing", 1, nil), "use 1 to": b.order("netns/vxlan", 0, nil), "container engine": limited} {
		must.Fail(t, must.Err(b.driver.Provision(t.Context(), o)), name)
	}
	for _, m := range b.driver.Modes() {
		if m.ID == "host" || m.ID == "host-local" {
			t.Errorf("%s is built on the machines' own network", m.ID)
		}
	}
}
