package lab

import "os"

// listenedPorts are the ports on which something in a lab listens: Swarm's management (2377)
// and gossip (7946), IPsec in UDP, VXLAN, the data ports of up to 100 pairs (from 5201, and
// from 5301 where a lab is used as two machines), and WireGuard. A connection
// that got one as its source port keeps it busy for as long as it is in TIME_WAIT, and an
// engine that finds it busy does not try again.
const listenedPorts = "2377,4500,4789,5201-5400,7946,51820"

// SandboxSettings returns the sysctls of IPv4 that every sandbox gets, as pairs of path below
// /proc/sys and value, as far as all supported kernels have them. They replace the machine's
// defaults, so that only the path differs between modes. TCP metrics are not saved: a
// connection must not learn from the previous one.
func SandboxSettings() [][2]string {
	return [][2]string{
		{"net/ipv4/tcp_no_metrics_save", "1"},
		// Tens of thousands of connections a second need all source ports, again and again.
		// The TIME_WAIT mechanism itself stays enabled.
		{"net/ipv4/ip_local_port_range", "1024 65535"},
		{"net/ipv4/ip_local_reserved_ports", listenedPorts},
		{"net/ipv4/tcp_tw_reuse", "1"},
		{"net/ipv4/conf/all/rp_filter", "0"},
		{"net/ipv4/conf/default/rp_filter", "0"},
	}
}

// HereSettings returns the further settings of IPv4 that the kernel of this machine has.
func HereSettings() [][2]string {
	// A port in TIME_WAIT can be reused after one millisecond where the kernel supports
	// this setting (6.14), otherwise after one second.
	const delay = "net/ipv4/tcp_tw_reuse_delay"
	if _, err := os.Stat("/proc/sys/" + delay); err != nil {
		return nil
	}
	return [][2]string{{delay, "1"}}
}

// Settings returns the sysctls of every sandbox of a lab.
func (l *Lab) Settings() [][2]string {
	s := SandboxSettings()
	if l.IPv6 {
		s = append(s, [][2]string{
			{"net/ipv6/conf/all/disable_ipv6", "0"},
			{"net/ipv6/conf/default/disable_ipv6", "0"},
			{"net/ipv6/conf/default/accept_ra", "0"},
			{"net/ipv6/conf/default/autoconf", "0"},
			{"net/ipv6/conf/default/router_solicitations", "0"},
			// A router needs its link-local address to solicit neighbours. Duplicate
			// address detection is off, because no other host can have the same address.
			{"net/ipv6/conf/all/accept_dad", "0"},
			{"net/ipv6/conf/default/accept_dad", "0"},
		}...)
	}
	return append(s, HereSettings()...)
}
