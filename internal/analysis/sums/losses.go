package sums

import (
	"slices"

	"tare/internal/result"
)

// Losses adds up the places where each mode lost the datagrams of each workload, over its
// valid trials that have them. A mode that lost nothing is included.
func Losses(modes []result.Mode, workloads []string, trials []result.Trial) []result.LossSummary {
	var out []result.LossSummary
	for _, w := range workloads {
		for _, m := range modes {
			s := result.LossSummary{Mode: m.ID, Workload: w}
			for _, t := range trials {
				if t.Mode == m.ID && t.Workload == w && t.Status == result.TrialOK && !t.Aside() && t.Losses != nil {
					addLosses(&s, *t.Losses)
				}
			}
			if s.Trials > 0 || len(s.Missing) > 0 {
				slices.SortStableFunc(s.Places, func(a, b result.LossPlace) int { return placeOrder(a.Place) - placeOrder(b.Place) })
				out = append(out, s)
			}
		}
	}
	return out
}

// addLosses adds one trial. A trial without counts has only the reason.
func addLosses(s *result.LossSummary, l result.Losses) {
	for _, text := range l.Missing {
		if !slices.Contains(s.Missing, text) {
			s.Missing = append(s.Missing, text)
		}
	}
	if l.Sent == 0 {
		return
	}
	s.Trials++
	s.Sent += l.Sent
	s.Lost += l.Lost
	s.Unexplained += l.Unexplained
	for _, p := range l.Places {
		i := slices.IndexFunc(s.Places, func(o result.LossPlace) bool {
			return o.Place == p.Place && o.Where == p.Where && o.Counter == p.Counter
		})
		if i < 0 {
			s.Places = append(s.Places, p)
			continue
		}
		s.Places[i].Count += p.Count
	}
	for _, r := range l.Reasons {
		i := slices.IndexFunc(s.Reasons, func(o result.DropReason) bool { return o.Reason == r.Reason && o.Location == r.Location })
		if i < 0 {
			s.Reasons = append(s.Reasons, r)
			continue
		}
		s.Reasons[i].Count += r.Count
	}
}

func placeOrder(id string) int {
	return slices.IndexFunc(result.LossPlaces(), func(p result.PlaceKind) bool { return p.ID == id })
}
