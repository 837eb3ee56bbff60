// Package peers compares the generator with others: iperf3, iperf2, nuttcp, sockperf,
// qperf, and a small one in C.
package peers

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"tare/bench/harness"
)

// contestant is a generator with one workload. Each call returns one value.
type contestant struct {
	name string
	run  func(ctx context.Context) (float64, error)
}

// work is a row of a comparison.
type work struct {
	name, placement string
	unit            string  // of a value after scale
	scale           float64 // divisor of values for output
	lower           bool    // less is better
	ask             string  // requirement on the ratio, "" for none
	least           float64 // required ratio, a maximum if lower is set
	aim             float64 // target ratio, 0 for none
}

// tries is the maximum number of attempts of a run, because a peer's set-up can fail on a
// busy machine. Each failure is reported.
const tries = 3

// interleaved runs all generators n times, once in each round, in an order that rotates.
// Round i of one forms a pair with round i of another.
func interleaved(ctx context.Context, n int, all []contestant) ([][]float64, error) {
	return inTurn(n, len(all), func(i int) (float64, error) { return retry(ctx, all[i].name, all[i].run) })
}

// inTurn is interleaved for values of any type.
func inTurn[T any](n, of int, run func(i int) (T, error)) ([][]T, error) {
	values := make([][]T, of)
	for round := range n {
		for k := range of {
			i := (k + round) % of
			v, err := run(i)
			if err != nil {
				return nil, err
			}
			values[i] = append(values[i], v)
		}
	}
	return values, nil
}

// retry repeats a run that fails, and reports each failure.
func retry[T any](ctx context.Context, name string, run func(context.Context) (T, error)) (v T, err error) {
	for range tries {
		if v, err = run(ctx); err == nil || ctx.Err() != nil {
			break
		}
		fmt.Fprintf(os.Stderr, "bench: %s failed: %v\n", name, err)
	}
	return v, err
}

// medianOf is the median of one value of each element.
func medianOf[T any](all []T, take func(T) float64) float64 {
	return harness.Median(harness.Column(all, take))
}

// Summary prints how tare compares with the best peer over all rows that were measured.
func Summary(ratios []float64) {
	if len(ratios) == 0 {
		return
	}
	reached := 0
	for _, r := range ratios {
		if r >= 1 {
			reached++
		}
	}
	harness.Title("All rows of the comparison with other generators")
	harness.Columns("what", "seen", "goal")
	fmt.Printf("| times the best peer, median of the rows | %.2f | 1.1 |\n", harness.Median(ratios))
	fmt.Printf("| rows with at least 1.0 | %d of %d | all |\n\n", reached, len(ratios))
}

// against compares the first generator with the others and prints the row.
func (s *testbed) against(ctx context.Context, w work, n int, all []contestant) error {
	values, err := interleaved(ctx, n, all)
	if err != nil {
		return notCompared(err, w.name, cpuPlacement{name: w.placement})
	}
	names := make([]string, len(all))
	for i, c := range all {
		names[i] = c.name
	}
	s.print(w, names, values)
	return nil
}

// columns prints the head of the table.
func columns() {
	harness.Columns("work", "placement", "tare", "best peer (the others)", "ratio, median (min-max)", "goal")
}

// print prints a row and adds its ratio to those of the bench.
func (s *testbed) print(w work, names []string, values [][]float64) {
	text, ratio := w.row(names, values)
	fmt.Println(text)
	if w.lower {
		ratio = 1 / ratio
	}
	if s.ratios != nil && len(values) > 1 {
		*s.ratios = append(*s.ratios, ratio)
	}
}

// row is a line of the table, and its ratio: the best peer is the one with the worst median ratio for
// tare.
func (w work) row(names []string, values [][]float64) (text string, ratio float64) {
	best := -1
	for i := 1; i < len(values); i++ {
		r := harness.Median(harness.Ratios(values[0], values[i]))
		if best < 0 || (r < ratio) != w.lower && r != ratio {
			best, ratio = i, r
		}
	}
	if best < 0 {
		return fmt.Sprintf("| %s | %s | %s | - | - | %s |", w.name, w.placement, w.figure(values[0]), w.ask), 0
	}
	var others []string
	for i := 1; i < len(values); i++ {
		if i != best {
			others = append(others, names[i]+" "+w.figure(values[i]))
		}
	}
	peer := names[best] + " " + w.figure(values[best])
	if len(others) > 0 {
		peer += " (" + strings.Join(others, ", ") + ")"
	}
	r := harness.Ratios(values[0], values[best])
	return fmt.Sprintf("| %s | %s | %s | %s | %.3f (%.3f-%.3f) | %s |", w.name, w.placement, w.figure(values[0]), peer,
		ratio, slices.Min(r), slices.Max(r), w.verdict(ratio)), ratio
}

func (w work) figure(vs []float64) string {
	return fmt.Sprintf("%.4g %s", harness.Median(vs)/w.scale, w.unit)
}

// verdict reports whether the requirement was met.
func (w work) verdict(ratio float64) string {
	if w.ask == "" {
		return ""
	}
	reached := func(bound float64) bool {
		if w.lower {
			return ratio <= bound
		}
		return ratio >= bound
	}
	switch {
	case w.aim > 0 && reached(w.aim):
		return fmt.Sprintf("%s: yes, and the aim of %g", w.ask, w.aim)
	case reached(w.least):
		return w.ask + ": yes"
	}
	return w.ask + ": no"
}

// rateSlack is the maximum deviation of a generator from the requested rate for a
// comparison.
const rateSlack = 0.05

// offRateError means that a generator did not reach a fixed rate.
type offRateError struct {
	name, unit  string
	made, asked float64
}

func (e *offRateError) Error() string {
	return fmt.Sprintf("%s sent %.4g %s instead of %.4g", e.name, e.made, e.unit, e.asked)
}

// checkRate returns an error unless a generator reached the rate.
func checkRate(name string, made, asked float64, unit string) error {
	if math.Abs(made/asked-1) > rateSlack {
		return &offRateError{name, unit, made, asked}
	}
	return nil
}

// notCompared prints a row for a rate that could not be reached, which must not end the
// section. It returns any other error.
func notCompared(err error, name string, at cpuPlacement) error {
	var off *offRateError
	if !errors.As(err, &off) {
		return err
	}
	fmt.Printf("| %s | %s | not compared: %v, %d times in turn |\n", name, at.name, off, tries)
	return nil
}
