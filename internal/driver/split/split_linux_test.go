package split_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/split"
	"tare/internal/driver/subcommand"
	"tare/internal/linuxnet"
	"tare/internal/machine"
	"tare/internal/runid"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
	"tare/internal/testkit/studytest"
)

// bench is two machines: network namespaces with a link between them.
type bench struct {
	hosts  [2]split.Host
	ns     [2]*linuxnet.NS
	run    string
	driver *split.Driver
}

// card is the machines' network card.
const card = "lan0"

// newBench creates two machines that end with the test.
func newBench(t *testing.T) *bench {
	t.Helper()
	drivertest.NeedLab(t)
	b, end, err := benchOf()
	must.Do(t, err)
	t.Cleanup(end)
	return b
}

// benchOf creates two machines; end removes them.
func benchOf() (b *bench, end func(), err error) {
	run, err := runid.New()
	if err != nil {
		return nil, nil, err
	}
	b = &bench{run: run.ID}
	end = func() {
		for _, ns := range b.ns {
			if ns != nil {
				ns.Close()
			}
		}
		run.Release()
	}
	for i, name := range []string{"one", "two"} {
		if b.ns[i], err = linuxnet.NewNS("machine-" + name); err != nil {
			return b, end, err
		}
		if err = b.ns[i].Sysctl("net/ipv6/conf/default/accept_dad", "0"); err != nil {
			return b, end, err
		}
		b.hosts[i] = split.Host{
			Machine: &machine.Machine{Name: name, System: machine.Local(name).System, User: transport.Local{Start: b.ns[i].Start}, Root: transport.Local{Start: b.ns[i].Start}},
			Name:    name, Address: netip.AddrFrom4([4]byte{198, 18, 255, byte(i + 1)}),
		}
	}
	err = b.ns[0].Links().Veth(linuxnet.Device{Name: card}, b.ns[1], linuxnet.Device{Name: card})
	for i, ns := range b.ns {
		err = errors.Join(err, ns.Links().Up(card), ns.Routes().Address(card, netip.PrefixFrom(b.hosts[i].Address, 24)))
	}
	b.driver = split.New(subcommand.SplitDrivers(), func(context.Context) ([2]split.Host, error) { return b.hosts, nil })
	return b, end, err
}

// order specifies a mode.
func (b *bench) order(mode string, pairs int, with map[string]string) driver.Order {
	return driver.Order{Mode: mode, Name: mode, Run: b.run, Label: "test", Pairs: pairs, With: with}
}

// build builds a mode with its agents, which end with the test.
func (b *bench) build(t *testing.T, o driver.Order) *drivertest.Setup {
	t.Helper()
	return drivertest.BuildOn(t, b.driver, o)
}

// trial is a kind of trial.
type trial struct {
	kind          string
	ipv6, reverse bool
}

// Modes of every driver carry TCP and UDP in both directions and address families, and are
// proven.
func TestModesAreProven(t *testing.T) {
	brief := []trial{{"tcp_stream", false, false}, {"udp_stream", true, true}}
	for _, tt := range []struct {
		mode   string
		pairs  int
		with   map[string]string
		trials []trial
	}{
		{"netns/vxlan", 2, nil, []trial{{"tcp_stream", false, false}, {"tcp_stream", true, true}, {"udp_stream", true, false}, {"udp_rr", false, false}, {"tcp_crr", false, false}}},
		{"netns/vxlan", 1, map[string]string{"bridge": "off"}, brief},
		{"netns/bridge", 1, nil, brief},
		{"netns/published", 2, map[string]string{"gro": "off"}, brief},
		{"netns/routed", 1, nil, brief},
		{"netns/macvlan", 2, nil, brief},
		{"netns/ebpf", 1, nil, brief},
		{"netns/colocated", 1, nil, brief},
		{"wireguard/userspace", 1, nil, brief},
		{"mesh/nebula", 1, nil, brief},
		{"ipsec/userspace", 1, nil, brief},
		{"ovs/vxlan-netdev", 1, nil, brief},
		{"rootless/pasta", 1, nil, brief},
		{"rootless/pasta-out", 1, nil, brief[:1]},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			// Beside all others on two CPUs, pasta once acknowledged nothing for 8 s.
			if !strings.HasPrefix(tt.mode, "rootless/") {
				t.Parallel()
			}
			b := newBench(t)
			s := b.build(t, b.order(tt.mode, tt.pairs, tt.with))
			s.CheckTopology(t)
			for _, one := range tt.trials {
				b.carries(t, s, one)
			}
			if tt.pairs > 1 {
				s.ConformsFanIn(t, "tcp_rr", false)
				must.EqualFor(t, fmt.Sprintf("%d pairs", tt.pairs), nil, must.Err(s.TrialPairs(t, drivertest.Params("tcp_stream"), false, tt.pairs)))
			}
		})
	}
}

// carries runs a trial and requires its path to be proven, by devices of both machines.
func (b *bench) carries(t *testing.T, s *drivertest.Setup, tt trial) {
	t.Helper()
	p := drivertest.Params(tt.kind)
	p.Direction = studytest.Direction(tt.reverse)
	if _, _, err := s.Path.Pairs[0].Server.Reach(true); err != nil {
		tt.ipv6 = false
	}
	client, server, err := s.Trial(t, p, tt.ipv6)
	must.EqualFor(t, tt, nil, err)
	if client.Received+server.Received == 0 {
		t.Errorf("%+v: nothing was carried", tt)
	}
}

// The path names the machines as the user does, and has the network cards of both as steps
// between them.
func TestPathOfTwoMachines(t *testing.T) {
	b := newBench(t)
	s := b.build(t, b.order("netns/vxlan", 1, nil))
	top := must.Get(s.Path.Topology())(t)
	var steps []string
	for _, n := range top.Nodes {
		steps = append(steps, n.Host+"/"+n.Sandbox+" "+n.Kind+" "+n.Label)
	}
	want := []string{
		"one/client process process", "one/client veth eth0", "one/overlay veth veth0", "one/overlay bridge br0", "one/overlay vxlan vxlan0",
		"one/ macvlan eth0", "one/machine veth lan0", "two/machine veth lan0", "two/ macvlan eth0",
		"two/overlay vxlan vxlan0", "two/overlay bridge br0", "two/overlay veth veth0", "two/server veth eth0", "two/server process process",
	}
	must.EqualFor(t, "the steps", fmt.Sprint(want), fmt.Sprint(steps))
	counters := s.Snapshot(t)
	for _, r := range s.Path.Rules {
		if _, ok := counters[r.Counter]; !ok {
			t.Errorf("counter %s is not read", r.Counter)
		}
	}
	for _, n := range s.Path.Stacks {
		got, err := n.Read(t.Context())
		if err != nil || len(got.Counters) == 0 {
			t.Errorf("stack %s has %d counters: %v", n.Name, len(got.Counters), err)
		}
		if n.Survey == nil {
			continue
		}
		if set, err := n.Survey(t.Context()); err != nil || set.At != n.Name || len(set.Sysctls) == 0 {
			t.Errorf("stack %s has the settings %v: %v", n.Name, set, err)
		}
		if _, _, err := n.ReadTracked(t.Context()); err != nil {
			t.Error(err)
		}
	}
	for i, h := range s.Path.Hosts {
		must.EqualFor(t, fmt.Sprintf("host %d", i), b.hosts[i].Name, h.Name)
	}
}

// namespaceOf returns the network namespace of a process.
func namespaceOf(t *testing.T, pid int) *linuxnet.NS {
	t.Helper()
	ns := must.Get(linuxnet.OpenNS(fmt.Sprint(pid), fmt.Sprintf("/proc/%d/ns/net", pid)))(t)
	t.Cleanup(func() { ns.Close() })
	return ns
}

// A cable between the sandboxes, which bypasses both machines' halves.
func TestCableIsVoid(t *testing.T) {
	for _, tt := range []struct{ mode, want string }{
		{"netns/vxlan", "one/eth0.tx_bytes"},
		{"netns/macvlan", "one/client/eth0.tx_bytes"},
		{"wireguard/userspace", "one/wireguard.out_bytes"},
	} {
		t.Run(tt.mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.build(t, b.order(tt.mode, 1, nil))
			client, server := namespaceOf(t, s.Ends[0].Client.Hello.PID), namespaceOf(t, s.Ends[0].Server.Hello.PID)
			dial := s.Path.Pairs[0].Server.Dial[0].Addr()
			must.Do(t, errors.Join(
				client.Links().Veth(linuxnet.Device{Name: "cable0"}, server, linuxnet.Device{Name: "cable1"}),
				client.Links().Up("cable0"), server.Links().Up("cable1"),
				client.Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")), server.Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
				client.Routes().Route(netip.PrefixFrom(dial, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
			))
			s.WaitReachable(t)
			s.Void(t, drivertest.Params("tcp_stream"), tt.want)
			s.Void(t, drivertest.Params("tcp_stream"), "one/machine/"+card+".tx_bytes")
		})
	}
}

// The client's host routes the sandbox's packets unencrypted over the real link, past the
// tunnel.
func TestTunnelBypassedIsVoid(t *testing.T) {
	b := newBench(t)
	s := b.build(t, b.order("wireguard/userspace", 1, nil))
	pids := s.Path.Processes()
	if len(pids) != 4 {
		t.Fatalf("the mode has the processes %v, want two on each machine", pids)
	}
	a, z := namespaceOf(t, pids[0]), namespaceOf(t, pids[3])
	behind := netip.PrefixFrom(s.Path.Pairs[0].Server.Dial[0].Addr(), 32)
	must.Do(t, a.Routes().Route(behind, addressOf(t, z, "eth0"), ""))
	s.WaitReachable(t)
	s.Void(t, drivertest.Params("tcp_stream"), "two/eth0.inside_bytes")
}

// What others on the network broadcast arrives at the devices on the link, and does not
// disprove the path.
func TestBroadcastsAreExpected(t *testing.T) {
	for mode, counter := range map[string]string{"netns/routed": "one/eth0.rx_bytes", "netns/macvlan": "one/client/eth0.rx_bytes"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			s := b.build(t, b.order(mode, 1, nil))
			before := s.Snapshot(t)
			client, server, err := s.Trial(t, drivertest.Params("udp_stream"), false)
			must.Do(t, err)
			const enough = 4 * driver.Slack
			for until := time.Now().Add(20 * time.Second); s.Snapshot(t)[counter] < before[counter]+enough; b.broadcast(t) {
				if time.Now().After(until) {
					t.Fatalf("%s moved by less than %d", counter, enough)
				}
			}
			must.Do(t, s.Proof(t, before, []driver.Carried{driver.CarriedBy(client, server)}))
		})
	}
}

// broadcast sends datagrams from the second machine to everybody on the network.
func (b *bench) broadcast(t *testing.T) {
	t.Helper()
	var conn net.Conn
	must.Do(t, b.ns[1].Do(func() (err error) {
		conn, err = (&net.Dialer{}).DialContext(t.Context(), "udp", "198.18.255.255:9")
		return err
	}))
	defer conn.Close()
	for range 100 {
		must.Get(conn.Write(make([]byte, 1000)))(t)
	}
}

// addressOf returns the IPv4 address of a device.
func addressOf(t *testing.T, ns *linuxnet.NS, device string) (out netip.Addr) {
	t.Helper()
	err := ns.Do(func() error {
		i, err := net.InterfaceByName(device)
		if err != nil {
			return err
		}
		addrs, err := i.Addrs()
		if err != nil {
			return err
		}
		for _, a := range addrs {
			if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().Is4() {
				out = p.Addr()
			}
		}
		return nil
	})
	if err != nil || !out.IsValid() {
		t.Fatalf("the address of %s: %v, %v", device, out, err)
	}
	return out
}
