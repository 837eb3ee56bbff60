package model

import (
	"slices"
	"strconv"
	"strings"

	"tare/internal/report/view/piece"
	"tare/internal/result"
	"tare/internal/wording"
)

// Concurrency is a workload at several numbers of flows or streams, with the tables of its
// main metric: one for each number.
type Concurrency struct {
	result.Concurrency
	Tables []Table
	Scale  wording.Scale
	Modes  []Row // of the first table, those that were measured
}

// concurrenciesOf are those of a run of which at least two numbers have a table.
func concurrenciesOf(run result.Run, ws []Workload) []Concurrency {
	var out []Concurrency
	for _, c := range run.Concurrencies {
		found := Concurrency{Concurrency: c}
		found.Steps = nil
		var values []float64
		for _, s := range c.Steps {
			w := slices.IndexFunc(ws, func(w Workload) bool { return w.ID == s.Workload })
			if w < 0 || s.Count < 1 {
				continue
			}
			for _, t := range ws[w].Tables {
				if t.Metric.Name != c.Metric {
					continue
				}
				found.Steps, found.Tables = append(found.Steps, s), append(found.Tables, t)
				for _, r := range t.Rows() {
					if r.Cell != nil && piece.Finite(r.Cell.Value) {
						values = append(values, *r.Cell.Value)
					}
				}
			}
		}
		if len(found.Tables) < 2 {
			continue
		}
		found.Scale = wording.ScaleFor(found.Tables[0].Metric.Unit, values...)
		found.Modes = slices.DeleteFunc(slices.Clone(found.Tables[0].Rows()), func(r Row) bool { return Unmeasured(r.Mode) })
		found.Crossings = slices.DeleteFunc(slices.Clone(c.Crossings), func(x result.Crossing) bool { return !found.shown(x.A) || !found.shown(x.B) })
		out = append(out, found)
	}
	return out
}

// Curve is the metric of which a workload shows one value of a sweep; false for a workload
// of another kind.
func (v View) Curve(id string) (metric string, ok bool) {
	for _, c := range v.Concurrencies {
		if slices.ContainsFunc(c.Steps, func(s result.ConcurrencyStep) bool { return s.Workload == id }) {
			return c.Metric, true
		}
	}
	before, _, ok := strings.Cut(id, "@")
	ok = ok && slices.ContainsFunc(v.Sweeps, func(s Sweep) bool { return s.ID == before })
	return "loss_ratio", ok
}

// Unit is the word for a number: flow or flows, stream or streams.
func (c Concurrency) Unit(n string) string {
	if n == "1" {
		return strings.TrimSuffix(c.Key, "s")
	}
	return c.Key
}

// Words describes a mode at the lowest and the highest number at which it has a ratio to its
// baseline, or else a value; empty if there are not two of them.
func (c Concurrency) Words(mode string) string {
	var at []string
	compared := ""
	for i, t := range c.Tables {
		r, ok := t.Of(mode)
		if !ok || r.Cell == nil {
			continue
		}
		n := strconv.Itoa(c.Steps[i].Count)
		switch {
		case r.Cell.Ratio != nil && r.Cell.Baseline != "":
			if compared == "" {
				at, compared = nil, r.Cell.Baseline
			}
			at = append(at, wording.Ratio(r.Cell.Ratio, r.Cell.RatioCI)+" of it at "+n+" "+c.Unit(n))
		case compared == "" && piece.Finite(r.Cell.Value):
			at = append(at, c.Scale.Value(*r.Cell.Value)+" at "+n+" "+c.Unit(n))
		}
	}
	if len(at) < 2 {
		return ""
	}
	text := at[0] + " and " + at[len(at)-1] + " in " + c.Workload
	noun := piece.Noun(c.Tables[0].Metric)
	if compared == "" {
		return "has a " + noun + " of " + text
	}
	return "reaches " + strings.Replace(text, "of it", "of "+compared+"'s "+noun, 1)
}

func (c Concurrency) shown(mode string) bool {
	return slices.ContainsFunc(c.Modes, func(r Row) bool { return r.Mode.ID == mode })
}
