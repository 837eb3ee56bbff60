package facts

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"tare/internal/warning"
)

// congestion records the TCP congestion control settings.
func (m *machine) congestion() {
	const dir = "proc/sys/net/ipv4/"
	standard, err := readFile(m.fsys, dir+"tcp_congestion_control")
	m.factOr("tcp_congestion_control", standard, err)
	available, errAvailable := readFile(m.fsys, dir+"tcp_available_congestion_control")
	m.factOr("tcp_available_congestion_control", available, errAvailable)
	allowed, errAllowed := readFile(m.fsys, dir+"tcp_allowed_congestion_control")
	m.factOr("tcp_allowed_congestion_control", allowed, errAllowed)

	if err == nil && strings.HasPrefix(standard, "bbr") {
		m.warn(warning.BBRDefault, "The default congestion control of this machine is %s, but tare sets cubic unless the study names another: the results are not "+
			"those of a program that keeps the default, which paces and so slows a fast path (between two namespaces to 17 Gbit/s where cubic reached "+
			"20 to 60). `sysctl -w net.ipv4.tcp_congestion_control=cubic` makes both the same.", standard)
	}
	if errAvailable == nil && !slices.Contains(strings.Fields(available), "cubic") {
		m.warn(warning.NoCubic, "This kernel has %s but not cubic, which tare sets unless the study names another: if its module cannot be loaded either, "+
			"trials fail. Run `modprobe tcp_cubic`, or set congestion_control: reno in the study.", strings.ReplaceAll(available, " ", ", "))
		return
	}
	if errAllowed == nil && !slices.Contains(strings.Fields(allowed), "cubic") {
		m.warn(warning.CubicRestricted, "A process without CAP_NET_ADMIN can set only %s, not cubic, which tare sets unless the study names another: trials with "+
			"a client or server without that capability, as in a container, fail. Allow it with `sysctl -w net.ipv4.tcp_allowed_congestion_control=\"%s cubic\"`.",
			strings.ReplaceAll(allowed, " ", ", "), allowed)
	}
}

// network records the settings that limit what the network stack does with packets.
func (m *machine) network() {
	for _, f := range []struct{ name, path string }{
		{"tcp_rmem", "ipv4/tcp_rmem"},
		{"tcp_wmem", "ipv4/tcp_wmem"},
		{"rmem_max", "core/rmem_max"},
		{"wmem_max", "core/wmem_max"},
		{"rmem_default", "core/rmem_default"},
		{"wmem_default", "core/wmem_default"},
		{"netdev_max_backlog", "core/netdev_max_backlog"},
		{"default_qdisc", "core/default_qdisc"},
	} {
		m.factFile(f.name, "proc/sys/net/"+f.path)
	}
	for _, f := range []struct{ name, path string }{
		{"tcp_mem", "ipv4/tcp_mem"},
		{"udp_mem", "ipv4/udp_mem"},
		{"netdev_budget", "core/netdev_budget"},
		{"netdev_budget_usecs", "core/netdev_budget_usecs"},
		{"somaxconn", "core/somaxconn"},
		{"ip_local_port_range", "ipv4/ip_local_port_range"},
		{"tcp_max_tw_buckets", "ipv4/tcp_max_tw_buckets"},
	} {
		m.factFileIfAny(f.name, "proc/sys/net/"+f.path)
	}
	m.flowSteering()
	bridged, err := m.bridgeNetfilter()
	m.factOr("br_netfilter", bridged, err)
	m.onOffIfAny("bpf_jit", "proc/sys/net/core/bpf_jit_enable")
}

// flowSteering records whether packets are steered to the CPU that reads their flow (RFS).
func (m *machine) flowSteering() {
	v, err := readFile(m.fsys, "proc/sys/net/core/rps_sock_flow_entries")
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		m.fact("rps_sock_flow_entries", unknown(err))
	case v == "0":
		m.fact("rps_sock_flow_entries", "off")
	default:
		m.fact("rps_sock_flow_entries", v)
	}
}

// bridgeNetfilter records which packet filters see frames that a bridge forwards.
func (sys files) bridgeNetfilter() (string, error) {
	const dir = "proc/sys/net"
	if _, err := fs.Stat(sys.fsys, dir); err != nil {
		return "", plain(dir, err)
	}
	var on []string
	for _, table := range []string{"iptables", "ip6tables", "arptables"} {
		v, err := readFile(sys.fsys, dir+"/bridge/bridge-nf-call-"+table)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "not loaded", nil
		case err != nil:
			return "", err
		case v != "0":
			on = append(on, table)
		}
	}
	if len(on) == 0 {
		return "loaded, off", nil
	}
	return "on for " + strings.Join(on, ", "), nil
}
