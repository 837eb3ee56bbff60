package calibration

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/result"
)

// one is the measurement of one fact. work does n operations, which take a tenth of a millisecond
// or less, and clock is read before and after it.
type one struct {
	name   string
	format func(seconds float64) string
	n      int
	work   func() error
	clock  func() time.Duration
}

// factOf measures one fact.
func factOf(o one, budget time.Duration) result.Fact {
	s, err := best(o, budget)
	if err != nil {
		return unknown(o.name, err)
	}
	return result.Fact{Name: o.name, Value: o.format(s)}
}

// best returns the shortest time of one operation, in seconds, of the repetitions that take the
// budget of the thread's CPU time, or maxBudgets times the budget in all, where other programs take
// the CPU. Fewer than minRepetitions are an error: each of them may have been interrupted.
func best(o one, budget time.Duration) (float64, error) {
	least := math.Inf(1)
	began, spent := time.Now(), threadTime()
	for n := 1; ; n++ {
		start := o.clock()
		if err := o.work(); err != nil {
			return 0, err
		}
		if took := o.clock() - start; took > 0 {
			least = min(least, took.Seconds()/float64(o.n))
		}
		late := time.Since(began) >= maxBudgets*budget
		switch {
		case n < minRepetitions && late:
			return 0, fmt.Errorf("other programs took the CPU: %d of %d repetitions in %v", n, minRepetitions, time.Since(began).Round(time.Millisecond))
		case n < minRepetitions || !late && threadTime()-spent < budget:
		case math.IsInf(least, 0):
			return 0, errors.New("the clock did not advance")
		default:
			return least, nil
		}
	}
}

const (
	minRepetitions = 20
	maxBudgets     = 15
)

// wallClock returns a clock of the time that passes. The best repetition is one without an
// interruption, for which CPU time is no better: it omits what a kernel counts apart, such as
// interrupts, and estimates what a hypervisor took.
func wallClock() func() time.Duration {
	began := time.Now()
	return func() time.Duration { return time.Since(began) }
}

// threadTime returns the CPU time of the calling thread, which the kernel counts to the nanosecond.
func threadTime() time.Duration { return cpuTime(unix.CLOCK_THREAD_CPUTIME_ID) }

// threadTimeOf returns that of a thread of this process.
func threadTimeOf(tid int32) time.Duration {
	const ofThread, scheduled = 4, 2 // clock_getres(2) says how the number of a clock has the thread's
	return cpuTime(^tid<<3 | ofThread | scheduled)
}

// cpuTime returns the time of a clock, 0 if it cannot be read.
func cpuTime(clock int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(clock, &t); err != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

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
