// Package stats contains the statistics of tare's method: the comparison of a mode with
// its baseline from a small number of trials, each with one value. It is pure: no I/O, no
// clock, no randomness, and it imports no other package of this module.
//
// The unit of replication is the trial. Samples inside one trial are correlated and must
// not be used in the comparisons: an interval from them is several times too narrow. They
// are used by [SteadyState], which finds the end of a trial's warm-up, and by
// [VarianceComponents] and [OptimalLength], which determine the length of trials.
//
// A result is computed from trials with [Paired] (log ratios within blocks), [Holm] over
// the modes compared, and [Decide], whose result is different, small, same or cannot
// tell. [BlocksNeeded] estimates how many blocks a cannot-tell needs. Without blocks
// there is [Unpaired]. [CompactLetters] writes all comparisons of several modes as letters.
// [Stopping] ends a run by the width of its intervals. There is no bootstrap: with few
// trials the 95 % interval of the percentile bootstrap has a coverage of 79 to 91 %. No
// function drops an outlier; [TwoBands] only flags.
package stats
