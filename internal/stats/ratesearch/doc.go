// Package ratesearch finds the highest rate of datagrams that a path carries
// within a loss goal, or within several goals at once: a search for several loss
// ratios after RFC 9971 (MLRsearch, draft-ietf-bmwg-mlrsearch-15). It is pure: no
// I/O, no clock, no randomness.
//
// A [Search] is a state machine. [Search.Next] names the trial to make, whoever
// asks makes it, and [Search.Add] takes what it gave; so several searches can
// take turns, a trial each.
//
// # What is normative
//
// A [Class] says whether a load is a lower bound of a goal (it can be had), an
// upper bound (it cannot) or undecided. The greatest lower bound below the least
// upper bound is the answer; what looks good above an upper bound is taken for
// luck, and said so. [Throughput] is what arrives at that load. All of this is
// order independent: it asks what was measured, never when or why.
//
// # What is not
//
// Which load to try next is a matter of cost alone. A search looks for a coarse
// bracket with single trials, then halves it and measures its ends again, target
// by target, until the goal's width and seconds of evidence are reached. How much
// came through in an overload is a hint where to look and nothing more: kernel
// paths can carry less the more is offered to them.
//
// # Evidence
//
// Only the seconds in which a trial sent count as evidence, never what starting
// and draining it took: with those counted, one bad trial of half a second would
// condemn a load for good. One trial must not be able to; so a goal's seconds of
// evidence are at least three trials long.
//
// One search gives one number for each goal. Its trials are no repeats of each
// other, and statistics over them are none.
package ratesearch
