package driver

// The variables that a Survey reads.
const (
	SysctlCongestion     = "net/ipv4/tcp_congestion_control"
	SysctlBridgeIPv4     = "net/bridge/bridge-nf-call-iptables"
	SysctlConntrackCount = "net/netfilter/nf_conntrack_count"
	SysctlConntrackMax   = "net/netfilter/nf_conntrack_max"
)

// SocketSettings are the variables that decide what a socket of an ordinary program
// is given, and so what such a program would reach.
func SocketSettings() []string {
	return []string{
		SysctlCongestion, "net/ipv4/tcp_rmem", "net/ipv4/tcp_wmem", "net/core/rmem_max", "net/core/wmem_max", "net/core/rmem_default", "net/core/wmem_default",
		"net/ipv4/tcp_sack", "net/ipv4/tcp_timestamps", "net/ipv4/tcp_window_scaling", "net/ipv4/tcp_ecn", "net/ipv4/tcp_mtu_probing",
		"net/ipv4/tcp_slow_start_after_idle", "net/ipv4/tcp_autocorking", "net/core/default_qdisc",
	}
}

// SurveyedSysctls are all variables that a Survey reads.
func SurveyedSysctls() []string {
	return append(SocketSettings(), SysctlBridgeIPv4, SysctlConntrackMax)
}
