package analysis

import (
	"cmp"
	"slices"
	"strings"

	"tare/internal/analysis/readings"
	"tare/internal/analysis/verdict"
	"tare/internal/plan"
	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/warning"
)

// linkReached is the share of a link's capacity above which the link limits a mode: kernel
// networking on a saturated 10 Gbit/s link had 0.97 to 1.00 of bare metal. A mode above
// linkPassed does not cross the link, such as a mode on a single host.
const (
	linkReached = 0.97
	linkPassed  = 1.03
)

// Link is the link that a mode's traffic in a workload crosses, as far as it is known.
type Link struct {
	Mode, Workload string
	Rate           float64 // bit/s, each way
	Frame          int     // bytes of a full packet that count against Rate, headers included
	Payload        int     // bytes of payload in it; 0 for a TCP segment, whose size the trials have
	Ways           int     // directions with payload: 1 or 2
}

// LinkLimits finds the bulk workloads in which every mode that crosses a link reached its
// capacity, if there are at least two and all links have the same rate. A workload with a
// mode whose link or value is unknown is left out. The value is the goodput, or the highest
// rate of a rate search.
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
			warnings = append(warnings, warning.New(warning.LinkLimited, l.Workload,
				"every mode that crosses the underlay of %s reached at least %.3g %% of its capacity, %s of payload: "+
					"goodput does not show a difference. Compare the CPU cost.", verdict.Rounded(found.Link, "bit/s"), 100*found.Least, verdict.Rounded(found.Payload, "bit/s")))
		}
	}
	return out, warnings
}

// limitedBy is LinkLimits of one workload.
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

// FillsLink reports whether the goodput of a trial is the capacity of its underlay, so that
// nothing else can have limited it. It is false if the capacity is unknown.
func FillsLink(w study.Workload, in study.Lab, t result.Trial) bool {
	if in.Rate == 0 || in.MTU == 0 || w.PayloadSize == 0 && w.WriteSize == 0 || t.Client == nil {
		return false
	}
	l := link(t.Mode, w, in)
	if l.Payload == 0 {
		l.Payload = t.Client.MSS
	}
	reached := t.Metrics["goodput"] / l.capacity()
	return reached >= linkReached && reached <= linkPassed
}

// best are the cells of a workload that are compared with the links: for each mode that
// with the highest goodput or rate of a search.
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

// carries is the payload capacity of the link in bit/s, 0 if unknown.
func (l Link) carries(trials []result.Trial) float64 {
	payload := l.Payload
	for _, t := range trials {
		if payload == 0 && t.Mode == l.Mode && t.Workload == l.Workload && t.Status == result.TrialOK && t.Client != nil {
			payload = t.Client.MSS
		}
	}
	l.Payload = payload
	return l.capacity()
}

// capacity is the payload capacity of the link in bit/s, 0 if its packets are unknown.
func (l Link) capacity() float64 {
	if l.Frame <= 0 || l.Payload <= 0 {
		return 0
	}
	return l.Rate * float64(l.Payload) / float64(l.Frame) * float64(max(1, l.Ways))
}

// Saturated warns of each mode that filled its underlay in a workload in which not all
// modes did: the underlay limits it, and its difference from the others is understated.
// Where all filled it, [LinkLimits] reports it.
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
				out = append(out, warning.New(warning.UnderlaySaturated, readings.Scope(l.Mode, l.Workload),
					"its %s is %.3g %% of the capacity of the underlay of %s: it might be faster on a faster underlay, so its difference from other modes is understated. Compare the CPU cost.",
					c.Metric, 100*min(1, reached), verdict.Rounded(l.Rate, "bit/s")))
			}
		}
	}
	return out
}

// Header sizes in bytes. Of Ethernet, only the header counts against the rate of a lab's
// underlay: the token bucket does not count a preamble.
const (
	ethernetHeader = 14
	udpHeader      = 8
	ipv4Header     = 20
	ipv6Header     = 40
)

// Links are the underlays that the bulk workloads of a study cross with each measured mode,
// where their rate is known: in a lab with a rate limit. Links within one host are left
// out, and so are network cards, whose speed is not read.
func Links(s study.Study, modes []result.Mode) []Link {
	var out []Link
	for _, w := range plan.Workloads(s) {
		if w.PayloadSize == 0 && w.WriteSize == 0 {
			continue // not a bulk transfer
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

// link is the underlay of one mode, with the packet size of a workload. Datagrams larger
// than the MTU are fragmented, and each fragment has its own headers.
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
