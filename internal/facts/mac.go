package facts

import (
	"errors"
	"fmt"
	"strings"
)

// sysctls reads variables of macOS by name.
type sysctls interface {
	Text(name string) (string, error)
	Number(name string) (uint64, error)
}

// mac records what macOS tells of the machine.
func (c *collected) mac(s sysctls) {
	release, err := s.Text("kern.osrelease")
	c.factOr("kernel", release, err)
	product, err := s.Text("kern.osproductversion")
	if build, errBuild := s.Text("kern.osversion"); errBuild == nil {
		product += " (" + build + ")"
	}
	c.factOr("distribution", "macOS "+product, err)
	model, err := s.Text("hw.model")
	c.factOr("hardware_model", model, err)
	guest, err := s.Number("kern.hv_vmm_present")
	hypervisor := noHypervisor + " (kern.hv_vmm_present)"
	if guest != 0 {
		hypervisor = "present, its name is not told (kern.hv_vmm_present)"
	}
	c.factOr("hypervisor", hypervisor, err)
	c.group("CPUs")
	cpu, err := s.Text("machdep.cpu.brand_string")
	c.factOr("cpu_model", cpu, err)
	logical, err := s.Number("hw.logicalcpu")
	c.factOr("cpus_online", fmt.Sprint(logical), err)
	cores, err := s.Number("hw.physicalcpu")
	c.factOr("cores_allowed", fmt.Sprint(cores), err)
	c.fact("cpu_kinds", coreKinds(s))
	c.group("memory and limits")
	memory, err := s.Number("hw.memsize")
	c.factOr("memory", gib(float64(memory)), err)
	c.group("network stack")
	for _, v := range macVariables() {
		n, err := s.Number(v.sysctl)
		c.factOr(v.fact, fmt.Sprint(n), err)
	}
	c.fact("tcp_congestion_control", unknown(errors.New("macOS has no variable that names it")))
}

// macVariables are the settings of the network stack that limit a transfer, by the names of
// facts. Those of loopback and Ethernet are the same.
func macVariables() []struct{ fact, sysctl string } {
	return []struct{ fact, sysctl string }{
		{"tcp_sendspace", "net.inet.tcp.sendspace"},
		{"tcp_recvspace", "net.inet.tcp.recvspace"},
		{"tcp_autosndbufmax", "net.inet.tcp.autosndbufmax"},
		{"tcp_autorcvbufmax", "net.inet.tcp.autorcvbufmax"},
		{"tcp_delayed_ack", "net.inet.tcp.delayed_ack"},
		{"tcp_mssdflt", "net.inet.tcp.mssdflt"},
		{"udp_recvspace", "net.inet.udp.recvspace"},
		{"udp_maxdgram", "net.inet.udp.maxdgram"},
		{"maxsockbuf", "kern.ipc.maxsockbuf"},
		{"somaxconn", "kern.ipc.somaxconn"},
	}
}

// maxCoreKinds bounds the kinds of cores that are read; there are two.
const maxCoreKinds = 8

// coreKinds names the kinds of cores with their numbers, such as 4 Performance, 4
// Efficiency: a thread runs on either. An Intel Mac has one kind.
func coreKinds(s sysctls) string {
	levels, err := s.Number("hw.nperflevels")
	if err != nil {
		return unknown(err)
	}
	var parts []string
	for i := range min(levels, maxCoreKinds) {
		level := fmt.Sprintf("hw.perflevel%d.", i)
		n, err := s.Number(level + "logicalcpu")
		if err != nil {
			return unknown(err)
		}
		name, err := s.Text(level + "name")
		if err != nil {
			name = fmt.Sprintf("level %d", i)
		}
		parts = append(parts, fmt.Sprintf("%d %s", n, name))
	}
	return strings.Join(parts, ", ")
}
