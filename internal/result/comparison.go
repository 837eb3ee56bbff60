package result

// Comparison compares A with B in one metric, over all blocks. Ratio is the geometric
// mean of A's value to B's over the N blocks that have both; all fields that it shares
// with [Cell] have the same meaning. P is Holm-adjusted over the comparisons of one
// metric. If there is an Expect, Ratio is compared with it: better means more (or less,
// where that is better) than expected, same means as expected within the margin. If
// nothing can be compared, Reason says why, Metric is empty and there are no values.
type Comparison struct {
	ID      string    `json:"id"`
	Title   string    `json:"title,omitempty"`
	A       Side      `json:"a"`
	B       Side      `json:"b"`
	Expect  *float64  `json:"expect,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	Metric  string    `json:"metric,omitempty"`
	Unit    string    `json:"unit,omitempty"` // of the metric; empty if both sides are ratios
	Better  Direction `json:"better,omitempty"`
	N       int       `json:"n"`
	Missing int       `json:"missing,omitempty"` // blocks with only one side
	Judgement
}

// Side is one side of a comparison: its id in the study, its mode and workload, and its
// own value. Workload is empty if a mode as a whole could not be compared. If the side is
// a ratio, Of holds its two sides: Value is then the geometric mean over the blocks that
// have both, ID is "first / second", and mode and workload are set if both share them.
type Side struct {
	ID       string    `json:"id"`
	Mode     string    `json:"mode,omitempty"`
	Workload string    `json:"workload,omitempty"`
	Value    *float64  `json:"value,omitempty"`
	AtLeast  bool      `json:"at_least,omitempty"`
	CI       *Interval `json:"ci,omitempty"`
	Of       []Side    `json:"of,omitempty"`
}

// Cell is the comparison as the cell of A, with B as its baseline.
func (c Comparison) Cell() Cell {
	return Cell{
		Mode: c.A.ID, Workload: c.A.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: c.N,
		Value: c.A.Value, CI: c.A.CI, AtLeast: c.A.AtLeast, Baseline: c.B.ID, Judgement: c.Judgement,
	}
}

// Terms are the sides that have a mode and a workload: the side itself, or the two sides
// of a ratio.
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

// Agree is whether two tools agree on a cost.
type Agree string

// The results of a comparison of two tools.
const (
	AgreeYes        Agree = "yes"         // their costs differ by no more than the margin
	AgreeNo         Agree = "no"          // they differ, and by more than the margin
	AgreeCannotTell Agree = "cannot_tell" // neither is shown
)

// Agreement compares the cost of a mode measured with the workload's own tool and with a
// second one. Ratio is the geometric mean, over the blocks in which all four have a
// trial, of the first cost to the second, each as the ratio of the mode to its baseline;
// RatioCI is its 95 % interval.
type Agreement struct {
	Workload string    `json:"workload"`
	Twin     string    `json:"twin"` // the verification workload, which uses the second tool
	Tool     string    `json:"tool"`
	Mode     string    `json:"mode"`
	Metric   string    `json:"metric"`
	N        int       `json:"n"` // blocks
	Ratio    *float64  `json:"ratio,omitempty"`
	RatioCI  *Interval `json:"ratio_ci,omitempty"`
	Agree    Agree     `json:"agree"`
}
