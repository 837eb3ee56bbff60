// Package harness is what the programs of bench share: their settings, a run of tare
// with what it used, the numbers and the tables that they print.
package harness

import (
	"context"
	"time"
)

// Section is one table, run by its name.
type Section struct {
	Name     string
	Run      func(context.Context, Options) error
	OnDemand bool // takes so long that it runs only when -only names it
}

// Options are the settings of all sections.
type Options struct {
	Tare  string // the binary under test
	Runs  int    // repeats of a quick run
	Pairs int    // interleaved pairs of a comparison with a peer

	AARuns, EffectRuns int      // runs of a baseline against itself, and with a known effect
	AAWorkload         string   // the workload of the former
	Protocols          []string // the two profiles that must agree
	WatchPairs         int      // pairs of trials, one of each watched
	WatchLong          time.Duration
	Verbose            bool // a run's own progress is shown, because it takes long
}

// What every trial that bench drives itself has.
const (
	Token      = "0123456789abcdef"
	Congestion = "cubic"          // whatever the machine's default
	TrialGrace = 20 * time.Second // what a trial may take beyond its traffic
)
