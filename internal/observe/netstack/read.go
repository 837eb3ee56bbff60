package netstack

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const socketPrefix = "socket/"

// Read reads the stack of the calling thread. proc is where procfs is mounted,
// normally /proc. On a system without procfs the reading is empty but for its gap.
func Read(proc string) Reading {
	var r Reading
	if _, err := os.Stat(filepath.Join(proc, "thread-self")); err != nil {
		if _, err := os.Stat(filepath.Join(proc, "stat")); err != nil {
			r.AddGap("counters", fmt.Errorf("no procfs here: %w", err))
			return r
		}
	}
	r.Boot = Boot(proc)
	if ns, err := os.Readlink(filepath.Join(proc, "thread-self/ns/net")); err == nil {
		r.NS = strings.Trim(strings.TrimPrefix(ns, "net:"), "[]")
	}
	for _, s := range sources() {
		text, err := os.ReadFile(filepath.Join(proc, "thread-self/net", s.file))
		if errors.Is(err, os.ErrNotExist) && s.optional {
			continue // the kernel was built without it, or it is not loaded: nothing is there to be lost
		}
		if err == nil {
			err = s.parse(&r, text)
		}
		r.AddGap("/proc/net/"+s.file, err)
	}
	return r
}

// Boot is the kernel's boot id, empty where there is none.
func Boot(proc string) string {
	id, err := os.ReadFile(filepath.Join(proc, "sys/kernel/random/boot_id"))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(id))
}

// ReadCPU adds the cpu lines of the machine's /proc/stat.
func (r *Reading) ReadCPU(proc string) {
	text, err := os.ReadFile(filepath.Join(proc, "stat"))
	r.AddGap("/proc/stat", err)
	var lines strings.Builder
	for line := range bytes.Lines(text) {
		if !bytes.HasPrefix(line, []byte("cpu")) {
			break
		}
		lines.Write(line)
	}
	r.CPU = lines.String()
}

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
		{"ip_tables_names", true, olderTables},
		{"ip6_tables_names", true, olderTables},
	}
}

// protocols parses pairs of lines: "Udp: InDatagrams NoPorts ..." and the same with
// figures.
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
			return fmt.Errorf("%s has %d names and %d figures", f[0], len(names)-1, len(f)-1)
		}
		for i, v := range f[1:] {
			// Tcp's MaxConn is -1: no counter.
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

// devices parses /proc/net/dev. Its drops of received packets include those that a
// card had no room for.
func devices(r *Reading, text []byte) error {
	columns := []string{"rx_bytes", "rx_packets", "rx_errors", "rx_dropped", "rx_fifo", "rx_frame", "rx_compressed", "multicast",
		"tx_bytes", "tx_packets", "tx_errors", "tx_dropped", "tx_fifo", "collisions", "tx_carrier", "tx_compressed"}
	for line := range strings.Lines(string(text)) {
		colon := strings.LastIndexByte(line, ':') // an alias has one in its name
		if colon < 0 {
			continue // the two lines of the head
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

// softnet adds up the CPUs' backlogs: hexadecimal columns, the second of them
// packets dropped, the third how often a CPU stopped with work left. These are of
// the whole machine.
func softnet(r *Reading, text []byte) error {
	var dropped, squeezed uint64
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		if len(f) < 3 {
			return fmt.Errorf("a line of %d columns", len(f))
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

// conntrack adds up the CPUs' lines below a head of names.
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
	delete(sum, "entries") // how many there are: no counter, and the same on every line
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
			continue // the head
		}
		_, hex, _ := strings.Cut(f[1], ":")
		port, err := strconv.ParseUint(hex, 16, 16)
		if err != nil {
			return fmt.Errorf("a local address of %q", f[1])
		}
		drops, err := strconv.ParseUint(f[len(f)-1], 10, 64)
		if err != nil {
			return fmt.Errorf("drops of %q", f[len(f)-1])
		}
		r.Set(fmt.Sprintf("%sudp:%d#%s.drops", socketPrefix, port, f[9]), drops)
	}
	return nil
}

// olderTables notes rules whose counters netlink does not show.
func olderTables(r *Reading, text []byte) error {
	if tables := strings.Fields(string(text)); len(tables) > 0 {
		return fmt.Errorf("the tables %s belong to the older iptables, whose rules are not read", strings.Join(tables, ", "))
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
