// Package setting applies the settings of a variant of a mode to a path that was built: each
// as a user would apply it, read back, and proven to be in effect by a counter during every
// trial where one exists. Drivers call Apply once their path is complete.
package setting

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/study"
)

// Setting is one that any path of network namespaces accepts.
type Setting struct {
	Name   string // its key in a study's with
	Title  string // what it does, in a few words
	Values string // the valid values in words, such as "on or off"
	Valid  func(value string) bool
}

// The values of a switch, and the value that stands for all CPUs.
const (
	on  = "on"
	off = driver.Off
	all = "all"
)

// The names of the settings.
const (
	nameTSO        = "tso"
	nameGSO        = "gso"
	nameChecksum   = "checksum"
	nameGSOMaxSize = "gso_max_size"
	nameGRO        = "gro"
	nameThreaded   = "threaded_napi"
	nameQueues     = "queues"
	nameRPS        = "rps"
	nameXPS        = "xps"
	nameQdisc      = "qdisc"
	nameQueueLen   = "txqueuelen"
	nameBridgeNF   = "bridge_nf"
	nameTracking   = "tracking"
	nameFill       = "conntrack_fill"
)

const onOrOff = "on or off"

// All lists the settings in the order in which they are applied: one that another requires
// comes first. Each has a page in docs/settings.
func All() []Setting {
	return []Setting{
		{nameTSO, "the devices segment TCP packets above the MTU", onOrOff, isSwitch},
		{nameGSO, "packets above the MTU are segmented late, by the kernel or the device", onOrOff, isSwitch},
		{nameChecksum, "the devices compute and verify checksums", onOrOff, isSwitch},
		{nameGSOMaxSize, "maximum packet before segmentation and after merging; above 65536 it is BIG TCP", "bytes from 2000 to 524280", driver.Within(2000, 524280)},
		{nameGRO, "received packets of a connection are merged; on a veth by NAPI", onOrOff, isSwitch},
		{nameThreaded, "kernel threads receive the packets of the devices", onOrOff, isSwitch},
		{nameQueues, "queues of each veth for sending and for receiving", "a number from 1 to 256", driver.Within(1, 256)},
		{nameRPS, "CPUs to which received packets are spread (receive packet steering)", "off, all, or CPU numbers such as 0,2", isCPUs},
		{nameXPS, "each CPU sends by a queue of its own (transmit packet steering)", onOrOff, isSwitch},
		{nameQdisc, "queueing discipline of the devices", "one of " + strings.Join(qdiscs(), ", "), func(v string) bool { return slices.Contains(qdiscs(), v) }},
		{nameQueueLen, "transmit queue of the devices in packets", "a number from 1 to 1000000", driver.Within(1, 1_000_000)},
		{nameBridgeNF, "bridged frames traverse the IP hooks of netfilter (br_netfilter)", onOrOff, isSwitch},
		{nameTracking, "the kernel tracks the connections on the path", onOrOff, isSwitch},
		{nameFill, "other entries in the connection tracking tables", "a number from 1 to 1000000", driver.Within(1, 1_000_000)},
	}
}

// qdiscs lists the queueing disciplines that can be requested, with their default settings.
func qdiscs() []string { return []string{"noqueue", "pfifo_fast", "pfifo", "fq_codel", "fq"} }

func isSwitch(v string) bool { return v == on || v == off }

// maxCPU is the highest CPU number that is accepted.
const maxCPU = 4095

func isCPUs(v string) bool {
	_, err := parseCPUs(v)
	return v == off || v == all || err == nil
}

// parseCPUs parses CPU numbers separated by commas.
func parseCPUs(v string) (cpus []int, err error) {
	for _, part := range strings.Split(v, ",") {
		n, err := strconv.ParseUint(part, 10, 16)
		if err != nil || n > maxCPU {
			return nil, strconv.ErrSyntax
		}
		cpus = append(cpus, int(n))
	}
	return cpus, nil
}

// Names lists the names of all settings, for a mode that accepts them.
func Names() []string {
	var names []string
	for _, s := range All() {
		names = append(names, s.Name)
	}
	return names
}

// SpecsOf lists what a mode's with accepts: the parts that can be left out, then settings, then the
// mode's own.
func SpecsOf(m driver.Mode) []study.SettingSpec {
	var out []study.SettingSpec
	for _, p := range m.Parts {
		out = append(out, study.SettingSpec{Name: p.ID, Values: driver.Off, Valid: func(v string) bool { return v == driver.Off }})
	}
	for _, s := range All() {
		if slices.Contains(m.Settings, s.Name) {
			out = append(out, study.SettingSpec{Name: s.Name, Values: s.Values, Valid: s.Valid})
		}
	}
	for _, s := range m.Own {
		out = append(out, s.SettingSpec)
	}
	return out
}
