package engines_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os/exec"
	"strings"
	"testing"

	"tare/internal/driver"
	"tare/internal/driver/engines"
	"tare/internal/driver/labdriver"
	"tare/internal/engine"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/testkit/drivertest"
	"tare/internal/testkit/must"
)

// Connections that bypass the networks of this package's modes. Each keeps the traffic
// flowing, because a broken path would prove nothing about verification.
func TestEnginesWaysRoundNetworksComeOutVoid(t *testing.T) {
	drivertest.NeedEngine(t)
	for _, tt := range []struct {
		name, mode string
		options    map[string]string
		open       func(t *testing.T, s *drivertest.Setup) error
		want       string // the counter that detects it
	}{
		{"a cable beside macvlan", "docker/macvlan", nil, cableBetween, "a/client/eth0"},
		{"a cable beside a driver's network", "docker/driver:macvlan", map[string]string{"parent": "eth0", "macvlan_mode": "vepa"}, cableBetween, "a/client/eth0"},
		{"a cable beside the overlay", "docker/overlay", nil, cableBetween, "a/overlay/client.veth"},
		{"the way out of the overlay", "docker/overlay", nil, routeOverGateway, "docker_gwbridge"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := drivertest.Build(t, engines.Docker{}, drivertest.SpecOn(drivertest.Spec(t, nil), driver.Order{Mode: tt.mode, Pairs: 1, Options: tt.options}))
			for _, kind := range []string{"tcp_stream", "tcp_rr"} {
				if _, _, err := s.Trial(t, drivertest.Params(kind), false); err != nil {
					t.Fatalf("before, %s: %v", kind, err)
				}
			}
			must.Do(t, tt.open(t, s))
			s.WaitReachable(t)
			for _, kind := range []string{"tcp_stream", "tcp_rr", "udp_stream"} {
				s.Void(t, drivertest.Params(kind), tt.want)
			}
		})
	}
}

// cableBetween connects the containers directly and routes the dialled address over that
// link.
func cableBetween(_ *testing.T, s *drivertest.Setup) error {
	_, _, at := engines.Ends(s.Path)
	dial := s.Path.Pairs[0].Server.Dial[0].Addr()
	return errors.Join(
		at[0].Links().Veth(linuxnet.Device{Name: "cable0"}, at[1], linuxnet.Device{Name: "cable1"}),
		at[0].Links().Up("cable0"), at[1].Links().Up("cable1"),
		at[0].Routes().Address("cable0", netip.MustParsePrefix("198.19.255.1/24")),
		at[1].Routes().Address("cable1", netip.MustParsePrefix("198.19.255.2/24")),
		at[0].Routes().Route(netip.PrefixFrom(dial, 32), netip.MustParseAddr("198.19.255.2"), "cable0"),
	)
}

// routeOverGateway routes packets for the server out of the overlay, over both containers'
// second interface and unencrypted over the underlay.
func routeOverGateway(_ *testing.T, s *drivertest.Setup) error {
	on := engines.Staged(s.Path)
	_, _, at := engines.Ends(s.Path)
	dial := s.Path.Pairs[0].Server.Dial[0].Addr()
	only := netip.PrefixFrom(dial, 32)
	gateway, err := addressOf(at[0], "eth1", 1)
	if err != nil {
		return err
	}
	second, err := addressOf(at[1], "eth1", 0)
	if err != nil {
		return err
	}
	return errors.Join(
		at[0].Routes().Route(only, gateway, "eth1"),
		on.Lab.A.NS.Routes().Route(only, on.Lab.B.Addr[0], ""),
		on.Lab.B.NS.Routes().Route(only, second, "docker_gwbridge"),
		in(on.Lab.B.NS, "iptables", "-I", "FORWARD", "-d", dial.String(), "-j", "ACCEPT"),
	)
}

// addressOf returns a device's IPv4 address or, if first is 1, the first one of its subnet.
func addressOf(ns *linuxnet.NS, device string, first int) (netip.Addr, error) {
	_, facts, err := ns.Links().Describe(device)
	if err != nil {
		return netip.Addr{}, err
	}
	for _, f := range facts {
		if p, err := netip.ParsePrefix(f[1]); f[0] == "address" && err == nil && p.Addr().Is4() {
			if first == 1 {
				return p.Masked().Addr().Next(), nil
			}
			return p.Addr(), nil
		}
	}
	return netip.Addr{}, fmt.Errorf("%s has no IPv4 address: %v", device, facts)
}

// in runs a program in a network namespace.
func in(ns *linuxnet.NS, program string, args ...string) error {
	var words strings.Builder
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = &words, &words
	if err := ns.Start(cmd); err != nil {
		return err
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, words.String())
	}
	return nil
}

// detour provisions a mode and then lets its endpoints connect over another network,
// unknown to the rules.
type detour struct {
	labdriver.Driver
	to func(ctx context.Context, p *driver.Path) (driver.Pair, error)
}

func (d detour) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	p, err := d.Driver.Provision(ctx, o)
	if err != nil {
		return nil, err
	}
	pair, err := d.to(ctx, p)
	if err != nil {
		return nil, errors.Join(err, p.Close(ctx))
	}
	p.Pairs = []driver.Pair{pair}
	return p, nil
}

// A published port of a container on an overlay is reached through docker_gwbridge and
// unencrypted, whatever the overlay (moby #33133). It must not pass as the overlay.
func TestEnginesPublishedPortOnAnOverlayComesOutVoid(t *testing.T) {
	drivertest.NeedEngine(t)
	const port = 5201
	d := detour{engines.Docker{}, func(ctx context.Context, p *driver.Path) (driver.Pair, error) {
		on, pair := engines.Staged(p), p.Pairs[0]
		run := on.Lab.Spec.Claim.ID
		published, err := on.B.Run(ctx, engine.ContainerSpec{
			Run: run, Part: "server", Name: engine.Name(run, "published"), Network: engine.Name(run, "overlay"),
			Publish: []engine.Publish{{Host: netip.AddrPortFrom(netip.IPv4Unspecified(), port), Port: port}},
		})
		if err != nil {
			return pair, err
		}
		pair.Server = driver.Endpoint{Name: "b/published", Launcher: published,
			Listen: []netip.AddrPort{netip.AddrPortFrom(netip.IPv4Unspecified(), port)},
			Dial:   []netip.AddrPort{netip.AddrPortFrom(on.Lab.B.Addr[0], port)},
		}
		return pair, nil
	}}
	s := drivertest.Provision(t, d, "docker/overlay", nil)
	for _, kind := range []string{"tcp_stream", "tcp_rr", "udp_stream"} {
		_, _, err := s.Trial(t, drivertest.Params(kind), false)
		if err == nil || !strings.Contains(err.Error(), "docker_gwbridge") {
			t.Errorf("%s through a published port: got %v, want the proof to fail on docker_gwbridge", kind, err)
		}
	}
}

// An unencrypted overlay does not satisfy the rules of an encrypted one: its security
// associations carry nothing, and unencrypted VXLAN arrives from the wire.
func TestEnginesClearOverlayIsNoEncryptedOne(t *testing.T) {
	drivertest.NeedEngine(t)
	s := drivertest.Provision(t, engines.Docker{}, "docker/overlay", nil)
	talkBeside(t, s)
	must.Do(t, engines.Encrypted(s.Path))
	before := s.Snapshot(t)
	client, server, err := s.Trial(t, drivertest.Params("tcp_stream"), false)
	must.Fail(t, err, "esp")
	after := must.Get(s.Path.Snapshot(t.Context()))(t)
	moved := must.Get(before.Delta(after))(t)
	sent := uint64(client.Sent)
	if got := moved["b/eth0."+linuxnet.CountClear+"_bytes"]; got < sent {
		t.Errorf("%d bytes of VXLAN came off b's wire in clear, %d were sent", got, sent)
	}
	must.Equal(t, uint64(0), moved["b/eth0."+linuxnet.CountESP+"_bytes"])
	// It fails even if the associations' counters were right.
	for _, name := range []string{"a/esp.out_bytes", "b/esp.in_bytes", "b/eth0.esp_bytes"} {
		after[name] += sent + sent/20
	}
	for _, name := range []string{"b/esp.out_bytes", "a/esp.in_bytes", "a/eth0.esp_bytes"} {
		after[name] += moved["b/eth0.tx_bytes"]
	}
	err = s.Path.Prove(before, after, []driver.Carried{driver.CarriedBy(client, server)})
	must.Fail(t, err, linuxnet.CountClear)
}

// talkBeside checks that traffic between a Swarm's managers over the underlay never makes a
// trial void, and that the tunnel carries only what the endpoints sent.
func talkBeside(t *testing.T, s *drivertest.Setup) {
	t.Helper()
	before := s.Snapshot(t)
	client, server, err := s.Trial(t, drivertest.Params("udp_stream"), false)
	must.Do(t, err)
	after := must.Get(s.Path.Snapshot(t.Context()))(t)
	carried := []driver.Carried{driver.CarriedBy(client, server)}
	for _, name := range []string{"a/eth0.rx_bytes", "a/eth0.tx_bytes", "b/eth0.rx_bytes", "b/eth0.tx_bytes"} {
		after[name] += 1 << 20
	}
	if err := s.Path.Prove(before, after, carried); err != nil {
		t.Errorf("with the engines' talk on the underlay: %v", err)
	}
	after["a/overlay/vxlan0.rx_bytes"] += 1 << 20
	must.Fail(t, s.Path.Prove(before, after, carried), "vxlan0")
}

// The overlay's MTU in the topology is what the lab's underlay allows.
func TestEnginesOverlayMTU(t *testing.T) {
	t.Parallel()
	drivertest.NeedEngine(t)
	for _, mtu := range []int{1500, 4000} {
		s := drivertest.Provision(t, engines.Docker{}, "docker/overlay", func(l *lab.Spec) { l.MTU = mtu })
		top := must.Get(s.Path.Topology())(t)
		seen := 0
		for _, n := range top.Nodes {
			if n.Sandbox != "client" && n.Sandbox != "server" || n.Kind != "veth" {
				continue
			}
			seen++
			if got, want := fact(n.Facts, "mtu"), fmt.Sprint(mtu-50); got != want {
				t.Errorf("underlay %d: %s of %s has MTU %s, want %s", mtu, n.Label, n.Sandbox, got, want)
			}
		}
		if seen != 2 {
			t.Errorf("%d interfaces of containers in %+v", seen, top.Nodes)
		}
		if _, _, err := s.Trial(t, drivertest.Params("tcp_stream"), false); err != nil {
			t.Errorf("underlay %d: %v", mtu, err)
		}
	}
}
