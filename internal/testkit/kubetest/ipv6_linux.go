package kubetest

import (
	"fmt"
	"net/netip"
	"testing"

	"tare/internal/lab"
)

// The cluster's IPv6 addresses, numbered as the pools of IPv4 addresses in which its pods and
// services are. They are invalid on a kernel without IPv6.
func (c *Cluster) subnet6(pool lab.Pool, n int) netip.Prefix {
	return ipv6(c.Lab.Addresses(lab.Net(int(pool)*4+n), 0)).Masked()
}

// ipv6 returns the second of the addresses of a lab, which is of IPv6.
func ipv6(of []netip.Prefix) netip.Prefix {
	if len(of) < 2 {
		return netip.Prefix{}
	}
	return of[1]
}

// PodsIPv6 returns the IPv6 addresses of a node's pods.
func (c *Cluster) PodsIPv6(h *lab.Host) netip.Prefix {
	if h == c.Lab.B {
		return c.subnet6(lab.PoolA, 1)
	}
	return c.subnet6(lab.PoolA, 0)
}

// pods6 returns the addresses of all pods.
func (c *Cluster) pods6() netip.Prefix {
	return netip.PrefixFrom(c.subnet6(lab.PoolA, 0).Addr(), 62)
}

// services6 returns those of services, of which an API server allows no more than 2^20.
func (c *Cluster) services6() netip.Prefix {
	return netip.PrefixFrom(c.subnet6(lab.PoolB, 0).Addr(), 112)
}

// both returns the value of a flag for one address family, or for two.
func (c *Cluster) both(v4, v6 fmt.Stringer) string {
	if !c.options.IPv6 {
		return v4.String()
	}
	return v4.String() + "," + v6.String()
}

func (c *Cluster) nodeAddresses(h *lab.Host) string {
	if !c.options.IPv6 {
		return h.Addr[0].String()
	}
	return c.both(h.Addr[0], h.Addr[1])
}

// ranges returns the ranges of the CNI plugin host-local.
func (c *Cluster) ranges(v4, v6 netip.Prefix) string {
	if !c.options.IPv6 {
		return fmt.Sprintf(`[[{"subnet": "%s"}]]`, v4)
	}
	return fmt.Sprintf(`[[{"subnet": "%s"}], [{"subnet": "%s"}]]`, v4, v6)
}

// networkIPv6 prepares a node for IPv6, as network does for IPv4.
func (c *Cluster) networkIPv6(t testing.TB, h *lab.Host) {
	t.Helper()
	if !c.options.IPv6 {
		return
	}
	if !c.Lab.IPv6 || c.options.CNI != Bridge {
		t.Fatal("a cluster with IPv6 requires a kernel with IPv6 and the network bridge")
	}
	for _, s := range [][2]string{{"net/ipv6/conf/all/forwarding", "1"}, {"net/bridge/bridge-nf-call-ip6tables", "1"}} {
		if err := h.NS.Sysctl(s[0], s[1]); err != nil {
			t.Fatal(err)
		}
	}
	other := c.Lab.A
	if h == other {
		other = c.Lab.B
	}
	c.OnNode(t, h, "ip", "-6", "route", "add", c.services6().String(), "dev", lab.Underlay)
	c.OnNode(t, h, "ip", "-6", "route", "add", c.PodsIPv6(other).String(), "via", other.Addr[1].String())
}
