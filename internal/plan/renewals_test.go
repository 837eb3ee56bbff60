package plan

import (
	"math/rand/v2"
	"slices"
	"testing"

	"tare/internal/testkit/coverage"
	"tare/internal/testkit/must"
)

// Of the intervals of a ratio, 94 to 96 % hold it for the combinations of blocks and renewals that a profile can have, whatever
// share of the variance is between set-ups.
func TestRenewalsOfProfilesCover(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 4))
	slow := 0
	for _, sizes := range must.Get(coverage.Renewals())(t) {
		shares := coverage.Shares()
		if slices.Max(sizes) == 1 {
			shares = shares[:1] // each block is a set-up
		} else {
			slow++
		}
		for _, between := range shares {
			got := coverage.Of(rng, sizes, between, 4000)
			if got < 0.94 || got > 0.966 { // a standard error of the simulation is 0.3 %
				t.Errorf("set-ups of %v blocks, %g of the variance between them: %.3f of the intervals cover", sizes, between, got)
			}
		}
	}
	must.True(t, slow >= 3, "%d combinations with a set-up for several blocks", slow)
}

// A run of the profile standard ends on the width of its intervals. Those of slow modes, with fewer set-ups than blocks, cover
// then, too, because set-ups are counted where blocks share them: by blocks, 92 % would.
func TestRenewalsCoverAfterStopping(t *testing.T) {
	rng := rand.New(rand.NewPCG(36, 5))
	for _, sd := range []float64{0.02, 0.04} {
		for _, between := range []float64{0, 0.5, 1} {
			got, blocks := must.Get2(coverage.AfterStopping(rng, sd, between, 3000))(t)
			must.True(t, got >= 0.935 && got <= 0.966, "a spread of %g, %g of it between set-ups: %.3f of the intervals cover after %.1f blocks", sd, between, got, blocks)
		}
	}
}
