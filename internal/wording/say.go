// Package wording formats values, times, verdicts and strings of foreign origin for people.
// Reports and live listeners share it, so that a value has the same text everywhere.
//
// An unknown value is [Unknown] and never 0. Rounding never moves a limit of an interval
// across 1, so that a ratio looks like its verdict.
package wording

// Unknown is shown for an unknown value.
const Unknown = "-"
