package method

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"tare/bench/harness"
	"tare/internal/testkit/coverage"
)

// Coverage simulates how often 95 % intervals hold the true ratio: for each combination of blocks and set-ups that a profile can
// end with, and for slow modes in runs that end on the width of their intervals.
func Coverage(ctx context.Context, _ harness.Options) error {
	const runs = 10000
	rng := rand.New(rand.NewPCG(36, 1))
	renewals, err := coverage.Renewals()
	if err != nil {
		return err
	}
	harness.Title("Coverage of 95 %% intervals, %d simulated runs each, by the share of the variance between set-ups", runs)
	columns := []string{"blocks", "set-ups"}
	for _, between := range coverage.Shares() {
		columns = append(columns, fmt.Sprintf("%.0f %%", 100*between))
	}
	harness.Columns(columns...)
	slices.SortFunc(renewals, func(a, b []int) int {
		return slices.Compare([]int{total(a), len(a)}, []int{total(b), len(b)})
	})
	for _, sizes := range renewals {
		fmt.Printf("| %d | %d |", total(sizes), len(sizes))
		for _, between := range coverage.Shares() {
			if err := ctx.Err(); err != nil {
				return err
			}
			fmt.Printf(" %.1f %% |", 100*coverage.Of(rng, sizes, between, runs))
		}
		fmt.Println()
	}
	fmt.Println()
	harness.Title("The same for a slow mode in runs that the profile standard ends on width")
	harness.Columns("spread of a block", "between set-ups", "mean blocks", "coverage")
	for _, sd := range []float64{0.02, 0.04} {
		for _, between := range coverage.Shares() {
			got, blocks, err := coverage.AfterStopping(rng, sd, between, runs)
			if err != nil {
				return err
			}
			fmt.Printf("| %.0f %% | %.0f %% | %.1f | %.1f %% |\n", 100*sd, 100*between, blocks, 100*got)
		}
	}
	fmt.Println()
	return nil
}

func total(sizes []int) (sum int) {
	for _, n := range sizes {
		sum += n
	}
	return sum
}
