// Package calibration measures how fast this machine is at what networks of containers cost: system
// calls, changes between threads, packets through the network stack, and copies of memory. A ratio
// of two modes depends on the proportion of these, so two machines whose values differ have other
// ratios, even if their CPUs have one name.
//
// The values tell machines apart. They are no results, and no result is corrected by them.
package calibration

import (
	"time"

	"tare/internal/result"
)

// The facts, in the order in which they are measured. Their values are numbers with a unit.
const (
	Syscall = "calibration_syscall" // ns for one system call
	Copy    = "calibration_copy"    // GB/s, memory to memory, of 256 KiB that the cache has
	Switch  = "calibration_switch"  // ns for a round trip between two threads of one CPU over pipes
	Packet  = "calibration_packet"  // ns to send a datagram over loopback and to receive it
)

// budget is the CPU time that a measurement takes.
const budget = 20 * time.Millisecond

// Facts measures this machine and returns the values as facts, in about 100 ms on one CPU. They are
// the best of many short repetitions, which go on until they have had that CPU time, so that other
// programs change them little. What could not be measured, and everything on systems other
// than Linux, is unknown with the reason.
func Facts() []result.Fact { return measure(budget) }

func unknown(name string, err error) result.Fact {
	return result.Fact{Name: name, Value: "unknown: " + err.Error()}
}
