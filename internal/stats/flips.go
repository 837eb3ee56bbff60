package stats

import "math"

// MinFlips and MaxFlips are the least and the most replicates of [SignFlipP]. With 6 p is below 5 % only if all differences
// are on one side, with fewer never; with more than 30 noise that is not normal hardly matters for a mean.
const (
	MinFlips = 7
	MaxFlips = 30
)

// SignFlipP is the two-sided p value of the sign-flip permutation test (Fisher, The Design of Experiments, 1935) that
// differences are symmetric about 0, whatever their distribution: the share, of all assignments of signs to them, of those of which
// the sum is at least as far from 0 as theirs. setups are as of [PairedBySetup]: differences of one set-up have one
// sign, and set-ups are counted as replicates. The share is exact: all 2^n assignments count. NaN for another number of
// set-ups, a difference that is not finite, and unless there are [MinFlips] to [MaxFlips] replicates.
func SignFlipP(ds []float64, setups []int) float64 {
	sums := ds
	if setups != nil {
		if len(setups) != len(ds) {
			return math.NaN()
		}
		at := map[int]int{}
		sums = nil
		for i, d := range ds {
			s, known := at[setups[i]]
			if !known {
				s = len(sums)
				at[setups[i]], sums = s, append(sums, 0)
			}
			sums[s] += d
		}
	}
	if len(sums) < MinFlips || len(sums) > MaxFlips {
		return math.NaN()
	}
	var total, size float64
	for _, u := range sums {
		total += u
		size += math.Abs(u)
	}
	if math.IsNaN(size) || math.IsInf(size, 0) {
		return math.NaN()
	}
	// Of each half of the replicates all sums, in order: for each sum of one, those of the other that are far enough
	// are a tail. What is equal but for rounding counts.
	far := math.Abs(total) - 1e-9*size
	if far <= 0 {
		return 1
	}
	left, right := flipped(sums[:len(sums)/2]), flipped(sums[len(sums)/2:])
	count, from := 0, len(right)
	for _, l := range left {
		for from > 0 && l+right[from-1] >= far {
			from--
		}
		count += len(right) - from
	}
	return 2 * float64(count) / (float64(len(left)) * float64(len(right))) // the other tail is its mirror image
}

// flipped are the sums of values with all assignments of signs, in ascending order.
func flipped(values []float64) []float64 {
	all := []float64{0}
	for _, v := range values {
		v = math.Abs(v)
		next := make([]float64, 0, 2*len(all))
		low, high := all, all // less v, and with v
		for len(low) > 0 || len(high) > 0 {
			if len(low) > 0 && low[0]-v <= high[0]+v {
				next, low = append(next, low[0]-v), low[1:]
			} else {
				next, high = append(next, high[0]+v), high[1:]
			}
		}
		all = next
	}
	return all
}
