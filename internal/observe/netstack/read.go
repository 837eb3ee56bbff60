package netstack

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const socketPrefix = "socket/"

type source struct {
	file     string
	optional bool
	parse    func(*Reading, []byte) error
}

func sources() []source {
	return []source{
		{"snmp", false, protocols},
		{"netstat", true, protocols},
		{"snmp6", true, protocols6},
		{"dev", false, devices},
		{"softnet_stat", false, softnet},
		{"stat/nf_conntrack", true, conntrack},
		{"udp", false, sockets},
		{"udp6", true, sockets},
		{"arp", true, neighbours},
		{"ip_tables_names", true, olderTables},
		{"ip6_tables_names", true, olderTables},
	}
}

// protocols parses pairs of lines: "Udp: InDatagrams NoPorts ..." and the same with values.
func protocols(r *Reading, text []byte) error {
	var names []string
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		if names == nil || names[0] != f[0] {
			names = f
			continue
		}
		if len(f) != len(names) {
			return fmt.Errorf("%s has %d names and %d values", f[0], len(names)-1, len(f)-1)
		}
		for i, v := range f[1:] {
			// Tcp's MaxConn is -1, which is not a counter.
			if n, err := strconv.ParseUint(v, 10, 64); err == nil {
				r.Set(strings.TrimSuffix(f[0], ":")+"."+names[i+1], n)
			}
		}
		names = nil
	}
	return nil
}

// protocols6 parses "Udp6InDatagrams 5" into Udp6.InDatagrams.
func protocols6(r *Reading, text []byte) error {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) != 2 {
			continue
		}
		protocol, name, ok := strings.Cut(f[0], "6")
		n, err := strconv.ParseUint(f[1], 10, 64)
		if !ok || err != nil {
			return fmt.Errorf("read %q", line)
		}
		r.Set(protocol+"6."+name, n)
	}
	return nil
}

// devices parses /proc/net/dev. Its drops of received packets include those for which a
// card had no buffer.
func devices(r *Reading, text []byte) error {
	columns := []string{"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "multicast",
		"tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "collisions", "tx_carrier", "tx_compressed"}
	for line := range strings.Lines(string(text)) {
		colon := strings.LastIndexByte(line, ':') // an alias has one in its name
		if colon < 0 {
			continue // the two header lines
		}
		name, f := strings.TrimSpace(line[:colon]), strings.Fields(line[colon+1:])
		for i, v := range f[:min(len(f), len(columns))] {
			n, err := strconv.ParseUint(v, 10, 64)
			if err != nil {
				return fmt.Errorf("%s of %s: %w", columns[i], name, err)
			}
			r.Set("dev/"+name+"."+columns[i], n)
		}
	}
	return nil
}

// softnet sums the CPUs' backlogs: hexadecimal columns, the second is packets dropped, the
// third how often a CPU stopped with work left. They are for the whole machine.
func softnet(r *Reading, text []byte) error {
	var dropped, squeezed uint64
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return fmt.Errorf("a line has %d columns", len(f))
		}
		d, err := strconv.ParseUint(f[1], 16, 32)
		if err != nil {
			return err
		}
		s, err := strconv.ParseUint(f[2], 16, 32)
		if err != nil {
			return err
		}
		dropped, squeezed = dropped+d, squeezed+s
	}
	r.Set("softnet.dropped", dropped)
	r.Set("softnet.squeezed", squeezed)
	return nil
}

// conntrack sums the CPUs' lines below a header line.
func conntrack(r *Reading, text []byte) error {
	var names []string
	sum := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if names == nil {
			names = f
			continue
		}
		for i, v := range f[:min(len(f), len(names))] {
			n, err := strconv.ParseUint(v, 16, 32)
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			sum[names[i]] += n
		}
	}
	delete(sum, "entries") // the current number, not a counter, and the same on every line
	for name, n := range sum {
		r.Set("conntrack."+name, n)
	}
	return nil
}

// sockets parses /proc/net/udp: the local address in the second column, the inode in
// the tenth, the drops in the last.
func sockets(r *Reading, text []byte) error {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 13 || !strings.HasSuffix(f[0], ":") {
			continue // the header
		}
		_, hex, _ := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return fmt.Errorf("cannot parse local address %q", f[1])
		}
		drops, err := strconv.ParseUint(f[len(f)-1], 10, 64)
		if err != nil {
			return fmt.Errorf("cannot parse drops %q", f[len(f)-1])
		}
		r.Set(fmt.Sprintf("%sudp:%d#%s.drops", socketPrefix, port, f[9]), drops)
	}
	return nil
}

// neighbours parses /proc/net/arp: the address in the first column, flags in the third, which are 0
// without an answer, the device in the last.
func neighbours(r *Reading, text []byte) error {
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) == 6 && f[2] == "0x0" {
			r.Unresolved = append(r.Unresolved, f[0]+" on "+f[5])
		}
	}
	return nil
}

// olderTables records the existence of rules whose counters are not available over netlink.
func olderTables(r *Reading, text []byte) error {
	if tables := strings.Fields(string(text)); len(tables) > 0 {
		return fmt.Errorf("the tables %s belong to legacy iptables, whose rules are not read", strings.Join(tables, ", "))
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
