// Package testns runs tests in namespaces of their own: of processes, mounts, networks and
// control groups, over a root directory whose changes go to memory. Such tests see no other
// program of the machine, and no other program sees what they create: they may list and
// remove what dead runs left, and run beside each other.
package testns

// Where tests in such namespaces find what no test elsewhere has.
const (
	// Layer is a directory with the files that differ from the machine's.
	Layer = "/layer"
	// Scratch is a directory for files of the tests that are not under test. It contains the
	// test program.
	Scratch = "/scratch"
)
