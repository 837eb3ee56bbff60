package result

import "time"

// Combination is runs of one study, of several machines or days, in one answer.
type Combination struct {
	Study    string            `json:"study"` // its name, empty if it has none
	Runs     []CombinedRun     `json:"runs"`
	Machines []CombinedMachine `json:"machines"`
	Margin   float64           `json:"margin"`
	// Distinct means that every run was counted as of a machine of its own, by request.
	Distinct bool            `json:"distinct,omitempty"`
	Ratios   []CombinedRatio `json:"ratios"`
	// LeftOut are the ratios of runs that are in no combined ratio, with the reason.
	LeftOut []CombinedLeftOut `json:"left_out,omitempty"`
}

// CombinedRun is a run of a combination. Machine is the index in [Combination].Machines. Differs lists what its study sets
// otherwise than that of the first run, and which changes only the width of intervals.
type CombinedRun struct {
	ID      string       `json:"id"`
	Path    string       `json:"path"`
	Started time.Time    `json:"started"`
	Status  RunStatus    `json:"status"`
	Build   Build        `json:"tare"`
	Machine int          `json:"machine"`
	Differs []Difference `json:"differs,omitempty"`
}

// CombinedMachine is a machine with what makes it this machine, see [MachineHistory], and how many runs are of it.
type CombinedMachine struct {
	Machine string `json:"machine"`
	Facts   []Fact `json:"facts"`
	Runs    int    `json:"runs"`
}

// CombinedUnit is what a combined ratio is the mean over.
type CombinedUnit string

// The units: machines, with the runs of each taken together first, or the runs of the only machine.
const (
	UnitMachine CombinedUnit = "machine"
	UnitRun     CombinedUnit = "run"
)

// CombinedRatio is the ratio of a mode to its baseline over the runs that have it, by random effects on the log ratio. Ratio is
// the geometric mean of the true ratios of the units, and RatioCI its 95 % interval. P is Holm-adjusted over the modes of one
// workload and metric. Verdict judges the mean, as that of a [Cell].
type CombinedRatio struct {
	Mode     string       `json:"mode"`
	Baseline string       `json:"baseline"`
	Workload string       `json:"workload"`
	Metric   string       `json:"metric"`
	Better   Direction    `json:"better"`
	Unit     CombinedUnit `json:"unit"`
	N        int          `json:"n"` // units
	Ratio    *float64     `json:"ratio"`
	RatioCI  *Interval    `json:"ratio_ci,omitempty"`
	P        *float64     `json:"p,omitempty"`
	Verdict  Verdict      `json:"verdict"`
	// Needed is how many more units would settle a verdict that cannot be told.
	Needed *int `json:"needed,omitempty"`
	// Spread is the relative standard deviation of the true ratio from unit to unit: 0.04 is 4 %. It is 0 if the errors of
	// the runs explain all of the difference.
	Spread float64 `json:"spread"`
	// Next is the range in which a run on the next machine (or the next run of the only one) is with a probability of 95 %.
	// NextVerdict is worse, better or same if all of the range is, else cannot_tell. Without a range, NoNext is the reason.
	Next        *Interval `json:"next,omitempty"`
	NextVerdict Verdict   `json:"next_verdict,omitempty"`
	NoNext      string    `json:"no_next,omitempty"`
	// Time is the lowest and the highest time that the mode adds on one of the units, with the unit of [Cell].Added: times
	// are not combined, because they belong to the speed of a machine. Nil where a run has none.
	Time     *Interval `json:"time,omitempty"`
	TimeUnit string    `json:"time_unit,omitempty"`
	// Units are the ratios that were combined, in the order of the runs.
	Units []CombinedPart `json:"units"`
}

// CombinedPart is the ratio of one unit, with its 95 % interval. Machine is the index in [Combination].Machines, and Runs are
// indices in [Combination].Runs. Several runs of one machine are taken together as units are.
type CombinedPart struct {
	Machine int       `json:"machine"`
	Runs    []int     `json:"runs"`
	Ratio   float64   `json:"ratio"`
	RatioCI *Interval `json:"ratio_ci,omitempty"`
}

// CombinedLeftOut is what a run has, or lacks, that is in no combined ratio. Run is the index in [Combination].Runs. An empty
// Mode is all modes.
type CombinedLeftOut struct {
	Run      int    `json:"run"`
	Mode     string `json:"mode,omitempty"`
	Workload string `json:"workload,omitempty"`
	Reason   string `json:"reason"`
}
