package stats

import (
	"errors"
	"fmt"
	"math"
)

// Components are the variances of two levels: of samples within a trial, and between
// trials, in the square of the unit of the samples.
type Components struct {
	Within  float64 // of one sample about the mean of its trial
	Between float64 // of a trial's own level; 0: that level adds no measurable variance
}

// VarianceComponents separates the variance of the samples of several trials of one mode
// (Kalibera, Jones, ISMM 2013):
//
//	Within  = S_1^2                  the mean of the trials' sample variances
//	Between = S_2^2 - S_1^2 / n_1    S_2^2 the variance of the trials' means,
//	                                 n_1 the number of samples in a trial
//
// and 0 where that is negative. If the trials differ in their numbers of samples, n_1 is
// their harmonic mean and S_1^2 is weighted by degrees of freedom. Consecutive samples
// are correlated, which makes Within too small: pass batch means ([Batches]) that are as
// long as the correlation lasts. Errors: fewer than 2 trials, a trial of fewer than 2
// samples, a sample that is not finite.
func VarianceComponents(trials [][]float64) (Components, error) {
	const what = "estimate variance components"
	if len(trials) < 2 {
		return Components{}, errors.New(what + ": fewer than 2 trials")
	}
	var squares, df, inverse float64
	means := make([]float64, len(trials))
	for i, xs := range trials {
		if len(xs) < 2 {
			return Components{}, fmt.Errorf("%s: trial %d has fewer than 2 samples", what, i+1)
		}
		if err := check(xs, 0.95); err != nil {
			return Components{}, fmt.Errorf("%s: trial %d: %w", what, i+1, err)
		}
		mean, sd := meanSD(xs)
		means[i] = mean
		squares += sd * sd * float64(len(xs)-1)
		df += float64(len(xs) - 1)
		inverse += 1 / float64(len(xs))
	}
	_, between := meanSD(means)
	within := squares / df
	return Components{
		Within:  within,
		Between: max(0, between*between-within*inverse/float64(len(trials))),
	}, nil
}

// OptimalLength is the number of samples per trial that gives the mean over trials the
// smallest variance for the time spent (Kalibera, Jones 2013):
//
//	ceil(sqrt(trialCost / sampleCost * Within / Between))
//
// sampleCost is the time of one more sample, trialCost that of one more trial without its
// samples: set-up, warm-up, settling. Both have the same unit. The result is at least 1.
// It is 1 if samples do not vary. ok is false if there is no best length, because trials
// do not differ beyond their samples (Between is 0: the longer the better), and if a cost
// or variance is negative, not finite, or the time of a sample is 0. The result is large
// if Between is small: apply bounds.
func OptimalLength(sampleCost, trialCost float64, c Components) (n int, ok bool) {
	for _, v := range []float64{sampleCost, trialCost, c.Within, c.Between} {
		if !(v >= 0) || math.IsInf(v, 1) {
			return 0, false
		}
	}
	if sampleCost == 0 || c.Between == 0 {
		return 0, false
	}
	best := math.Ceil(math.Sqrt(trialCost / sampleCost * c.Within / c.Between))
	if best > math.MaxInt32 {
		return math.MaxInt32, true
	}
	return max(1, int(best)), true
}
