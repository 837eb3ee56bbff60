package containers

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"

	"tare/internal/engine"
)

// The options of docker/driver:NAME that are not the driver's own: what docker
// network create has flags for.
const (
	OptionSubnet  = "subnet"   // IPv4 prefix of the network
	OptionRange   = "ip-range" // within it, addresses that nobody else has
	OptionGateway = "gateway"
)

// ExtractIPAM takes the options that are not the driver's own out of a network's.
func ExtractIPAM(spec *engine.NetworkSpec) error {
	prefix := func(name string) (out netip.Prefix, err error) {
		if v, ok := spec.Options[name]; ok {
			delete(spec.Options, name)
			if out, err = netip.ParsePrefix(v); err != nil || !out.Addr().Is4() {
				return out, fmt.Errorf("option %s is %q; want an IPv4 prefix such as 192.0.2.0/24", name, v)
			}
		}
		return out, nil
	}
	var err error
	if spec.Subnet, err = prefix(OptionSubnet); err != nil {
		return err
	}
	if spec.Range, err = prefix(OptionRange); err != nil {
		return err
	}
	if v, ok := spec.Options[OptionGateway]; ok {
		delete(spec.Options, OptionGateway)
		if spec.Gateway, err = netip.ParseAddr(v); err != nil {
			return fmt.Errorf("option %s is %q; want an address", OptionGateway, v)
		}
	}
	if spec.Range.IsValid() && (!spec.Subnet.IsValid() || !spec.Subnet.Contains(spec.Range.Addr())) {
		return fmt.Errorf("option %s is %s; want a part of the network's %s", OptionRange, spec.Range, OptionSubnet)
	}
	return nil
}

// FreeAddresses finds up to count addresses, from the end of the subnet that two
// networks share, which nobody has on either: two engines that do not know of each
// other would give out the same ones. shared is false where they share no subnet.
func FreeAddresses(a, b engine.Network, count int) (free []netip.Addr, shared bool) {
	subnet, _ := SplitFamilies(a.Subnets)
	if other, _ := SplitFamilies(b.Subnets); subnet != other || !subnet.IsValid() {
		return nil, false
	}
	taken := map[netip.Addr]bool{}
	for _, n := range []engine.Network{a, b} {
		if len(n.Gateways) == 0 {
			taken[NthAddress(subnet, 1)] = true // the engine's choice, of which it says nothing
		}
		for _, addr := range slices.Concat(n.Gateways, slices.Collect(maps.Values(n.Joined))) {
			taken[addr] = true
		}
	}
	for at := LastAddress(subnet).Prev(); len(free) < count && at.IsValid() && subnet.Contains(at) && at != subnet.Addr(); at = at.Prev() {
		if !taken[at] {
			free = append(free, at)
		}
	}
	return free, true
}

// LastAddress is the last address of an IPv4 subnet, which is its broadcast address.
func LastAddress(subnet netip.Prefix) netip.Addr {
	raw := subnet.Masked().Addr().As4()
	for bit := subnet.Bits(); bit < 32; bit++ {
		raw[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom4(raw)
}

// NthAddress is a subnet's address number n, of which 0 is its own.
func NthAddress(subnet netip.Prefix, n int) netip.Addr {
	at := subnet.Masked().Addr()
	for range n {
		at = at.Next()
	}
	return at
}

// SplitFamilies sorts at most one prefix of each family.
func SplitFamilies(all []netip.Prefix) (v4, v6 netip.Prefix) {
	for _, p := range all {
		if p.Addr().Is6() {
			v6 = p.Masked()
		} else {
			v4 = p.Masked()
		}
	}
	return v4, v6
}

// FirstIPv4 is the first IPv4 address of a container, and false where it has none.
func FirstIPv4(c *engine.Container) (netip.Addr, bool) {
	for _, a := range c.Addresses() {
		if a.Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}
