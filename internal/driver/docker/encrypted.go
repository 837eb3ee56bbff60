//go:build linux

package docker

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"tare/internal/driver"
	"tare/internal/driver/containers"
	"tare/internal/driver/notes"
	"tare/internal/driver/remote"
	"tare/internal/linuxnet"
)

// tapTable is the table of the packet counters at the underlay's devices.
const tapTable = "tare"

// hopelessWait is how long an encrypted overlay is given on a kernel that has
// refused what the engine needs for it.
const hopelessWait = time.Second

// overlayEncrypted: the same with what goes between the hosts in IPsec ESP.
func (p *path) overlayEncrypted(ctx context.Context) error {
	// An engine starts containers on an encrypted network whatever the kernel says to
	// its security associations. Only traffic shows it; the kernel's own word is the
	// reason.
	refused, wait := linuxnet.TryESP(), containers.GossipWait
	if refused != nil {
		wait = hopelessWait
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
		if err := s.ns.Tap(tapTable, eth); err != nil {
			return err
		}
		p.Watch(tapped(s))
	}
	p.Watch(associations(p.a, p.b))
	p.Watch(associations(p.b, p.a))
	p.Must(
		driver.Rule{Counter: notes.Counter("a", "esp", "out_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: notes.Counter("b", "esp", "in_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: notes.Counter("b", "esp", "out_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: notes.Counter("a", "esp", "in_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: notes.Counter("b", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Forward},
		driver.Rule{Counter: notes.Counter("a", eth, linuxnet.CountESP+"_bytes"), Expect: driver.Reverse},
		driver.Rule{Counter: notes.Counter("a", eth, linuxnet.CountClear+"_bytes"), Expect: driver.Still},
		driver.Rule{Counter: notes.Counter("b", eth, linuxnet.CountClear+"_bytes"), Expect: driver.Still},
	)
	return nil
}

// espStep is the encryption of what leaves and reaches a host.
func (s *side) espStep() notes.Step {
	return notes.By(notes.Rule(s.Place, "esp", "IPsec ESP"), s.At+"/esp")
}

// tapped reads what a host received of ESP and of VXLAN in clear.
func tapped(s *side) notes.Watch {
	return func(_ context.Context, into driver.Counters) error {
		counts, err := s.ns.TapCounts(tapTable)
		for name, n := range counts {
			into[notes.Counter(s.At, eth, name+"_bytes")] = n.Bytes
		}
		return err
	}
}

// associations reads the bytes that a host's security associations with the other
// have carried, by the underlay's addresses, whatever keys are in use.
func associations(s, other *side) notes.Watch {
	return func(_ context.Context, into driver.Counters) error {
		list, err := s.ns.Associations()
		if err != nil {
			return err
		}
		out, in := espBytes(list, s.host.Addr[0], other.host.Addr[0])
		into[notes.Counter(s.At, "esp", "out_bytes")] = out
		into[notes.Counter(s.At, "esp", "in_bytes")] = in
		return nil
	}
}

// espBytes adds up what ESP has carried between two addresses, each way.
func espBytes(list []linuxnet.Association, own, other netip.Addr) (out, in uint64) {
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
