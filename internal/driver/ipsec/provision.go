//go:build linux

package ipsec

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"

	"tare/internal/driver"
	"tare/internal/driver/labdriver"
	"tare/internal/driver/tunnel"
	"tare/internal/linuxnet"
)

// port is that of IKE and ESP in UDP (RFC 3948).
const port = 4500

// overhead is what ESP in UDP over IPv4 adds to a packet in tunnel mode with AES-GCM at
// most: outer IPv4 20, UDP 8, ESP header 8, IV 8, padding up to 3, trailer 2, ICV 16
// (RFC 4303, RFC 4106).
const overhead = 65

// usual is by how much the MTU inside is less than the underlay's unless the study says
// otherwise: charon's own default for its device, 1400 on Ethernet.
const usual = 100

// libipsecMTU is what charon's own ESP reads of a packet: it cuts off what is longer.
const libipsecMTU = 1400

// device is what charon calls the one that it makes for ESP in user space.
const device = "ipsec0"

// counts is what the tunnel's own counters belong to.
const counts = "esp"

// Probe builds the mode once and takes it down again.
func (d Driver) Probe(ctx context.Context, o labdriver.ModeSpec) error {
	return labdriver.ProbeByProvision(ctx, o, d.Provision)
}

// Provision builds the mode on a lab of its own, with 1 to MaxPairs pairs of ends.
func (d Driver) Provision(ctx context.Context, o labdriver.ModeSpec) (*driver.Path, error) {
	raw := make([]byte, keyBytes)
	if _, err := rand.Read(raw); err != nil {
		return nil, fmt.Errorf("provision %s: make a key: %w", o.Mode, err)
	}
	secret := hex.EncodeToString(raw)
	p, err := provision(ctx, o, [2]string{secret, secret})
	if err != nil {
		return nil, err
	}
	return p.DriverPath(), nil
}

// provision builds the mode with a key for each host, which should be the same.
func provision(ctx context.Context, o labdriver.ModeSpec, secrets [2]string) (*tunnel.Path, error) {
	if o.Mode != kernel && o.Mode != userspace {
		return nil, fmt.Errorf("driver ipsec has no mode %q", o.Mode)
	}
	in, err := find(o.Mode, charonDirs())
	if err != nil {
		return nil, err
	}
	most := 0
	if o.Mode == userspace {
		most = libipsecMTU
	} else if err := linuxnet.ProbeESP(); err != nil {
		return nil, &driver.Unsupported{Mode: o.Mode, Reason: fmt.Sprintf("the kernel lacks IPsec ESP (CONFIG_XFRM_USER, CONFIG_INET_ESP, CONFIG_CRYPTO_GCM, or their modules): %v", err)}
	}
	return tunnel.Build(ctx, o, tunnel.Kind{Port: port, Overhead: overhead, MTUReduction: usual, MaxMTU: most}, func(ctx context.Context, p *tunnel.Path) (string, error) {
		b := &build{Path: p, program: in, kernel: o.Mode == kernel, secrets: secrets}
		if b.kernel {
			return "", b.lay(ctx)
		}
		return device, b.lay(ctx)
	})
}

// build is a tunnel as it is laid.
type build struct {
	*tunnel.Path
	program installed
	kernel  bool
	secrets [2]string
	peers   [2]*charon
}

// keyBytes is the length of the key that both hosts prove themselves to each other with.
const keyBytes = 32

// lay sets up the tunnel between the two hosts.
func (b *build) lay(ctx context.Context) error {
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
		b.AddConnection(b.peers[i])
		if err := b.peers[i].load(s, b.Other(s), b.secrets[i]); err != nil {
			return err
		}
	}
	if err := b.peers[0].initiate(); err != nil {
		return err
	}
	if b.kernel {
		if err := b.guard(); err != nil {
			return err
		}
	}
	return b.settle()
}

// settle checks who does ESP, and notes what shows it.
func (b *build) settle() error {
	var spis [2]sa
	for i, s := range b.Sides() {
		got, err := b.peers[i].agreed()
		if err != nil {
			return err
		}
		spis[i] = got
		if err := b.belongs(s, got); err != nil {
			return err
		}
		if !b.kernel {
			if err := b.AdoptDevice(s, device); err != nil {
				return err
			}
			if err := s.NS.SetMTU(device, b.MTU); err != nil {
				return err
			}
		}
		b.watch(i, s)
	}
	if spis[0].in != spis[1].out || spis[0].out != spis[1].in {
		return fmt.Errorf("the hosts have agreed on different associations: a receives %08x and sends %08x, b receives %08x and sends %08x",
			spis[0].in, spis[0].out, spis[1].in, spis[1].out)
	}
	b.AddFact("strongSwan", b.peers[0].version)
	b.AddFact("ESP", map[bool]string{true: "in the kernel", false: "in charon (kernel-libipsec)"}[b.kernel])
	b.AddFact("cipher", spis[0].cipher)
	b.AddFact("key exchange", spis[0].exchange)
	return b.Taps(func(s *tunnel.Side) linuxnet.TunnelIngress {
		spi := spis[1].in
		if s == b.Near {
			spi = spis[0].in
		}
		return linuxnet.TunnelIngress{Port: port, SPI: spi, Kernel: b.kernel}
	})
}

// belongs checks that the associations are where the mode has them: with charon, or in
// the kernel, and in neither case in both.
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
		return fmt.Errorf("the kernel of host %s has not the associations %08x and %08x that charon says are installed", s.At, got.in, got.out)
	case !b.kernel && len(list) > 0:
		return fmt.Errorf("the kernel of host %s has %d associations, though ESP is to be charon's", s.At, len(list))
	}
	return nil
}

// watch notes a side's counters: those of its associations, and what the kernel did of
// ESP where it is to do none.
func (b *build) watch(i int, s *tunnel.Side) {
	if b.kernel {
		b.Transfer(s, counts, func() (out, in uint64, err error) { return carried(s, b.Other(s)) })
		b.AddHandler(s, "esp", "IPsec ESP", counts)
		return
	}
	b.Transfer(s, counts, func() (out, in uint64, err error) {
		got, err := b.peers[i].agreed()
		return got.outBytes, got.inBytes, err
	})
	b.AddHandler(s, "process", "charon", counts)
	b.spared(s)
}

// carried is what the kernel's associations of a side have carried, in bytes.
func carried(s, other *tunnel.Side) (out, in uint64, err error) {
	list, err := s.NS.Associations()
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

// associations are those of a namespace's kernel. Where it has no IPsec there are none.
func associations(ns *linuxnet.NS) ([]linuxnet.SecurityAssociation, error) {
	list, err := ns.Associations()
	if linuxnet.WithoutXfrm(err) {
		return nil, nil
	}
	return list, err
}
