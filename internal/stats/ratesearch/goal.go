package ratesearch

import (
	"fmt"
	"strings"
)

// Goal defines what a rate must meet: the allowed loss, the share of trials that may
// exceed it, and the required evidence.
type Goal struct {
	Name      string  // name in outcomes and brackets; unique in a search
	LossRatio float64 // 0..1: the maximum loss of a good trial, relative to what was sent

	// ExceedRatio, from 0 to below 1, is the share of the time in which trials may lose
	// more. At 0.5 the median trial decides, at 0 a single lossy trial rules out the
	// load.
	ExceedRatio float64

	FinalDuration float64 // seconds of a full-length trial
	DurationSum   float64 // seconds of trials at one load that decide on it

	// Width is the maximum width of the final bracket, relative to its upper end:
	// (upper-lower)/upper, above 0, at most 0.5.
	Width float64

	// InitialDuration is the seconds of the first, coarse trials: at most
	// FinalDuration. 0 means 1 s, or FinalDuration if that is shorter.
	InitialDuration float64
}

// Strict is the goal with no lossy trial allowed at all: exceed ratio 0.
func Strict(g Goal) Goal {
	g.ExceedRatio = 0
	return g
}

// check refuses goals that a search cannot reach, or not reliably.
func (g Goal) check() error {
	bad := func(format string, a ...any) error {
		return fmt.Errorf("goal %q: %s", g.Name, fmt.Sprintf(format, a...))
	}
	switch {
	case strings.TrimSpace(g.Name) == "":
		return bad("has no name")
	case !(g.LossRatio >= 0 && g.LossRatio < 1):
		return bad("loss ratio %g: want 0 to below 1", g.LossRatio)
	case !(g.ExceedRatio >= 0 && g.ExceedRatio < 1):
		return bad("exceed ratio %g: want 0 to below 1", g.ExceedRatio)
	case !(g.FinalDuration > 0 && g.FinalDuration <= 3600):
		return bad("trials of %g s: want above 0, at most an hour", g.FinalDuration)
	case !(g.InitialDuration >= 0 && g.InitialDuration <= g.FinalDuration):
		return bad("first trials of %g s: want at most the %g s of a full one", g.InitialDuration, g.FinalDuration)
	case !(g.Width > 0 && g.Width <= 0.5):
		return bad("width %g: want above 0, at most 0.5", g.Width)
	case !(g.DurationSum >= g.FinalDuration && g.DurationSum <= 86400):
		return bad("%g s of evidence: want at least one trial's %g s", g.DurationSum, g.FinalDuration)
	// An exceed ratio of 0 lets one bad trial decide on purpose.
	case g.ExceedRatio > 0 && micro(g.DurationSum) < 3*micro(g.FinalDuration):
		return bad("%g s of evidence let one trial of %g s decide: want at least three trials' worth", g.DurationSum, g.FinalDuration)
	}
	return nil
}

// initial is the length of the first trials in seconds.
func (g Goal) initial() float64 {
	if g.InitialDuration > 0 {
		return g.InitialDuration
	}
	return min(1, g.FinalDuration)
}
