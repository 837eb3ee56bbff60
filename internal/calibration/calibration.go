// Package calibration measures how fast this machine is at what networks of containers cost: system
// calls, changes between threads, packets through the network stack, and copies of memory. A ratio
// of two modes depends on the proportion of these, so two machines whose values differ have other
// ratios, even if their CPUs have one name.
//
// The values tell machines apart. They are no results, and no result is corrected by them.
package calibration

import (
	"fmt"
	"math"
	"strconv"
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

// budget is how long a measurement takes.
const budget = 20 * time.Millisecond

// one is the measurement of one fact. repeat does its work a fixed number of times, which takes a
// tenth of a millisecond or so, and returns how long one took, in seconds.
type one struct {
	name   string
	format func(seconds float64) string
	repeat func() (float64, error)
}

// Facts measures this machine and returns the values as facts, in about 100 ms. They are the best
// of many short repetitions on one CPU, so that other programs change them little: one repetition is
// shorter than the time for which the scheduler lets a thread run. What could not be measured, and
// everything on systems other than Linux, is unknown with the reason.
func Facts() []result.Fact { return measure(budget) }

// nanoseconds and rate are the values of facts, with three digits.
func nanoseconds(s float64) string { return fmt.Sprintf("%s ns", digits(s*1e9)) }

func rate(bytes float64) func(s float64) string {
	return func(s float64) string { return fmt.Sprintf("%s GB/s", digits(bytes/s/1e9)) }
}

// digits writes a number above 0 with three digits, or with more if they are before the point.
func digits(v float64) string {
	after := max(0, 2-int(math.Floor(math.Log10(v))))
	text := strconv.FormatFloat(v, 'f', after, 64)
	if rounded, err := strconv.ParseFloat(text, 64); err == nil && after > 0 && math.Log10(rounded) >= float64(3-after) {
		after-- // 9.999 is 10.0
	}
	return strconv.FormatFloat(v, 'f', after, 64)
}

// best returns the shortest time of repetitions during the budget, of at least minRepetitions. On a
// machine so busy that these take longer, it is of those within maxBudgets budgets.
func best(budget time.Duration, repeat func() (float64, error)) (float64, error) {
	least := math.Inf(1)
	start := time.Now()
	for n := 0; n == 0 || time.Since(start) < budget || n < minRepetitions && time.Since(start) < maxBudgets*budget; n++ {
		s, err := repeat()
		if err != nil {
			return 0, err
		}
		least = min(least, s)
	}
	if !(least > 0) || math.IsInf(least, 0) {
		return 0, fmt.Errorf("the clock did not advance during %v", budget)
	}
	return least, nil
}

const (
	minRepetitions = 20
	maxBudgets     = 5
)

// factOf measures one fact.
func factOf(o one, budget time.Duration) result.Fact {
	s, err := best(budget, o.repeat)
	if err != nil {
		return unknown(o.name, err)
	}
	return result.Fact{Name: o.name, Value: o.format(s)}
}

func unknown(name string, err error) result.Fact {
	return result.Fact{Name: name, Value: "unknown: " + err.Error()}
}
