package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/unit"
	"tare/internal/warning"
)

// Survey is the settings of the network stacks on the paths of modes, as far as they could
// be read.
type Survey struct {
	Stacks map[string][]Stack // by mode
	// Sockets are the names of the settings that affect sockets, in the order in which
	// differences are reported. Bridged is the setting that passes bridged frames to the
	// packet filter.
	Sockets []string
	Bridged string
	// Congestion is the one of Sockets that is the default congestion control. It decides the sockets of external
	// generators alone: tare's own set theirs.
	Congestion string
}

// Stack is one network stack.
type Stack struct {
	At       string            // such as a/client
	Settings map[string]string // by their name below /proc/sys
	Rules    int               // of packet filters that its packets pass
	Docker   bool              // some rules are Docker's
}

// comparePaths warns where a mode's path differs from its baseline's in something other
// than the mode, and where a packet filter is on a path that should have none.
func (e *evaluation) comparePaths() {
	for _, s := range e.run.Modes {
		if s.Status != result.ModeMeasured {
			continue
		}
		e.filtered(s)
		at := slices.IndexFunc(e.run.Modes, func(m result.Mode) bool { return m.ID == s.Baseline })
		if at < 0 || e.run.Modes[at].Status != result.ModeMeasured {
			continue
		}
		b := e.run.Modes[at]
		e.mtuDiffers(s, b)
		if device, which := offloadLacking(s.Topology, b.Topology); device != "" && !e.chosen(s, "tso", "gso", "checksum") {
			e.warn(warning.OffloadsDiffer, s.ID, "%s lacks %s, which every device of %s has: part of the cost is that the kernel does it in software, "+
				"packet by packet. Set the same offloads on both, or lab: {offload: off}.", device, warning.Said(which), b.ID)
		}
		if names := e.settingsDiffer(s, b); len(names) > 0 {
			e.warn(warning.SettingsDiffer, s.ID, "network settings of client and server differ from those of %s (%s): part of the difference "+
				"is not the mode's. Set the same values on both.", b.ID, strings.Join(names, ", "))
		}
	}
	for _, w := range measured(e.in.Study) {
		e.fragmented(w)
	}
}

// chosen says whether the study sets one of these settings for a mode: what it measures is then no
// warning.
func (e *evaluation) chosen(mode result.Mode, settings ...string) bool {
	m, _ := e.in.Study.ModeNamed(mode.ID)
	return slices.ContainsFunc(settings, func(name string) bool { return m.With[name] != "" })
}

// mtuDiffers warns of another MTU, unless there is a warning about the mode's segments.
func (e *evaluation) mtuDiffers(s, b result.Mode) {
	said := slices.ContainsFunc(e.run.Warnings, func(w result.Warning) bool {
		return w.Code == "mss_differs" && (w.Scope == s.ID || strings.HasPrefix(w.Scope, s.ID+" "))
	})
	mtu, of := smallestMTU(s.Topology)
	base, _ := smallestMTU(b.Topology)
	if said || mtu == 0 || base == 0 || mtu == base {
		return
	}
	e.warn(warning.MTUDiffers, s.ID, "the smallest MTU on the path is %d bytes (%s) and %d in %s: payload that needs several packets needs another number of them, "+
		"which is real in use, but not the mode's cost per packet", warning.Said(mtu), of, warning.Said(base), warning.Said(b.ID))
}

// fragmented warns of datagrams that are larger than the smallest MTU on the path.
func (e *evaluation) fragmented(w study.Workload) {
	if w.PayloadSize <= 0 || w.Fragment == study.Off && !plan.External(w) { // tare's own generator refuses such datagrams then
		return
	}
	size := int(w.PayloadSize) + 28 // IPv4 and UDP
	if w.Family == study.IPv6 {
		size += 20
	}
	for _, s := range e.run.Modes {
		mtu, of := smallestMTU(s.Topology)
		if s.Status != result.ModeMeasured || mtu == 0 || size <= mtu {
			continue
		}
		e.warn(warning.UDPFragments, s.ID+" "+w.Name(), "datagrams of %d bytes with headers do not fit the MTU of %d of %s: each is fragmented, and is lost with any of its fragments. "+
			"Set a payload_size of %d or less.", size, mtu, of, int(w.PayloadSize)-size+mtu)
	}
}

// filtered warns of packet filters on the path of a baseline, and of bridges that pass
// frames to them.
func (e *evaluation) filtered(s result.Mode) {
	for _, st := range e.in.Survey.Stacks[s.ID] {
		rules, by := st.Rules, ""
		if st.Docker {
			by = ", some of them Docker's"
		}
		if s.Baseline == "" && rules > 0 {
			e.warn(warning.BaselineFiltered, s.ID, "packets of this baseline pass %s of a packet filter in %s%s: the baseline pays for them, so every other mode "+
				"looks cheaper than it is. Use a baseline in a network namespace of its own, or remove the rules.", unit.Count(rules, "rule", "rules"), st.At, by)
		}
		if st.Settings[e.in.Survey.Bridged] == "1" && bridged(s.Topology, st.At) && !e.chosen(s, "bridge_nf") {
			e.warn(warning.BridgeNetfilter, s.ID, "in %s the bridge passes frames to the packet filter (%s, %s%s): part of the cost is br_netfilter, "+
				"which a machine without it does not have. Run `sysctl -w net.bridge.bridge-nf-call-iptables=0` there.", st.At, e.in.Survey.Bridged, unit.Count(rules, "rule", "rules"), by)
		}
	}
}

// bridged says whether a path has a bridge in the stack at.
func bridged(t *result.Topology, at string) bool {
	return t != nil && slices.ContainsFunc(t.Nodes, func(n result.Node) bool {
		in := n.Host
		if n.Sandbox != "" {
			in += "/" + n.Sandbox
		}
		return n.Kind == "bridge" && in == at
	})
}

// smallestMTU is the smallest MTU of the devices on a path, and the device; 0 is unknown.
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

// offloadLacking finds a device of a path that lacks an offload that all devices of the
// baseline have. Receive offload is left out: it depends on the kind of device and not on
// its settings.
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

// eachHas says whether a path has devices and all of them have an offload.
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

// device is the name and the place of a device.
func device(n result.Node) string {
	at := n.Host
	if n.Sandbox != "" {
		at += "/" + n.Sandbox
	}
	return fmt.Sprintf("%s in %s", n.Label, at)
}

// settingsDiffer lists the settings of client and server that differ from the baseline's,
// with both values.
func (e *evaluation) settingsDiffer(s, b result.Mode) []string {
	client, server, known := endStacks(e.in.Survey.Stacks[s.ID], s.Topology)
	baseClient, baseServer, baseKnown := endStacks(e.in.Survey.Stacks[b.ID], b.Topology)
	if !known || !baseKnown {
		return nil
	}
	var out []string
	external := slices.ContainsFunc(e.in.Study.Workloads, plan.External)
	for _, name := range e.in.Survey.Sockets {
		if name == e.in.Survey.Congestion && !external {
			continue
		}
		for _, end := range []struct {
			at       string
			of, base Stack
		}{{"client", client, baseClient}, {"server", server, baseServer}} {
			v, has := end.of.Settings[name]
			base, baseHas := end.base.Settings[name]
			if has && baseHas && v != base {
				out = append(out, fmt.Sprintf("%s of the %s is %s, not %s", name[strings.LastIndexByte(name, '/')+1:], end.at, v, base))
				break
			}
		}
	}
	return out
}

// compareEnds warns where client and server of a mode differ from its baseline's in
// something that should be the same, and where a buffer was not granted.
func (e *evaluation) compareEnds(asked study.Workload) {
	first := map[string]result.Trial{}
	for _, t := range e.in.Trials {
		if _, seen := first[t.Mode]; !seen && t.Workload == asked.ID && t.Status == result.TrialOK && t.Client != nil && t.Server != nil {
			first[t.Mode] = t
		}
	}
	for _, m := range e.run.Modes {
		t, ok := first[m.ID]
		if !ok {
			continue
		}
		if b, ok := first[m.Baseline]; ok && asked.WriteSize > 0 && b.Client.MSS != 0 && t.Client.MSS != 0 && b.Client.MSS != t.Client.MSS { // 0 is unknown
			which := "part of the cost is the smaller MTU"
			if t.Client.MSS > b.Client.MSS {
				which = "the larger MTU hides part of the cost"
			}
			e.warn(warning.MSSDiffers, m.ID+" "+asked.ID, "segments carry %d bytes here and %d in %s: %s", warning.Said(t.Client.MSS), warning.Said(b.Client.MSS), warning.Said(m.Baseline), which)
		}
		if cc := t.Client.Congestion; asked.Congestion != "" && cc != "" && cc != asked.Congestion {
			e.warn(warning.CongestionControl, m.ID, "congestion control was %s, not %s as in the study: the mode is not comparable. Use a kernel that has it.", warning.Said(cc), warning.Said(asked.Congestion))
		} else if b, ok := first[m.Baseline]; ok && asked.Congestion == "" && cc != "" && b.Client.Congestion != "" && b.Client.Congestion != cc {
			e.warn(warning.CongestionDiffers, m.ID+" "+asked.ID, "congestion control was %s here and %s in %s, because the study leaves it to each stack: part of the difference "+
				"is the algorithm. Set congestion_control in the study.", cc, b.Client.Congestion, m.Baseline)
		}
		if b, ok := first[m.Baseline]; ok {
			e.buffersDiffer(m, asked, t, b)
		}
		e.clamped(asked.ID, "send", int(asked.SendBuffer.Bytes), t.Client.SendBuffer)
		e.clamped(asked.ID, "receive", int(asked.ReceiveBuffer.Bytes), t.Server.ReceiveBuffer)
	}
}

// buffersDiffer warns of a fixed-size socket buffer that was granted with another size than
// the baseline's, whose stack may have another limit. Buffers that the kernel sizes
// automatically differ from trial to trial.
func (e *evaluation) buffersDiffer(m result.Mode, asked study.Workload, t, b result.Trial) {
	for _, end := range []struct {
		which     string
		fixed     bool
		got, base int
	}{
		{"send", asked.SendBuffer.Bytes > 0, t.Client.SendBuffer, b.Client.SendBuffer},
		{"receive", asked.ReceiveBuffer.Bytes > 0, t.Server.ReceiveBuffer, b.Server.ReceiveBuffer},
	} {
		if end.fixed && end.got > 0 && end.base > 0 && end.got != end.base {
			e.warn(warning.BuffersDiffer, m.ID+" "+asked.ID, "the kernel granted a %s buffer of %d bytes here and %d in %s: part of the difference is the buffer. "+
				"Set a smaller %s_buffer in the study, or the same limits in both stacks.", end.which, end.got, end.base, m.Baseline, end.which)
		}
	}
}

// clamped warns of a socket buffer smaller than requested. The kernel reports twice the
// requested size, of which it needs a part itself (socket(7)). A granted size of 0 is
// unknown, as with an external generator.
func (e *evaluation) clamped(workload, which string, asked, granted int) {
	if asked < 0 || granted == 0 || granted >= 2*asked {
		return
	}
	e.warn(warning.BufferClamped, workload, "%s", fmt.Sprintf("a %s buffer of %d bytes was requested and %d granted, in every mode. Raise net.core.%s.",
		which, asked, granted/2, map[string]string{"send": "wmem_max", "receive": "rmem_max"}[which]))
}

// endStacks are the stacks of client and server: the first and the last of a path. known is
// false if neither is known.
func endStacks(stacks []Stack, t *result.Topology) (client, server Stack, known bool) {
	if t == nil || len(t.Nodes) == 0 {
		return client, server, false
	}
	find := func(n result.Node) (Stack, bool) {
		at := n.Host
		if n.Sandbox != "" {
			at += "/" + n.Sandbox
		}
		i := slices.IndexFunc(stacks, func(s Stack) bool { return s.At == at })
		if i < 0 {
			return Stack{}, false
		}
		return stacks[i], true
	}
	client, okClient := find(t.Nodes[0])
	server, okServer := find(t.Nodes[len(t.Nodes)-1])
	return client, server, okClient && okServer
}
