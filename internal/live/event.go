// Package live is what a run tells while it goes on: the events, and who
// listens to them. Its folders are the listeners.
package live

import (
	"time"

	"tare/internal/result"
)

// Listener is told one event at a time, in order. It must not block: the run waits for it.
type Listener interface {
	Handle(Event)
}

// Event is one of the types below.
type Event interface{ event() }

// Planned opens a run: what will be done and about how long it takes. Trials, Blocks
// and Estimate are the most; a run that may end by itself before has fewer blocks as
// Least, and takes Soonest then.
type Planned struct {
	RunID     string
	Dir       string
	Profile   string
	Modes     []string
	Columns   []Column // what will be known of each mode
	Trials    int
	Blocks    int
	MinBlocks int // 0: there are as many as Blocks
	Estimate  time.Duration
	MinTime   time.Duration
}

// Column is the figure that stands for a workload. A workload may come to have more.
type Column struct{ Workload, Metric string }

// ModeSettled says that a mode is ready (Status measured) or why it is not.
// Reason is empty for a measured mode.
type ModeSettled struct {
	Mode   string
	Status result.ModeStatus
	Reason string
	Took   time.Duration
}

// TrialStarted announces a trial, or several that take turns; Done of Total trials are behind it and
// Remaining is the time still needed by the plan, at most. Pilots are of block 0.
type TrialStarted struct {
	Done, Total   int
	Block, Blocks int
	Modes         []string // more than one where they take turns
	Workload      string
	Attempt       int
	Remaining     time.Duration
}

// Progress says at which rate a trial that is under way carries, where the runner was
// asked for it: about twice a second, or less where modes take turns. At is for how long
// its traffic has flowed.
type Progress struct {
	Mode, Workload string
	Elapsed        time.Duration
	Rate           float64 // in Unit, that of the workload's primary metric
	Unit           string
}

// TrialEnded carries a trial that was just written to disk.
type TrialEnded struct{ Trial result.Trial }

// WarningRaised carries a warning as it arises.
type WarningRaised struct{ Warning result.Warning }

// Provisional carries what a run would say if it ended now: no verdict, for more
// blocks are to come.
type Provisional struct {
	Blocks int // behind it
	Cells  []result.Cell
}

// Recreated says that modes were made anew before a block.
type Recreated struct {
	Block int
	Modes []string
	Took  time.Duration
}

// Decision carries a decision of the run about itself, in words: a warm-up, a length,
// the end of adding blocks.
type Decision struct{ Text string }

// Ended closes a run.
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
func (Ended) event()         {}
