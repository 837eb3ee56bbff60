// Package stats is the mathematics of tare's method: what a handful of trials,
// each one number, says about a mode and its baseline. It is pure: no I/O, no
// clock, no randomness, and it imports nothing of tare's.
//
// The unit of replication is the trial. Samples inside one trial are correlated
// and must not be fed to these functions: an interval from them is several times
// too narrow.
//
// The way from trials to an answer is [Paired] (log ratios within blocks), [Holm]
// over the modes compared, and [Decide], which says different, small, same or
// cannot tell. [BlocksNeeded] says how far a cannot-tell is from an answer.
// Nothing here drops an outlier; [TwoBands] only flags.
package stats
