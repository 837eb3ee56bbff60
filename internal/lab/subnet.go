package lab

import "net/netip"

// Net numbers the subnets of a run: each is a /24 of 198.18.0.0/15 (RFC 2544)
// and a /64 of 2001:2::/48 (RFC 5180).
type Net int

// The subnets in use.
const (
	NetUnderlay Net = iota // the two hosts, macvlan and ipvlan endpoints
	NetA                   // behind a bridge of host a
	NetB                   // behind a bridge of host b
	NetOverlay             // spans both hosts
)

// Pool numbers the larger address ranges from which an engine allocates subnets, each a /22
// after the single subnets.
type Pool int

// The pools in use.
const (
	PoolA     Pool = iota + 1 // of the engine on host a
	PoolB                     // of the engine on host b
	PoolSwarm                 // shared by both engines
)

// PoolBits is the prefix length of subnets allocated from a pool.
const PoolBits = 26

// Slots is the maximum number of runs on one machine at once: each uses a /20.
const Slots = 32

// Addresses returns the addresses of host number n in a subnet, with prefix lengths: IPv4,
// then IPv6 if the kernel supports it.
func (l *Lab) Addresses(net Net, n int) []netip.Prefix {
	slot := l.Spec.Claim.Slot
	third := slot%16*16 + int(net)
	v4 := netip.AddrFrom4([4]byte{198, byte(18 + slot/16), byte(third), byte(n)})
	out := []netip.Prefix{netip.PrefixFrom(v4, 24)}
	if l.IPv6 {
		v6 := netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0, 3: 0x02, 6: byte(slot), 7: byte(net), 15: byte(n)})
		out = append(out, netip.PrefixFrom(v6, 64))
	}
	return out
}

// Pool returns the address range of a pool, IPv4 only.
func (l *Lab) Pool(p Pool) netip.Prefix {
	slot := l.Spec.Claim.Slot
	third := slot%16*16 + int(p)*4
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{198, byte(18 + slot/16), byte(third), 0}), 22)
}
