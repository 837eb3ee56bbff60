package result

// Changes compares a run with a later run of the same study.
type Changes struct {
	Warnings    []Warning    `json:"warnings,omitempty"` // what limits every change below
	Before      RunRef       `json:"before"`
	After       RunRef       `json:"after"`
	Machine     []Difference `json:"machine,omitempty"` // what shows that they are of different machines
	Environment []Difference `json:"environment"`       // differences between their environments
	Refused     []Refusal    `json:"refused"`           // parts that must not be compared
	Modes       []ModeChange `json:"modes"`             // modes whose status changed
	Missing     []Pair       `json:"missing,omitempty"` // what was measured and is not now, of modes that are; without a mode, of all
	Noisy       string       `json:"noisy,omitempty"`   // why there are no verdicts: a run was too noisy
	Cells       []Change     `json:"cells"`
	// Basis is what a run was judged by if not by one other run: the last of its history. Before is
	// then the latest of them, and the numbers of values of a [Change] count runs.
	Basis *Basis `json:"basis,omitempty"`
}

// Basis is the earlier runs, oldest first, that a run was judged by: at most Last runs of its
// study on its machine. LeftOut are the others that were offered. FalseAlarms is the probability,
// at most, with which a run without any change shows one. Reason says why nothing was judged.
type Basis struct {
	Runs        []RunRef  `json:"runs"`
	Last        int       `json:"last,omitempty"`
	Machine     string    `json:"machine"`
	Facts       []Fact    `json:"facts,omitempty"`
	LeftOut     []LeftOut `json:"left_out,omitempty"`
	FalseAlarms float64   `json:"false_alarms"`
	Reason      string    `json:"reason,omitempty"`
}

// RunRef identifies a run.
type RunRef struct {
	ID      string    `json:"id"`
	Started string    `json:"started"` // RFC 3339
	Status  RunStatus `json:"status"`
	Profile string    `json:"profile,omitempty"`
	Tare    Build     `json:"tare"`
}

// Refusal is a mode, a workload or, with both empty, the whole run that must not be
// compared between the two runs.
type Refusal struct {
	Mode     string `json:"mode,omitempty"`
	Workload string `json:"workload,omitempty"`
	Reason   string `json:"reason"`
}

// Pair is a workload of a mode, or of every mode if it names none.
type Pair struct {
	Mode     string `json:"mode,omitempty"`
	Workload string `json:"workload"`
}

// String returns "MODE WORKLOAD", or "WORKLOAD of every mode".
func (p Pair) String() string {
	if p.Mode == "" {
		return p.Workload + " of every mode"
	}
	return p.Mode + " " + p.Workload
}

// ModeChange is a mode whose status changed. An empty status means that the run does not
// have the mode.
type ModeChange struct {
	Mode   string     `json:"mode"`
	Before ModeStatus `json:"before,omitempty"`
	After  ModeStatus `json:"after,omitempty"`
	Reason string     `json:"reason,omitempty"` // of the later run
}

// Lost reports whether the mode was measured before and is no longer measured.
func (m ModeChange) Lost() bool { return m.Before == ModeMeasured && m.After != ModeMeasured }

// Change is the change of one cell. If the mode has a baseline, the ratio to it is
// compared, so that a machine that is slower as a whole is no change; Before and After
// are the two ratios. A baseline itself is compared by its own values, in the metric's
// unit, and Own is set: such a change can come from the machine. Ratio is After to Before
// and RatioCI its 95 % interval, from the spread of both runs. P is Holm-adjusted over
// the modes of one workload and metric, each baseline alone, and BlocksNeeded are those of each
// run. The other fields have the meaning of [Cell]; with a lower bound in either run, the verdicts that it cannot
// support are not given.
type Change struct {
	Mode     string    `json:"mode"`
	Workload string    `json:"workload"`
	Metric   string    `json:"metric"`
	Unit     string    `json:"unit"`
	Better   Direction `json:"better"`
	Own      bool      `json:"own,omitempty"`
	Before   *float64  `json:"before"`
	BeforeCI *Interval `json:"before_ci,omitempty"`
	BeforeN  int       `json:"before_n"`
	After    *float64  `json:"after"`
	AfterCI  *Interval `json:"after_ci,omitempty"`
	AfterN   int       `json:"after_n"`
	Judgement
	// Added is how much more time the mode adds to the baseline than before, or with Own takes, with the unit of
	// [Cell].Added. Nil for metrics that are no time, between different machines, with a Basis, and where unknown.
	Added *Added `json:"added,omitempty"`
	// Spread is the relative standard deviation of the ratio from run to run, if there is a Basis.
	Spread *float64 `json:"spread,omitempty"`
}

// Cell is the change as a cell of the later run, with the earlier one as its baseline.
func (c Change) Cell() Cell {
	return Cell{Mode: c.Mode, Workload: c.Workload, Metric: c.Metric, Unit: c.Unit, Better: c.Better, N: min(c.BeforeN, c.AfterN),
		Baseline: "before", Judgement: c.Judgement}
}

// Difference is a property that differs between the environments of two runs. Scope is
// "tare", a host or a mode. An empty value means that the run does not record it.
type Difference struct {
	Scope  string `json:"scope"`
	Name   string `json:"name"`
	Before string `json:"before"`
	After  string `json:"after"`
}
