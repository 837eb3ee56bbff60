package report

import "tare/internal/result"

// tabled are the trials of a workload without those that count in no cell by design, and with those
// ruled out whose set was run once more.
//
// There may be very many trials: only those of such sets are copied.
func tabled(trials []result.Trial, workload string) []*result.Trial {
	old := result.Superseded(trials)
	var out []*result.Trial
	for i := range trials {
		t := &trials[i]
		if t.Workload != workload || t.Aside() {
			continue
		}
		if t.Status == result.TrialOK && old(t) {
			again := *t
			again.Status, again.Reason = result.TrialInvalid, "run once more, with all of its set"
			t = &again
		}
		out = append(out, t)
	}
	return out
}

func zero(c *result.Cell) bool { return c != nil && c.Value != nil && *c.Value == 0 }

// bound tells the rows of a group what their baseline's figure is.
func (g group) bound() {
	for _, b := range g.Rows {
		for i := range g.Rows {
			if r := &g.Rows[i]; b.Baseline && !r.Baseline && b.Cell != nil {
				r.Bounded = b.Cell.AtLeast
				r.Zero = zero(b.Cell) || zero(r.Cell)
			}
		}
	}
}
