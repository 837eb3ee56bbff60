//go:build linux

package vm

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"tare/internal/agent/transport"
	"tare/internal/driver"
	"tare/internal/driver/pathspec"
	"tare/internal/guest"
	"tare/internal/lab"
	"tare/internal/linuxnet"
	"tare/internal/process"
)

// localOn starts agents on a host of the lab.
func localOn(ns *linuxnet.NS) transport.Launcher {
	return transport.Local{Start: func(c *exec.Cmd) error { return ns.Start(c) }}
}

// The host numbers in the subnet of a guest behind a userspace network: the guest, its
// gateway, and a resolver that does not exist.
const (
	guestNumber    = 15
	gatewayNumber  = 1
	resolverNumber = 3
)

// userMTU is the maximum of slirp (RFC 894; libslirp's IF_MTU_DEFAULT).
const userMTU = 1500

// forwarded: process on a, port of a, process with its own TCP/IP stack, guest. IPv4 only.
func (p *path) forwarded(ctx context.Context) error {
	vms, err := together(ctx, p.PairCount, p.behindUser)
	if err != nil {
		return err
	}
	a := p.hostA()
	to := []netip.Addr{p.lab.A.Addr[0]}
	for i, m := range vms {
		number := portOf(i + 1)
		listen := []netip.Addr{p.lab.Addresses(lab.NetA, guestNumber)[0].Addr()}
		p.AddPair(p.client(), pathspec.Endpoint{Place: m.place, Launcher: m.In(""), OwnCPUs: true}, listen, to, number)
		p.MustCarryAtLeast(i+1, m.place, dev(guest.DeviceName), pathspec.Receives)
		p.MustBeIdle(m.place, dev(lo))
		who, pid := "QEMU", m.PID()
		if p.attach == passt {
			who, pid = "passt", p.helperOf(i+1).PID()
			p.runs(i+1, pid)
		}
		p.ports = append(p.ports, port{number, who, pid})
	}
	// The process terminates the client's connections and opens others, so only the payload
	// is known.
	p.MustCarryBothAtLeast(pathspec.AllPairs, a, dev(lo))
	p.MustBeIdle(a, dev(lab.Underlay))
	p.SetSteps(pathspec.ProcessStep(a), pathspec.DeviceStep(a, dev(lo)), pathspec.PerPair(pathspec.RuleStep(a, "relay", p.ports[0].who)), p.eth(vms[0].place), pathspec.ProcessStep(vms[0].place))
	return nil
}

// portOf returns the port of a pair, on the host and in the guest.
func portOf(pair int) uint16 { return uint16(pathspec.FirstPort + pair - 1) }

// behindUser boots a guest whose frames are handled by a process of the host.
func (p *path) behindUser(ctx context.Context, pair int) (vm, error) {
	own, gw := p.lab.Addresses(lab.NetA, guestNumber)[0], p.lab.Addresses(lab.NetA, gatewayNumber)[0]
	n := guest.Net{MTU: p.lab.Spec.MTU, Addresses: []netip.Prefix{own}, Gateways: []netip.Addr{gw.Addr()}}
	if p.attach == user {
		n.MTU = min(n.MTU, userMTU)
		return p.boot(ctx, pair, guest.Attachment{Netdev: p.slirp(pair, own.Addr(), gw)}, n, nil, nil)
	}
	f, err := p.startPasst(ctx, pair, own.Addr(), gw.Addr())
	if err != nil {
		return vm{}, err
	}
	defer f.Close() // QEMU has it from its start on
	return p.boot(ctx, pair, guest.Attachment{Netdev: "stream,server=off,addr.type=fd,addr.str=" + guest.NetFile, File: f}, n, nil, nil)
}

// slirp is QEMU's own network. It is not restricted, because then it drops UDP replies,
// including those to a host port; a lab host has no route to the outside.
func (p *path) slirp(pair int, own netip.Addr, gw netip.Prefix) string {
	at, number := p.lab.A.Addr[0], portOf(pair)
	options := []string{"user", "ipv6=off", "net=" + gw.Masked().String(), "host=" + gw.Addr().String(),
		"dns=" + p.lab.Addresses(lab.NetA, resolverNumber)[0].Addr().String(), "dhcpstart=" + own.String()}
	for _, proto := range []string{"tcp", "udp"} {
		options = append(options, fmt.Sprintf("hostfwd=%s:%s:%d-%s:%d", proto, at, number, own, number))
	}
	return strings.Join(options, ",")
}

// startPasst starts passt for a guest and returns QEMU's end of the socket pair.
func (p *path) startPasst(ctx context.Context, pair int, own, gw netip.Addr) (*os.File, error) {
	number := portOf(pair)
	forward := fmt.Sprintf("%s/%d", p.lab.A.Addr[0], number)
	h, f, err := startHelper(lab.PairName("passt", pair), p.passt, p.lab.A.NS, "--foreground", "--stderr", "--fd", "3", "--ipv4-only",
		"--address", own.String(), "--netmask", "24", "--gateway", gw.String(), "--interface", lab.Underlay, "--mtu", strconv.Itoa(p.lab.Spec.MTU),
		"--tcp-ports", forward, "--udp-ports", forward, "--dns", "none", "--no-map-gw", "--runas", "0")
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.helpers = append(p.helpers, h)
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, listenWithin())
	defer cancel()
	if err := listens(ctx, h, p.lab.A.NS, number); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (p *path) helperOf(pair int) *process.Process {
	for _, h := range p.helpers {
		if h.Name == lab.PairName("passt", pair) {
			return h
		}
	}
	return nil
}

// runs requires that a process forwards a pair's traffic, by its CPU time: the data,
// spliced from socket to socket, cannot be counted.
func (p *path) runs(pair, pid int) {
	name := pathspec.CounterName(p.lab.A.Name, lab.PairName("passt", pair), "run_ns")
	p.ReadRunTime(name, "passt", pid)
	p.AddRules(driver.Rule{Counter: name, Expect: driver.ProcessBusy, Pair: pair})
}
