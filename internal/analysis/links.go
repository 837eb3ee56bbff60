package analysis

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
)

// linkReached is the share of what a link carries from which on it is what limits a
// mode: kernel networking beside bare metal on a saturated 10 Gbit/s link had 0.97 to
// 1.00. A link does not carry more than it can: a mode beyond linkPassed does not
// cross it, as one on a single host.
const (
	linkReached = 0.97
	linkPassed  = 1.03
)

// Link is what a mode's traffic in a workload has to cross, as far as it is known.
type Link struct {
	Mode, Workload string
	Rate           float64 // bit/s, each way
	Frame          int     // bytes of a full packet that count against Rate, headers included
	Payload        int     // bytes of payload in it; 0 for a TCP segment, of which the trials say so
	Ways           int     // directions with payload: 1 or 2
}

// LinkLimits finds the bulk workloads in which every mode with a figure reached what
// its link carries, of at least two modes that cross one, each of the same rate. What
// is unknown of a mode leaves its workload out. The figure is the goodput, or of a rate
// search the highest rate found.
func LinkLimits(links []Link, cells []result.Cell, trials []result.Trial) ([]result.LinkLimited, []result.Warning) {
	var out []result.LinkLimited
	var warnings []result.Warning
	var seen []string
	for _, l := range links {
		if slices.Contains(seen, l.Workload) {
			continue
		}
		seen = append(seen, l.Workload)
		same := slices.DeleteFunc(slices.Clone(links), func(o Link) bool { return o.Workload != l.Workload })
		if found, ok := limitedBy(same, cells, trials); ok {
			out = append(out, found)
			warnings = append(warnings, result.Warning{Code: "link_limited", Scope: l.Workload, Text: fmt.Sprintf(
				"every mode that crosses it reached at least %.3g %% of what the underlay of %s carries, which is %s of payload: "+
					"their goodput does not tell them apart, their CPU cost does", 100*found.Least, rounded(found.Link, "bit/s"), rounded(found.Payload, "bit/s"))})
		}
	}
	return out, warnings
}

// limitedBy looks at the modes with one workload.
func limitedBy(links []Link, cells []result.Cell, trials []result.Trial) (result.LinkLimited, bool) {
	found := result.LinkLimited{Workload: links[0].Workload, Link: links[0].Rate}
	modes := 0
	for _, c := range best(cells, found.Workload) {
		i := slices.IndexFunc(links, func(l Link) bool { return l.Mode == c.Mode })
		if i < 0 || c.Value == nil {
			return result.LinkLimited{}, false
		}
		carries := links[i].carries(trials)
		reached := *c.Value / carries
		if carries > 0 && reached > linkPassed {
			continue
		}
		if links[i].Rate != found.Link || !(reached >= linkReached && carries > 0) {
			return result.LinkLimited{}, false
		}
		if modes++; modes == 1 || reached < found.Least {
			found.Least = reached
		}
		found.Payload = max(found.Payload, carries)
	}
	found.Least = min(1, found.Least)
	return found, modes > 1
}

// best are the cells of a workload by which its modes are held to their links: one a
// mode, that with the most bit/s of its goodput or of what a search found.
func best(cells []result.Cell, workload string) []result.Cell {
	var out []result.Cell
	for _, c := range cells {
		if c.Workload != workload || c.Metric != "goodput" && !strings.HasPrefix(c.Metric, "throughput_") || c.Value == nil {
			continue
		}
		i := slices.IndexFunc(out, func(o result.Cell) bool { return o.Mode == c.Mode })
		switch {
		case i < 0:
			out = append(out, c)
		case cmp.Compare(*c.Value, *out[i].Value) > 0:
			out[i] = c
		}
	}
	return out
}

// carries is the most payload that fits through the link, bit/s; 0 if unknown.
func (l Link) carries(trials []result.Trial) float64 {
	payload := l.Payload
	for _, t := range trials {
		if payload == 0 && t.Mode == l.Mode && t.Workload == l.Workload && t.Status == result.TrialOK && t.Client != nil {
			payload = t.Client.MSS
		}
	}
	if l.Frame <= 0 || payload <= 0 {
		return 0
	}
	return l.Rate * float64(payload) / float64(l.Frame) * float64(max(1, l.Ways))
}

// Saturated warns of each mode that filled its underlay in a workload in which not all
// did: its own cost may be less than the ratio shows, because beside it the underlay
// was what limited. Where all filled it, [LinkLimits] says so.
func Saturated(links []Link, cells []result.Cell, trials []result.Trial, limited []result.LinkLimited) []result.Warning {
	var out []result.Warning
	for _, l := range links {
		if slices.ContainsFunc(limited, func(o result.LinkLimited) bool { return o.Workload == l.Workload }) {
			continue
		}
		carries := l.carries(trials)
		for _, c := range best(cells, l.Workload) {
			if c.Mode != l.Mode || carries <= 0 {
				continue
			}
			if reached := *c.Value / carries; reached >= linkReached && reached <= linkPassed {
				out = append(out, result.Warning{Code: "underlay_saturated", Scope: scope(l.Mode, l.Workload), Text: fmt.Sprintf(
					"its %s is %.3g %% of what the underlay of %s carries: it could be faster on a faster one, and what it costs beside others is understated",
					c.Metric, 100*min(1, reached), rounded(l.Rate, "bit/s"))})
			}
		}
	}
	return out
}

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
func Links(s study.Study, modes []result.Mode) []Link {
	var out []Link
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
func link(mode string, w study.Workload, in study.Lab) Link {
	l := Link{Mode: mode, Workload: w.Name(), Rate: float64(in.Rate), Frame: in.MTU + ethernetHeader, Ways: 1}
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
