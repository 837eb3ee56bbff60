//go:build linux

package docker

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

// tapTable is the table of the packet counters at the underlay's devices.
const tapTable = "tare"

// unsupportedWait is how long an encrypted overlay is given on a kernel that has
// refused what the engine needs for it.
const unsupportedWait = time.Second

// overlayEncrypted: the same with what goes between the hosts in IPsec ESP.
func (p *path) overlayEncrypted(ctx context.Context) error {
	// An engine starts containers on an encrypted network whatever the kernel says to
	// its security associations. Only traffic shows it; the kernel's own word is the
	// reason.
	refused, wait := linuxnet.ProbeESP(), containers.GossipTimeout
	if refused != nil {
		wait = unsupportedWait
	}
	p.sealed = true
	err := p.onOverlay(ctx, map[string]string{optionEncrypted: ""}, wait)
	if remote.IsUnreachable(err) && refused != nil {
		return &driver.Unsupported{Mode: p.Mode, Reason: fmt.Sprintf(
			"the kernel lacks IPsec ESP (CONFIG_INET_ESP, CONFIG_CRYPTO_GCM): %v; the containers start, but %v", refused, err)}
	}
	if err != nil {
		return err
	}
	return p.encrypted()
}

// encrypted declares that what crosses the underlay must have gone through security
// associations, and that nothing of the tunnel may cross it in clear.
func (p *path) encrypted() error {
	for _, s := range p.sides() {
		if err := s.ns.CountIngress(tapTable, eth); err != nil {
			return err
		}
		p.AddReader(tapped(s))
	}
	p.AddReader(associations(p.a, p.b))
	p.AddReader(associations(p.b, p.a))
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

// espStep is the encryption of what leaves and reaches a host.
func (s *side) espStep() pathspec.Step {
	return pathspec.ProvenBy(pathspec.RuleStep(s.Place, "esp", "IPsec ESP"), s.At+"/esp")
}

// tapped reads what a host received of ESP and of VXLAN in clear.
func tapped(s *side) pathspec.CounterReader {
	return func(_ context.Context, into driver.Counters) error {
		counts, err := s.ns.IngressCounts(tapTable)
		for name, n := range counts {
			into[pathspec.CounterName(s.At, eth, name+"_bytes")] = n.Bytes
		}
		return err
	}
}

// associations reads the bytes that a host's security associations with the other
// have carried, by the underlay's addresses, whatever keys are in use.
func associations(s, other *side) pathspec.CounterReader {
	return func(_ context.Context, into driver.Counters) error {
		list, err := s.ns.Associations()
		if err != nil {
			return err
		}
		out, in := espBytes(list, s.host.Addr[0], other.host.Addr[0])
		into[pathspec.CounterName(s.At, "esp", "out_bytes")] = out
		into[pathspec.CounterName(s.At, "esp", "in_bytes")] = in
		return nil
	}
}

// espBytes adds up what ESP has carried between two addresses, each way.
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
