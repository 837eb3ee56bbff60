//go:build linux

package vm

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/guest"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/result"
	"tare/internal/timelimit"
)

// The names of devices, as an engine would choose them.
const (
	br    = "br0"
	lo    = "lo"
	table = "tare"
)

func tapName(n int) string { return "tap" + strconv.Itoa(n) }

func dev(name string) pathspec.Device { return pathspec.Device{Name: name} }

// vm is a guest with its places.
type vm struct {
	*guest.Machine
	place pathspec.Place
}

// boot starts the guest of a pair and sets up its network.
func (p *path) boot(ctx context.Context, pair int, at guest.Attachment, n guest.Net, modules, optional []string) (vm, error) {
	name := lab.PairName("vm", pair)
	m, err := guest.Boot(ctx, guest.Spec{
		Run: p.lab.Spec.Claim.ID, Label: strings.ReplaceAll(p.lab.Spec.Label, "/", ".") + "-" + name, Place: p.lab.A.Name + "/" + name,
		Host: p.lab.A.NS, Kernel: p.kernel, Accel: p.accel, Model: p.model, MAC: fmt.Sprintf("52:54:00:74:61:%02x", pair),
		Offload: p.lab.Spec.Offload, Attach: at, Modules: modules, Optional: append([]string{"tcp_bbr"}, optional...),
	})
	if err != nil {
		return vm{}, err
	}
	p.mu.Lock()
	p.machines = append(p.machines, m)
	p.mu.Unlock()
	n.Settings, n.Offload = p.lab.Settings(), p.lab.Spec.Offload
	if err := m.Configure(ctx, n); err != nil {
		return vm{}, err
	}
	return vm{m, pathspec.Place{At: p.lab.A.Name + "/" + name, Host: p.lab.A.Name, Stack: m.Stack("")}}, nil
}

// together boots n guests in parallel and returns them in order. If one fails, the others
// are ended.
func together(ctx context.Context, n int, boot func(ctx context.Context, pair int) (vm, error)) ([]vm, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	out, errs := make([]vm, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if out[i], errs[i] = boot(ctx, i+1); errs[i] != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	// Report the failure that caused the others to be ended.
	for _, err := range errs {
		if err != nil && !strings.Contains(err.Error(), context.Canceled.Error()) {
			return nil, err
		}
	}
	return out, slices.MaxFunc(errs, func(a, b error) int { return strings.Compare(fmt.Sprint(a != nil), fmt.Sprint(b != nil)) })
}

// plug creates a tap device of host a on its bridge.
func (p *path) plug(name string) (*os.File, error) {
	a := p.lab.A.NS
	f, err := a.Links().TapDevice(p.lab.Device(name, p.lab.Spec.MTU))
	if err != nil {
		return nil, err
	}
	if err := a.Links().Attach(name, br); err != nil {
		f.Close()
		return nil, err
	}
	if err := p.lab.SetUpDevice(a, name); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// bridgeAt creates the bridge of host a, with the first address of its subnet.
func (p *path) bridgeAt() error {
	a := p.lab.A.NS
	if err := a.Links().Bridge(p.lab.Device(br, p.lab.Spec.MTU)); err != nil {
		return err
	}
	if err := p.lab.SetUpDevice(a, br); err != nil {
		return err
	}
	for _, addr := range p.lab.Addresses(lab.NetA, 1) {
		if err := a.Routes().Address(br, addr); err != nil {
			return err
		}
	}
	return nil
}

// onTap boots a guest whose adapter is a port of the bridge.
func (p *path) onTap(ctx context.Context, pair int, n guest.Net, modules, optional []string) (vm, error) {
	f, err := p.plug(tapName(pair - 1))
	if err != nil {
		return vm{}, err
	}
	defer f.Close() // QEMU inherits it at start
	n.MTU, n.Addresses = p.lab.Spec.MTU, p.lab.Addresses(lab.NetA, 1+pair)
	for _, gw := range p.lab.Addresses(lab.NetA, 1) {
		n.Gateways = append(n.Gateways, gw.Addr())
	}
	return p.boot(ctx, pair, guest.Attachment{Netdev: "tap,fd=" + guest.NetFile, File: f}, n, modules, optional)
}

// bridged: process on a, bridge, tap, guest.
func (p *path) bridged(ctx context.Context) error {
	if err := p.bridgeAt(); err != nil {
		return err
	}
	vms, err := together(ctx, p.PairCount, func(ctx context.Context, pair int) (vm, error) { return p.onTap(ctx, pair, guest.Net{}, nil, nil) })
	if err != nil {
		return err
	}
	a := p.hostA()
	for i, m := range vms {
		own := addrs(p.lab.Addresses(lab.NetA, 2+i), m.Hello.IPv6)
		p.AddPair(p.client(), pathspec.Endpoint{Place: m.place, Launcher: m.In(""), OwnCPUs: true}, own, own, pathspec.ServerChoosesPort)
		p.MustCarry(i+1, a, dev(tapName(i)), pathspec.Transmits)
		p.MustCarry(i+1, m.place, dev(guest.DeviceName), pathspec.Receives)
		p.MustBeIdle(m.place, dev(lo))
	}
	p.fromBridge(a)
	p.SetSteps(pathspec.ProcessStep(a), pathspec.DeviceStep(a, dev(br)), p.tap(a), p.eth(vms[0].place), pathspec.ProcessStep(vms[0].place))
	return nil
}

// fromBridge requires that the traffic of all pairs leaves host a's stack through the
// bridge and nothing else.
func (p *path) fromBridge(a pathspec.Place) {
	p.MustCarry(pathspec.AllPairs, a, dev(br), pathspec.Transmits)
	p.MustBeIdle(a, dev(lo))
	p.MustBeIdle(a, dev(lab.Underlay))
}

// tap and eth are the two ends of the first guest's link.
func (p *path) tap(a pathspec.Place) pathspec.Step {
	return pathspec.PerPair(pathspec.DeviceStep(a, dev(tapName(0))))
}

func (p *path) eth(in pathspec.Place) pathspec.Step {
	return pathspec.PerPair(pathspec.WithFacts(pathspec.DeviceStep(in, dev(guest.DeviceName)), result.Fact{Name: "adapter", Value: p.model.Device}, result.Fact{Name: "accelerator", Value: p.accel}))
}

// client returns an endpoint on host a.
func (p *path) client() pathspec.Endpoint {
	return pathspec.Endpoint{Place: p.hostA(), Launcher: localOn(p.lab.A.NS)}
}

// inside: process on a, bridge, tap, guest, DNAT, bridge, sandbox.
func (p *path) inside(ctx context.Context) error {
	if err := p.bridgeAt(); err != nil {
		return err
	}
	net := guest.Net{Published: &guest.Published{Table: table, Bridge: br, BridgeAddresses: p.lab.Addresses(lab.NetB, 1)}}
	for pair := 1; pair <= p.PairCount; pair++ {
		net.Published.Sandboxes = append(net.Published.Sandboxes, guest.Sandbox{
			Name: lab.PairName("server", pair), Port: lab.VethName(pair - 1), Addresses: p.lab.Addresses(lab.NetB, 1+pair), Publish: uint16(pathspec.FirstPort + pair - 1),
		})
	}
	m, err := p.onTap(ctx, 1, net, []string{"bridge", "veth", "nf_tables", "nft_chain_nat", "nft_nat", "nft_masq", "nft_ct", "nft_fib_inet", "nf_nat", "nf_conntrack"},
		[]string{"nf_conntrack_netlink", "nft_counter", "nft_objref", "crc32c_generic"})
	if err != nil {
		return err
	}
	a, in, dial := p.hostA(), m.place, addrs(p.lab.Addresses(lab.NetA, 2), m.Hello.IPv6)
	var first pathspec.Place
	for i, b := range net.Published.Sandboxes {
		at := pathspec.Place{At: in.At + "/" + b.Name, Host: in.Host, Stack: m.Stack(b.Name)}
		if i == 0 {
			first = at
		}
		p.AddPair(p.client(), pathspec.Endpoint{Place: at, Launcher: m.In(b.Name), OwnCPUs: true}, addrs(b.Addresses, m.Hello.IPv6), dial, b.Publish)
		p.MustCarry(i+1, in, dev(b.Port), pathspec.Transmits)
	}
	p.fromBridge(a)
	p.MustCarry(pathspec.AllPairs, a, dev(tapName(0)), pathspec.Transmits)
	p.MustCarry(pathspec.AllPairs, in, dev(guest.DeviceName), pathspec.Receives)
	p.MustCarry(pathspec.AllPairs, in, dev(br), pathspec.Transmits)
	p.MustBeIdle(in, dev(lo))
	p.reads(m)
	p.AddRules(
		driver.Rule{Counter: pathspec.CounterName(in.At, table, linuxnet.CountIn+"_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName(in.At, table, linuxnet.CountOut+"_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName(in.At, table, linuxnet.CountDNAT+"_packets"), Expect: driver.Connections})
	p.SetSteps(pathspec.ProcessStep(a), pathspec.DeviceStep(a, dev(br)), pathspec.DeviceStep(a, dev(tapName(0))), p.eth(in), pathspec.RuleStep(in, "nat", "DNAT"),
		pathspec.DeviceStep(in, dev(br)), pathspec.PerPair(pathspec.DeviceStep(in, dev(lab.VethName(0)))), pathspec.PerPair(pathspec.DeviceStep(first, dev(guest.DeviceName))), pathspec.ProcessStep(first))
	return nil
}

// reads adds the counters of the guest's nftables table.
func (p *path) reads(m vm) {
	stack := m.Stack("")
	p.gateway = &stack
	p.AddReader(func(ctx context.Context, c driver.Counters) error {
		counts, err := stack.Counts(ctx, table)
		if err != nil {
			return err
		}
		for name, n := range counts {
			c[pathspec.CounterName(m.place.At, table, name+"_packets")] = n.Packets
			c[pathspec.CounterName(m.place.At, table, name+"_bytes")] = n.Bytes
		}
		return nil
	})
}

// addrs returns the addresses of prefixes, IPv6 only if supported.
func addrs(prefixes []netip.Prefix, ipv6 bool) []netip.Addr {
	var out []netip.Addr
	for _, p := range prefixes {
		if ipv6 || p.Addr().Is4() {
			out = append(out, p.Addr())
		}
	}
	return out
}

// listenWithin limits the wait for a helper's port.
func listenWithin() time.Duration { return timelimit.Scaled(20 * time.Second) }
