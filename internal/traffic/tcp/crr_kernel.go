package tcp

import (
	"os"
	"strconv"
	"strings"
)

// kernelTCP is the kernel's TCP counters of this process's network namespace. Counters that cannot
// be read are 0.
type kernelTCP struct {
	retransmits       int64 // segments
	timeWaitOverflows int64 // sockets closed without TIME_WAIT because the table was full
	timeWait          int64 // sockets in TIME_WAIT now
	sourcePorts       int64 // available to connections
}

// readKernelTCP reads the counters. Only Linux has the files.
func readKernelTCP() kernelTCP {
	var k kernelTCP
	if text, err := os.ReadFile("/proc/thread-self/net/snmp"); err == nil {
		k.retransmits = protocolCounter(string(text), "Tcp", "RetransSegs")
	}
	if text, err := os.ReadFile("/proc/thread-self/net/netstat"); err == nil {
		k.timeWaitOverflows = protocolCounter(string(text), "TcpExt", "TCPTimeWaitOverflow")
	}
	if text, err := os.ReadFile("/proc/thread-self/net/sockstat"); err == nil {
		k.timeWait = socketCount(string(text), "TCP:", "tw")
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if f := strings.Fields(string(text)); len(f) == 2 {
			first, _ := strconv.ParseInt(f[0], 10, 64)
			last, _ := strconv.ParseInt(f[1], 10, 64)
			k.sourcePorts = last - first + 1
		}
	}
	return k
}

// socketCount finds a value in /proc/net/sockstat, which has pairs of name and value after each
// protocol.
func socketCount(text, protocol, name string) int64 {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) == 0 || f[0] != protocol {
			continue
		}
		for i := 1; i+1 < len(f); i += 2 {
			if f[i] == name {
				n, _ := strconv.ParseInt(f[i+1], 10, 64)
				return n
			}
		}
	}
	return 0
}

// protocolCounter finds a value in the two-line tables of /proc/net/snmp and netstat: a line of
// names, then a line of values, each after its protocol.
func protocolCounter(text, protocol, name string) int64 {
	var names []string
	for line := range strings.Lines(text) {
		key, rest, ok := strings.Cut(line, ":")
		if !ok || key != protocol {
			continue
		}
		fields := strings.Fields(rest)
		if names == nil {
			names = fields
			continue
		}
		for i, v := range fields {
			if i < len(names) && names[i] == name {
				n, _ := strconv.ParseInt(v, 10, 64)
				return n
			}
		}
		names = nil
	}
	return 0
}
