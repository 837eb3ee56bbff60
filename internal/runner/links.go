package runner

import (
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// What counts of a packet against the rate of a lab's underlay, beside IP: the
// Ethernet header alone (the token bucket knows no preamble); and the headers of UDP
// and of IP.
const (
	ethernetHeader = 14
	udpHeader      = 8
	ipv4Header     = 20
	ipv6Header     = 40
)

// Links are the underlays that the bulk workloads of a study have to cross with each
// measured mode, where their rate is known: in a lab with a rate limit. What a mode
// that stays on one host has in its way is not among them, and neither is a network
// card: nothing here reads its speed.
func Links(s study.Study, modes []result.Mode) []result.Link {
	var out []result.Link
	if s.Target().Given() {
		return nil
	}
	for _, w := range plan.Workloads(s) {
		if w.PayloadSize == 0 && w.WriteSize == 0 {
			continue // no bulk: it sends no full packets one behind the other
		}
		for _, m := range modes {
			asked, known := s.ModeNamed(m.ID)
			in := s.LabOf(asked)
			if !known || m.Status != result.ModeMeasured || in.Rate == 0 {
				continue
			}
			out = append(out, link(m.ID, w, in))
		}
	}
	return out
}

// link is the underlay of one mode, with the packets that a workload puts on it.
// Datagrams that do not fit are in pieces, each with a header of its own.
func link(mode string, w study.Workload, in study.Lab) result.Link {
	l := result.Link{Mode: mode, Workload: w.Name(), Rate: float64(in.Rate), Frame: in.MTU + ethernetHeader, Ways: 1}
	if w.Direction == study.Both {
		l.Ways = 2
	}
	if w.PayloadSize > 0 {
		ip := ipv4Header
		if w.Family == study.IPv6 {
			ip = ipv6Header
		}
		whole := int(w.PayloadSize) + udpHeader
		room := max(1, in.MTU-ip)
		pieces := (whole + room - 1) / room
		l.Payload, l.Frame = int(w.PayloadSize), whole+pieces*(ip+ethernetHeader)
	}
	return l
}

// limitedByLinks says in which workloads the underlay was what limited every mode.
func (r *run) limitedByLinks() {
	found, warnings := result.LinkLimits(Links(r.cfg.Study, r.out.Modes), r.out.Cells, r.trials)
	r.out.LinkLimited = found
	for _, w := range warnings {
		r.warn(w.Code, w.Scope, "%s", w.Text)
	}
}
