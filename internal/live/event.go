// Package live defines the events that a run emits while it runs, and the interface of
// the listeners that receive them. Its subpackages are the listeners.
package live

import (
	"time"

	"tare/internal/result"
)

// Listener receives one event at a time, in order. It must not block, because the run
// waits for it.
type Listener interface {
	Handle(Event)
}

// Event is one of the types below.
type Event interface{ event() }

// Planned is the first event of a run: what it will do and about how long this takes.
// Trials, Blocks and Estimate are the maximum; a run that may stop earlier runs at least
// MinBlocks blocks and takes at least MinTime.
type Planned struct {
	RunID     string
	Dir       string
	Profile   string
	Modes     []string
	Columns   []Column // metrics shown for each mode
	Trials    int
	Blocks    int
	MinBlocks int // 0: equal to Blocks
	Estimate  time.Duration
	MinTime   time.Duration
}

// Column is a workload with the metric that represents it. A workload may have further
// columns later.
type Column struct{ Workload, Metric string }

// ModeSettled reports that a mode is ready (Status measured) or why it is not. Reason is
// empty for a measured mode.
type ModeSettled struct {
	Mode   string
	Status result.ModeStatus
	Reason string
	Took   time.Duration
}

// TrialStarted announces a trial, or several interleaved ones. Done of Total trials have
// ended, and Remaining is the estimated maximum of the remaining time. Pilots belong to
// block 0.
type TrialStarted struct {
	Done, Total   int
	Block, Blocks int
	Modes         []string // more than one if they are interleaved
	Workload      string
	Attempt       int
	Remaining     time.Duration
}

// Progress is the current rate of a running trial, if the runner was asked to report it:
// about twice a second, or less often if modes are interleaved. Elapsed is how long its
// traffic has flowed.
type Progress struct {
	Mode, Workload string
	Elapsed        time.Duration
	Rate           float64 // in Unit, the unit of the workload's primary metric
	Unit           string
}

// TrialEnded carries a trial that was just written to disk.
type TrialEnded struct{ Trial result.Trial }

// WarningRaised carries a warning when it is emitted.
type WarningRaised struct{ Warning result.Warning }

// Provisional carries the intermediate results of a run. They contain no intervals
// and no verdicts, which hold for one look, after the last block.
type Provisional struct {
	Blocks int // completed
	Cells  []result.Cell
}

// Recreated reports that modes were recreated before a block.
type Recreated struct {
	Block int
	Modes []string
	Took  time.Duration
}

// Decision carries a decision of the run as text: a warm-up, a length, the end of adding
// blocks.
type Decision struct{ Text string }

// Waiting reports that the run waits for a quieter machine: why, and for how long at most.
type Waiting struct{ Text string }

// Moved reports that somebody moved the run's directory: where it is and is written from now on.
type Moved struct{ Dir string }

// String says so.
func (m Moved) String() string { return "the run's directory was moved: from now on it is " + m.Dir }

// Ended is the last event of a run.
type Ended struct {
	Status result.RunStatus
	Dir    string
}

func (Planned) event()       {}
func (ModeSettled) event()   {}
func (TrialStarted) event()  {}
func (Progress) event()      {}
func (TrialEnded) event()    {}
func (Provisional) event()   {}
func (Recreated) event()     {}
func (Decision) event()      {}
func (WarningRaised) event() {}
func (Waiting) event()       {}
func (Moved) event()         {}
func (Ended) event()         {}
