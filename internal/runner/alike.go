package runner

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/driver"
	"tare/internal/result"
	"tare/internal/study"
)

// alike warns where a mode's path differs from its baseline's in what is not the
// mode's own work, and where a packet filter is on a path that should have none.
func (r *run) alike() {
	for _, s := range r.stages {
		if s.status != result.ModeMeasured {
			continue
		}
		r.filtered(s)
		b := r.stage(s.mode.Baseline)
		if b == nil || b.status != result.ModeMeasured {
			continue
		}
		r.mtuDiffers(s, b)
		if device, which := offloadLacking(s.topology, b.topology); device != "" {
			r.warn("offloads_differ", s.mode.ID, "%s has no %s, which every device of %s has: part of the cost is that the kernel does in software, "+
				"packet by packet, what the baseline leaves for later; the same offloads on both, or lab: {offload: off}, mends it", device, which, b.mode.ID)
		}
		if names := settingsDiffer(s, b); len(names) > 0 {
			r.warn("settings_differ", s.mode.ID, "the ends' network stacks are set otherwise than those of %s (%s): what sockets are given differs, "+
				"and with it the figures, which is not the mode's work; the same values on both mend it", b.mode.ID, strings.Join(names, ", "))
		}
	}
	for _, w := range r.plan.Workloads {
		r.fragmented(w)
	}
}

// mtuDiffers warns of another MTU unless it was said of the mode's segments.
func (r *run) mtuDiffers(s, b *stage) {
	said := slices.ContainsFunc(r.out.Warnings, func(w result.Warning) bool {
		return w.Code == "mss_differs" && (w.Scope == s.mode.ID || strings.HasPrefix(w.Scope, s.mode.ID+" "))
	})
	mtu, of := smallestMTU(s.topology)
	base, _ := smallestMTU(b.topology)
	if said || mtu == 0 || base == 0 || mtu == base {
		return
	}
	r.warn("mtu_differs", s.mode.ID, "the smallest MTU on the path is %d bytes, of %s, and %d in %s: what needs more than one packet needs more of them here, "+
		"or fewer; that is real as the mode is in use, but not its work on a packet", mtu, of, base, b.mode.ID)
}

// fragmented warns of datagrams that do not fit the path in one piece.
func (r *run) fragmented(w study.Workload) {
	if w.PayloadSize <= 0 {
		return
	}
	size := int(w.PayloadSize) + 28 // IPv4 and UDP
	if w.Family == study.IPv6 {
		size += 20
	}
	for _, s := range r.stages {
		mtu, of := smallestMTU(s.topology)
		if s.status != result.ModeMeasured || mtu == 0 || size <= mtu {
			continue
		}
		r.warn("udp_fragments", s.mode.ID+" "+w.Name(), "datagrams of %d bytes with headers do not fit the MTU of %d of %s: each crosses it in pieces, "+
			"and is lost with any of them; a payload_size of %d or less mends it", size, mtu, of, int(w.PayloadSize)-size+mtu)
	}
}

// filtered warns of packet filters on the path of a baseline, and on bridges that
// hand their frames to them.
func (r *run) filtered(s *stage) {
	for _, st := range s.stacks {
		rules, docker := 0, false
		for _, f := range st.Filters {
			rules += f.Rules
			docker = docker || f.Docker
		}
		by := ""
		if docker {
			by = ", Docker's among them"
		}
		if s.mode.Baseline == "" && rules > 0 {
			r.warn("baseline_filtered", s.mode.ID, "packets of this baseline meet %s of a packet filter in %s%s: the baseline pays for them, and every mode "+
				"beside it looks cheaper than it is; a baseline in a stack of its own, or no rules, mends it", rulesText(rules), st.At, by)
		}
		if st.Sysctls[driver.SysctlBridgeIPv4] == "1" && bridged(s.topology, st.At) {
			r.warn("bridge_netfilter", s.mode.ID, "in %s frames that a bridge only switches are handed to the packet filter too (%s, %s%s): part of what this mode costs is br_netfilter, "+
				"which a machine without it does not pay; `sysctl -w net.bridge.bridge-nf-call-iptables=0` there mends it", st.At, driver.SysctlBridgeIPv4, rulesText(rules), by)
		}
	}
}

// bridged is whether a path has a bridge in the stack at.
func bridged(t *result.Topology, at string) bool {
	return t != nil && slices.ContainsFunc(t.Nodes, func(n result.Node) bool {
		in := n.Host
		if n.Sandbox != "" {
			in += "/" + n.Sandbox
		}
		return n.Kind == "bridge" && in == at
	})
}

// smallestMTU is the least that a device on a path takes in one piece, and which it
// is; 0 is unknown.
func smallestMTU(t *result.Topology) (least int, of string) {
	if t == nil {
		return 0, ""
	}
	for _, n := range t.Nodes {
		mtu, err := strconv.Atoi(factOf(n, "mtu"))
		if err == nil && mtu > 0 && (least == 0 || mtu < least) {
			least, of = mtu, device(n)
		}
	}
	return least, of
}

// offloadLacking finds a device of a path that lacks an offload which all devices of
// the baseline have. Receive offload is left out: which devices have it depends on
// their kind, and not on how they are set.
func offloadLacking(t, baseline *result.Topology) (of, which string) {
	for _, offload := range []string{"tso", "gso", "tx-checksum"} {
		if baseline == nil || t == nil || !eachHas(baseline, offload) {
			continue
		}
		for _, n := range t.Nodes {
			if on, known := offloadsOf(n); known && !slices.Contains(on, offload) {
				return device(n), offload
			}
		}
	}
	return "", ""
}

// eachHas is whether all devices of a path, of which there is one at least, have an
// offload.
func eachHas(t *result.Topology, offload string) bool {
	devices := 0
	for _, n := range t.Nodes {
		on, known := offloadsOf(n)
		if !known {
			continue
		}
		devices++
		if !slices.Contains(on, offload) {
			return false
		}
	}
	return devices > 0
}

func offloadsOf(n result.Node) (on []string, known bool) {
	i := slices.IndexFunc(n.Facts, func(f result.Fact) bool { return f.Name == "offloads" })
	if i < 0 {
		return nil, false
	}
	return strings.Fields(n.Facts[i].Value), true
}

func factOf(n result.Node, name string) string {
	i := slices.IndexFunc(n.Facts, func(f result.Fact) bool { return f.Name == name })
	if i < 0 {
		return ""
	}
	return n.Facts[i].Value
}

// device names a device with where it is.
func device(n result.Node) string {
	at := n.Host
	if n.Sandbox != "" {
		at += "/" + n.Sandbox
	}
	return fmt.Sprintf("%s in %s", n.Label, at)
}

// settingsDiffer lists the variables of the ends' stacks that differ from the
// baseline's, with both values.
func settingsDiffer(s, b *stage) []string {
	client, server, known := endStacks(s.stacks, s.topology)
	baseClient, baseServer, baseKnown := endStacks(b.stacks, b.topology)
	if !known || !baseKnown {
		return nil
	}
	var out []string
	for _, name := range driver.SocketSettings() {
		for _, end := range []struct {
			at       string
			of, base driver.Settings
		}{{"client", client, baseClient}, {"server", server, baseServer}} {
			v, has := end.of.Sysctls[name]
			base, baseHas := end.base.Sysctls[name]
			if has && baseHas && v != base {
				out = append(out, fmt.Sprintf("%s of the %s is %s, there %s", name[strings.LastIndexByte(name, '/')+1:], end.at, v, base))
				break
			}
		}
	}
	return out
}
