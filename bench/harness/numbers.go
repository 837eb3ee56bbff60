package harness

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"tare/internal/result"
	"tare/internal/stats"
)

// Title prints the title of a table.
func Title(format string, values ...any) { fmt.Printf("### "+format+"\n\n", values...) }

// Columns prints the head of a table.
func Columns(names ...string) {
	fmt.Printf("| %s |\n%s|\n", strings.Join(names, " | "), strings.Repeat("|---", len(names)))
}

// Column returns one value of each element.
func Column[T any](all []T, take func(T) float64) []float64 {
	vs := make([]float64, len(all))
	for i, v := range all {
		vs[i] = take(v)
	}
	return vs
}

// Ratios divides two series element by element.
func Ratios(ours, theirs []float64) []float64 {
	r := make([]float64, len(ours))
	for i := range r {
		r[i] = ours[i] / theirs[i]
	}
	return r
}

// Median returns the median of the values, NaN of none.
func Median(vs []float64) float64 {
	vs = slices.Sorted(slices.Values(vs))
	n := len(vs)
	if n == 0 {
		return math.NaN()
	}
	return (vs[(n-1)/2] + vs[n/2]) / 2
}

// Spread is a median with its range.
func Spread(vs []float64) string {
	return fmt.Sprintf("%.4g (%.4g-%.4g)", Median(vs), slices.Min(vs), slices.Max(vs))
}

// CV is the coefficient of variation: sample standard deviation over mean.
func CV(vs []float64) float64 {
	var sum, squares float64
	for _, v := range vs {
		sum += v
	}
	mean := sum / float64(len(vs))
	for _, v := range vs {
		squares += (v - mean) * (v - mean)
	}
	return math.Sqrt(squares/float64(len(vs)-1)) / mean
}

// HalfWidth is the relative half-width of a ratio's interval, in the log domain where the
// interval is symmetric.
func HalfWidth(c result.Cell) float64 {
	if c.RatioCI == nil {
		return math.NaN()
	}
	return math.Sqrt(c.RatioCI[1]/c.RatioCI[0]) - 1
}

// Interval formats a value with its interval, if there is one, with the given number of
// decimals.
func Interval(e stats.Estimate, decimals int) string {
	text := fmt.Sprintf("%.*f", decimals, e.Value)
	if e.HasInterval {
		text += fmt.Sprintf(" (%.*f-%.*f)", decimals, e.Lo, decimals, e.Hi)
	}
	return text
}

// Ratio formats a cell's ratio with its interval; it must have both.
func Ratio(c result.Cell, decimals int) string {
	return Interval(stats.Estimate{Value: *c.Ratio, Lo: c.RatioCI[0], Hi: c.RatioCI[1], HasInterval: true}, decimals)
}

// Timed runs fn and appends its duration to ms, in milliseconds, unless it failed.
func Timed(ms *[]float64, fn func() error) error {
	began := time.Now()
	if err := fn(); err != nil {
		return err
	}
	*ms = append(*ms, float64(time.Since(began).Microseconds())/1000)
	return nil
}

// CPUTime is the CPU time of this process, or of its children that have ended and were
// waited for: unix.RUSAGE_SELF or unix.RUSAGE_CHILDREN. It is exact: the kernel scales
// the ticks of user and system time to the scheduler's measurement.
func CPUTime(who int) (time.Duration, error) {
	var u unix.Rusage
	if err := unix.Getrusage(who, &u); err != nil {
		return 0, fmt.Errorf("read the CPU time of this process: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
