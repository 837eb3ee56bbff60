// Package ratesearch finds the highest rate of datagrams that a path carries within a
// loss goal, or within several goals at once: a search for several loss ratios after RFC
// 9971 (MLRsearch, draft-ietf-bmwg-mlrsearch-15). It is pure: no I/O, no clock, no
// randomness. A [Search] is a state machine. [Search.Next] returns the trial to run, the
// caller runs it, and [Search.Add] takes its result; several searches can therefore be
// interleaved, one trial each.
//
// # What is normative
//
// A [Class] says whether a load is a lower bound of a goal (it meets the goal), an upper
// bound (it does not) or undecided. The result is the greatest lower bound below the
// least upper bound; good loads above an upper bound are attributed to chance and noted.
// [Throughput] is what arrives at that load. All of this is independent of the order: it
// depends on what was measured, never on when or why.
//
// # What is not
//
// The choice of the next load affects only the cost. A search looks for a coarse bracket
// with single trials, then halves it and measures its ends again, target by target, until
// the goal's width and seconds of evidence are reached. How much arrived in an overload
// is only a hint for the next load: kernel paths can carry less when more is offered to
// them.
//
// # Evidence
//
// Only the seconds in which a trial sent count as evidence, not the time to start and
// drain it: otherwise one bad trial of half a second could decide on a load permanently.
// One trial must not decide alone, so a goal's seconds of evidence are at least three
// trials long.
//
// A search gives one value for each goal. Its trials are not replications of each other,
// so statistics over them are invalid.
package ratesearch
