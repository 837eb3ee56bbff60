package runner

import (
	"fmt"
	"math"

	"tare/internal/result"
	"tare/internal/stats/ratesearch"
	"tare/internal/warning"
)

// judge turns the answers of a proven search into the trial's figures: for each goal
// the conditional throughput in payload bit/s. A goal without an answer has none.
func (s *search) judge(out *result.Trial) error {
	out.Metrics = map[string]float64{}
	out.Steps = s.steps
	out.Search = &result.Search{Payload: int(s.payload / 8), Seconds: s.state.Spent()}
	for _, o := range s.state.Outcomes() {
		out.Search.Goals = append(out.Search.Goals, result.SearchGoal{
			Metric: o.Name, LossGoal: o.LossRatio, ExceedRatio: o.ExceedRatio, Lower: o.Lower, Upper: o.Upper, Throughput: o.Throughput,
			Regular: o.Regular, AtLeast: o.AtLeast, Lossy: o.Lossy, Trials: o.Trials, LossyUpper: o.LossyUpper, Notes: o.Notes,
		})
		if code := codeOf(o); code != "" {
			for _, text := range o.Notes {
				out.Notes = append(out.Notes, result.Note{Code: string(code), Text: o.Name + ": " + text})
			}
		}
		if o.Throughput == nil {
			continue
		}
		v := *o.Throughput * s.payload
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("impossible figures: %s is %g", o.Name, v)
		}
		out.Metrics[o.Name] = v
		if o.AtLeast {
			out.AtLeast = append(out.AtLeast, o.Name)
		}
	}
	return nil
}

// codeOf is the code of the notes of an answer, empty where they only repeat what a
// figure shows.
func codeOf(o ratesearch.Outcome) warning.Code {
	switch {
	case o.Throughput == nil:
		return warning.SearchNoResult
	case o.AtLeast:
		return warning.SearchAtLeast
	case !o.Regular:
		return warning.SearchUnfinished
	}
	return warning.LossInversion
}
