package kubetest

import (
	"fmt"
	"net/netip"

	"tare/internal/lab"
)

// addresses are those of a cluster, within those of its lab.
type addresses struct {
	lab  *lab.Lab
	ipv6 bool // beside IPv4
}

// pods returns the addresses of all pods.
func (a addresses) pods() netip.Prefix { return a.lab.Pool(lab.PoolA) }

// services returns the addresses of services: two pools, for two thousand of them.
func (a addresses) services() netip.Prefix {
	return netip.PrefixFrom(a.lab.Pool(lab.PoolB).Addr(), 21)
}

// podsOf returns the addresses of a node's pods in a cluster without flannel, which assigns them
// by itself.
func (a addresses) podsOf(h *lab.Host) netip.Prefix {
	raw := a.pods().Addr().As4()
	if h == a.lab.B {
		raw[2]++
	}
	return netip.PrefixFrom(netip.AddrFrom4(raw), 24)
}

// subnet6 is one of the cluster's IPv6 subnets, numbered as the pools of IPv4 addresses in which its pods and
// services are. They are invalid on a kernel without IPv6.
func (a addresses) subnet6(pool lab.Pool, n int) netip.Prefix {
	return ipv6(a.lab.Addresses(lab.Net(int(pool)*4+n), 0)).Masked()
}

// PodsIPv6 returns the IPv6 addresses of a node's pods.
func (a addresses) PodsIPv6(h *lab.Host) netip.Prefix {
	if h == a.lab.B {
		return a.subnet6(lab.PoolA, 1)
	}
	return a.subnet6(lab.PoolA, 0)
}

// pods6 returns the addresses of all pods.
func (a addresses) pods6() netip.Prefix {
	return netip.PrefixFrom(a.subnet6(lab.PoolA, 0).Addr(), 62)
}

// services6 returns those of services, of which an API server allows no more than 2^20.
func (a addresses) services6() netip.Prefix {
	return netip.PrefixFrom(a.subnet6(lab.PoolB, 0).Addr(), 112)
}

// both returns the value of a flag for one address family, or for two.
func (a addresses) both(v4, v6 fmt.Stringer) string {
	if !a.ipv6 {
		return v4.String()
	}
	return v4.String() + "," + v6.String()
}

func (a addresses) nodeAddresses(h *lab.Host) string {
	if !a.ipv6 {
		return h.Addr[0].String()
	}
	return a.both(h.Addr[0], h.Addr[1])
}

// ranges returns the ranges of the CNI plugin host-local.
func (a addresses) ranges(v4, v6 netip.Prefix) string {
	if !a.ipv6 {
		return fmt.Sprintf(`[[{"subnet": "%s"}]]`, v4)
	}
	return fmt.Sprintf(`[[{"subnet": "%s"}], [{"subnet": "%s"}]]`, v4, v6)
}

// ipv6 returns the second of the addresses of a lab, which is of IPv6.
func ipv6(of []netip.Prefix) netip.Prefix {
	if len(of) < 2 {
		return netip.Prefix{}
	}
	return of[1]
}
