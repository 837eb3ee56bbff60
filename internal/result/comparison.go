package result

// Comparison is what A does beside B, in one metric, over all blocks. Ratio is the
// geometric mean, over the N blocks that have all of it, of A's value to B's; all that
// it shares with [Cell] means the same here. P is Holm-adjusted over the comparisons
// of one metric. Where there is an Expect, Ratio is judged against it: better is more
// (or less, where that is better) than expected, same is as expected within the margin.
//
// Where there is nothing to compare, Reason says why, Metric is empty and there are
// no figures.
type Comparison struct {
	ID           string    `json:"id"`
	Title        string    `json:"title,omitempty"`
	A            Side      `json:"a"`
	B            Side      `json:"b"`
	Expect       *float64  `json:"expect,omitempty"`
	Reason       string    `json:"reason,omitempty"`
	Metric       string    `json:"metric,omitempty"`
	Unit         string    `json:"unit,omitempty"` // of the metric; two sides that are ratios have none
	Better       Direction `json:"better,omitempty"`
	N            int       `json:"n"`
	Missing      int       `json:"missing,omitempty"` // blocks that have only some of it
	Ratio        *float64  `json:"ratio,omitempty"`
	RatioCI      *Interval `json:"ratio_ci,omitempty"`
	P            *float64  `json:"p,omitempty"`
	Verdict      Verdict   `json:"verdict,omitempty"`
	Margin       float64   `json:"margin,omitempty"`
	Detectable   *float64  `json:"detectable,omitempty"`
	BlocksNeeded *int      `json:"blocks_needed,omitempty"`
	Indicative   bool      `json:"indicative,omitempty"`
}

// Side is one of the two of a comparison: its id in the study, the mode and the
// workload that it stands for, and its own figure. Workload is empty where a mode
// as a whole could not be compared.
//
// Of are the two sides of which this one is the ratio: Value is then the geometric
// mean over the blocks that have both, ID is "first / second", and mode and workload
// are theirs where they share one.
type Side struct {
	ID       string    `json:"id"`
	Mode     string    `json:"mode,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Value    *float64  `json:"value,omitempty"`
	AtLeast  bool      `json:"at_least,omitempty"`
	CI       *Interval `json:"ci,omitempty"`
	Of       []Side    `json:"of,omitempty"`
}

// Cell is the comparison as the cell of A, with B in the baseline's place.
func (c Comparison) Cell() Cell {
	return Cell{
		Mode: c.A.ID, Workload: c.A.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: c.N,
		Value: c.A.Value, CI: c.A.CI, AtLeast: c.A.AtLeast, Baseline: c.B.ID, Ratio: c.Ratio, RatioCI: c.RatioCI, P: c.P,
		Verdict: c.Verdict, Margin: c.Margin, Detectable: c.Detectable, BlocksNeeded: c.BlocksNeeded, Indicative: c.Indicative,
	}
}

// Terms are the sides that have a mode and a workload: the side itself, or the two
// of which it is the ratio.
func (s *Side) Terms() []*Side {
	if len(s.Of) == 0 {
		return []*Side{s}
	}
	var out []*Side
	for i := range s.Of {
		out = append(out, &s.Of[i])
	}
	return out
}

// Agree says whether two tools agree on a cost.
type Agree string

// The answers of a comparison of two tools.
const (
	AgreeYes        Agree = "yes"         // their costs differ by no more than the margin
	AgreeNo         Agree = "no"          // they differ, and by more than the margin
	AgreeCannotTell Agree = "cannot_tell" // neither shown
)

// Agreement compares what a mode costs by the workload's own tool with what it
// costs by a second one. Ratio is the geometric mean, over the blocks in which all
// four have a trial, of the first cost to the second, each being the ratio of the
// mode to its baseline; RatioCI is its 95 % interval.
type Agreement struct {
	Workload string    `json:"workload"`
	Twin     string    `json:"twin"` // the workload of the second tool
	Tool     string    `json:"tool"`
	Mode     string    `json:"mode"`
	Metric   string    `json:"metric"`
	N        int       `json:"n"` // blocks
	Ratio    *float64  `json:"ratio,omitempty"`
	RatioCI  *Interval `json:"ratio_ci,omitempty"`
	Agree    Agree     `json:"agree"`
}
