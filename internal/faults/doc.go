// Package faults contains the tests that break real runs: in each, one thing goes wrong at a
// random moment, and afterwards nothing that was measured is lost and nothing that the run
// made is left. It also contains the tests of commands against hostile peers, of long runs and of
// many endpoints. It contains nothing else.
package faults
