package analysis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// Survey is how the network stacks on the paths of modes were set, as far as that could
// be read.
type Survey struct {
	Stacks map[string][]Stack // by mode
	// Sockets are the settings that decide what a socket is given, in the order in which
	// differences are told; Bridged the one with which frames that a bridge only switches
	// meet the packet filter, too.
	Sockets []string
	Bridged string
}

// Stack is one network stack.
type Stack struct {
	At       string            // such as a/client
	Settings map[string]string // by their name below /proc/sys
	Rules    int               // of packet filters that its packets meet
	Docker   bool              // Docker's are among them
}

// comparePaths warns where a mode's path differs from its baseline's in what is not the
// mode's own work, and where a packet filter is on a path that should have none.
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
		if device, which := offloadLacking(s.Topology, b.Topology); device != "" {
			e.warn(warning.OffloadsDiffer, s.ID, "%s has no %s, which every device of %s has: part of the cost is that the kernel does in software, "+
				"packet by packet, what the baseline leaves for later; the same offloads on both, or lab: {offload: off}, mends it", device, which, b.ID)
		}
		if names := e.settingsDiffer(s, b); len(names) > 0 {
			e.warn(warning.SettingsDiffer, s.ID, "the ends' network stacks are set otherwise than those of %s (%s): what sockets are given differs, "+
				"and with it the figures, which is not the mode's work; the same values on both mend it", b.ID, strings.Join(names, ", "))
		}
	}
	for _, w := range measured(e.in.Study) {
		e.fragmented(w)
	}
}

// mtuDiffers warns of another MTU unless it was said of the mode's segments.
func (e *evaluation) mtuDiffers(s, b result.Mode) {
	said := slices.ContainsFunc(e.run.Warnings, func(w result.Warning) bool {
		return w.Code == "mss_differs" && (w.Scope == s.ID || strings.HasPrefix(w.Scope, s.ID+" "))
	})
	mtu, of := smallestMTU(s.Topology)
	base, _ := smallestMTU(b.Topology)
	if said || mtu == 0 || base == 0 || mtu == base {
		return
	}
	e.warn(warning.MTUDiffers, s.ID, "the smallest MTU on the path is %d bytes, of %s, and %d in %s: what needs more than one packet needs more of them here, "+
		"or fewer; that is real as the mode is in use, but not its work on a packet", mtu, of, base, b.ID)
}

// fragmented warns of datagrams that do not fit the path in one piece.
func (e *evaluation) fragmented(w study.Workload) {
	if w.PayloadSize <= 0 {
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
		e.warn(warning.UDPFragments, s.ID+" "+w.Name(), "datagrams of %d bytes with headers do not fit the MTU of %d of %s: each crosses it in pieces, "+
			"and is lost with any of them; a payload_size of %d or less mends it", size, mtu, of, int(w.PayloadSize)-size+mtu)
	}
}

// filtered warns of packet filters on the path of a baseline, and on bridges that
// hand their frames to them.
func (e *evaluation) filtered(s result.Mode) {
	for _, st := range e.in.Survey.Stacks[s.ID] {
		rules, by := st.Rules, ""
		if st.Docker {
			by = ", Docker's among them"
		}
		if s.Baseline == "" && rules > 0 {
			e.warn(warning.BaselineFiltered, s.ID, "packets of this baseline meet %s of a packet filter in %s%s: the baseline pays for them, and every mode "+
				"beside it looks cheaper than it is; a baseline in a stack of its own, or no rules, mends it", rulesText(rules), st.At, by)
		}
		if st.Settings[e.in.Survey.Bridged] == "1" && bridged(s.Topology, st.At) {
			e.warn(warning.BridgeNetfilter, s.ID, "in %s frames that a bridge only switches are handed to the packet filter too (%s, %s%s): part of what this mode costs is br_netfilter, "+
				"which a machine without it does not pay; `sysctl -w net.bridge.bridge-nf-call-iptables=0` there mends it", st.At, e.in.Survey.Bridged, rulesText(rules), by)
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
func (e *evaluation) settingsDiffer(s, b result.Mode) []string {
	client, server, known := endStacks(e.in.Survey.Stacks[s.ID], s.Topology)
	baseClient, baseServer, baseKnown := endStacks(e.in.Survey.Stacks[b.ID], b.Topology)
	if !known || !baseKnown {
		return nil
	}
	var out []string
	for _, name := range e.in.Survey.Sockets {
		for _, end := range []struct {
			at       string
			of, base Stack
		}{{"client", client, baseClient}, {"server", server, baseServer}} {
			v, has := end.of.Settings[name]
			base, baseHas := end.base.Settings[name]
			if has && baseHas && v != base {
				out = append(out, fmt.Sprintf("%s of the %s is %s, there %s", name[strings.LastIndexByte(name, '/')+1:], end.at, v, base))
				break
			}
		}
	}
	return out
}

// compareEnds warns where modes differed from their baseline in what should have
// been alike, and where a buffer was not granted.
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
		if b, ok := first[m.Baseline]; ok && asked.WriteSize > 0 && b.Client.MSS != t.Client.MSS {
			which := "part of the cost is the smaller MTU, as it is in use"
			if t.Client.MSS > b.Client.MSS {
				which = "the larger MTU, as it is in use, hides part of the cost"
			}
			e.warn(warning.MSSDiffers, m.ID+" "+asked.ID, "segments carry %d bytes here and %d in %s: %s", t.Client.MSS, b.Client.MSS, m.Baseline, which)
		}
		if cc := t.Client.Congestion; asked.Congestion != "" && cc != "" && cc != asked.Congestion {
			e.warn(warning.CongestionControl, m.ID, "congestion control was %s, not %s", cc, asked.Congestion)
		} else if b, ok := first[m.Baseline]; ok && asked.Congestion == "" && cc != "" && b.Client.Congestion != "" && b.Client.Congestion != cc {
			e.warn(warning.CongestionDiffers, m.ID+" "+asked.ID, "congestion control was %s here and %s in %s, and the study leaves it to each stack: part of the difference "+
				"is the algorithm; congestion_control in the study mends it", cc, b.Client.Congestion, m.Baseline)
		}
		if b, ok := first[m.Baseline]; ok {
			e.buffersDiffer(m, asked, t, b)
		}
		e.clamped(asked.ID, "send", int(asked.SendBuffer.Bytes), t.Client.SendBuffer)
		e.clamped(asked.ID, "receive", int(asked.ReceiveBuffer.Bytes), t.Server.ReceiveBuffer)
	}
}

// buffersDiffer warns of socket buffers of a fixed size that were granted otherwise
// than to the baseline, whose stack may have another limit. Those that the kernel
// sizes by itself differ from trial to trial.
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
			e.warn(warning.BuffersDiffer, m.ID+" "+asked.ID, "the %s buffer granted was %d bytes here and %d in %s: part of the difference is the buffer; "+
				"a smaller %s_buffer in the study, or the same limits in both stacks, mend it", end.which, end.got, end.base, m.Baseline, end.which)
		}
	}
}

// clamped warns of a socket buffer below what was asked for. The kernel reports
// twice what it was asked to grant, to make room for its own bookkeeping
// (socket(7)). A granted 0 is unknown, as of an external tool.
func (e *evaluation) clamped(workload, which string, asked, granted int) {
	if asked < 0 || granted == 0 || granted >= 2*asked {
		return
	}
	e.warn(warning.BufferClamped, workload, "%s", fmt.Sprintf("a %s buffer of %d bytes was asked for and %d granted: raise net.core.%s to change that",
		which, asked, granted/2, map[string]string{"send": "wmem_max", "receive": "rmem_max"}[which]))
}

// endStacks are the stacks of a path that its client and its server run in: the first and
// the last. It is false where neither is known.
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

func rulesText(n int) string {
	if n == 1 {
		return "1 rule"
	}
	return fmt.Sprintf("%d rules", n)
}
