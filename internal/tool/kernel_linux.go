package tool

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/timelimit"
)

// readKernel reads this network namespace's counters.
func readKernel() kernelCount {
	v4, err4 := os.ReadFile("/proc/self/net/netstat")
	snmp, errS := os.ReadFile("/proc/self/net/snmp")
	if err4 != nil || errS != nil {
		return kernelCount{}
	}
	v6, _ := os.ReadFile("/proc/self/net/snmp6") // a kernel without IPv6 has none
	a, b, c := parseSNMP(v4), parseSNMP(snmp), parseSNMP6(v6)
	_, known := a["IpExt.OutOctets"]
	return kernelCount{
		octets:   a["IpExt.OutOctets"] + c["Ip6OutOctets"],
		segments: b["Tcp.OutSegs"] + b["Udp.OutDatagrams"] + b["Ip.FragCreates"] + c["Udp6OutDatagrams"] + c["Ip6FragCreates"],
		known:    known,
	}
}

// parseSNMP reads the format of /proc/net/snmp: a line of names, a line of values.
func parseSNMP(text []byte) map[string]uint64 {
	out := map[string]uint64{}
	var names []string
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(names) != len(fields) || names[0] != fields[0] {
			names = fields
			continue
		}
		for i, v := range fields[1:] {
			if n, err := strconv.ParseUint(v, 10, 64); err == nil {
				out[strings.TrimSuffix(fields[0], ":")+"."+names[i+1]] = n
			}
		}
		names = nil
	}
	return out
}

// parseSNMP6 reads the format of /proc/net/snmp6: one name and value per line.
func parseSNMP6(text []byte) map[string]uint64 {
	out := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 {
			if n, err := strconv.ParseUint(f[1], 10, 64); err == nil {
				out[f[0]] = n
			}
		}
	}
	return out
}

// socket is a line of /proc/net/tcp or udp.
type socket struct {
	local, remote uint16
	state         uint64
	unsent        uint64 // bytes not yet sent or acknowledged
}

// stateListen is TCP_LISTEN in /proc/net/tcp; UDP sockets are in stateOpen.
const (
	stateListen = 0x0a
	stateOpen   = 0x07
)

func sockets(protocol string) (out []socket, known bool) {
	for _, suffix := range []string{"", "6"} {
		text, err := os.ReadFile("/proc/self/net/" + protocol + suffix)
		if err != nil {
			continue
		}
		known = true
		for s := bufio.NewScanner(bytes.NewReader(text)); s.Scan(); {
			if one, err := parseSocket(s.Text()); err == nil {
				out = append(out, one)
			}
		}
	}
	return out, known
}

func parseSocket(line string) (socket, error) {
	f := strings.Fields(line)
	if len(f) < 5 {
		return socket{}, fmt.Errorf("%.40q is not a socket", line)
	}
	var s socket
	for i, at := range []*uint16{&s.local, &s.remote} {
		_, port, _ := strings.Cut(f[i+1], ":")
		n, err := strconv.ParseUint(port, 16, 16)
		if err != nil {
			return s, err
		}
		*at = uint16(n)
	}
	var err error
	if s.state, err = strconv.ParseUint(f[3], 16, 8); err != nil {
		return s, err
	}
	tx, _, _ := strings.Cut(f[4], ":")
	s.unsent, err = strconv.ParseUint(tx, 16, 64)
	return s, err
}

// portOpen reports whether a socket listens on a port; known is false if that cannot be determined.
func portOpen(port uint16, udp bool) (open, known bool) {
	protocol, state := "tcp", uint64(stateListen)
	if udp {
		protocol, state = "udp", stateOpen
	}
	all, known := sockets(protocol)
	for _, s := range all {
		open = open || s.local == port && s.state == state
	}
	return open, known
}

// defaultCongestion is the congestion control of sockets that set none, empty if it is unknown.
func defaultCongestion() string {
	name, err := os.ReadFile("/proc/sys/net/ipv4/tcp_congestion_control")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(name))
}

// drainTimeout bounds the wait for what the kernel still sends after the tool has exited.
func drainTimeout() time.Duration { return timelimit.Scaled(5 * time.Second) }

// drainPoll is the interval of checks for that.
const drainPoll = 5 * time.Millisecond

// drain waits until no connection of the port has anything left to send: a tool exits before the
// kernel has sent everything.
func drain(ctx context.Context, port uint16) {
	ctx, cancel := context.WithTimeout(ctx, drainTimeout())
	defer cancel()
	for {
		waiting := false
		all, _ := sockets("tcp")
		for _, s := range all {
			waiting = waiting || (s.local == port || s.remote == port) && s.state != stateListen && s.unsent > 0
		}
		if !waiting {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(drainPoll):
		}
	}
}

// grantedBufferSize returns the socket buffer that the kernel grants a tool of the requested bytes:
// tools cannot exceed rmem_max and wmem_max.
func grantedBufferSize(bytes int) int {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return bytes
	}
	defer unix.Close(fd)
	least := bytes
	for _, option := range []int{unix.SO_SNDBUF, unix.SO_RCVBUF} {
		if unix.SetsockoptInt(fd, unix.SOL_SOCKET, option, bytes) != nil {
			continue
		}
		// The kernel accounts for twice the size and reports that.
		if got, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, option); err == nil {
			least = min(least, got/2)
		}
	}
	return least
}
