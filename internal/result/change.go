package result

// Changes is what became of a run's figures in a later run of the same study.
type Changes struct {
	Before      RunRef       `json:"before"`
	After       RunRef       `json:"after"`
	Environment []Difference `json:"environment"`     // in what the two were made with
	Refused     []Refusal    `json:"refused"`         // what is not to be compared
	Modes       []ModeChange `json:"modes"`           // whose fate is another one
	Noisy       string       `json:"noisy,omitempty"` // why nothing can be told: a run was not fit to judge
	Cells       []Change     `json:"cells"`
}

// RunRef names a run.
type RunRef struct {
	ID      string    `json:"id"`
	Started string    `json:"started"` // RFC 3339
	Status  RunStatus `json:"status"`
	Profile string    `json:"profile,omitempty"`
	Tare    Build     `json:"tare"`
}

// Refusal is a mode or a workload, or with both empty the whole, of which the two runs
// are not to be compared.
type Refusal struct {
	Mode     string `json:"mode,omitempty"`
	Workload string `json:"workload,omitempty"`
	Reason   string `json:"reason"`
}

// ModeChange is a mode that another thing became of. An empty status stands for a run
// that does not have it.
type ModeChange struct {
	Mode   string     `json:"mode"`
	Before ModeStatus `json:"before,omitempty"`
	After  ModeStatus `json:"after,omitempty"`
	Reason string     `json:"reason,omitempty"` // of the later run
}

// Lost is whether the mode was measured and no longer is.
func (m ModeChange) Lost() bool { return m.Before == ModeMeasured && m.After != ModeMeasured }

// Change is what became of one cell. Where the mode has a baseline, what is compared is
// its ratio to it, so that a machine that was slower as a whole is no change; Before and
// After are the two ratios. A baseline itself is compared by its own values, in the
// metric's unit, and Own is set: that change is as much the machine's.
//
// Ratio is After to Before and RatioCI its 95 % interval, from the spread of both runs.
// P is Holm-adjusted over the modes of one workload and metric, baselines each alone.
// The rest means what it does in [Cell]; a lower bound in either run takes away the
// verdicts that it does not bear.
type Change struct {
	Mode         string    `json:"mode"`
	Workload     string    `json:"workload"`
	Metric       string    `json:"metric"`
	Unit         string    `json:"unit"`
	Better       Direction `json:"better"`
	Own          bool      `json:"own,omitempty"`
	Before       *float64  `json:"before"`
	BeforeCI     *Interval `json:"before_ci,omitempty"`
	BeforeN      int       `json:"before_n"`
	After        *float64  `json:"after"`
	AfterCI      *Interval `json:"after_ci,omitempty"`
	AfterN       int       `json:"after_n"`
	Ratio        *float64  `json:"ratio,omitempty"`
	RatioCI      *Interval `json:"ratio_ci,omitempty"`
	P            *float64  `json:"p,omitempty"`
	Verdict      Verdict   `json:"verdict"`
	Margin       float64   `json:"margin"`
	Detectable   *float64  `json:"detectable,omitempty"`
	BlocksNeeded *int      `json:"blocks_needed,omitempty"` // of each run
}

// Cell is the change as a cell of the later run, with the earlier one in the
// baseline's place.
func (c Change) Cell() Cell {
	return Cell{Mode: c.Mode, Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: min(c.BeforeN, c.AfterN),
		Baseline: "before", Ratio: c.Ratio, RatioCI: c.RatioCI, P: c.P, Verdict: c.Verdict, Margin: c.Margin,
		Detectable: c.Detectable, BlocksNeeded: c.BlocksNeeded}
}

// Difference is a property of what two runs were made with that is not the same. Scope
// is "tare", a host or a mode. An empty value is that of a run that does not tell it.
type Difference struct {
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}
