package model

import (
	"slices"
	"strings"

	"tare/internal/analysis/claims"
	"tare/internal/result"
	"tare/internal/study/quantity"
	"tare/internal/wording"
)

// Sweep is a workload at several loads: one row for each load, one column for each mode.
type Sweep struct {
	ID    string
	Modes []string
	Rows  []sweepRow
}

// sweepRow is one load: of each mode the loss with its interval, in percent. short says of which modes the sender offered
// clearly less than the load.
type sweepRow struct {
	Rate  string
	Loss  []string
	cells []*result.Cell
	short []bool
}

// knee is where a mode begins to lose, as loads of a sweep; each is empty where it is unknown.
type knee struct {
	upTo       string // the highest load up to which nothing was lost
	from, loss string // the lowest load at which something was lost, and how much, in percent
	short      string // the lowest load that the sender did not offer, without a loss
}

// Knee is that of a mode; ok is false where no load has a value.
func (s Sweep) Knee(mode string) (k knee, ok bool) {
	c := slices.Index(s.Modes, mode)
	if c < 0 {
		return k, false
	}
	for _, r := range s.Rows {
		switch cell := r.cells[c]; {
		case cell == nil || cell.Value == nil:
		case *cell.Value > 0:
			k.from, k.loss = r.Rate, r.Loss[c]
			return k, true
		case k.short != "":
		case r.short[c]:
			k.short = r.Rate
		default:
			k.upTo = r.Rate
		}
	}
	return k, k.upTo+k.short != ""
}

// Words describes from which load on a mode loses; empty where it is unknown.
func (s Sweep) Words(mode string) string {
	k, ok := s.Knee(mode)
	short := "the sender did not reach " + k.short
	switch {
	case !ok:
		return ""
	case k.from != "":
		return "loses from " + k.from + " on in " + s.ID + " (" + k.loss + " % there)"
	case k.upTo == "":
		return "lost nothing in " + s.ID + ", but " + short
	case k.short != "":
		return "loses nothing up to " + k.upTo + " in " + s.ID + "; " + short
	}
	return "loses nothing up to " + k.upTo + " in " + s.ID
}

// Brief is the knee for the first screen: "no loss up to 500Mbit/s, 2.0 (1.9-2.1) % at 1Gbit/s".
func (k knee) Brief() string {
	var parts []string
	if k.upTo != "" {
		parts = append(parts, "no loss up to "+k.upTo)
	}
	if k.from != "" {
		parts = append(parts, k.loss+" % at "+k.from)
	} else if k.short != "" {
		parts = append(parts, "the sender did not reach "+k.short)
	}
	return strings.Join(parts, ", ")
}

// Swept reports whether a workload is one value of a sweep.
func (v View) Swept(id string) bool {
	_, ok := v.Curve(id)
	return ok
}

// sweepsOf groups the workloads that differ in their load, udp_sweep@200Mbit/s for example, by
// the name before the load.
func sweepsOf(ws []Workload) []Sweep {
	var out []Sweep
	for _, w := range ws {
		id, rate, ok := strings.Cut(w.ID, "@")
		i := slices.IndexFunc(w.Tables, func(t Table) bool { return t.Metric.Name == "loss_ratio" })
		if !ok || i < 0 {
			continue
		}
		at := slices.IndexFunc(out, func(s Sweep) bool { return s.ID == id })
		if at < 0 {
			at = len(out)
			s := Sweep{ID: id}
			for _, r := range w.Tables[i].Rows() {
				if !Unmeasured(r.Mode) {
					s.Modes = append(s.Modes, r.Mode.ID)
				}
			}
			out = append(out, s)
		}
		row := sweepRow{Rate: rate}
		scale := wording.ScaleFor("ratio")
		for _, mode := range out[at].Modes {
			r, _ := w.Tables[i].Of(mode)
			row.Loss, row.cells = append(row.Loss, r.Value(scale)), append(row.cells, r.Cell)
			row.short = append(row.short, w.underoffered(mode, rate))
		}
		out[at].Rows = append(out[at].Rows, row)
	}
	return slices.DeleteFunc(out, func(s Sweep) bool { return len(s.Rows) < 2 })
}

// underoffered reports whether the sender of a mode offered clearly less than a rate such as 500Mbit/s.
func (w Workload) underoffered(mode, rate string) bool {
	i := slices.IndexFunc(w.Tables, func(t Table) bool { return t.Metric.Name == "offered_load" })
	var asked quantity.Rate
	if i < 0 || asked.UnmarshalText([]byte(rate)) != nil {
		return false
	}
	r, ok := w.Tables[i].Of(mode)
	return ok && r.Cell != nil && r.Cell.Value != nil && claims.Underoffered(*r.Cell.Value, float64(asked))
}
