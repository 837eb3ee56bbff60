package connection

import (
	"os"
	"strconv"
	"strings"

	"tare/internal/traffic"
)

// Kernel is the kernel's TCP counters of this process's network namespace. Counters that cannot
// be read are 0.
type Kernel struct {
	Retransmits       int64 // segments
	TimeWaitOverflows int64 // sockets closed without TIME_WAIT because the table was full
	TimeWait          int64 // sockets in TIME_WAIT now
	SourcePorts       int64 // available to connections
}

// ReadKernel reads the counters. Only Linux has the files.
func ReadKernel() Kernel {
	var k Kernel
	if text, err := os.ReadFile("/proc/thread-self/net/snmp"); err == nil {
		k.Retransmits = ProtocolCounter(string(text), "Tcp", "RetransSegs")
	}
	if text, err := os.ReadFile("/proc/thread-self/net/netstat"); err == nil {
		k.TimeWaitOverflows = ProtocolCounter(string(text), "TcpExt", "TCPTimeWaitOverflow")
	}
	if text, err := os.ReadFile("/proc/thread-self/net/sockstat"); err == nil {
		k.TimeWait = socketCount(string(text), "TCP:", "tw")
	}
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if f := strings.Fields(string(text)); len(f) == 2 {
			first, _ := strconv.ParseInt(f[0], 10, 64)
			last, _ := strconv.ParseInt(f[1], 10, 64)
			k.SourcePorts = last - first + 1
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

// ProtocolCounter finds a value in the two-line tables of /proc/net/snmp and netstat: a line of
// names, then a line of values, each after its protocol.
func ProtocolCounter(text, protocol, name string) int64 {
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

// Estimate adds an upper bound of what the data connections put on the wire at one endpoint.
// Reading it from the kernel for each connection would cost more than the connection. Besides the
// segments of payload (including the tag) and one acknowledgement for each received, an endpoint
// sends at most five: SYN, the acknowledgement of the other SYN, FIN or RST, the acknowledgement of
// the other FIN, and a window update. The retransmissions of the whole namespace are added.
func Estimate(r *traffic.Report, connections int64, out, in int, resent int64) {
	const frame = 5
	// No path has a smaller MTU than 576 bytes (IPv4; here without headers, RFC 9293, 3.7.1).
	mss := 536
	if r.MSS > 0 {
		mss = r.MSS
	}
	each := frame + (out+mss-1)/mss + (in+mss-1)/mss
	r.TCP.Segments += uint64(connections)*uint64(each) + uint64(resent)
	r.TCP.Wire += uint64(connections)*uint64(out) + uint64(resent)*uint64(mss)
}
