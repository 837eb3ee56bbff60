package split_test

import (
	"context"
	"net/netip"
	"testing"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/drivertest"
	"tare/internal/driver/split"
	"tare/internal/driver/subcommand"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/traffic"
)

func TestMain(m *testing.M) { drivertest.Main(m) }

// bench is two machines: network namespaces with a link between them.
type bench struct {
	hosts [2]split.Host
	ns    [2]*linuxnet.NS
	run   string
}

// card is the machines' network card.
const card = "lan0"

// newBench creates two machines that end with the test.
func newBench(t *testing.T) *bench {
	t.Helper()
	drivertest.NeedLab(t)
	run, err := runid.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(run.Release)
	b := &bench{run: run.ID}
	for i, name := range []string{"one", "two"} {
		ns, err := linuxnet.NewNS("tare-"+run.ID+"-machine-"+name, false)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { ns.Close() })
		b.ns[i] = ns
		b.hosts[i] = split.Host{
			Machine: &machine.Machine{Name: name, System: machine.Local(name).System, User: transport.Local{Start: ns.Start}, Root: transport.Local{Start: ns.Start}},
			Name:    name, Address: netip.AddrFrom4([4]byte{198, 18, 255, byte(i + 1)}),
		}
	}
	if err := b.ns[0].Veth(linuxnet.Device{Name: card}, b.ns[1], linuxnet.Device{Name: card}); err != nil {
		t.Fatal(err)
	}
	for i, ns := range b.ns {
		if err := ns.Up(card); err != nil {
			t.Fatal(err)
		}
		if err := ns.Address(card, netip.PrefixFrom(b.hosts[i].Address, 24)); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

// driver returns a driver for the machines.
func (b *bench) driver() *split.Driver {
	return split.New(subcommand.SplitDrivers(), func(context.Context) ([2]split.Host, error) { return b.hosts, nil })
}

// build builds a mode on the machines, with its agents.
func (b *bench) build(t *testing.T, o driver.ModeSpec) *drivertest.Setup {
	t.Helper()
	o.Name, o.Run, o.Label = o.Mode, b.run, "test"
	return drivertest.BuildOn(t, b.driver(), o)
}

func TestModes(t *testing.T) {
	for _, mode := range []string{"netns/vxlan", "wireguard/userspace", "netns/bridge", "netns/published", "netns/routed", "netns/macvlan", "netns/ptp", "netns/ebpf", "wireguard/go-binary", "ipsec/userspace", "ovs/vxlan-netdev", "ovs/geneve-netdev", "rootless/pasta", "rootless/pasta-out", "rootless/slirp4netns", "netns/colocated"} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t)
			s := b.build(t, driver.ModeSpec{Mode: mode, Pairs: 1})
			s.CheckTopology(t)
			for _, kind := range []string{"tcp_stream", "udp_stream", "tcp_rr"} {
				for _, reverse := range []bool{false, true} {
					p := drivertest.Params(kind)
					p.Reverse = reverse
					_, _, none := s.Path.Pairs[0].Server.Reach(true)
					carries(t, s, p, kind == "tcp_rr" && none == nil)
				}
			}
		})
	}
}

// carries runs a trial and requires its path to be proven.
func carries(t *testing.T, s *drivertest.Setup, p traffic.Params, ipv6 bool) {
	t.Helper()
	client, server, err := s.Trial(t, p, ipv6)
	if err != nil {
		t.Errorf("%s, reverse %t, ipv6 %t: %v", p.Kind, p.Reverse, ipv6, err)
	}
	if client.Received+server.Received == 0 {
		t.Errorf("%s, reverse %t, ipv6 %t: nothing was carried", p.Kind, p.Reverse, ipv6)
	}
}
