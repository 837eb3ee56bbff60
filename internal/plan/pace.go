package plan

import (
	"slices"
	"time"

	"tare/internal/result"
	"tare/internal/study"
	"tare/internal/study/quantity"
	"tare/internal/traffic/workloads"
)

// The warm-up and the timed window of a first trial. It is short, because it loads the path as
// much as possible.
const (
	FirstWarmup = 300 * time.Millisecond
	FirstWindow = time.Second
)

// paceShare is the share of what the first trial reached at which a workload is paced.
const paceShare = 0.5

// sustained is the share of the offered payload that the first trial must receive to show that
// half of it, which is the study's limit, is no more than half of what the path carries.
const sustained = 0.95

// rated reports whether a workload of a study has a rate that can be limited.
func rated(w study.Workload) bool {
	t, err := workloads.Named(w.Kind)
	return err == nil && slices.Contains(t.Spec().Params, "rate") && len(w.Rates) == 0
}

// Paced lists the workloads of a resolved study whose rate is limited by half of what a first
// trial reaches; none if the study is not paced.
func Paced(s study.Study) []study.Workload {
	if s.Pace != study.Half {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Workloads), func(w study.Workload) bool { return !rated(w) })
}

// limitOf returns the highest total rate that a study allows for a workload, bit/s; 0 if it sets
// no limit.
func limitOf(s study.Study, w study.Workload) float64 {
	limit := offeredTotal(w)
	if most := float64(s.MaxRate); most > 0 && (limit == 0 || limit > most) {
		limit = most
	}
	return limit
}

// offeredTotal is Offered, also for a rate in datagrams.
func offeredTotal(w study.Workload) float64 {
	if w.PacketRate > 0 {
		return float64(w.PacketRate) * float64(w.PayloadSize) * 8 * float64(shares(w))
	}
	return Offered(w)
}

// FirstTrial is the workload of the first trial of a paced workload: the same traffic as fast as
// it goes, or at twice the limit of the study, by the built-in generator. Of several numbers of
// flows or streams it has the first.
func FirstTrial(s study.Study, w study.Workload) study.Workload {
	limit := limitOf(s, w)
	first := variants(w)[0].Workload
	first.Tool, first.VerifyWith, first.PacketRate, first.Rate = study.BuiltIn, "", 0, quantity.Unlimited
	first.Wait, first.Scheduling = "", "" // it has no schedule
	first.Every, first.Times, first.DurationMin, first.DurationMax, first.Slice = 0, 0, 0, 0, quantity.AtOnce
	first.Warmup, first.Duration = quantity.WaitOf(FirstWarmup), quantity.Duration(FirstWindow)
	if limit > 0 {
		first = AtRate(first, quantity.Rate(limit/paceShare))
	}
	return first
}

// PaceAt returns the pace of a workload whose first trial, of a mode, received reached bit/s.
func PaceAt(s study.Study, w study.Workload, mode string, reached float64) result.Pace {
	limit := limitOf(s, w)
	p := result.Pace{Workload: w.Name(), Rate: reached * paceShare, Mode: mode, Reached: reached, Duration: FirstWindow.Seconds(), Limit: limit}
	if limit > 0 && reached*paceShare >= limit*sustained {
		p.Rate = limit
	}
	return p
}

// Limits returns the paces of a study that follow from its own limit alone: of workloads without
// a rate, or with a higher one. A paced study has none, because its first trials decide.
func Limits(s study.Study) []result.Pace {
	if s.Pace == study.Half || s.MaxRate == 0 {
		return nil
	}
	var out []result.Pace
	for _, w := range s.Workloads {
		if own := offeredTotal(w); rated(w) && (own == 0 || own > float64(s.MaxRate)) {
			out = append(out, result.Pace{Workload: w.Name(), Rate: float64(s.MaxRate), Limit: float64(s.MaxRate)})
		}
	}
	return out
}

// Decided returns a resolved study with what its run decided before the first block: the
// congestion control and the rates of paced workloads. Where nothing is decided, the systems of
// the endpoints choose the congestion control.
func Decided(s study.Study, run result.Run) study.Study {
	s.Workloads = slices.Clone(s.Workloads)
	for i := range s.Workloads {
		w := &s.Workloads[i]
		if w.Congestion == study.AutoWord {
			if w.Congestion = ""; run.Congestion != nil {
				w.Congestion = run.Congestion.Name
			}
		}
		if p := run.PaceOf(w.Name()); p != nil && p.Rate >= 1 && p.Rate != offeredTotal(*w) {
			w.PacketRate = 0
			*w = AtRate(*w, quantity.Rate(p.Rate))
			if w.WriteSize > 0 {
				// A stream that keeps a schedule needs time to catch up after a delay, which a slice
				// does not have.
				w.Slice = quantity.AtOnce
				w.Warmup = quantity.WaitOf(max(w.Warmup.Std(), study.WholeWarmup.Std()))
			}
		}
	}
	if most := s.MaxRate; most > 0 {
		for i, w := range s.Workloads {
			s.Workloads[i].MaxRate = min(w.MaxRate, most)
		}
	}
	if most := s.MaxRate; most > 0 && s.CostPass.On() && s.CostPass.Rate != quantity.PassAuto && s.CostPass.Rate > quantity.PassRate(most) {
		s.CostPass.Rate = quantity.PassRate(most)
	}
	return s
}
