//go:build linux

package ipsec

import (
	"context"
	"encoding/hex"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// port is the UDP port of IKE and ESP (RFC 3948).
const port = 4500

// mtuReduction is the default difference between the underlay's MTU and the inner MTU, unless the
// study sets one: charon's default for its device, 1400 on Ethernet.
const mtuReduction = 100

// device is the name of the device that charon creates for ESP in userspace.
const device = "ipsec0"

// counterOwner is the object that the tunnel's counters belong to.
const counterOwner = "esp"

// Probe builds the mode once and removes it again.
func (d Driver) Probe(ctx context.Context, o labdriver.Order) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode in its own lab, with 1 to MaxPairs pairs.
func (d Driver) Provision(ctx context.Context, o labdriver.Order) (*driver.Path, error) {
	raw, err := o.Lab.Key("ipsec")
	if err != nil {
		return nil, fmt.Errorf("provision %s: %w", o.Mode, err)
	}
	secret := hex.EncodeToString(raw)
	return provision(ctx, o, [2]string{secret, secret})
}

// provision builds the mode with a key for each host; the keys are normally equal.
func provision(ctx context.Context, o labdriver.Order, secrets [2]string) (*driver.Path, error) {
	row, err := rows().Find("ipsec", o.Mode)
	if err != nil {
		return nil, err
	}
	in, err := find(o.Mode, row.Build, charonDirs())
	if err != nil {
		return nil, err
	}
	if row.Build.kernel {
		if err := linuxnet.ProbeESP(); err != nil {
			return nil, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("the kernel lacks IPsec ESP (CONFIG_XFRM_USER, CONFIG_INET_ESP, CONFIG_CRYPTO_GCM, or their modules): %v", err)}
		}
	}
	return tunnel.Provision(ctx, o, tunnel.Kind{Mode: row.Mode, Port: port, MTUReduction: mtuReduction}, func(ctx context.Context, p *tunnel.Path) (string, error) {
		b := &build{Path: p, program: in, kernel: row.Build.kernel, secrets: secrets}
		if b.kernel {
			return "", b.setUpTunnel(ctx)
		}
		return device, b.setUpTunnel(ctx)
	})
}

// build is a tunnel being set up.
type build struct {
	*tunnel.Path
	program installed
	kernel  bool
	secrets [2]string
	peers   [2]*charon
}

// setUpTunnel sets up the tunnel between the two hosts.
func (b *build) setUpTunnel(ctx context.Context) error {
	for i, s := range b.Sides() {
		var err error
		if b.peers[i], err = b.start(s); err != nil {
			return err
		}
	}
	for i, s := range b.Sides() {
		if err := b.peers[i].ready(ctx, b.Mode); err != nil {
			return err
		}
		peer := b.peers[i]
		b.AtClose(func() error {
			_ = peer.Close() // charon may have exited
			return nil
		})
		if err := b.peers[i].load(s, b.Other(s), b.secrets[i]); err != nil {
			return err
		}
	}
	if err := b.exchangeKeys(ctx); err != nil {
		return err
	}
	if b.kernel {
		if err := b.guard(); err != nil {
			return err
		}
	}
	return b.settle()
}

// exchangeKeys has host a initiate the tunnel. If the hosts are on two machines, both must
// be ready before it, and neither goes on before it is done.
func (b *build) exchangeKeys(ctx context.Context) error {
	if err := b.Lab().Meet(ctx); err != nil {
		return err
	}
	if !b.Near.Host.Phantom {
		if err := b.peers[0].initiate(); err != nil {
			return err
		}
	}
	return b.Lab().Meet(ctx)
}

// agreed returns the security associations of both hosts, each checked to be where the mode
// requires. A phantom has none: they are those of the other host, reversed.
func (b *build) agreed() (spis [2]sa, err error) {
	for i, s := range b.Sides() {
		if s.Host.Phantom {
			continue
		}
		if spis[i], err = b.peers[i].installedSA(); err != nil {
			return spis, err
		}
		if err := b.belongs(s, spis[i]); err != nil {
			return spis, err
		}
	}
	for i, s := range b.Sides() {
		if s.Host.Phantom {
			spis[i] = spis[1-i]
			spis[i].in, spis[i].out = spis[1-i].out, spis[1-i].in
		}
	}
	return spis, nil
}

// settle checks where ESP is processed, and adds facts and rules for that.
func (b *build) settle() error {
	spis, err := b.agreed()
	if err != nil {
		return err
	}
	for i, s := range b.Sides() {
		if !b.kernel {
			if err := b.AdoptDevice(s, device); err != nil {
				return err
			}
			if err := s.NS.Links().SetMTU(device, b.MTU); err != nil {
				return err
			}
		}
		b.watch(i, s)
	}
	if spis[0].in != spis[1].out || spis[0].out != spis[1].in {
		return fmt.Errorf("the hosts have different security associations: a receives %08x and sends %08x, b receives %08x and sends %08x",
			spis[0].in, spis[0].out, spis[1].in, spis[1].out)
	}
	b.AddDeciding("strongSwan", b.peers[0].version)
	b.AddDeciding("ESP", map[bool]string{true: "in the kernel", false: "in charon (kernel-libipsec)"}[b.kernel])
	b.AddDeciding("cipher", spis[0].cipher)
	b.AddFact("key exchange", spis[0].keyExchange)
	return b.Taps(func(s *tunnel.Side) linuxnet.TunnelIngress {
		spi := spis[1].in
		if s == b.Near {
			spi = spis[0].in
		}
		return linuxnet.TunnelIngress{Port: port, SPI: spi, Kernel: b.kernel}
	})
}

// belongs checks that the security associations are where the mode requires: only in
// charon, or only in the kernel.
func (b *build) belongs(s *tunnel.Side, got sa) error {
	list, err := associations(s.NS)
	if err != nil {
		return err
	}
	has := func(spi uint32) bool {
		for _, a := range list {
			if a.ESP && a.SPI == spi {
				return true
			}
		}
		return false
	}
	switch {
	case b.kernel && (!has(got.in) || !has(got.out)):
		return fmt.Errorf("the kernel of host %s lacks the security associations %08x and %08x that charon reports as installed", s.At, got.in, got.out)
	case !b.kernel && len(list) > 0:
		return fmt.Errorf("the kernel of host %s has %d security associations, although charon must handle ESP itself", s.At, len(list))
	}
	return nil
}

// watch adds a side's counters: those of its associations and, if the kernel must not
// process ESP, what it processed nevertheless.
func (b *build) watch(i int, s *tunnel.Side) {
	if b.kernel {
		b.Transfer(s, counterOwner, func() (out, in uint64, err error) { return carried(s, b.Other(s)) })
		b.AddHandler(s, "esp", "IPsec ESP", counterOwner)
		return
	}
	b.Transfer(s, counterOwner, func() (out, in uint64, err error) {
		if s.Host.Phantom {
			return 0, 0, nil
		}
		got, err := b.peers[i].installedSA()
		return got.outBytes, got.inBytes, err
	})
	b.AddHandler(s, "process", "charon", counterOwner)
	b.spared(s)
}

// carried returns what a side's kernel associations have processed, in bytes.
func carried(s, other *tunnel.Side) (out, in uint64, err error) {
	list, err := s.NS.Tunnels().Associations()
	for _, a := range list {
		switch {
		case !a.ESP:
		case a.Src == s.Host.Addr[0] && a.Dst == other.Host.Addr[0]:
			out += a.Bytes
		case a.Src == other.Host.Addr[0] && a.Dst == s.Host.Addr[0]:
			in += a.Bytes
		}
	}
	return out, in, err
}

// associations lists a namespace's security associations, none if the kernel has no IPsec.
func associations(ns *linuxnet.NS) ([]linuxnet.SecurityAssociation, error) {
	list, err := ns.Tunnels().Associations()
	if linuxnet.WithoutXfrm(err) {
		return nil, nil
	}
	return list, err
}
