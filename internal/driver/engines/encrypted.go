//go:build linux

package engines

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/pathspec"
	"tare/internal/driver/remote"
	"tare/internal/linuxnet"
)

// tapTable is the nftables table of the packet counters on the underlay devices.
const tapTable = "tare"

// unsupportedWait is how long to wait for an encrypted overlay if the kernel has rejected
// what the engine requires for it.
const unsupportedWait = time.Second

// overlayEncrypted: the same with IPsec ESP between the hosts.
func (p *path) overlayEncrypted(ctx context.Context) error {
	// An engine starts containers on an encrypted network even if the kernel rejects its
	// security associations. Only traffic shows the failure; the kernel's error is the
	// reason.
	refused, wait := linuxnet.ProbeESP(), containers.GossipTimeout
	if refused != nil {
		wait = unsupportedWait
	}
	p.encryptedOverlay = true
	err := p.buildOverlay(ctx, map[string]string{optionEncrypted: ""}, wait)
	if remote.IsUnreachable(err) && refused != nil {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"the kernel lacks IPsec ESP (CONFIG_INET_ESP, CONFIG_CRYPTO_GCM): %v; the containers start, but %v", refused, err)}
	}
	if err != nil {
		return err
	}
	return p.encrypted()
}

// encrypted requires that all traffic on the underlay goes through security associations
// and that no tunnel packet crosses it unencrypted.
func (p *path) encrypted() error {
	for _, s := range p.sides() {
		if err := s.ns.Rules().CountIngress(tapTable, eth); err != nil {
			return err
		}
		p.AddReader(readIngress(s))
	}
	p.AddReader(readAssociations(p.a, p.b))
	p.AddReader(readAssociations(p.b, p.a))
	p.AddRules(
		driver.Rule{Counter: pathspec.CounterName("a", "esp", "out_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("b", "esp", "in_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("b", "esp", "out_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("a", "esp", "in_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("b", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: pathspec.CounterName("a", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: pathspec.CounterName("a", eth, linuxnet.CountClear+"_bytes"), Expect: driver.NoTraffic},
		driver.Rule{Counter: pathspec.CounterName("b", eth, linuxnet.CountClear+"_bytes"), Expect: driver.NoTraffic},
	)
	return nil
}

// espStep is the encryption of a host's outgoing and incoming packets.
func (s *side) espStep() pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(s.Place, "esp", "IPsec ESP"), s.At+"/esp")
}

// readIngress reads what a host received of ESP and of unencrypted VXLAN.
func readIngress(s *side) pathspec.CounterReader {
	return func(_ context.Context, into driver.Counters) error {
		counts, err := s.ns.Rules().IngressCounts(tapTable)
		for name, n := range counts {
			into[pathspec.CounterName(s.At, eth, name+"_bytes")] = n.Bytes
		}
		return err
	}
}

// readAssociations reads the bytes that a host's security associations with the other have
// processed, selected by the underlay's addresses and independent of the current keys.
func readAssociations(s, other *side) pathspec.CounterReader {
	return func(_ context.Context, into driver.Counters) error {
		list, err := s.ns.Tunnels().Associations()
		if err != nil {
			return err
		}
		out, in := espBytes(list, s.host.Addr[0], other.host.Addr[0])
		into[pathspec.CounterName(s.At, "esp", "out_bytes")] = out
		into[pathspec.CounterName(s.At, "esp", "in_bytes")] = in
		return nil
	}
}

// espBytes returns the ESP bytes between two addresses, in each direction.
func espBytes(list []linuxnet.SecurityAssociation, own, other netip.Addr) (out, in uint64) {
	for _, a := range list {
		switch {
		case !a.ESP:
		case a.Src == own && a.Dst == other:
			out += a.Bytes
		case a.Src == other && a.Dst == own:
			in += a.Bytes
		}
	}
	return out, in
}
