// Package harness is shared by the programs of bench: their settings, a run of tare with
// its resource use, and the numbers and tables that they print.
package harness

import (
	"context"
	"time"
)

// Section is one table, selected by its name.
type Section struct {
	Name     string
	Run      func(context.Context, Options) error
	OnDemand bool // too slow to run unless -only names it
}

// Options are the settings of all sections.
type Options struct {
	Tare  string // the binary under test
	Runs  int    // repeats of a quick run
	Pairs int    // interleaved pairs of a comparison with a peer

	// PeerRatios collects, by row of these comparisons, how many times as good as the best peer tare is.
	PeerRatios *[]float64

	AARuns, EffectRuns int      // runs of a mode against itself, and with a known effect
	AAMode, AAWorkload string   // what is measured against itself
	AARenew            string   // in which blocks its two copies are recreated
	Protocols          []string // two profiles that must agree
	WatchPairs         int      // pairs of trials, one of each watched
	WatchLong          time.Duration
	NetworksFile       string // the table of the networks of pods, to be written
	Verbose            bool   // show the progress of long runs
}

// Settings of every trial that bench runs itself.
const (
	Token      = "0123456789abcdef"
	Congestion = "cubic"          // independent of the machine's default
	TrialGrace = 20 * time.Second // maximum time of a trial in addition to its traffic
)
