package identity

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tare/internal/result"
	"tare/internal/warning"
)

// comparedHosts are the facts of two hosts in which a difference matters, with the words for
// them.
func comparedHosts() [][2]string {
	return [][2]string{
		{"kernel", "kernel"}, {"system", "system"}, {"architecture", "architecture"}, {"cpu_model", "CPU model"}, {"cpus_online", "CPUs"}, {"microcode", "microcode"},
		{"zone", "zone"}, {"instance type", "instance type"}, {"CPUs", "CPUs"}, {"kubelet", "kubelet"}, {"container runtime", "container runtime"}, {"CNI", "CNI"}, {"kube-proxy mode", "mode of kube-proxy"},
		{"CPU manager policy", "CPU manager policy"},
		{"hypervisor", "hypervisor"}, {"clock_source", "clock source"}, {"cpu_governor", "frequency governor"}, {"tcp_congestion_control", "default congestion control"},
	}
}

// comparedLinks are those of the devices by which the hosts reach each other.
func comparedLinks() [][2]string {
	return [][2]string{
		{"link_kind", "kind"}, {"link_mtu", "MTU"}, {"link_speed", "speed"}, {"link_duplex", "duplex"}, {"link_driver", "driver"}, {"link_firmware", "firmware"},
		{"link_offloads", "offloads"}, {"link_rings", "rings"}, {"link_channels", "channels"}, {"link_coalescing", "coalescing"}, {"link_pause", "pause frames"}, {"link_qdisc", "queueing discipline"},
	}
}

// clocksTolerated is the difference of two clocks up to which there is no warning: NTP keeps
// them closer.
const clocksTolerated = time.Second

// CompareHosts warns of what differs between the two machines of a run. A fact that is
// unknown on either does not count. All modes share both hosts, so that no difference
// biases a comparison.
func CompareHosts(a, b result.Host) (out []result.Warning) {
	warn := func(code warning.Code, format string, args ...any) {
		out = append(out, warning.New(code, "run", format, args...))
	}
	if what := hostDifferences(a, b, comparedLinks()); len(what) > 0 {
		warn(warning.LinksDiffer, "the links of hosts %s and %s differ: %s. Both directions of every mode pass both, so ratios are valid, but a direction is not comparable with the other.",
			cutFact(a.Name), cutFact(b.Name), strings.Join(what, "; "))
	}
	if what := hostDifferences(a, b, comparedHosts()); len(what) > 0 {
		warn(warning.HostsDiffer, "hosts %s and %s differ: %s. Every mode has the same two hosts, so ratios are valid, but the cost of sending is not comparable with that of receiving.",
			cutFact(a.Name), cutFact(b.Name), strings.Join(what, "; "))
	}
	x, knownA := clockOffset(a)
	y, knownB := clockOffset(b)
	if apart := (x - y).Abs(); knownA && knownB && apart > clocksTolerated {
		warn(warning.ClocksApart, "the clocks of hosts %s and %s are %s apart: no result compares two clocks, but times in their logs cannot be compared. Set both by NTP.",
			cutFact(a.Name), cutFact(b.Name), warning.Said(apart.Round(100*time.Millisecond)))
	} else if ahead := max(x.Abs(), y.Abs()); ahead > clocksTolerated {
		warn(warning.ClocksApart, "the clocks of hosts %s and %s and of this machine are %s apart: no result compares two clocks, but the times of trials are those of this machine. "+
			"Set all by NTP.", cutFact(a.Name), cutFact(b.Name), warning.Said(ahead.Round(100*time.Millisecond)))
	}
	return out
}

// hostDifferences lists the facts that differ, with both values.
func hostDifferences(a, b result.Host, names [][2]string) (what []string) {
	for _, n := range names {
		x, y := hostFact(a, n[0]), hostFact(b, n[0])
		if x == "" || y == "" || identifies(n[0], x) == identifies(n[0], y) {
			continue
		}
		if n[0] == "link_offloads" {
			what = append(what, onlyOne(a.Name, b.Name, x, y))
			continue
		}
		what = append(what, fmt.Sprintf("%s %s and %s", n[1], cutFact(x), cutFact(y)))
	}
	return what
}

// onlyOne lists the offloads that only one of two hosts has.
func onlyOne(a, b, x, y string) string {
	without := func(of, from string) string {
		have := strings.Fields(from)
		return strings.Join(slices.DeleteFunc(strings.Fields(of), func(o string) bool { return o == "none" || slices.Contains(have, o) }), " ")
	}
	var parts []string
	if only := without(x, y); only != "" {
		parts = append(parts, "only "+cutFact(a)+" has "+cutFact(only))
	}
	if only := without(y, x); only != "" {
		parts = append(parts, "only "+cutFact(b)+" has "+cutFact(only))
	}
	return "offloads (" + strings.Join(parts, ", ") + ")"
}

// ClockOffset is the name of the fact that says by how many seconds a host's clock is ahead:
// "+7200.500000 s ahead of the controller, within 0.000100 s".
const ClockOffset = "clock_offset"

// clockOffset reads that fact.
func clockOffset(h result.Host) (ahead time.Duration, known bool) {
	seconds, _, _ := strings.Cut(hostFact(h, ClockOffset), " ")
	v, err := strconv.ParseFloat(seconds, 64)
	const most = float64(100 * 365 * 24 * 3600) // far less than a Duration holds
	if err != nil || !(v > -most && v < most) {
		return 0, false
	}
	return time.Duration(v * float64(time.Second)), true
}
