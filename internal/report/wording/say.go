// Package wording puts figures, times, verdicts and strings of foreign origin into
// words that a person reads. Reports and live listeners share it, so that the
// same figure reads alike everywhere.
//
// It keeps two promises: an unknown figure is [Unknown] and never 0, and
// rounding never carries a limit of an interval across 1, so that a ratio looks
// on paper like what was judged.
package wording

// Unknown stands where a figure is not known.
const Unknown = "-"
