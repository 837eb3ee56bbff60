package ratesearch

import "fmt"

// LossyShare says in how many trials at the lower bound more was lost than the goal
// allows, and up to what share of trials that may be so in truth: "0 of 21 trials
// (< 13 % of trials)". It is empty without a lower bound.
func (o Outcome) LossyShare() string {
	if o.LossyUpper == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d trials (< %.0f %% of trials)", o.Lossy, o.Trials, 100**o.LossyUpper)
}
