package lab

import "net/netip"

// Net numbers the subnets of a run: each is a /23 of 198.18.0.0/15 (RFC 2544), which holds
// the endpoints of 200 pairs, and a /64 of 2001:2::/48 (RFC 5180).
type Net int

// The subnets in use.
const (
	NetUnderlay Net = iota // the two hosts, macvlan and ipvlan endpoints
	NetA                   // behind a bridge of host a
	NetB                   // behind a bridge of host b
	NetOverlay             // spans both hosts
)

// LastHost is the highest host number of a subnet.
const LastHost = 510

// Pool numbers the larger address ranges from which an engine allocates subnets, after the
// single subnets.
type Pool int

// The pools in use.
const (
	PoolA     Pool = iota // of the engine on host a, a /23
	PoolB                 // of the engine on host b, a /23
	PoolSwarm             // shared by both engines, a /22
)

// SwarmBits is the prefix length of subnets allocated from PoolSwarm. The routing mesh has two
// addresses for each pair.
const SwarmBits = 23

// Slots is the maximum number of runs on one machine at once: each uses a /20.
const Slots = 32

// Addresses returns the addresses of host number n in a subnet, up to LastHost, with prefix
// lengths: IPv4, then IPv6 if the kernel supports it.
func (l *Lab) Addresses(net Net, n int) []netip.Prefix {
	high, low := byte(n>>8), byte(n)
	v4 := l.block(2 * int(net)).As4()
	v4[2] += high
	v4[3] = low
	out := []netip.Prefix{netip.PrefixFrom(netip.AddrFrom4(v4), 23)}
	if l.IPv6 {
		v6 := netip.AddrFrom16([16]byte{0: 0x20, 1: 0x01, 2: 0, 3: 0x02, 6: byte(l.Spec.Claim.Slot), 7: byte(net), 14: high, 15: low})
		out = append(out, netip.PrefixFrom(v6, 64))
	}
	return out
}

// Pool returns the address range of a pool, IPv4 only.
func (l *Lab) Pool(p Pool) netip.Prefix {
	bits := 23
	if p == PoolSwarm {
		bits = 22
	}
	return netip.PrefixFrom(l.block(8+2*int(p)), bits)
}

// block returns the first address of the nth /24 of the lab's slot.
func (l *Lab) block(n int) netip.Addr {
	slot := l.Spec.Claim.Slot
	return netip.AddrFrom4([4]byte{198, byte(18 + slot/16), byte(slot%16*16 + n), 0})
}

// Ranges returns how an engine divides its pool, PoolA or PoolB: a subnet for the containers of
// all pairs, which the first network gets, and the range of further ones of SmallBits.
func (l *Lab) Ranges(p Pool) (first, small netip.Prefix) {
	return netip.PrefixFrom(l.block(8+2*int(p)), 24), netip.PrefixFrom(l.block(9+2*int(p)), 24)
}

// SmallBits is the prefix length of an engine's networks after its first.
const SmallBits = 26
