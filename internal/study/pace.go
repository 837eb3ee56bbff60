package study

import (
	"fmt"
	"slices"

	"tare/internal/study/quantity"
)

// Half is the value of Pace with which every workload that has a rate is limited to half of what
// a baseline reaches in a first trial.
const Half = "half"

// checkPace returns an error if a workload of a study cannot be limited as the study asks.
func checkPace(s Study, cat Catalog) error {
	var errs []*Error
	for _, w := range s.Workloads {
		spec, _ := cat.Workload(w.Kind)
		swept := slices.Contains(spec.Params, "rates")
		switch {
		case s.Pace == Half && (swept || slices.Contains(spec.Params, "loss_goals")):
			errs = append(errs, &Error{Text: fmt.Sprintf("workload %s loads the path up to its limit, and the study limits its rates to half of that, because others use the hosts, too; "+
				"set pace: off (--full-rate), with max_rate (--max-rate) if they need the rest", w.Name())})
		case swept && s.MaxRate > 0 && slices.ContainsFunc(w.Rates, func(r quantity.Rate) bool { return r > s.MaxRate }):
			errs = append(errs, &Error{Text: fmt.Sprintf("workload %s has rates above the max_rate of %s; remove them from its rates", w.Name(), s.MaxRate)})
		}
	}
	return Join(errs)
}
