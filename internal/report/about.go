package report

import (
	"strconv"

	"tare/internal/report/say"
	"tare/internal/result"
)

// about lists what identifies a run, for the long reports.
func about(v view) []result.Fact {
	r := v.Run
	if r.Source != "" {
		return []result.Fact{
			{Name: "numbers of", Value: r.Source},
			{Name: "compared", Value: paired(r)},
			{Name: "judged by", Value: "tare " + version(r)},
			{Name: "values", Value: v.Tally.String()},
		}
	}
	finished := "unknown"
	if !r.Finished.IsZero() {
		finished = say.Time(r.Finished)
		if d := took(r); d != "" {
			finished += ", after " + d
		}
	}
	return []result.Fact{
		{Name: "run", Value: orUnknown(r.ID)},
		{Name: "status", Value: orUnknown(string(r.Status))},
		{Name: "started", Value: say.Time(r.Started)},
		{Name: "finished", Value: finished},
		{Name: "profile", Value: orUnknown(r.Profile)},
		{Name: "seed", Value: seed(r)},
		{Name: "tare", Value: version(r)},
		{Name: "trials", Value: v.Tally.String()},
	}
}

// paired says how numbers that came from elsewhere were compared.
func paired(r result.Run) string {
	switch r.Pairing {
	case "block":
		return "values paired by block"
	case "order":
		return "values paired in their order"
	}
	return "values not paired"
}

// seed is the run's seed; a run that broke off before it wrote run.json has none.
func seed(r result.Run) string {
	if r.Seed == 0 {
		return "unknown"
	}
	return strconv.FormatUint(r.Seed, 10)
}

// took is how long a run took; empty when that is not known.
func took(r result.Run) string {
	if r.Started.IsZero() || r.Finished.IsZero() || r.Finished.Before(r.Started) {
		return ""
	}
	return say.Duration(r.Finished.Sub(r.Started))
}

func version(r result.Run) string {
	s := orUnknown(r.Tare.Version)
	if r.Tare.Commit != "" {
		s += " (" + say.Cut(r.Tare.Commit, 15) + ")"
	}
	return s
}
