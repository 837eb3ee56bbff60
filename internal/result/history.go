package result

import "time"

// History is how the results of a study changed over time: its runs, oldest first, on each of the
// machines that ran it. Runs of another study under the same name, and runs that cannot be read or
// judged, are left out and listed.
type History struct {
	Study    string           `json:"study"` // its name, empty if it has none
	Hash     string           `json:"hash"`  // of what decides its results
	Machines []MachineHistory `json:"machines"`
	LeftOut  []LeftOut        `json:"left_out,omitempty"`
	// FalseAlarms is the probability, at most, with which a history without any change has a change
	// point, in any of its series.
	FalseAlarms float64 `json:"false_alarms"`
	// MinRuns is the number of runs below which no change can be found in a series, however large it
	// is, at that rate of false alarms.
	MinRuns int `json:"min_runs"`
}

// LeftOut is a run that is not in a history, with the reason.
type LeftOut struct {
	Path   string `json:"path"`
	ID     string `json:"id,omitempty"`
	Reason string `json:"reason"`
}

// MachineHistory is the history of one machine. Two runs are of one machine if what decides the
// ratios of modes is equal: CPU model, microcode, hypervisor, number of CPUs.
type MachineHistory struct {
	Machine string          `json:"machine"` // short name, such as the CPU model with a number
	Facts   []Fact          `json:"facts"`   // what makes it this machine
	Runs    []HistoryRun    `json:"runs"`
	Series  []HistorySeries `json:"series"`
}

// HistoryRun is a run of a history. Changed lists what differs from the run before: kernel,
// engine, version of tare.
type HistoryRun struct {
	ID      string       `json:"id"`
	Path    string       `json:"path"`
	Started time.Time    `json:"started"`
	Build   Build        `json:"tare"`
	Changed []Difference `json:"changed,omitempty"`
	// Note says why the run must be read with care: noisy, interrupted, its clock was set back.
	Note string `json:"note,omitempty"`
}

// HistorySeries is the ratio of a mode to its baseline in one metric, run by run.
type HistorySeries struct {
	Mode     string         `json:"mode"`
	Baseline string         `json:"baseline"`
	Workload string         `json:"workload"`
	Metric   string         `json:"metric"`
	Better   Direction      `json:"better"`
	Points   []HistoryPoint `json:"points"`
	Changes  []ChangePoint  `json:"changes,omitempty"`
	// Spread is the relative standard deviation of the ratio from run to run, within the stretches
	// between change points; nil with fewer than three runs.
	Spread *float64 `json:"spread,omitempty"`
}

// HistoryPoint is one run's ratio with its interval. Run is the index in [MachineHistory].Runs.
type HistoryPoint struct {
	Run     int       `json:"run"`
	Ratio   float64   `json:"ratio"`
	RatioCI *Interval `json:"ratio_ci,omitempty"`
}

// ChangePoint is where the level of a series changed: Point is the first point after the change.
// Before and After are the geometric means of the ratios on each side, up to the next change
// point, and P the p value of the permutation test times the number of series of the history.
type ChangePoint struct {
	Point  int     `json:"point"`
	Before float64 `json:"before"`
	After  float64 `json:"after"`
	P      float64 `json:"p"`
	Worse  bool    `json:"worse"`
}
