package report

import (
	"slices"
	"strings"

	"tare/internal/result"
)

// evidence is what a run found beside its figures: what they cost, where that went,
// where datagrams died and what held TCP back.
type evidence struct {
	Lead       []string // what must be read before the answers
	Pass       *pass
	Bills      []bill
	Breakdowns []breakdown
	Losses     []lossTable
	Limits     []limitTable
}

// addEvidence takes the fixed-rate pass out of the workloads and gathers the rest.
func (v *view) addEvidence(families []family) {
	var of workload
	if i := slices.IndexFunc(v.Workloads, func(w workload) bool { return w.ID == result.CostPassID }); i >= 0 {
		of = v.Workloads[i]
		v.Workloads = slices.Delete(v.Workloads, i, i+1)
	}
	if v.Run.CostPass != nil || of.ID != "" {
		p := newPass(v.Run.CostPass, of)
		v.Evidence.Pass = &p
	}
	for _, w := range v.Workloads {
		if b, ok := newBill(w); ok {
			v.Evidence.Bills = append(v.Evidence.Bills, b)
		}
	}
	v.Evidence.Breakdowns = breakdownsOf(v.Run, families)
	v.Evidence.Losses = lossesOf(v.Run, families)
	v.Evidence.Limits = limitsTables(v.Run, families)
	v.Evidence.Lead = leads(*v)
}

// billed says that a table of a workload stands with the CPU bill.
func (v view) billed(t table) bool {
	return billed(t.Metric) && slices.ContainsFunc(v.Evidence.Bills, func(b bill) bool { return b.Workload == t.Workload })
}

// cleanEvidence copies what is in r with every string fit to be shown on one line.
func cleanEvidence(r *result.Run) {
	r.Breakdowns = each(r.Breakdowns, func(b result.Breakdown) result.Breakdown {
		b.Mode, b.Workload, b.Unit = name(b.Mode), name(b.Workload), name(b.Unit)
		b.File, b.Missing = name(b.File), name(b.Missing)
		b.Components = each(b.Components, func(c result.Component) result.Component {
			c.Name = name(c.Name)
			return c
		})
		return b
	})
	r.Losses = each(r.Losses, func(l result.LossSummary) result.LossSummary {
		l.Mode, l.Workload = name(l.Mode), name(l.Workload)
		l.Places = each(l.Places, func(p result.LossPlace) result.LossPlace {
			p.Place, p.Where, p.Counter = name(p.Place), name(p.Where), name(p.Counter)
			return p
		})
		l.Missing = each(l.Missing, prose)
		l.Reasons = each(l.Reasons, func(d result.DropReason) result.DropReason {
			d.Reason, d.Location = prose(d.Reason), name(d.Location)
			return d
		})
		return l
	})
	r.ECDFs = each(r.ECDFs, func(e result.ECDF) result.ECDF {
		e.Mode, e.Workload, e.Of = name(e.Mode), name(e.Workload), name(e.Of)
		return e
	})
	r.TCPLimits = each(r.TCPLimits, func(l result.TCPLimits) result.TCPLimits {
		l.Mode, l.Workload, l.Sender = name(l.Mode), name(l.Workload), name(l.Sender)
		l.Missing = each(l.Missing, prose)
		if l.Retransmits != nil {
			clean := make(map[string]int64, len(l.Retransmits))
			for cause, n := range l.Retransmits {
				clean[name(cause)] += n
			}
			l.Retransmits = clean
		}
		return l
	})
	r.LinkLimited = each(r.LinkLimited, func(l result.LinkLimited) result.LinkLimited {
		l.Workload = name(l.Workload)
		return l
	})
	if r.CostPass != nil {
		p := *r.CostPass
		p.Asked, p.Kind, p.Of = name(p.Asked), name(p.Kind), name(p.Of)
		p.Workload, p.Missing = name(p.Workload), name(p.Missing)
		r.CostPass = &p
	}
}

// withoutUnfit leaves out what is said of modes that were not measured.
func withoutUnfit(r *result.Run, unfit map[string]bool) {
	r.Breakdowns = slices.DeleteFunc(r.Breakdowns, func(b result.Breakdown) bool { return unfit[b.Mode] })
	r.Losses = slices.DeleteFunc(r.Losses, func(l result.LossSummary) bool { return unfit[l.Mode] })
	r.ECDFs = slices.DeleteFunc(r.ECDFs, func(e result.ECDF) bool { return unfit[e.Mode] })
	r.TCPLimits = slices.DeleteFunc(r.TCPLimits, func(l result.TCPLimits) bool { return unfit[l.Mode] })
}

// ordered sorts what there is of modes into the order of the report, whose families
// begin with their baselines. What is of modes that no family has is left out.
func ordered[T any](families []family, of []T, mode func(T) string) []T {
	var out []T
	for _, f := range families {
		for _, m := range f.modes {
			for _, x := range of {
				if mode(x) == m.ID {
					out = append(out, x)
				}
			}
		}
	}
	return out
}

// workloadsIn lists the workloads that there is something of, in the order in which
// they first appear.
func workloadsIn[T any](of []T, workload func(T) string) []string {
	var out []string
	for _, x := range of {
		if id := workload(x); !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// gaps collects what is missing, so that what several modes lack is said once.
type gaps struct {
	reasons []string
	modes   map[string][]string
}

func (g *gaps) add(mode, reason string) {
	if g.modes == nil {
		g.modes = map[string][]string{}
	}
	if !slices.Contains(g.reasons, reason) {
		g.reasons = append(g.reasons, reason)
	}
	if !slices.Contains(g.modes[reason], mode) {
		g.modes[reason] = append(g.modes[reason], mode)
	}
}

// list is a sentence for each reason.
func (g *gaps) list() []string {
	var out []string
	for _, r := range g.reasons {
		out = append(out, strings.Join(g.modes[r], ", ")+": "+r)
	}
	return out
}
